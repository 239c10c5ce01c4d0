// SPDX-License-Identifier: GPL-3.0-or-later
#include "StudyTextEditor.h"

#include "Theme.h"

#include <QEvent>
#include <QFontDatabase>
#include <QPainter>
#include <QRegularExpression>
#include <QSyntaxHighlighter>
#include <QTextBlock>

#include <algorithm>

namespace driftscope {
namespace {

class TomlHighlighter : public QSyntaxHighlighter {
public:
    using QSyntaxHighlighter::QSyntaxHighlighter;

    void setTheme(const Theme& theme) {
        m_comment.setForeground(theme.mutedText);
        m_section.setForeground(theme.accent);
        m_section.setFontWeight(QFont::Bold);
        m_string.setForeground(theme.runColor(3)); // the green of Okabe and Ito
        rehighlight();
    }

protected:
    void highlightBlock(const QString& text) override {
        static const QRegularExpression tokens(
            QStringLiteral("(\"(?:[^\"\\\\]|\\\\.)*\")|(#.*$)|(^\\s*\\[[^\\]]+\\]\\s*(?:#.*)?$)"));
        auto match = tokens.globalMatch(text);
        while (match.hasNext()) {
            const QRegularExpressionMatch found = match.next();
            const QTextCharFormat& format = found.capturedLength(1)   ? m_string
                                            : found.capturedLength(2) ? m_comment
                                                                      : m_section;
            setFormat(static_cast<int>(found.capturedStart()),
                      static_cast<int>(found.capturedLength()), format);
        }
    }

private:
    QTextCharFormat m_comment, m_section, m_string;
};

} // namespace

class StudyTextEditor::Margin : public QWidget {
public:
    explicit Margin(StudyTextEditor* editor) : QWidget(editor), m_editor(*editor) {}

protected:
    void paintEvent(QPaintEvent* event) override { m_editor.paintMargin(event); }

private:
    StudyTextEditor& m_editor;
};

StudyTextEditor::StudyTextEditor(QWidget* parent)
    : QPlainTextEdit(parent), m_margin(new Margin(this)),
      m_highlighter(new TomlHighlighter(document())) {
    setObjectName(QStringLiteral("studyText"));
    setAccessibleName(tr("Study file"));
    setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    setLineWrapMode(NoWrap);
    setTabChangesFocus(true);
    connect(this, &QPlainTextEdit::blockCountChanged, this, &StudyTextEditor::placeMargin);
    connect(this, &QPlainTextEdit::updateRequest, m_margin, qOverload<>(&QWidget::update));
    placeMargin();
    applyTheme();
}

void StudyTextEditor::markLine(int line) {
    m_markedLine = line;
    QList<QTextEdit::ExtraSelection> marks;
    if (const QTextBlock block = document()->findBlockByNumber(line - 1);
        line > 0 && block.isValid()) {
        QTextEdit::ExtraSelection mark;
        mark.cursor = QTextCursor(block);
        mark.format.setBackground(Theme::matching(palette()).error);
        mark.format.setProperty(QTextFormat::FullWidthSelection, true);
        marks << mark;
    }
    setExtraSelections(marks);
    m_margin->update();
}

int StudyTextEditor::marginWidth() const {
    return fontMetrics().horizontalAdvance(QString::number(std::max(99, blockCount()))) + 16;
}

void StudyTextEditor::placeMargin() {
    setViewportMargins(marginWidth(), 0, 0, 0);
    const QRect inside = contentsRect();
    m_margin->setGeometry(inside.left(), inside.top(), marginWidth(), inside.height());
}

void StudyTextEditor::paintMargin(QPaintEvent* event) {
    QPainter painter(m_margin);
    painter.fillRect(event->rect(), palette().color(QPalette::Window));
    painter.setFont(font());
    const Theme theme = Theme::matching(palette());
    QTextBlock block = firstVisibleBlock();
    double y = blockBoundingGeometry(block).translated(contentOffset()).top();
    while (block.isValid() && y <= event->rect().bottom()) {
        const double height = blockBoundingRect(block).height();
        const bool isMarked = block.blockNumber() + 1 == m_markedLine;
        painter.setPen(isMarked ? theme.nonfinite : theme.mutedText);
        painter.drawText(QRectF(0, y, m_margin->width() - 8, height),
                         Qt::AlignRight | Qt::AlignVCenter,
                         QString::number(block.blockNumber() + 1));
        y += height;
        block = block.next();
    }
}

void StudyTextEditor::resizeEvent(QResizeEvent* event) {
    QPlainTextEdit::resizeEvent(event);
    placeMargin();
}

void StudyTextEditor::changeEvent(QEvent* event) {
    QPlainTextEdit::changeEvent(event);
    if (event->type() == QEvent::PaletteChange)
        applyTheme();
}

void StudyTextEditor::applyTheme() {
    if (!m_highlighter) // a change event of the base class's constructor
        return;
    static_cast<TomlHighlighter*>(m_highlighter)->setTheme(Theme::matching(palette()));
    markLine(m_markedLine);
}

} // namespace driftscope
