// SPDX-License-Identifier: GPL-3.0-or-later
#include "RunFilterModel.h"

#include "RunTreeModel.h"

#include <algorithm>

namespace driftscope {

RunFilterModel::RunFilterModel(QObject* parent) : QSortFilterProxyModel(parent) {
    setRecursiveFilteringEnabled(true);
    setAutoAcceptChildRows(true);
    setSortRole(RunTreeModel::SortRole);
    m_collator.setNumericMode(true);
    m_collator.setCaseSensitivity(Qt::CaseInsensitive);
}

void RunFilterModel::setFilterText(const QString& text) {
    m_words = text.simplified().split(QLatin1Char(' '), Qt::SkipEmptyParts);
    invalidateFilter();
}

bool RunFilterModel::filterAcceptsRow(int row, const QModelIndex& parent) const {
    const QString text =
        sourceModel()->index(row, 0, parent).data(RunTreeModel::FilterRole).toString();
    return std::ranges::all_of(m_words, [&](const QString& word) {
        return text.contains(word, Qt::CaseInsensitive);
    });
}

bool RunFilterModel::lessThan(const QModelIndex& left, const QModelIndex& right) const {
    const QVariant a = left.data(RunTreeModel::SortRole);
    const QVariant b = right.data(RunTreeModel::SortRole);
    if (!a.isValid() || !b.isValid()) // the view turns the answer round for a descending order
        return sortOrder() == Qt::AscendingOrder ? a.isValid() && !b.isValid()
                                                 : !a.isValid() && b.isValid();
    if (a.typeId() == QMetaType::QString)
        return m_collator.compare(a.toString(), b.toString()) < 0;
    return a.toDouble() < b.toDouble();
}

} // namespace driftscope
