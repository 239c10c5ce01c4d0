// SPDX-License-Identifier: GPL-3.0-or-later
// The command line of driftscope.
#pragma once

#include <QSize>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace driftscope {

struct Options {
    std::vector<std::filesystem::path> files;
    std::string run;              ///< a study to start at once: path or built-in name
    std::filesystem::path output; ///< its folder; "" means the study's name

    std::string view = "curves";      ///< id of a view
    std::filesystem::path exportFile; ///< "": open the window
    std::string metric = "rel_l2";
    std::string scope; ///< model, layers, tensors, or a name; "": what suits the view
    std::string kind = "layers-steps";
    std::string runId;
    std::optional<std::int64_t> step; ///< none: the last
    QSize size;
};

/// The options, or the exit code where there is nothing more to do: 0 after --help and --version, 2
/// after bad input. Prints what belongs to that.
std::variant<Options, int> parseOptions(int argc, const char* const* argv);

} // namespace driftscope
