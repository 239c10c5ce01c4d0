// SPDX-License-Identifier: GPL-3.0-or-later
// Draws a run's progress as a thin bar under the text.
#pragma once

#include <QStyledItemDelegate>

namespace driftscope {

class ProgressDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
};

} // namespace driftscope
