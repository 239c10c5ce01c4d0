// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/ReluFlips.h"

#include "support/Files.h"
#include "support/RunFiles.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <memory>

namespace driftscope {
namespace {

/// Two rows of the signs of 10 units of fc1: 8 bits and 2 more, the highest of the second byte.
void writeSigns(const std::filesystem::path& file, const std::vector<std::vector<std::uint8_t>>& rows,
                std::uint64_t units = 10) {
    const test::TestRun run{test::tinyConfig(), {{"fc1.weight", DType::Float32, {1}}}, {{0, {{1}}}, {1, {{1}}}}};
    RunSchema schema = test::schemaOf(run);
    schema.extras = {{"/relu/fc1", DType::UInt8, {2}, {}, units}};
    RunWriter writer(file, schema);
    for (std::size_t i = 0; i < 2; ++i) {
        RunRow row = test::filled(run, run.rows[i]);
        auto owner = std::make_shared<std::vector<std::uint8_t>>(rows[i]);
        row.extras.emplace_back(0, TensorValues{std::as_bytes(std::span(*owner)), owner});
        writer.append(std::move(row));
    }
    writer.finish(RunState::Finished);
}

TEST(ReluFlips, CountsUnitsThatDiffer) {
    const test::TemporaryFolder folder;
    writeSigns(folder / "r.h5", {{0b11110000, 0b11000000}, {0b11110000, 0b11000000}});
    // the six low bits of the second byte are no units
    writeSigns(folder / "a.h5", {{0b11110000, 0b11111111}, {0b00110001, 0b10111111}});
    const ReluFlips flips = reluFlips(RunReader(folder / "a.h5"), RunReader(folder / "r.h5"));
    EXPECT_EQ(flips.modules, std::vector<std::string>{"fc1"});
    EXPECT_EQ(flips.units, std::vector<std::uint64_t>{10});
    EXPECT_EQ(flips.steps, (std::vector<std::int64_t>{0, 1}));
    EXPECT_EQ(flips.at(0, 0), 0U);
    EXPECT_EQ(flips.at(1, 0), 4U);
    EXPECT_DOUBLE_EQ(flips.share(1), 0.4);
}

TEST(ReluFlips, NoneWithoutSigns) {
    const test::TemporaryFolder folder;
    test::writeRun(folder / "r.h5", {test::tinyConfig(), {{"fc1.weight", DType::Float32, {1}}}, {{0, {{1}}}, {1, {{1}}}}});
    writeSigns(folder / "a.h5", {{0, 0}, {0, 0}});
    EXPECT_TRUE(reluFlips(RunReader(folder / "a.h5"), RunReader(folder / "r.h5")).steps.empty());
}

TEST(ReluFlips, OtherProbesAreNotCompared) {
    const test::TemporaryFolder folder;
    writeSigns(folder / "r.h5", {{0, 0}, {0, 0}}, 10);
    writeSigns(folder / "a.h5", {{0, 0}, {0, 0}}, 11);
    EXPECT_THROW(reluFlips(RunReader(folder / "a.h5"), RunReader(folder / "r.h5")), RecordingError);
}

// A file that claims more units than it has bits is refused when it is opened.
TEST(ReluFlips, MoreUnitsThanBits) {
    const test::TemporaryFolder folder;
    writeSigns(folder / "a.h5", {{0, 0}, {0, 0}}, 17);
    EXPECT_HAS(test::messageOf<RecordingError>([&] { RunReader(folder / "a.h5"); }), "units");
}

} // namespace
} // namespace driftscope
