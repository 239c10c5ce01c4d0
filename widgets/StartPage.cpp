// SPDX-License-Identifier: GPL-3.0-or-later
#include "StartPage.h"

#include "Icons.h"
#include "Theme.h"

#include <QEvent>
#include <QFrame>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace driftscope {
namespace {

constexpr int pageWidth = 760;

QLabel* makeLabel(const QString& text, double scale, bool isBold, QWidget* parent) {
    auto* label = new QLabel(text, parent);
    QFont font = label->font();
    font.setPointSizeF(font.pointSizeF() * scale);
    font.setBold(isBold);
    label->setFont(font);
    label->setWordWrap(true);
    return label;
}

} // namespace

StartPage::StartPage(const std::vector<Study>& studies, QWidget* parent) : QScrollArea(parent) {
    setObjectName(QStringLiteral("startPage"));
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);

    auto* page = new QWidget(this);
    auto* column = new QWidget(page);
    column->setMaximumWidth(pageWidth);
    auto* outer = new QHBoxLayout(page);
    outer->addStretch(1);
    outer->addWidget(column, 100);
    outer->addStretch(1);

    auto* layout = new QVBoxLayout(column);
    layout->setContentsMargins(24, 32, 24, 24);
    layout->setSpacing(16);
    layout->addWidget(makeLabel(tr("Where do two trainings part?"), 1.8, true, column));
    layout->addWidget(
        makeLabel(tr("Run one training under many settings, with every weight of every step "
                     "recorded, and see which settings change the result. Choose a study, or "
                     "drop a study folder or run files here."),
                  1.0, false, column));
    for (const Study& study : studies)
        layout->addWidget(makeCard(study));

    m_recentBox = new QWidget(column);
    m_recent = new QVBoxLayout(m_recentBox);
    m_recent->setContentsMargins(0, 8, 0, 0);
    m_recent->setSpacing(4);
    layout->addWidget(m_recentBox);
    layout->addStretch(1);
    setWidget(page);
    setRecent({});
    applyTheme();
}

QWidget* StartPage::makeCard(const Study& study) {
    auto* card = new QFrame(this);
    card->setFrameShape(QFrame::StyledPanel);
    card->setAutoFillBackground(true);
    card->setBackgroundRole(QPalette::Base);

    auto* run = new QPushButton(tr("Run"), card);
    run->setObjectName(QStringLiteral("run:") + study.name);
    run->setAccessibleName(tr("Run %1").arg(study.name));
    run->setToolTip(tr("Run the study now, in a new folder under Documents"));
    connect(run, &QPushButton::clicked, this,
            [this, name = study.name] { emit runRequested(name); });
    auto* edit = new QPushButton(tr("Edit…"), card);
    edit->setObjectName(QStringLiteral("edit:") + study.name);
    edit->setAccessibleName(tr("Edit %1").arg(study.name));
    edit->setToolTip(tr("Change the study or choose its folder before it runs"));
    connect(edit, &QPushButton::clicked, this,
            [this, name = study.name] { emit editRequested(name); });

    auto* text = new QVBoxLayout;
    text->setSpacing(4);
    text->addWidget(makeLabel(study.name, 1.15, true, card));
    text->addWidget(makeLabel(study.description, 1.0, false, card));
    auto* runs = makeLabel(study.runs, 1.0, false, card);
    runs->setForegroundRole(QPalette::PlaceholderText);
    text->addWidget(runs);
    auto* buttons = new QVBoxLayout;
    buttons->setSpacing(8);
    buttons->addWidget(run);
    buttons->addWidget(edit);
    buttons->addStretch(1);
    auto* layout = new QHBoxLayout(card);
    layout->setContentsMargins(16, 16, 16, 16);
    layout->setSpacing(24);
    layout->addLayout(text, 1);
    layout->addLayout(buttons);
    card->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    m_runButtons.push_back(run);
    m_editButtons.push_back(edit);
    return card;
}

void StartPage::setRecent(const QStringList& paths) {
    while (QLayoutItem* item = m_recent->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    m_recentBox->setVisible(!paths.isEmpty());
    m_recent->addWidget(makeLabel(tr("Recent"), 1.15, true, m_recentBox));
    for (const QString& path : paths) {
        auto* link = new QPushButton(path, m_recentBox);
        link->setFlat(true);
        link->setStyleSheet(QStringLiteral("text-align: left; padding: 4px 0;"));
        link->setToolTip(tr("Open %1").arg(path));
        connect(link, &QPushButton::clicked, this, [this, path] { emit openRequested(path); });
        m_recent->addWidget(link);
    }
}

void StartPage::changeEvent(QEvent* event) {
    QScrollArea::changeEvent(event);
    if (event->type() == QEvent::PaletteChange)
        applyTheme();
}

void StartPage::applyTheme() {
    const Theme theme = Theme::matching(palette());
    for (QPushButton* button : m_runButtons)
        button->setIcon(themedIcon(QStringLiteral("run"), theme.text, theme.axis));
    for (QPushButton* button : m_editButtons)
        button->setIcon(themedIcon(QStringLiteral("edit"), theme.text, theme.axis));
}

} // namespace driftscope
