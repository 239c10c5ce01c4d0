// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/DataFiles.h"
#include "study/Setting.h"
#include "support/Files.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>

namespace driftscope {
namespace {

namespace fs = std::filesystem;

TEST(DataFiles, FindsIdxFilesUnderEveryNameThatIsInUse) {
    const test::TemporaryFolder folder;
    EXPECT_TRUE(findIdxFile(folder.path(), "train-images", "idx3-ubyte").empty());
    // the preferred name last: it wins over those before
    for (const char* name : {"train-images.idx3-ubyte.gz", "train-images.idx3-ubyte",
                             "train-images-idx3-ubyte.gz", "train-images-idx3-ubyte"}) {
        test::writeFile(folder / name, "x");
        EXPECT_EQ(findIdxFile(folder.path(), "train-images", "idx3-ubyte"), folder / name);
        EXPECT_TRUE(findIdxFile(folder.path(), "train-labels", "idx1-ubyte").empty());
    }
}

TEST(DataFiles, FindsCifarBatches) {
    const test::TemporaryFolder folder;
    test::writeFile(folder / "data_batch_2.bin.gz", "x");
    EXPECT_TRUE(findCifarFile(folder.path(), 1).empty());
    EXPECT_EQ(findCifarFile(folder.path(), 2), folder / "data_batch_2.bin.gz");
    test::writeFile(folder / "data_batch_2.bin", "x");
    EXPECT_EQ(findCifarFile(folder.path(), 2), folder / "data_batch_2.bin");
}

TEST(DataFiles, FoldersAreNoFiles) {
    const test::TemporaryFolder folder;
    fs::create_directory(folder / "train-images-idx3-ubyte");
    fs::create_directory(folder / "data_batch_1.bin");
    EXPECT_TRUE(findIdxFile(folder.path(), "train-images", "idx3-ubyte").empty());
    EXPECT_TRUE(findCifarFile(folder.path(), 1).empty());
}

TEST(DataFiles, DetectsTheKindOfAFolder) {
    const test::TemporaryFolder folder;
    for (const auto& where : {folder.path(), folder / "none"}) {
        const std::string problem = test::messageOf<StudyError>([&] { detectDataKind(where); });
        EXPECT_HAS(problem, where.string());
        EXPECT_HAS(problem, "train-images-idx3-ubyte");
        EXPECT_HAS(problem, "data_batch_1.bin");
    }
    test::writeFile(folder / "data_batch_1.bin", "x");
    EXPECT_EQ(detectDataKind(folder.path()), "cifar10");
    test::writeFile(folder / "train-images.idx3-ubyte", "x");
    EXPECT_EQ(detectDataKind(folder.path()), "idx");
}

} // namespace
} // namespace driftscope
