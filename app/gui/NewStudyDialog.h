// SPDX-License-Identifier: GPL-3.0-or-later
// Writes a study: a template or a file to begin with, its text with errors shown at their line, and
// the folder to run it in.
#pragma once

#include "study/Study.h"

#include <QDialog>

#include <filesystem>
#include <optional>

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace driftscope {

class StudyTextEditor;

class NewStudyDialog : public QDialog {
    Q_OBJECT

public:
    explicit NewStudyDialog(QWidget* parent = nullptr);

    /// Begins with a built-in study.
    void startWith(const QString& builtIn);
    /// Begins with this text; relative paths in it are relative to the folder of `source`.
    void startWith(const QString& text, const std::filesystem::path& source);

signals:
    void runRequested(const Study& study, const std::filesystem::path& folder);

private:
    void chooseTemplate(int index);
    void loadFile();
    void browseFolder();
    void check();
    void run();

    QComboBox* m_template;
    StudyTextEditor* m_text;
    QLabel* m_verdict;
    QLineEdit* m_folder;
    QPushButton* m_run;
    std::filesystem::path m_source;
    bool m_isFolderChosen = false;
    std::optional<Study> m_study; ///< what the text says, while it is right
};

/// A folder for a new study of that name that does not exist yet, under the user's documents.
std::filesystem::path suggestFolder(const std::string& studyName);

} // namespace driftscope
