// SPDX-License-Identifier: GPL-3.0-or-later
// driftscope: the window, or with --export a picture of a view and no window.
#include "HeadlessExport.h"
#include "Icons.h"
#include "MainWindow.h"
#include "Options.h"
#include "StudyInput.h"

#include <QApplication>

#include <cstdlib>
#include <iostream>

namespace {

bool hasDisplay() {
    return std::getenv("DISPLAY") || std::getenv("WAYLAND_DISPLAY") ||
           std::getenv("QT_QPA_PLATFORM");
}

} // namespace

int main(int argc, char** argv) {
    using namespace driftscope;
    const auto parsed = parseOptions(argc, argv);
    if (const int* code = std::get_if<int>(&parsed))
        return *code;
    const Options& options = std::get<Options>(parsed);
    if (!options.exportFile.empty())
        return exportHeadless(options, argc, argv);

    std::optional<Study> study;
    try {
        if (!options.run.empty())
            study = loadStudy(options.run);
        if (!options.files.empty())
            classify(options.files);
    } catch (const std::exception& error) {
        std::cerr << "driftscope: " << error.what() << '\n';
        return 2;
    }
    if (!hasDisplay()) {
        std::cerr << "driftscope: no display; use --export to write a view to a file, or "
                     "driftscope-cli\n";
        return 2;
    }

    const QApplication application(argc, argv);
    QApplication::setOrganizationName(QStringLiteral("driftscope"));
    QApplication::setApplicationName(QStringLiteral("driftscope"));
    QApplication::setApplicationDisplayName(QStringLiteral("Driftscope"));
    QApplication::setDesktopFileName(QStringLiteral("driftscope"));
    QApplication::setWindowIcon(applicationIcon());
    MainWindow window;
    window.show();
    if (study) {
        window.runStudy(*study, options.output.empty() ? std::filesystem::path(study->name)
                                                       : options.output);
    } else if (!options.files.empty()) {
        QStringList files;
        for (const std::filesystem::path& file : options.files)
            files << QString::fromStdString(file.string());
        window.openPaths(files);
    }
    window.showView(QString::fromStdString(options.view));
    return QApplication::exec();
}
