// SPDX-License-Identifier: GPL-3.0-or-later
#include "Options.h"

#include <gtest/gtest.h>

namespace driftscope {
namespace {

std::variant<Options, int> parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "driftscope");
    return parseOptions(static_cast<int>(arguments.size()), arguments.data());
}

int exitCode(const std::vector<const char*>& arguments) {
    const auto parsed = parse(arguments);
    const int* code = std::get_if<int>(&parsed);
    return code ? *code : -1;
}

TEST(Options, TakesFilesAlone) {
    const Options options = std::get<Options>(parse({"a.h5", "b.h5"}));
    EXPECT_EQ(options.files.size(), 2U);
    EXPECT_TRUE(options.exportFile.empty());
    EXPECT_EQ(options.size, QSize(1280, 720));
}

TEST(Options, TakesWhatToExport) {
    const Options options = std::get<Options>(
        parse({"--view", "heatmap", "--kind", "settings", "--metric", "ulp_max", "--step", "3",
               "--size", "800x600", "--export", "out.svg", "study"}));
    EXPECT_EQ(options.view, "heatmap");
    EXPECT_EQ(options.kind, "settings");
    EXPECT_EQ(options.metric, "ulp_max");
    EXPECT_EQ(options.step, 3);
    EXPECT_EQ(options.size, QSize(800, 600));
}

TEST(Options, ExitCodes) {
    EXPECT_EQ(exitCode({"--help"}), 0);
    EXPECT_EQ(exitCode({"--version"}), 0);
    for (const std::vector<const char*>& bad : std::vector<std::vector<const char*>>{
             {"--nonsense"},
             {"--view", "pie", "--export", "a.png", "f"},
             {"--metric", "distance", "--export", "a.png", "f"},
             {"--export", "a.gif", "f"},
             {"--view", "loss", "--export", "a.png", "f"},
             {"--export", "a.png"},
             {"--size", "0x0", "--export", "a.png", "f"},
             {"--size", "1280", "--export", "a.png", "f"},
             {"--run", "quickstart", "f"},
             {"-o", "folder"},
         })
        EXPECT_EQ(exitCode(bad), 2) << bad.front();
}

} // namespace
} // namespace driftscope
