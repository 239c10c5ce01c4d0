// SPDX-License-Identifier: GPL-3.0-or-later
#include "ProgressDelegate.h"

#include "RunTreeModel.h"

#include <QPainter>

namespace driftscope {

void ProgressDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                             const QModelIndex& index) const {
    QStyledItemDelegate::paint(painter, option, index);
    const double share = index.data(RunTreeModel::ShareRole).toDouble();
    if (share <= 0 || share >= 1)
        return;
    QRect bar = option.rect.adjusted(3, option.rect.height() - 4, -3, -1);
    const bool isSelected = option.state.testFlag(QStyle::State_Selected);
    bar.setWidth(static_cast<int>(bar.width() * share));
    painter->fillRect(
        bar, option.palette.color(isSelected ? QPalette::HighlightedText : QPalette::Highlight));
}

} // namespace driftscope
