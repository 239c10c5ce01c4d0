// SPDX-License-Identifier: GPL-3.0-or-later
#include "StudyInput.h"

namespace driftscope {

namespace fs = std::filesystem;

namespace {

bool isStudyFolder(const fs::path& path) {
    return fs::is_directory(path) && fs::exists(path / "study.toml");
}

StudyInput classifyOne(const fs::path& path) {
    if (fs::is_directory(path)) {
        if (!isStudyFolder(path))
            throw StudyError(path.string() + ": not a study folder: it has no study.toml");
        return FolderInput{path};
    }
    const fs::path folder = fs::absolute(path).parent_path();
    if (path.extension() == ".toml") {
        if (path.filename() == "study.toml" && fs::is_directory(folder / "runs"))
            return FolderInput{folder};
        return StudyTextInput{path};
    }
    if (path.filename() == "study.h5" && isStudyFolder(folder))
        return FolderInput{folder};
    return RunFilesInput{{path}};
}

} // namespace

StudyInput classify(const std::vector<fs::path>& paths) {
    for (const fs::path& path : paths)
        if (!fs::exists(path))
            throw StudyError(path.string() + ": no such file or folder");
    if (paths.size() == 1)
        return classifyOne(paths.front());
    for (const fs::path& path : paths)
        if (!std::holds_alternative<RunFilesInput>(classifyOne(path)))
            throw StudyError(
                path.string() +
                ": several files at once must all be run files; open a study by itself");
    return RunFilesInput{paths};
}

LiveResults openLive(const StudyInput& input) {
    if (const auto* folder = std::get_if<FolderInput>(&input))
        return LiveResults(openStudyFolder(folder->path));
    if (const auto* files = std::get_if<RunFilesInput>(&input))
        return LiveResults(files->files);
    throw StudyError(std::get<StudyTextInput>(input).file.string() +
                     ": a study that has not been run; run it first");
}

} // namespace driftscope
