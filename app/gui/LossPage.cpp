// SPDX-License-Identifier: GPL-3.0-or-later
#include "LossPage.h"

#include "Selection.h"

#include "analysis/ScalarCurves.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>

namespace driftscope {
namespace {

QString text(std::string_view string) {
    return QString::fromUtf8(string.data(), static_cast<qsizetype>(string.size()));
}

} // namespace

LossPage::LossPage(Selection& selection, QWidget* parent)
    : ViewPage({QStringLiteral("loss"), tr("Loss"), tr("Loss, gradient and accuracy at every step"),
                QStringLiteral("curves")},
               selection, parent),
      m_plot(new CurvePlot(this)), m_quantity(new QComboBox(this)),
      m_differences(new QCheckBox(tr("Difference to the reference"), this)),
      m_logarithmic(new QCheckBox(tr("Logarithmic"), this)),
      m_task(this, [this](CurveView view) { show(std::move(view)); }) {
    m_plot->setObjectName(QStringLiteral("lossPlot"));
    m_plot->setAccessibleName(tr("Curves of the loss"));
    m_quantity->setObjectName(QStringLiteral("lossQuantity"));
    m_quantity->setAccessibleName(tr("What the curves show"));
    for (const ScalarInfo& info : scalarInfos()) {
        m_quantity->addItem(text(info.title), static_cast<int>(info.scalar));
        m_quantity->setItemData(m_quantity->count() - 1, text(info.help), Qt::ToolTipRole);
    }
    m_quantity->setToolTip(text(scalarInfos().front().help));
    m_differences->setObjectName(QStringLiteral("lossDifferences"));
    m_differences->setToolTip(
        tr("How far each run's value is from its reference's at the same step, on the floor where both are equal"));
    m_logarithmic->setObjectName(QStringLiteral("lossLogarithmic"));
    m_logarithmic->setToolTip(
        tr("Logarithmic axis; values that are not all positive, or within a decade, stay on a linear one"));
    m_logarithmic->setChecked(true);

    auto* controls = new QHBoxLayout;
    controls->setContentsMargins(16, 8, 16, 0);
    controls->setSpacing(16);
    for (QWidget* widget : {static_cast<QWidget*>(m_quantity), static_cast<QWidget*>(m_differences),
                            static_cast<QWidget*>(m_logarithmic)})
        controls->addWidget(widget);
    controls->addStretch(1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(controls);
    layout->addWidget(m_plot, 1);

    connect(m_quantity, &QComboBox::currentIndexChanged, this, [this](int index) {
        m_quantity->setToolTip(m_quantity->itemData(index, Qt::ToolTipRole).toString());
        invalidate();
    });
    for (QCheckBox* box : {m_differences, m_logarithmic})
        connect(box, &QCheckBox::toggled, this, &LossPage::invalidate);
    connect(&selection, &Selection::runChanged, this,
            [this] { m_plot->setSelectedRun(this->selection().run()); });
    connect(&selection, &Selection::stepChanged, this,
            [this] { m_plot->setMarkedStep(this->selection().step()); });
    connect(m_plot, &PlotWidget::stepPicked, &selection, &Selection::setStep);
    connect(m_plot, &PlotWidget::runPicked, this, [this](int run) { this->selection().setRun(run); });
    m_plot->setHint(hint());
}

void LossPage::setTheme(const Theme& theme) {
    m_plot->setTheme(theme);
}

QByteArray LossPage::exported(ExportFormat format, QSize size) const {
    return driftscope::exported(m_plot->view(), format, size, m_plot->zoom());
}

void LossPage::refresh() {
    const ScalarChoice choice{static_cast<Scalar>(m_quantity->currentData().toInt()), runs(),
                              m_differences->isChecked(), m_logarithmic->isChecked()};
    m_task.request([results = results(), choice] { return makeScalarCurves(*results, choice); });
}

void LossPage::show(CurveView view) {
    const bool isEmpty = view.curves.empty();
    m_plot->setView(std::move(view));
    m_plot->setHint(isEmpty ? hint() : QString());
}

QString LossPage::hint() const {
    if (!results() || results()->runs.empty())
        return tr("Open a study or run one, and its loss appears here.");
    if (runs().empty())
        return tr("No run is checked. Check runs in the tree on the left.");
    return m_differences->isChecked()
               ? tr("None of the checked runs has recorded this beside its reference.")
               : tr("None of the checked runs has recorded this. Files of other programs may lack it.");
}

} // namespace driftscope
