// SPDX-License-Identifier: GPL-3.0-or-later
// What curves can be about (the model, its layers, their tensors) as a tree with check marks. The
// line style of each checked one is shown beside it, as in the plot.
#pragma once

#include "Theme.h"

#include "analysis/RunComparison.h"

#include <QTreeWidget>

#include <functional>
#include <optional>
#include <vector>

namespace driftscope {

class ScopeTree : public QTreeWidget {
    Q_OBJECT

public:
    explicit ScopeTree(QWidget* parent = nullptr);

    /// The model first, then layers, then tensors. Checks the model at first, and keeps the check
    /// marks while the scopes are the same.
    void setScopes(const std::vector<Scope>& scopes);
    void setTheme(const Theme& theme);

    [[nodiscard]] std::vector<Scope> checkedScopes() const;
    void checkOnly(ScopeKind kind);
    void selectScope(const std::optional<Scope>& scope);

signals:
    void checkedScopesChanged();
    void scopeSelected(const Scope& scope);

private:
    void refreshSwatches();
    void check(const std::function<bool(const Scope&)>& isChecked);

    std::vector<Scope> m_scopes;
    std::vector<QTreeWidgetItem*> m_items; ///< one per scope
    Theme m_theme = Theme::light();
    bool m_isFilling = false;
};

} // namespace driftscope
