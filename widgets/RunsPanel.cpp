// SPDX-License-Identifier: GPL-3.0-or-later
#include "RunsPanel.h"

#include "Icons.h"
#include "ProgressDelegate.h"

#include <QAction>
#include <QHeaderView>
#include <QLineEdit>
#include <QSortFilterProxyModel>
#include <QTreeView>
#include <QVBoxLayout>

namespace driftscope {

RunsPanel::RunsPanel(QWidget* parent)
    : QWidget(parent), m_model(new RunTreeModel(this)), m_filter(new QSortFilterProxyModel(this)),
      m_filterEdit(new QLineEdit(this)), m_view(new QTreeView(this)) {
    m_filter->setSourceModel(m_model);
    m_filter->setRecursiveFilteringEnabled(true);
    m_filter->setAutoAcceptChildRows(true);
    m_filter->setFilterCaseSensitivity(Qt::CaseInsensitive);
    m_filter->setFilterKeyColumn(-1);

    m_filterEdit->setObjectName(QStringLiteral("runFilter"));
    m_filterEdit->setPlaceholderText(tr("Filter runs"));
    m_filterEdit->setAccessibleName(tr("Filter runs"));
    m_filterEdit->setClearButtonEnabled(true);
    connect(m_filterEdit, &QLineEdit::textChanged, m_filter,
            &QSortFilterProxyModel::setFilterFixedString);

    m_view->setObjectName(QStringLiteral("runTree"));
    m_view->setAccessibleName(tr("Runs of the study"));
    m_view->setModel(m_filter);
    m_view->setUniformRowHeights(true);
    m_view->setAllColumnsShowFocus(true);
    m_view->setIndentation(14);
    m_view->setIconSize(QSize(swatchPixels, swatchPixels));
    m_view->setItemDelegateForColumn(RunTreeModel::Progress, new ProgressDelegate(m_view));
    // The last column takes what is left; where nothing is, the tree scrolls and cuts no text.
    m_view->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_view->setContextMenuPolicy(Qt::ActionsContextMenu);
    connect(m_filter, &QAbstractItemModel::modelReset, m_view, &QTreeView::expandAll);
    connect(m_view->selectionModel(), &QItemSelectionModel::currentChanged, this,
            [this](const QModelIndex& current) {
                const QVariant run = current.data(RunTreeModel::RunRole);
                if (run.isValid())
                    emit runSelected(run.toInt());
            });

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(8, 8, 8, 8);
    layout->addWidget(m_filterEdit);
    layout->addWidget(m_view);
}

void RunsPanel::setSelectedRun(std::optional<std::size_t> run) {
    if (run == selectedRun())
        return;
    const QModelIndex index =
        run ? m_filter->mapFromSource(m_model->indexOfRun(*run)) : QModelIndex();
    m_view->setCurrentIndex(index);
}

std::optional<std::size_t> RunsPanel::selectedRun() const {
    const QVariant run = m_view->currentIndex().data(RunTreeModel::RunRole);
    return run.isValid() ? std::optional(static_cast<std::size_t>(run.toInt())) : std::nullopt;
}

void RunsPanel::setTheme(const Theme& theme) {
    m_model->setTheme(theme);
    m_view->setPalette(checkMarkPalette(theme));
}

void RunsPanel::focusFilter() {
    m_filterEdit->setFocus(Qt::ShortcutFocusReason);
}

void RunsPanel::addMenuAction(QAction* action) {
    m_view->addAction(action);
}

} // namespace driftscope
