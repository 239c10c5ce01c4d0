// SPDX-License-Identifier: GPL-3.0-or-later
// The runs that match what is typed, in the order of a column. Each word must be found in a run's
// settings, verdict, state or id; what is not known comes last, whichever way it is sorted.
#pragma once

#include <QCollator>
#include <QSortFilterProxyModel>
#include <QStringList>

namespace driftscope {

class RunFilterModel : public QSortFilterProxyModel {
    Q_OBJECT

public:
    explicit RunFilterModel(QObject* parent = nullptr);

    void setFilterText(const QString& text);

protected:
    [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
    [[nodiscard]] bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

private:
    QStringList m_words;
    /// "thr 2" before "thr 10", which the C locale can't.
    QCollator m_collator{QLocale(QLocale::English)};
};

} // namespace driftscope
