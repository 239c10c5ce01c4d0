// SPDX-License-Identifier: GPL-3.0-or-later
#include "HeatmapPage.h"

#include "Actions.h"
#include "Selection.h"
#include "ViewDefaults.h"

#include <QAction>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QToolButton>

#include <algorithm>

namespace driftscope {
namespace {

QString text(const std::string& string) {
    return QString::fromStdString(string);
}

} // namespace

HeatmapPage::HeatmapPage(Selection& selection, Actions& actions, QWidget* parent)
    : ViewPage({QStringLiteral("heatmap"), tr("Heatmap"),
                tr("Divergence over layers, steps, runs and settings"), QStringLiteral("heatmap")},
               selection, parent),
      m_plot(new HeatmapPlot(this)),
      m_task(this, [this](HeatmapView view) { show(std::move(view)); }) {
    m_plot->setObjectName(QStringLiteral("heatmapPlot"));
    m_plot->setAccessibleName(tr("Divergence heatmap"));
    const auto row = [] {
        auto* layout = new QHBoxLayout;
        layout->setContentsMargins(16, 8, 16, 0);
        layout->setSpacing(8);
        return layout;
    };
    auto* kinds = row();
    for (std::size_t i = 0; i < actions.kinds.size(); ++i) {
        auto* button = new QToolButton(this);
        button->setDefaultAction(actions.kinds[i]);
        connect(actions.kinds[i], &QAction::triggered, this,
                [this, kind = static_cast<HeatmapKind>(i)] { setKind(kind); });
        kinds->addWidget(button);
        m_kinds.push_back(button);
    }
    kinds->addStretch(1);
    auto* controls = row();
    m_rows =
        addCombo(*controls, QStringLiteral("heatmapRows"), tr("Rows"), tr("What the rows are"));
    m_rows->addItems({tr("layers"), tr("tensors")});
    m_scope = addCombo(*controls, QStringLiteral("heatmapScope"), tr("Of"),
                       tr("The weights that a cell is about"));
    m_rowAxis = addCombo(*controls, QStringLiteral("heatmapRowAxis"), tr("Rows"),
                         tr("Setting along the rows"));
    m_columnAxis = addCombo(*controls, QStringLiteral("heatmapColumnAxis"), tr("Columns"),
                            tr("Setting along the columns"));
    m_panelAxis = addCombo(*controls, QStringLiteral("heatmapPanelAxis"), tr("Panels"),
                           tr("One panel for each value of this setting"));
    controls->addStretch(1);

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(kinds);
    layout->addLayout(controls);
    layout->addWidget(m_plot, 1);

    connect(m_scope, &QComboBox::activated, this,
            [this](int i) { this->selection().setScope(m_scopes.at(static_cast<std::size_t>(i))); });
    connect(&selection, &Selection::runChanged, this, &HeatmapPage::invalidate);
    connect(&selection, &Selection::scopeChanged, this, [this] {
        fillScopes();
        invalidate();
    });
    connect(&selection, &Selection::stepChanged, this, [this] {
        m_plot->setMarkedStep(this->selection().step());
        if (m_choice.kind != HeatmapKind::LayersBySteps)
            invalidate();
    });
    connect(m_plot, &PlotWidget::stepPicked, &selection, &Selection::setStep);
    connect(m_plot, &PlotWidget::runPicked, this,
            [this](int run) { this->selection().setRun(run); });
    connect(m_plot, &HeatmapPlot::rowPicked, this, &HeatmapPage::selectRow);
    showControls();
    m_plot->setHint(hint());
}

QComboBox* HeatmapPage::addCombo(QHBoxLayout& layout, const QString& name, const QString& label,
                                 const QString& tip) {
    auto* caption = new QLabel(label, this);
    auto* combo = new QComboBox(this);
    combo->setObjectName(name);
    combo->setToolTip(tip);
    combo->setAccessibleName(tip);
    combo->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    caption->setBuddy(combo);
    caption->setObjectName(name + QStringLiteral("Label"));
    layout.addWidget(caption);
    layout.addWidget(combo);
    connect(combo, &QComboBox::activated, this, &HeatmapPage::invalidate);
    return combo;
}

void HeatmapPage::resultsChanged(bool isOther) {
    if (isOther)
        fillAxes();
    if (std::vector<Scope> scopes = commonScopes(*results()); scopes != m_scopes) {
        m_scopes = std::move(scopes);
        fillScopes();
    }
}

void HeatmapPage::setKind(HeatmapKind kind) {
    m_choice.kind = kind;
    colorKinds();
    showControls();
    invalidate();
}

void HeatmapPage::setTheme(const Theme& theme) {
    m_plot->setTheme(theme);
    colorKinds();
}

/// The style marks what is checked by a shade that can't be seen in dark colours.
void HeatmapPage::colorKinds() {
    for (QToolButton* button : m_kinds) {
        QPalette colors;
        if (button->isChecked()) {
            colors.setColor(QPalette::Button, palette().color(QPalette::Highlight));
            colors.setColor(QPalette::ButtonText, palette().color(QPalette::HighlightedText));
        }
        button->setPalette(colors);
    }
}

void HeatmapPage::fillAxes() {
    chooseAxes(*results(), m_choice);
    const std::pair<QComboBox*, std::string> axes[] = {{m_rowAxis, m_choice.rowAxis},
                                                       {m_columnAxis, m_choice.columnAxis},
                                                       {m_panelAxis, m_choice.panelAxis}};
    for (const auto& [combo, chosen] : axes) {
        combo->clear();
        if (combo != m_rowAxis)
            combo->addItem(tr("none"), QString());
        for (const Axis& axis : results()->folder.study.axes)
            combo->addItem(text(axis.key), text(axis.key));
        combo->setCurrentIndex(std::max(0, combo->findData(text(chosen))));
    }
}

void HeatmapPage::fillScopes() {
    m_scope->clear();
    for (const Scope& scope : m_scopes)
        m_scope->addItem(text(scopeTitle(scope)));
    const auto chosen = std::ranges::find(m_scopes, selection().scope().value_or(Scope{}));
    m_scope->setCurrentIndex(
        chosen == m_scopes.end() ? 0 : static_cast<int>(chosen - m_scopes.begin()));
}

void HeatmapPage::showControls() {
    const bool areSettings = m_choice.kind == HeatmapKind::SettingsBySettings;
    const auto setShown = [this](QComboBox* combo, bool isShown) {
        combo->setVisible(isShown);
        findChild<QLabel*>(combo->objectName() + QStringLiteral("Label"))->setVisible(isShown);
    };
    setShown(m_rows, !areSettings);
    for (QComboBox* combo : {m_scope, m_rowAxis, m_columnAxis, m_panelAxis})
        setShown(combo, areSettings);
}

QByteArray HeatmapPage::exported(ExportFormat format, QSize size) const {
    return driftscope::exported(m_plot->view(), format, size);
}

void HeatmapPage::refresh() {
    m_choice.metric = metric();
    m_choice.run =
        selection().run().value_or(mostDivergentRun(*results(), m_choice.metric).value_or(0));
    m_choice.step = selection().step();
    m_choice.perTensor = m_rows->currentIndex() == 1;
    if (m_scope->currentIndex() >= 0)
        m_choice.scope = m_scopes[static_cast<std::size_t>(m_scope->currentIndex())];
    m_choice.rowAxis = m_rowAxis->currentData().toString().toStdString();
    m_choice.columnAxis = m_columnAxis->currentData().toString().toStdString();
    m_choice.panelAxis = m_panelAxis->currentData().toString().toStdString();
    m_choice.maxColumns = static_cast<std::size_t>(std::max(200, m_plot->width()));
    m_task.request(
        [results = results(), choice = m_choice] { return makeHeatmap(*results, choice); });
}

void HeatmapPage::selectRow(int row) {
    if (m_choice.kind == HeatmapKind::SettingsBySettings)
        return;
    const std::string& title =
        m_plot->view().panels.front().rowLabels.at(static_cast<std::size_t>(row));
    const auto scope = std::ranges::find_if(m_scopes, [&](const Scope& candidate) {
        return scopeTitle(candidate) == title &&
               (candidate.kind == ScopeKind::Tensor) == m_choice.perTensor;
    });
    if (scope != m_scopes.end())
        selection().setScope(*scope);
}

void HeatmapPage::show(HeatmapView view) {
    const bool isEmpty = std::ranges::all_of(
        view.panels, [](const HeatmapPanel& panel) { return panel.cells.empty(); });
    m_plot->setView(std::move(view));
    m_plot->setHint(isEmpty ? hint() : QString());
}

QString HeatmapPage::hint() const {
    if (!results() || results()->runs.empty())
        return tr("Open a study or run one, and its heatmap appears here.");
    if (m_choice.kind == HeatmapKind::SettingsBySettings)
        return tr("This needs a study with axes: settings that vary from run to run.");
    if (m_choice.kind == HeatmapKind::LayersBySteps && m_choice.run < results()->runs.size() &&
        !results()->runs[m_choice.run].reference)
        return tr("The reference is not compared with itself. Select another run in the tree on "
                  "the left.");
    return tr("The heatmap appears when the reference and another run have recorded steps.");
}

} // namespace driftscope
