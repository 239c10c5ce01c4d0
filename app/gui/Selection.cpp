// SPDX-License-Identifier: GPL-3.0-or-later
#include "Selection.h"

namespace driftscope {

void Selection::setRun(std::optional<std::size_t> run) {
    if (run == m_run)
        return;
    m_run = run;
    emit runChanged();
}

void Selection::setScope(const std::optional<Scope>& scope) {
    if (scope == m_scope)
        return;
    m_scope = scope;
    emit scopeChanged();
}

void Selection::setStep(std::int64_t step) {
    if (step == m_step)
        return;
    m_step = step;
    emit stepChanged();
}

} // namespace driftscope
