// SPDX-License-Identifier: GPL-3.0-or-later
// What the user named to open: a study folder, run files, or a study's text. Looks at the disk.
#pragma once

#include "analysis/StudyResults.h"

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace driftscope {

struct FolderInput {
    std::filesystem::path path;
};
/// The first is the reference.
struct RunFilesInput {
    std::vector<std::filesystem::path> files;
};
/// A study.toml that lies in no study folder: to be run, not shown.
struct StudyTextInput {
    std::filesystem::path file;
};
using StudyInput = std::variant<FolderInput, RunFilesInput, StudyTextInput>;

/// Throws StudyError.
StudyInput classify(const std::vector<std::filesystem::path>& paths);

/// For a folder or run files; StudyError for a study's text. Throws StudyError or RecordingError.
LiveResults openLive(const StudyInput& input);

} // namespace driftscope
