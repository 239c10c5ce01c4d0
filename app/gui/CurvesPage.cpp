// SPDX-License-Identifier: GPL-3.0-or-later
#include "CurvesPage.h"

#include "Actions.h"
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

CurvesPage::CurvesPage(Selection& selection, Actions& actions, QWidget* parent)
    : ViewPage({QStringLiteral("curves"), tr("Curves"), tr("Divergence against step"),
                QStringLiteral("curves")},
               selection, parent),
      m_actions(actions), m_plot(new CurvePlot(this)), m_scopes(new ScopeTree(this)),
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
    for (QAction* action : m_actions.scopes) {
        auto* button = new QToolButton(side);
        button->setDefaultAction(action);
        buttons->addWidget(button);
    }
    buttons->addStretch(1);
    sideLayout->addWidget(new QLabel(tr("Show"), side));
    sideLayout->addLayout(buttons);
    sideLayout->addWidget(m_scopes);
    m_actions.twinCurves->setEnabled(false);
    sideLayout->addWidget(makeBox(*m_actions.twinCurves, side));

    auto* splitter = new QSplitter(this);
    splitter->addWidget(m_plot);
    splitter->addWidget(side);
    splitter->setStretchFactor(0, 1);
    splitter->setSizes({700, 210});
    splitter->setChildrenCollapsible(false);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(splitter);

    m_plot->addActions({m_actions.logAxis, m_actions.twinCurves});
    constexpr ScopeKind scopeKinds[] = {ScopeKind::Model, ScopeKind::Layer, ScopeKind::Tensor};
    for (std::size_t i = 0; i < m_actions.scopes.size(); ++i)
        connect(m_actions.scopes[i], &QAction::triggered, m_scopes,
                [this, kind = scopeKinds[i]] { m_scopes->checkOnly(kind); });
    for (QAction* action : {m_actions.logAxis, m_actions.twinCurves})
        connect(action, &QAction::toggled, this, &CurvesPage::invalidate);
    connect(m_scopes, &ScopeTree::checkedScopesChanged, this, &CurvesPage::invalidate);
    connect(m_scopes, &ScopeTree::scopeSelected, &selection, &Selection::setScope);
    connect(&selection, &Selection::scopeChanged, this,
            [this] { m_scopes->selectScope(this->selection().scope()); });
    connect(&selection, &Selection::runChanged, this,
            [this] { m_plot->setSelectedRun(this->selection().run()); });
    connect(&selection, &Selection::stepChanged, this,
            [this] { m_plot->setMarkedStep(this->selection().step()); });
    connect(m_plot, &PlotWidget::stepPicked, &selection, &Selection::setStep);
    connect(m_plot, &PlotWidget::runPicked, this,
            [this](int run) { this->selection().setRun(run); });
    connect(m_plot, &CurvePlot::scopePicked, &selection, &Selection::setScope);
    m_plot->setHint(hint());
}

void CurvesPage::resultsChanged(bool) {
    m_scopes->setScopes(commonScopes(*results()));
}

void CurvesPage::setTheme(const Theme& theme) {
    m_plot->setTheme(theme);
    m_scopes->setTheme(theme);
}

QByteArray CurvesPage::exported(ExportFormat format, QSize size) const {
    return driftscope::exported(m_plot->view(), format, size, m_plot->zoom());
}

void CurvesPage::refresh() {
    m_choice.metric = metric();
    m_choice.runs = runs();
    m_choice.scopes = m_scopes->checkedScopes();
    const bool isLogarithmic = m_actions.logAxis->isChecked();
    // On a linear axis the twins of another function would press all else to the ground.
    QAction& twins = *m_actions.twinCurves;
    twins.setEnabled(isLogarithmic && hasTwinCurves(*results(), m_choice.metric));
    m_choice.withTwins = twins.isEnabled() && twins.isChecked();
    m_task.request([results = results(), choice = m_choice, isLogarithmic] {
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
    if (!results() || results()->runs.empty())
        return tr("Open a study or run one, and its curves appear here.");
    if (results()->runs.size() == 1)
        return tr("One run alone has nothing to be compared with.\nOpen two run files together, or "
                  "drop them here: "
                  "the first is the reference.");
    for (const RunResult& run : results()->runs)
        if (run.comparison && m_choice.scopes.empty())
            return tr(
                "No layer is checked. Check the whole model, a layer or a tensor on the right.");
    for (const RunResult& run : results()->runs)
        if (run.comparison)
            return tr("No run is checked. Check runs in the tree on the left.");
    if (results()->runs.front().state)
        return tr("Curves appear when the reference and another run have recorded steps.");
    return tr("None of the runs has started. Press Run to record them.");
}

} // namespace driftscope
