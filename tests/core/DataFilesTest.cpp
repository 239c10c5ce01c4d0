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
    test::writeFile(folder / "train.bin.gz", "x");
    EXPECT_EQ(detectDataKind(folder.path()), "cifar100");
    test::writeFile(folder / "data_batch_1.bin", "x");
    EXPECT_EQ(detectDataKind(folder.path()), "cifar10");
    test::writeFile(folder / "train-images.idx3-ubyte", "x");
    EXPECT_EQ(detectDataKind(folder.path()), "idx");
}

TEST(DataFiles, DetectsTheKindOfAFileThereOrNot) {
    EXPECT_EQ(detectDataKind("/none/data.npz"), "npy");
    EXPECT_EQ(detectDataKind("inputs.npy"), "npy");
    EXPECT_EQ(detectDataKind("data.v2.safetensors"), "safetensors");
    EXPECT_EQ(detectDataKind("/none/shakespeare.txt"), "text");
    EXPECT_HAS(test::messageOf<DataError>([] { detectDataKind("/none/data.csv"); }),
               "/none/data.csv: no data set that Driftscope knows");
    EXPECT_HAS(test::messageOf<DataError>([] { detectDataKind("/none/data.csv"); }), ".npz, .npy, .safetensors or .txt");
}

TEST(DataFiles, FilesAreAskedForBeforeAStudyIsMade) {
    const test::TemporaryFolder folder;
    DataConfig config;
    const auto problem = [&](const char* kind, const std::string& path, const std::string& targets = "") {
        config.kind = kind;
        config.path = path;
        config.targets = targets;
        return test::messageOf<DataError>([&] { requireDataFiles(config); });
    };
    const std::string file = (folder / "a.npz").string(), array = (folder / "a.npy").string();
    for (const char* kind : {"npy", "safetensors", "text"}) {
        EXPECT_HAS(problem(kind, file), file + ": no such file: expected ");
        EXPECT_HAS(problem(kind, folder.path().string()), folder.path().string() + ": ");
    }
    EXPECT_HAS(problem("cifar100", folder.path().string()), "https://www.cs.toronto.edu/~kriz/cifar.html");
    test::writeFile(file, "x"); // what is in it, only the worker sees
    test::writeFile(array, "x");
    test::writeFile(folder / "train.bin", "x");
    for (const char* kind : {"npy", "safetensors", "text"})
        EXPECT_EQ(problem(kind, file), "no error") << kind;
    EXPECT_EQ(problem("cifar100", folder.path().string()), "no error");
    EXPECT_EQ(problem("npy", array, array), "no error");
    EXPECT_HAS(problem("npy", array), "needs targets");
    EXPECT_HAS(problem("npy", array, "/none.npy"), "/none.npy: no such file");
    EXPECT_HAS(problem("npy", file, array), "targets is for a path to an .npy");
    EXPECT_EQ(problem("synthetic", ""), "no error");
    for (const char* kind : {"idx", "cifar10", "cifar100", "text"}) // a path that the system refuses
        EXPECT_NE(problem(kind, "/" + std::string(5000, 'a')), "no error") << kind;
}

} // namespace
} // namespace driftscope
