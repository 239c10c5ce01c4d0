// SPDX-License-Identifier: GPL-3.0-or-later
// Where the views lie: tabs that can be dragged beside one another, or out into windows.
#pragma once

#include <QMainWindow>

#include <vector>

class QDockWidget;

namespace driftscope {

class ViewPage;

class ViewArea : public QMainWindow {
    Q_OBJECT

public:
    explicit ViewArea(const std::vector<ViewPage*>& pages, QWidget* parent = nullptr);

    [[nodiscard]] const std::vector<ViewPage*>& pages() const { return m_pages; }
    /// nullptr where there is none of that id.
    [[nodiscard]] ViewPage* page(const QString& id) const;
    void showPage(ViewPage* page);
    /// The one that was shown or used last.
    [[nodiscard]] ViewPage* current() const { return m_current; }
    /// All as tabs of one place again.
    void resetLayout();

signals:
    void currentChanged(driftscope::ViewPage* page);

private:
    void makeCurrent(ViewPage* page);

    std::vector<ViewPage*> m_pages;
    std::vector<QDockWidget*> m_docks; ///< as m_pages
    ViewPage* m_current = nullptr;
};

} // namespace driftscope
