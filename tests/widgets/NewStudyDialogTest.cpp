// SPDX-License-Identifier: GPL-3.0-or-later
#include "NewStudyDialog.h"

#include "StudyTextEditor.h"
#include "support/TemporaryFolder.h"

#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include <gtest/gtest.h>

#include <fstream>

namespace driftscope {
namespace {

class NewStudyDialogTest : public testing::Test {
protected:
    template <class Widget>
    Widget& find(const char* name) {
        return *m_dialog.findChild<Widget*>(QLatin1String(name));
    }
    void typeFolder(const std::filesystem::path& path) {
        find<QLineEdit>("studyFolder").selectAll();
        QTest::keyClicks(&find<QLineEdit>("studyFolder"), QString::fromStdString(path.string()));
    }
    QString verdict() { return find<QLabel>("studyVerdict").text(); }

    NewStudyDialog m_dialog;
};

TEST_F(NewStudyDialogTest, BuiltInStudiesAreRight) {
    m_dialog.startWith(QStringLiteral("quickstart"));
    EXPECT_TRUE(find<StudyTextEditor>("studyText")
                    .toPlainText()
                    .contains(QStringLiteral("name = \"quickstart\"")));
    EXPECT_TRUE(verdict().startsWith(QStringLiteral("Runs: "))) << verdict().toStdString();
    EXPECT_TRUE(find<QPushButton>("runStudy").isEnabled());
}

TEST_F(NewStudyDialogTest, AnErrorIsShownAtItsLine) {
    m_dialog.startWith(QStringLiteral("[study]\nname = \"x\"\n[train]\nsteps = 2\nbatsh = 4\n"),
                       "/a/x.toml");
    EXPECT_EQ(find<StudyTextEditor>("studyText").markedLine(), 5);
    EXPECT_TRUE(verdict().startsWith(QStringLiteral("Line 5: "))) << verdict().toStdString();
    EXPECT_FALSE(find<QPushButton>("runStudy").isEnabled());
}

TEST_F(NewStudyDialogTest, TypingChecksTheTextAgain) {
    m_dialog.startWith(QStringLiteral("[train]\nsteps = 0\n"), "/a/x.toml");
    EXPECT_EQ(find<StudyTextEditor>("studyText").markedLine(), 2);
    find<StudyTextEditor>("studyText").setPlainText(QStringLiteral("[train]\nsteps = 1\n"));
    EXPECT_TRUE(
        QTest::qWaitFor([&] { return find<StudyTextEditor>("studyText").markedLine() == 0; }));
    EXPECT_TRUE(find<QPushButton>("runStudy").isEnabled());
}

TEST_F(NewStudyDialogTest, ASettingThatChangesNothingIsNamed) {
    const QString rest = QStringLiteral("[data]\nkind = \"synthetic\"\nshape = [1, 4, 4]\n[train]\nsteps = 2\n");
    m_dialog.startWith(QStringLiteral("[model]\nkind = \"mlp\"\nheads = 2\n") + rest, "/a/x.toml");
    EXPECT_TRUE(verdict().contains(QStringLiteral("[model] heads changes nothing here"))) << verdict().toStdString();
    EXPECT_TRUE(find<QPushButton>("runStudy").isEnabled());
    m_dialog.startWith(QStringLiteral("[model]\nkind = \"mlp\"\n") + rest, "/a/x.toml");
    EXPECT_EQ(verdict(), QStringLiteral("Runs: 1"));
}

TEST_F(NewStudyDialogTest, RunsInAFolderThatIsFree) {
    const test::TemporaryFolder folder;
    std::ofstream(folder / "taken") << "x";
    m_dialog.startWith(QStringLiteral("quickstart"));
    QSignalSpy runs(&m_dialog, &NewStudyDialog::runRequested);
    typeFolder(folder.path());
    find<QPushButton>("runStudy").click();
    EXPECT_EQ(runs.size(), 0) << "nothing overwrites what exists";
    EXPECT_TRUE(verdict().contains(QStringLiteral("exists already")));
    typeFolder(folder / "new");
    find<QPushButton>("runStudy").click();
    EXPECT_EQ(runs.size(), 1);
}

} // namespace
} // namespace driftscope
