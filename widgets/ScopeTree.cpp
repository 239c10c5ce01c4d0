// SPDX-License-Identifier: GPL-3.0-or-later
#include "ScopeTree.h"

#include "Icons.h"

#include <QHeaderView>

#include <algorithm>

namespace driftscope {
namespace {

/// The layer in `items` that owns a tensor: the longest name that the tensor's begins with.
QTreeWidgetItem* ownerOf(const Scope& tensor, const std::vector<Scope>& scopes,
                         const std::vector<QTreeWidgetItem*>& items) {
    QTreeWidgetItem* owner = nullptr;
    std::size_t longest = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const Scope& scope = scopes[i];
        if (scope.kind == ScopeKind::Layer && scope.name.size() >= longest &&
            tensor.name.starts_with(scope.name + '.')) {
            owner = items[i];
            longest = scope.name.size();
        }
    }
    return owner;
}

} // namespace

ScopeTree::ScopeTree(QWidget* parent) : QTreeWidget(parent) {
    setHeaderHidden(true);
    setUniformRowHeights(true);
    setIconSize(QSize(swatchPixels, swatchPixels));
    header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    connect(this, &QTreeWidget::itemChanged, this, [this] {
        if (m_isFilling)
            return;
        refreshSwatches();
        emit checkedScopesChanged();
    });
    connect(this, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) {
        const auto at = std::ranges::find(m_items, item);
        if (!m_isFilling && at != m_items.end())
            emit scopeSelected(m_scopes[static_cast<std::size_t>(at - m_items.begin())]);
    });
}

void ScopeTree::setScopes(const std::vector<Scope>& scopes) {
    if (scopes == m_scopes)
        return;
    m_isFilling = true;
    clear();
    m_items.clear();
    m_scopes = scopes;
    for (const Scope& scope : scopes) {
        QTreeWidgetItem* owner =
            scope.kind == ScopeKind::Tensor ? ownerOf(scope, m_scopes, m_items) : nullptr;
        auto* item = owner ? new QTreeWidgetItem(owner) : new QTreeWidgetItem(this);
        const QString name =
            scope.kind == ScopeKind::Model ? tr("whole model") : QString::fromStdString(scope.name);
        item->setText(0, name);
        item->setToolTip(0, name);
        item->setCheckState(0, scope.kind == ScopeKind::Model ? Qt::Checked : Qt::Unchecked);
        m_items.push_back(item);
    }
    m_isFilling = false;
    refreshSwatches();
    emit checkedScopesChanged();
}

void ScopeTree::setTheme(const Theme& theme) {
    m_theme = theme;
    setPalette(checkMarkPalette(theme));
    refreshSwatches();
}

std::vector<Scope> ScopeTree::checkedScopes() const {
    std::vector<Scope> checked;
    for (std::size_t i = 0; i < m_items.size(); ++i)
        if (m_items[i]->checkState(0) == Qt::Checked)
            checked.push_back(m_scopes[i]);
    return checked;
}

void ScopeTree::checkOnly(ScopeKind kind) {
    check([kind](const Scope& scope) { return scope.kind == kind; });
    if (kind == ScopeKind::Tensor)
        expandAll();
}

void ScopeTree::selectScope(const std::optional<Scope>& scope) {
    const auto at = scope ? std::ranges::find(m_scopes, *scope) : m_scopes.end();
    setCurrentItem(at == m_scopes.end() ? nullptr
                                        : m_items[static_cast<std::size_t>(at - m_scopes.begin())]);
}

void ScopeTree::check(const std::function<bool(const Scope&)>& isChecked) {
    m_isFilling = true;
    for (std::size_t i = 0; i < m_items.size(); ++i)
        m_items[i]->setCheckState(0, isChecked(m_scopes[i]) ? Qt::Checked : Qt::Unchecked);
    m_isFilling = false;
    refreshSwatches();
    emit checkedScopesChanged();
}

void ScopeTree::refreshSwatches() {
    m_isFilling = true;
    std::size_t style = 0;
    for (QTreeWidgetItem* item : m_items)
        item->setIcon(0,
                      item->checkState(0) == Qt::Checked ? lineSwatch(m_theme, style++) : QIcon());
    m_isFilling = false;
}

} // namespace driftscope
