// SPDX-License-Identifier: GPL-3.0-or-later
// The file's life: creation, progress, ends. What it holds is in RunFileTest.cpp.
#include "recording/RunWriter.h"
#include "recording/RunReader.h"
#include "support/Files.h"
#include "support/Python.h"
#include "support/RunFiles.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <csignal>
#include <optional>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace driftscope {
namespace {

namespace fs = std::filesystem;
using test::messageOf;
using test::TemporaryFolder;
using test::TestRun;

TestRun threeRows() {
    TestRun run{test::tinyConfig("run", 2), {{"w", DType::Float32, {2}}}, {}};
    for (std::int64_t step = 0; step < 3; ++step)
        run.rows.push_back({step, {{1.0 + static_cast<double>(step), 0.5}}});
    return run;
}

void append(RunWriter& writer, const TestRun& run, std::size_t row) {
    writer.append(test::filled(run, run.rows[row]));
}

std::vector<std::string> filesIn(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder))
        names.push_back(entry.path().filename());
    return names;
}

TEST(RunWriter, ProgressFollowsTheRows) {
    const TemporaryFolder folder;
    const TestRun run = threeRows();
    std::optional<RunWriter> writer(std::in_place, folder / "run.h5", test::schemaOf(run));
    const RunReader reader(folder / "run.h5");
    EXPECT_EQ(reader.progress().rows, 0);
    EXPECT_EQ(reader.progress().state, RunState::Running);
    append(*writer, run, 0);
    append(*writer, run, 1);
    writer->waitUntilWritten();
    EXPECT_EQ(reader.progress().rows, 2);
    EXPECT_EQ(reader.progress().state, RunState::Running);
    EXPECT_EQ(reader.weights(0, 1).values<float>()[0], 2.0F);
    writer->finish(RunState::Finished);
    EXPECT_EQ(reader.progress().state, RunState::Finished);
    EXPECT_EQ(reader.progress().rows, 2);
    writer.reset();
    EXPECT_EQ(reader.progress().state, RunState::Finished);
    EXPECT_EQ(reader.message(), "");
}

TEST(RunWriter, H5pyReadsTheFileWhileItIsWritten) {
    const TemporaryFolder folder;
    const TestRun run = threeRows();
    RunWriter writer(folder / "run.h5", test::schemaOf(run));
    append(writer, run, 0);
    append(writer, run, 1);
    writer.waitUntilWritten();
    PYTHON_OUTPUT(output, R"(
f = h5py.File(sys.argv[1], 'r')
print(f['progress'][:].tolist(), f['weights/w'][:2].tolist())
)",
                  {(folder / "run.h5").string()});
    EXPECT_EQ(output, "[2, 0] [[1.0, 0.5], [2.0, 0.5]]\n");
    writer.finish(RunState::Finished);
}

TEST(RunWriter, EndsAreRecorded) {
    for (const RunState state :
         {RunState::Finished, RunState::Failed, RunState::Cancelled, RunState::Unavailable}) {
        const TemporaryFolder folder;
        TestRun run = threeRows();
        run.state = state;
        run.message = "because of ünïcode";
        run.written = 1;
        test::writeRun(folder / "run.h5", run);
        const RunReader reader(folder / "run.h5");
        EXPECT_EQ(reader.progress().state, state);
        EXPECT_EQ(reader.progress().rows, 1);
        EXPECT_EQ(reader.message(), "because of ünïcode");
        EXPECT_EQ(reader.steps().size(), 3U);
        EXPECT_EQ(filesIn(folder.path()), std::vector<std::string>{"run.h5"});
    }
}

TEST(RunWriter, WithoutAnEndTheRunFailedButKeepsItsRows) {
    const TemporaryFolder folder;
    const TestRun run = threeRows();
    {
        RunWriter writer(folder / "run.h5", test::schemaOf(run));
        append(writer, run, 0);
        append(writer, run, 1);
    }
    const RunReader reader(folder / "run.h5");
    EXPECT_EQ(reader.progress().state, RunState::Failed);
    EXPECT_EQ(reader.progress().rows, 2);
    EXPECT_EQ(reader.message(), "the recording was not finished");
}

TEST(RunWriter, AWriterThatWasKilledIsAFailedRun) {
    const TemporaryFolder folder;
    const fs::path file = folder / "run.h5";
    const TestRun run = threeRows();
    int ready[2], never[2];
    ASSERT_EQ(::pipe(ready), 0);
    ASSERT_EQ(::pipe(never), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        RunWriter writer(file, test::schemaOf(run));
        append(writer, run, 0);
        writer.waitUntilWritten();
        char c = 'x';
        [[maybe_unused]] ssize_t n = ::write(ready[1], &c, 1);
        n = ::read(never[0], &c, 1); // until it is killed
        ::_exit(1);
    }
    char c = 0;
    ASSERT_EQ(::read(ready[0], &c, 1), 1);
    const RunReader reader(file);
    EXPECT_EQ(reader.progress().state, RunState::Running);
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    for (const int fd : {ready[0], ready[1], never[0], never[1]})
        ::close(fd);

    EXPECT_EQ(reader.progress().state, RunState::Failed);
    EXPECT_EQ(RunReader(file).progress().state, RunState::Failed);
    EXPECT_EQ(reader.progress().rows, 1);
    EXPECT_EQ(reader.weights(0, 0).values<float>()[0], 1.0F);
    EXPECT_HAS(reader.message(), "ended without a word");
    // and whoever supervised it may still say why
    recordOutcome(file, run.config, RunState::Failed, "killed by signal 9");
    EXPECT_EQ(RunReader(file).message(), "killed by signal 9");
    EXPECT_EQ(RunReader(file).progress().rows, 1);
}

TEST(RunWriter, MessagesAreCutBetweenCharacters) {
    // 1023 bytes fit: 511 characters of two bytes, or 1023 of one
    const struct {
        std::string given, kept;
    } cases[] = {
        {std::string(1023, 'x'), std::string(1023, 'x')},
        {std::string(1024, 'x'), std::string(1023, 'x')},
        {std::string(5000, 'x'), std::string(1023, 'x')},
        {std::string(1022, 'x') + "é", std::string(1022, 'x')},
        {std::string(1021, 'x') + "é", std::string(1021, 'x') + "é"},
        {std::string(1021, 'x') + "漢z", std::string(1021, 'x')},
        {std::string(1020, 'x') + "漢z", std::string(1020, 'x') + "漢"},
        {std::string(1020, 'x') + "🙂", std::string(1020, 'x')},
        {std::string(1022, 'x') + "\xF0\x9F\x99\x82", std::string(1022, 'x')},
    };
    const TemporaryFolder folder;
    for (const auto& [given, kept] : cases) {
        TestRun run = threeRows();
        run.message = given;
        run.state = RunState::Failed;
        test::writeRun(folder / "run.h5", run);
        EXPECT_EQ(RunReader(folder / "run.h5").message(), kept);
        fs::remove(folder / "run.h5");
    }
}

TEST(RunWriter, NeverOverwrites) {
    const TemporaryFolder folder;
    test::writeFile(folder / "run.h5", "precious");
    EXPECT_HAS(messageOf<RecordingError>([&] { test::writeRun(folder / "run.h5", threeRows()); }),
               "run.h5: exists already");
    EXPECT_EQ(test::readFile(folder / "run.h5"), "precious");
    fs::create_directory(folder / "folder.h5");
    EXPECT_HAS(
        messageOf<RecordingError>([&] { test::writeRun(folder / "folder.h5", threeRows()); }),
        "folder.h5: exists already");
}

TEST(RunWriter, LeftoversOfAnEarlierAttemptAreReplaced) {
    const TemporaryFolder folder;
    test::writeFile(folder / "run.h5.new", "half a file");
    test::writeRun(folder / "run.h5", threeRows());
    EXPECT_EQ(filesIn(folder.path()), std::vector<std::string>{"run.h5"});
    EXPECT_EQ(RunReader(folder / "run.h5").progress().rows, 3);
}

TEST(RunWriter, APathThatCannotBeCreatedIsNamed) {
    const TemporaryFolder folder;
    test::writeFile(folder / "file", "x");
    EXPECT_HAS(
        messageOf<RecordingError>([&] { test::writeRun(folder / "none" / "run.h5", threeRows()); }),
        (folder / "none" / "run.h5").string());
    EXPECT_EQ(filesIn(folder.path()), std::vector<std::string>{"file"});
}

TEST(RunWriter, ANameTooLongIsARecordingError) {
    const TemporaryFolder folder;
    const std::string name(300, 'x');
    EXPECT_HAS(messageOf<RecordingError>([&] { test::writeRun(folder / name, threeRows()); }),
               name);
}

TEST(RunWriter, APathThroughAFileIsARecordingError) {
    const TemporaryFolder folder;
    test::writeFile(folder / "file", "x");
    EXPECT_HAS(
        messageOf<RecordingError>([&] { test::writeRun(folder / "file" / "run.h5", threeRows()); }),
        (folder / "file" / "run.h5").string());
}

/// A file that may not grow beyond 16 KiB stands for a full disk.
TEST(RunWriter, TooLittleSpaceLeavesNoFile) {
    const TemporaryFolder folder;
    TestRun run = threeRows();
    run.parameters[0].shape = {10000};
    for (test::TestRow& row : run.rows)
        row.weights = {std::vector<double>(10000, 1)};
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit small{1 << 14, before.rlim_max};
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string message =
        messageOf<RecordingError>([&] { test::writeRun(folder / "run.h5", run); });
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_HAS(message, "run.h5");
    EXPECT_TRUE(filesIn(folder.path()).empty());
}

TEST(RunWriter, SpaceIsReservedBeforeTheFirstRow) {
    const TemporaryFolder folder;
    TestRun run = threeRows();
    run.parameters[0].shape = {100000};
    for (test::TestRow& row : run.rows)
        row.weights = {std::vector<double>(100000, 1)};
    RunWriter writer(folder / "run.h5", test::schemaOf(run));
    const auto size = fs::file_size(folder / "run.h5");
    EXPECT_GE(size, 3 * 400000U);
    for (std::size_t i = 0; i < 3; ++i)
        append(writer, run, i);
    writer.finish(RunState::Finished);
    EXPECT_EQ(fs::file_size(folder / "run.h5"), size);
}

TEST(RunWriter, OutcomeOfARunThatNeverStartedMakesAFile) {
    const TemporaryFolder folder;
    recordOutcome(folder / "run.h5", test::tinyConfig("x"), RunState::Unavailable, "no CUDA here");
    const RunReader reader(folder / "run.h5");
    EXPECT_EQ(reader.progress().state, RunState::Unavailable);
    EXPECT_EQ(reader.progress().rows, 0);
    EXPECT_EQ(reader.message(), "no CUDA here");
    EXPECT_EQ(reader.config()->id, "x");
    EXPECT_TRUE(reader.parameters().empty());
    EXPECT_TRUE(reader.steps().empty());
}

TEST(RunWriter, OutcomeReplacesStateAndMessageButNoRow) {
    const TemporaryFolder folder;
    TestRun run = threeRows();
    run.message = "a long message that a shorter one must replace wholly";
    test::writeRun(folder / "run.h5", run);
    recordOutcome(folder / "run.h5", run.config, RunState::Cancelled, "stopped");
    const RunReader reader(folder / "run.h5");
    EXPECT_EQ(reader.progress().state, RunState::Cancelled);
    EXPECT_EQ(reader.progress().rows, 3);
    EXPECT_EQ(reader.message(), "stopped");
    EXPECT_EQ(reader.weights(0, 2).values<float>()[0], 3.0F);
}

TEST(RunWriter, OutcomeOfAFileThatIsNoRunFileTouchesNothing) {
    const TemporaryFolder folder;
    test::writeFile(folder / "run.h5", "not HDF5");
    EXPECT_HAS(messageOf<RecordingError>([&] {
                   recordOutcome(folder / "run.h5", test::tinyConfig(), RunState::Failed, "x");
               }),
               "run.h5: not an HDF5 file");
    EXPECT_EQ(test::readFile(folder / "run.h5"), "not HDF5");
    PYTHON_OUTPUT(output, R"(
with h5py.File(sys.argv[1], 'w') as f:
    f.create_dataset('progress', data=np.array([1, 0]), chunks=(2,))
    f['message'] = 'short'
)",
                  {(folder / "foreign.h5").string()});
    const std::string before = test::readFile(folder / "foreign.h5");
    EXPECT_HAS(messageOf<RecordingError>([&] {
                   recordOutcome(folder / "foreign.h5", test::tinyConfig(), RunState::Failed, "x");
               }),
               "is not as Driftscope writes it");
    EXPECT_EQ(test::readFile(folder / "foreign.h5"), before);
}

} // namespace
} // namespace driftscope
