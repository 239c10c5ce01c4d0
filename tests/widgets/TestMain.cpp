// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the tests with a QApplication that needs no display; a Qt warning fails the test it comes
// from.
#include <QApplication>
#include <QSettings>
#include <QTemporaryDir>

#include <gtest/gtest.h>

namespace {

void failOnWarning(QtMsgType type, const QMessageLogContext&, const QString& message) {
    // Of the offscreen platform, about windows with a minimum size.
    if (message.startsWith(QLatin1String("This plugin does not support propagateSizeHints")))
        return;
    if (type == QtDebugMsg || type == QtInfoMsg)
        return;
    ADD_FAILURE() << "Qt says: " << message.toStdString();
}

} // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (testing::GTEST_FLAG(list_tests))
        return RUN_ALL_TESTS();
    if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM"))
        qputenv("QT_QPA_PLATFORM", "offscreen");
    const QTemporaryDir settings;
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, settings.path());
    const QApplication application(argc, argv);
    QApplication::setOrganizationName(QStringLiteral("driftscope-tests"));
    QApplication::setApplicationName(QStringLiteral("driftscope-tests"));
    qInstallMessageHandler(failOnWarning);
    return RUN_ALL_TESTS();
}
