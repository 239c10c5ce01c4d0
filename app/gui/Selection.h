// SPDX-License-Identifier: GPL-3.0-or-later
// The one selection that all views share: a run, a layer or tensor, a step.
#pragma once

#include "analysis/RunComparison.h"

#include <QObject>

#include <cstdint>
#include <optional>

namespace driftscope {

class Selection : public QObject {
    Q_OBJECT

public:
    using QObject::QObject;

    [[nodiscard]] std::optional<std::size_t> run() const { return m_run; }
    [[nodiscard]] std::optional<Scope> scope() const { return m_scope; }
    [[nodiscard]] std::int64_t step() const { return m_step; }

    void setRun(std::optional<std::size_t> run);
    void setScope(const std::optional<Scope>& scope);
    void setStep(std::int64_t step);

signals:
    void runChanged();
    void scopeChanged();
    void stepChanged();

private:
    std::optional<std::size_t> m_run;
    std::optional<Scope> m_scope;
    std::int64_t m_step = 0;
};

} // namespace driftscope
