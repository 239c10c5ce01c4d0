// SPDX-License-Identifier: GPL-3.0-or-later
#include "NewStudyDialog.h"

#include "StudyTextEditor.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QTimer>

#include <algorithm>

namespace driftscope {

namespace fs = std::filesystem;

namespace {

constexpr int checkDelayMs = 300;

QString text(std::string_view string) {
    return QString::fromUtf8(string.data(), static_cast<qsizetype>(string.size()));
}

} // namespace

fs::path suggestFolder(const std::string& studyName) {
    const QString documents = QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation);
    const fs::path base = fs::path(documents.toStdString()) / "Driftscope";
    std::error_code ignored;
    fs::path folder = base / studyName;
    for (int n = 2; fs::exists(folder, ignored); ++n)
        folder = base / (studyName + "-" + std::to_string(n));
    return folder;
}

NewStudyDialog::NewStudyDialog(QWidget* parent)
    : QDialog(parent), m_template(new QComboBox(this)), m_text(new StudyTextEditor(this)),
      m_verdict(new QLabel(this)), m_folder(new QLineEdit(this)) {
    setObjectName(QStringLiteral("newStudyDialog"));
    setWindowTitle(tr("New study"));
    resize(820, 640);

    for (const BuiltInStudy& study : builtInStudies())
        m_template->addItem(text(study.name));
    m_template->setObjectName(QStringLiteral("template"));
    m_template->setAccessibleName(tr("Template"));
    auto* load = new QPushButton(tr("From &file…"), this);
    load->setObjectName(QStringLiteral("templateFile"));
    load->setToolTip(tr("Begin with a study file of your own"));
    m_verdict->setObjectName(QStringLiteral("studyVerdict"));
    m_verdict->setWordWrap(true);
    m_verdict->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_folder->setObjectName(QStringLiteral("studyFolder"));
    auto* browse = new QPushButton(tr("&Browse…"), this);
    browse->setObjectName(QStringLiteral("browseFolder"));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    m_run = buttons->addButton(tr("&Run"), QDialogButtonBox::AcceptRole);
    m_run->setObjectName(QStringLiteral("runStudy"));
    m_run->setDefault(true);

    auto* templateRow = new QHBoxLayout;
    templateRow->addWidget(m_template, 1);
    templateRow->addWidget(load);
    auto* folderRow = new QHBoxLayout;
    folderRow->addWidget(m_folder, 1);
    folderRow->addWidget(browse);
    const auto labelled = [this](const QString& caption, QWidget* buddy, QHBoxLayout* row) {
        auto* label = new QLabel(caption, this);
        label->setBuddy(buddy);
        row->insertWidget(0, label);
        return row;
    };
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(16, 16, 16, 16);
    layout->setSpacing(8);
    layout->addLayout(labelled(tr("&Template"), m_template, templateRow));
    layout->addWidget(m_text, 1);
    layout->addWidget(m_verdict);
    layout->addLayout(labelled(tr("F&older"), m_folder, folderRow));
    layout->addWidget(buttons);

    auto* delay = new QTimer(this);
    delay->setSingleShot(true);
    delay->setInterval(checkDelayMs);
    connect(delay, &QTimer::timeout, this, &NewStudyDialog::check);
    connect(m_text, &QPlainTextEdit::textChanged, delay, qOverload<>(&QTimer::start));
    connect(m_template, &QComboBox::activated, this, &NewStudyDialog::chooseTemplate);
    connect(load, &QPushButton::clicked, this, &NewStudyDialog::loadFile);
    connect(browse, &QPushButton::clicked, this, &NewStudyDialog::browseFolder);
    connect(m_folder, &QLineEdit::textEdited, this, [this] { m_isFolderChosen = true; });
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(buttons, &QDialogButtonBox::accepted, this, &NewStudyDialog::run);
    chooseTemplate(0);
}

void NewStudyDialog::chooseTemplate(int index) {
    const BuiltInStudy& study = builtInStudies()[static_cast<std::size_t>(index)];
    startWith(text(study.toml), fs::path(std::string(study.name) + ".toml"));
    m_template->setCurrentIndex(index);
}

void NewStudyDialog::startWith(const QString& builtIn) {
    chooseTemplate(std::max(0, m_template->findText(builtIn)));
}

void NewStudyDialog::startWith(const QString& studyText, const fs::path& source) {
    m_source = source;
    m_template->setCurrentIndex(-1);
    m_text->setPlainText(studyText);
    check();
}

void NewStudyDialog::loadFile() {
    QFileDialog::getOpenFileContent(
        tr("Study files (*.toml)"), [this](const QString& name, const QByteArray& content) {
            if (!name.isEmpty())
                startWith(QString::fromUtf8(content), fs::path(name.toStdString()));
        });
}

void NewStudyDialog::browseFolder() {
    auto* dialog = new QFileDialog(this, tr("Folder of the study"), m_folder->text());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::AnyFile);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setLabelText(QFileDialog::Accept, tr("Choose"));
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& folder) {
        m_folder->setText(folder);
        m_isFolderChosen = true;
    });
    dialog->open();
}

void NewStudyDialog::check() {
    const std::string source = m_source.string();
    try {
        m_study = parseStudy(m_text->toPlainText().toStdString(), m_source);
        m_text->markLine(0);
        QStringList says{tr("Runs: %1").arg(expand(*m_study).size())};
        for (const std::string& sentence : unusedSettings(*m_study))
            says << text(sentence);
        m_verdict->setText(says.join(QLatin1Char('\n')));
        if (!m_isFolderChosen)
            m_folder->setText(text(suggestFolder(m_study->name).string()));
    } catch (const StudyError& error) {
        m_study.reset();
        // "file:line:column: what" becomes "Line 3: what"; the file's name says nothing here.
        static const QRegularExpression place(QStringLiteral("^:(\\d+):\\d+: "));
        QString what = text(error.what());
        if (what.startsWith(text(source)))
            what.remove(0, text(source).size());
        const QRegularExpressionMatch match = place.match(what);
        m_text->markLine(match.captured(1).toInt());
        m_verdict->setText(
            match.hasMatch()
                ? tr("Line %1: %2").arg(match.captured(1), what.mid(match.capturedLength()))
                : what);
    }
    m_run->setEnabled(m_study.has_value());
}

void NewStudyDialog::run() {
    check();
    if (!m_study)
        return;
    const fs::path folder = m_folder->text().toStdString();
    std::error_code ignored;
    if (folder.empty() || (fs::exists(folder, ignored) && !fs::is_empty(folder, ignored))) {
        m_verdict->setText(tr("The folder exists already. Choose another name."));
        m_folder->setFocus();
        return;
    }
    emit runRequested(*m_study, folder);
    accept();
}

} // namespace driftscope
