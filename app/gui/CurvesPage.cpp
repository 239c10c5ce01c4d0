// SPDX-License-Identifier: GPL-3.0-or-later
#include "CurvesPage.h"

#include "Selection.h"

#include <QAction>
#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSplitter>
#include <QToolButton>

namespace driftscope {
namespace {

QCheckBox* makeBox(QAction& action, QWidget* parent) {
    auto* box = new QCheckBox(action.text(), parent);
    box->setObjectName(action.objectName() + QStringLiteral("Box"));
    box->setToolTip(action.toolTip());
    box->setChecked(action.isChecked());
    box->setEnabled(action.isEnabled());
    QObject::connect(box, &QCheckBox::clicked, &action, &QAction::trigger);
    QObject::connect(&action, &QAction::toggled, box, &QCheckBox::setChecked);
    QObject::connect(&action, &QAction::enabledChanged, box, &QCheckBox::setEnabled);
    return box;
}

} // namespace

CurvesPage::CurvesPage(Selection& selection, const std::vector<QAction*>& scopeActions,
                       QAction& twinCurves, QWidget* parent)
    : QWidget(parent), m_selection(selection), m_twinCurves(twinCurves),
      m_plot(new CurvePlot(this)), m_scopes(new ScopeTree(this)),
      m_task(this, [this](CurveView view) { show(std::move(view)); }) {
    m_plot->setObjectName(QStringLiteral("curvePlot"));
    m_plot->setAccessibleName(tr("Divergence curves"));
    m_scopes->setObjectName(QStringLiteral("scopeTree"));
    m_scopes->setAccessibleName(tr("Layers and tensors that are shown"));

    auto* side = new QWidget(this);
    auto* sideLayout = new QVBoxLayout(side);
    sideLayout->setContentsMargins(8, 8, 8, 8);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(4);
    for (QAction* action : scopeActions) {
        auto* button = new QToolButton(side);
        button->setDefaultAction(action);
        buttons->addWidget(button);
    }
    buttons->addStretch(1);
    sideLayout->addWidget(new QLabel(tr("Show"), side));
    sideLayout->addLayout(buttons);
    sideLayout->addWidget(m_scopes);
    m_twinCurves.setEnabled(false);
    sideLayout->addWidget(makeBox(m_twinCurves, side));

    auto* splitter = new QSplitter(this);
    splitter->addWidget(m_plot);
    splitter->addWidget(side);
    splitter->setStretchFactor(0, 1);
    splitter->setSizes({700, 210});
    splitter->setChildrenCollapsible(false);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(splitter);

    connect(m_scopes, &ScopeTree::checkedScopesChanged, this, &CurvesPage::refresh);
    connect(&m_twinCurves, &QAction::toggled, this, &CurvesPage::refresh);
    connect(m_scopes, &ScopeTree::scopeSelected, &m_selection, &Selection::setScope);
    connect(&m_selection, &Selection::scopeChanged, this,
            [this] { m_scopes->selectScope(m_selection.scope()); });
    connect(&m_selection, &Selection::runChanged, this,
            [this] { m_plot->setSelectedRun(m_selection.run()); });
    connect(&m_selection, &Selection::stepChanged, this,
            [this] { m_plot->setMarkedStep(m_selection.step()); });
    connect(m_plot, &PlotWidget::stepPicked, &m_selection, &Selection::setStep);
    connect(m_plot, &PlotWidget::runPicked, this, [this](int run) { m_selection.setRun(run); });
    connect(m_plot, &CurvePlot::scopePicked, &m_selection, &Selection::setScope);
    m_plot->setHint(hint());
}

void CurvesPage::setResults(std::shared_ptr<const StudyResults> results) {
    m_results = std::move(results);
    if (m_results)
        m_scopes->setScopes(commonScopes(*m_results));
    refresh();
}

void CurvesPage::setMetric(Metric metric) {
    m_choice.metric = metric;
    refresh();
}

void CurvesPage::setRuns(std::vector<std::size_t> runs) {
    m_choice.runs = std::move(runs);
    refresh();
}

void CurvesPage::setLogarithmic(bool isLogarithmic) {
    m_isLogarithmic = isLogarithmic;
    refresh();
}

void CurvesPage::setTheme(const Theme& theme) {
    m_plot->setTheme(theme);
    m_scopes->setTheme(theme);
}

void CurvesPage::refresh() {
    if (!m_results)
        return;
    m_choice.scopes = m_scopes->checkedScopes();
    // On a linear axis the twins of another function would press all else to the ground.
    m_twinCurves.setEnabled(m_isLogarithmic && hasTwinCurves(*m_results, m_choice.metric));
    m_choice.withTwins = m_twinCurves.isEnabled() && m_twinCurves.isChecked();
    m_task.request([results = m_results, choice = m_choice, isLogarithmic = m_isLogarithmic] {
        CurveView view = makeCurves(*results, choice);
        view.isLogarithmic = isLogarithmic;
        return view;
    });
}

void CurvesPage::show(CurveView view) {
    const bool isEmpty = view.curves.empty();
    m_plot->setView(std::move(view));
    m_plot->setHint(isEmpty ? hint() : QString());
}

QString CurvesPage::hint() const {
    if (!m_results || m_results->runs.empty())
        return tr("Open a study or run one, and its curves appear here.");
    if (m_results->runs.size() == 1)
        return tr("One run alone has nothing to be compared with.\nOpen two run files together, or "
                  "drop them here: "
                  "the first is the reference.");
    for (const RunResult& run : m_results->runs)
        if (run.comparison && m_choice.scopes.empty())
            return tr(
                "No layer is checked. Check the whole model, a layer or a tensor on the right.");
    for (const RunResult& run : m_results->runs)
        if (run.comparison)
            return tr("No run is checked. Check runs in the tree on the left.");
    if (m_results->runs.front().state)
        return tr("Curves appear when the reference and another run have recorded steps.");
    return tr("None of the runs has started. Press Run to record them.");
}

} // namespace driftscope
