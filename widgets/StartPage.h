// SPDX-License-Identifier: GPL-3.0-or-later
// What the window shows before a study is open: the built-in studies with the question that each
// answers, one click from running, and what was open recently.
#pragma once

#include <QScrollArea>
#include <QStringList>

#include <vector>

class QPushButton;
class QVBoxLayout;

namespace driftscope {

class StartPage : public QScrollArea {
    Q_OBJECT

public:
    struct Study {
        QString name;
        QString description;
        QString runs; ///< "6 runs"
    };

    explicit StartPage(const std::vector<Study>& studies, QWidget* parent = nullptr);

    void setRecent(const QStringList& paths);

signals:
    void runRequested(const QString& study);
    void editRequested(const QString& study);
    void openRequested(const QString& path);

protected:
    void changeEvent(QEvent* event) override;

private:
    QWidget* makeCard(const Study& study);
    void applyTheme();

    QVBoxLayout* m_recent;
    QWidget* m_recentBox;
    std::vector<QPushButton*> m_runButtons;
    std::vector<QPushButton*> m_editButtons;
};

} // namespace driftscope
