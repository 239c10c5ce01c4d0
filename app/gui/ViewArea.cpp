// SPDX-License-Identifier: GPL-3.0-or-later
#include "ViewArea.h"

#include "ViewPage.h"

#include <QApplication>
#include <QDockWidget>

#include <algorithm>

namespace driftscope {

ViewArea::ViewArea(const std::vector<ViewPage*>& pages, QWidget* parent)
    : QMainWindow(parent, Qt::Widget), m_pages(pages) {
    setObjectName(QStringLiteral("views"));
    setDockOptions(AllowTabbedDocks | AllowNestedDocks | GroupedDragging);
    setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    setDocumentMode(true);
    for (ViewPage* page : m_pages) {
        auto* dock = new QDockWidget(page->info().title, this);
        dock->setObjectName(page->info().id + QStringLiteral("View"));
        dock->setFeatures(QDockWidget::DockWidgetMovable | QDockWidget::DockWidgetFloatable);
        dock->setWidget(page);
        // A tab says what it is; only a view that has left its tab needs a title bar.
        dock->setTitleBarWidget(new QWidget(dock));
        connect(dock, &QDockWidget::topLevelChanged, dock, [dock](bool isFloating) {
            QWidget* bar = dock->titleBarWidget();
            dock->setTitleBarWidget(isFloating ? nullptr : new QWidget(dock));
            if (bar)
                bar->deleteLater();
        });
        connect(dock, &QDockWidget::visibilityChanged, this, [this, page](bool isVisible) {
            if (isVisible)
                makeCurrent(page);
        });
        m_docks.push_back(dock);
    }
    resetLayout();
    connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) {
        for (ViewPage* page : m_pages)
            if (now && page->isAncestorOf(now))
                makeCurrent(page);
    });
}

ViewPage* ViewArea::page(const QString& id) const {
    const auto found =
        std::ranges::find_if(m_pages, [&](const ViewPage* page) { return page->info().id == id; });
    return found == m_pages.end() ? nullptr : *found;
}

void ViewArea::showPage(ViewPage* page) {
    const auto at = std::ranges::find(m_pages, page) - m_pages.begin();
    QDockWidget* dock = m_docks.at(static_cast<std::size_t>(at));
    dock->show();
    dock->raise();
    makeCurrent(page);
}

void ViewArea::resetLayout() {
    for (QDockWidget* dock : m_docks) {
        dock->setFloating(false);
        addDockWidget(Qt::LeftDockWidgetArea, dock);
        dock->show();
    }
    for (std::size_t i = 1; i < m_docks.size(); ++i)
        tabifyDockWidget(m_docks[i - 1], m_docks[i]);
    showPage(m_pages.front());
}

void ViewArea::makeCurrent(ViewPage* page) {
    if (m_current == page)
        return;
    m_current = page;
    emit currentChanged(page);
}

} // namespace driftscope
