// SPDX-License-Identifier: GPL-3.0-or-later
// A study's TOML text with line numbers, coloured syntax, and a mark on the line that is wrong.
#pragma once

#include <QPlainTextEdit>

class QSyntaxHighlighter;

namespace driftscope {

class StudyTextEditor : public QPlainTextEdit {
    Q_OBJECT

public:
    explicit StudyTextEditor(QWidget* parent = nullptr);

    /// Marks a line, counted from 1; 0 marks none.
    void markLine(int line);
    [[nodiscard]] int markedLine() const { return m_markedLine; }

protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    class Margin;
    [[nodiscard]] int marginWidth() const;
    void placeMargin();
    void paintMargin(QPaintEvent* event);
    void applyTheme();

    Margin* m_margin;
    QSyntaxHighlighter* m_highlighter = nullptr;
    int m_markedLine = 0;
};

} // namespace driftscope
