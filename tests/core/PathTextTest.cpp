// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/PathText.h"
#include "study/Study.h"

#include <gtest/gtest.h>

namespace driftscope {
namespace {

using Texts = std::vector<std::string>;

Texts shortened(const Texts& paths) { return shortPaths(paths); }

TEST(PathText, AsManyNamesAsTellPathsApart) {
    EXPECT_EQ(shortened({"/data/cifar/images.npz"}), (Texts{"images.npz"}));
    EXPECT_EQ(shortened({"/data/a.npz", "/other/b.npz"}), (Texts{"a.npz", "b.npz"}));
    EXPECT_EQ(shortened({"/data/a/x.npz", "/data/b/x.npz", "/data/a/y.npz"}), (Texts{"a/x.npz", "b/x.npz", "y.npz"}));
    EXPECT_EQ(shortened({"/1/same/x", "/2/same/x", "/2/other/x"}), (Texts{"1/same/x", "2/same/x", "other/x"}));
}

TEST(PathText, WhatIsNotAnOrdinaryPath) {
    EXPECT_EQ(shortened({}), Texts{});
    EXPECT_EQ(shortened({"", "/", "system"}), (Texts{"", "/", "system"}));
    EXPECT_EQ(shortened({"/data/set/", "/data/../data/set"}), (Texts{"set", "set"})); // one folder, written twice
    EXPECT_EQ(shortened({"x", "/x", "a/x"}), (Texts{"x", "/x", "a/x"}));
}

Study ofFiles(const std::string& first, const std::string& second) {
    return parseStudy("[data]\nkind = \"idx\"\n[train]\nsteps = 1\n[axes]\npath = [\"" + first + "\", \"" + second +
                          "\"]\nthreads = [1]\n",
                      "/somewhere/s.toml");
}

TEST(PathText, LabelsAndIdsOfRunsNameTheFile) {
    const std::string deep = "/home/somebody/a folder with a rather long name of its own";
    const auto runs = expand(ofFiles(deep + "/first", deep + "/second"));
    ASSERT_EQ(runs.size(), 2U);
    EXPECT_EQ(label(runs[0]), "path first · thr 1");
    EXPECT_EQ(label(runs[1]), "path second · thr 1");
    EXPECT_EQ(runs[0].id, "pathfirst_thr1");
    EXPECT_EQ(runs[1].data.path, deep + "/second"); // only what is shown is short
    EXPECT_EQ(label(runConfigFromJson(toJson(runs[1]))), label(runs[1]));

    const auto alike = expand(ofFiles("/data/a/images", "/data/b/images"));
    EXPECT_EQ(label(alike[0]), "path a/images · thr 1");
    EXPECT_EQ(label(alike[1]), "path b/images · thr 1");
    EXPECT_EQ(alike[1].id, "pathb-images_thr1");
}

TEST(PathText, IdsOfLongPathsBeginWithAWholeName) {
    const std::string folder = "/data/measured-in-november-on-the-old-machine"; // with the file 45 characters: all shown
    const auto runs = expand(ofFiles(folder + "/a.npz", "/data/others/a.npz"));
    EXPECT_EQ(runs[0].id, "pathmeasured-in-november-on-the-old-machine-a.npz_thr1");
    const std::string deep = folder + "/" + std::string(60, 'n'); // 39 + 1 + 60 + 1 + 5: two names fit
    const auto deeper = expand(ofFiles(deep + "/a.npz", "/data/others/" + std::string(60, 'n') + "/a.npz"));
    EXPECT_EQ(label(deeper[0]), "path measured-in-november-on-the-old-machine/" + std::string(60, 'n') + "/a.npz · thr 1");
    EXPECT_EQ(deeper[0].id, "path" + std::string(60, 'n') + "-a.npz_thr1");
    EXPECT_NE(deeper[0].id, deeper[1].id);
}

TEST(PathText, OtherTextsStayWhole) {
    const Study study = parseStudy("[data]\nkind = \"synthetic\"\nshape = [1, 4, 4]\n[train]\nsteps = 1\n[axes]\n"
                                   "order = [\"sequential\", \"shuffled\"]\n",
                                   "/somewhere/s.toml");
    EXPECT_EQ(valueTexts(study.axes.front()), (Texts{"sequential", "shuffled"}));
    EXPECT_EQ(toJson(expand(study).front()).find("short_values"), std::string::npos);
}

} // namespace
} // namespace driftscope
