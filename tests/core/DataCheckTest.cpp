// SPDX-License-Identifier: GPL-3.0-or-later
// What is asked of a worker and what is made of its answers; a shell script stands in for it.
#include "execution/DataCheck.h"
#include "execution/WorkerProtocol.h"
#include "study/DataFiles.h"
#include "study/Study.h"
#include "support/Files.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <chrono>

namespace driftscope {
namespace {

using test::messageOf;
using Texts = std::vector<std::string>;

class DataCheckTest : public testing::Test {
protected:
    DataCheckTest() {
        for (const char* name : {"a.npz", "b.npz"})
            test::writeFile(m_folder / name, "for the worker only");
    }
    /// Keeps the request and then does `what`.
    std::filesystem::path worker(const std::string& what) {
        const std::filesystem::path script = m_folder / "worker.sh";
        test::writeFile(script, "#!/bin/sh\n[ \"$1\" = --check ] || exit 9\nread -r request\nprintf '%s\\n' \"$request\" > '" +
                                    (m_folder / "request").string() + "'\n" + what + "\n");
        std::filesystem::permissions(script, std::filesystem::perms::owner_all);
        return script;
    }
    std::vector<RunConfig> runs(const std::string& axes, const std::string& train = "batch = 8\n") {
        return expand(parseStudy("[model]\nkind = \"mlp\"\n[data]\nkind = \"npy\"\npath = \"a.npz\"\n[train]\nsteps = 2\n" +
                                     train + "[axes]\n" + axes,
                                 m_folder / "study.toml"));
    }

    test::TemporaryFolder m_folder;
};

TEST_F(DataCheckTest, EachDataSetIsReadOnce) {
    const auto asked = runs("path = [\"a.npz\", \"b.npz\"]\nthreads = [1, 2]\nignore_index = [-100, 3]\n");
    ASSERT_EQ(asked.size(), 8U);
    const CheckedData checked = checkData(asked, worker("for n in 11 12 13 14; do\n"
                                                        "echo \"{\\\"samples\\\":$n,\\\"problem\\\":\\\"\\\"}\"\ndone"));
    const auto read = parseDataRequest(test::readFile(m_folder / "request"));
    ASSERT_EQ(read.size(), 4U); // which labels are right depends on ignore_index
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(read[i].data.path, (m_folder / (i < 2 ? "a.npz" : "b.npz")).string());
        EXPECT_EQ(read[i].train.ignoreIndex, i % 2 == 0 ? -100 : 3);
    }
    EXPECT_EQ(checked.samples, (std::vector<std::int64_t>{11, 12, 11, 12, 13, 14, 13, 14}));
    EXPECT_EQ(checked.warnings, Texts{});
}

TEST_F(DataCheckTest, AProblemIsWhatTheWorkerSays) {
    const auto bad = worker("echo '{\"samples\":40,\"problem\":\"\"}'\n"
                            "echo '{\"samples\":0,\"problem\":\"b.npz: label -1\"}'\nexit 1");
    EXPECT_EQ(messageOf<DataError>([&] { checkData(runs("path = [\"a.npz\", \"b.npz\"]\n"), bad); }), "b.npz: label -1");
}

TEST_F(DataCheckTest, ABatchLargerThanTheDataIsToldOnce) {
    const auto few = worker("echo '{\"samples\":5,\"problem\":\"\"}'");
    EXPECT_EQ(checkData(runs("threads = [1, 2]\n"), few).warnings,
              Texts{"batch = 8 is more than the 5 samples of the data: every update takes all 5 of them"});
    EXPECT_EQ(messageOf<StudyError>([&] { checkData(runs("threads = [1]\n", "batch = 8\ntail = \"drop\"\n"), few); }),
              "tail = \"drop\": the 5 samples make no complete batch of 8");
    EXPECT_EQ(checkData(runs("threads = [1]\n", "batch = 5\n"), few).warnings, Texts{});
}

TEST_F(DataCheckTest, NoiseNeedsNoWorker) {
    const auto noise = expand(parseStudy("[model]\nkind = \"mlp\"\n[data]\nkind = \"synthetic\"\nshape = [1, 2, 2]\n"
                                         "samples = 64\nlimit = 6\n[train]\nsteps = 1\nbatch = 7\n",
                                         "/s.toml"));
    const CheckedData checked = checkData(noise, "/no/such/worker");
    EXPECT_EQ(checked.samples, std::vector<std::int64_t>{6});
    EXPECT_EQ(checked.warnings,
              Texts{"batch = 7 is more than the 6 samples of the data: every update takes all 6 of them"});
}

TEST_F(DataCheckTest, AWorkerThatCrashesLeavesItToTheRuns) {
    const CheckedData checked = checkData(runs("path = [\"a.npz\", \"b.npz\"]\n"),
                                          worker("echo '{\"samples\":5,\"problem\":\"\"}'\nkill -9 $$"));
    EXPECT_EQ(checked.samples, (std::vector<std::int64_t>{5, 0}));
    EXPECT_EQ(checked.warnings.size(), 1U);
    EXPECT_NE(messageOf<ExecutionError>([&] { checkData(runs("threads = [1]\n"), "/no/such/worker"); }), "no error");
}

TEST_F(DataCheckTest, AStopEndsTheWorker) {
    std::stop_source stop;
    stop.request_stop();
    const auto start = std::chrono::steady_clock::now();
    const CheckedData checked = checkData(runs("threads = [1]\n"), worker("exec sleep 60"), stop.get_token());
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
    EXPECT_EQ(checked.samples, std::vector<std::int64_t>{0});
}

} // namespace
} // namespace driftscope
