// SPDX-License-Identifier: GPL-3.0-or-later
// Data sets written byte by byte here.
#include "training/ImageSet.h"
#include "support/Files.h"
#include "support/Python.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include <algorithm>

namespace driftscope {
namespace {

namespace fs = std::filesystem;
using test::messageOf;

std::string bigEndian(std::uint32_t number) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8)
        bytes += static_cast<char>(number >> shift);
    return bytes;
}

std::string idxImages(std::uint32_t count, std::uint32_t height, std::uint32_t width,
                      const std::string& pixels) {
    return bigEndian(0x803) + bigEndian(count) + bigEndian(height) + bigEndian(width) + pixels;
}

std::string idxLabels(const std::string& labels) {
    return bigEndian(0x801) + bigEndian(static_cast<std::uint32_t>(labels.size())) + labels;
}

void writeGzip(const fs::path& file, const std::string& bytes, const char* mode = "wb") {
    gzFile out = gzopen(file.c_str(), mode);
    gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(out);
}

class ImageSetTest : public ::testing::Test {
protected:
    ImageSetTest() { m_config.path = m_folder.path().string(); }
    void writeIdx(const std::string& images, const std::string& labels) {
        test::writeFile(m_folder / "train-images-idx3-ubyte", images);
        test::writeFile(m_folder / "train-labels-idx1-ubyte", labels);
    }
    std::string problem() {
        return messageOf<DataError>([&] { loadImages(m_config); });
    }
    /// Problem with an IDX data set that loads if its files are as they should be.
    std::string idxProblem(const std::string& images, const std::string& labels) {
        m_config.kind = "idx";
        writeIdx(images, labels);
        return problem();
    }
    test::TemporaryFolder m_folder;
    DataConfig m_config;
};

TEST_F(ImageSetTest, IdxPlainAndCompressed) {
    const std::string pixels("\x00\x01\x02\x03\x04\xff\x10\x11\x12\x13\x14\x15",
                             12); // two of 2 × 3
    const std::string labels("\x03\x0b", 2);
    for (const bool compressed : {false, true}) {
        const test::TemporaryFolder folder;
        if (compressed) {
            writeGzip(folder / "train-images.idx3-ubyte.gz", idxImages(2, 2, 3, pixels));
            writeGzip(folder / "train-labels-idx1-ubyte.gz", idxLabels(labels));
        } else {
            test::writeFile(folder / "train-images-idx3-ubyte", idxImages(2, 2, 3, pixels));
            test::writeFile(folder / "train-labels-idx1-ubyte", idxLabels(labels));
        }
        DataConfig config;
        config.kind = "idx";
        config.path = folder.path().string();
        const ImageSet set = loadImages(config);
        EXPECT_EQ(set.samples, 2);
        EXPECT_EQ(set.channels, 1);
        EXPECT_EQ(set.height, 2);
        EXPECT_EQ(set.width, 3);
        EXPECT_EQ(set.classes, 12); // ten at least, more where labels ask for it
        EXPECT_EQ(std::string(set.pixels.begin(), set.pixels.end()), pixels);
        EXPECT_EQ(set.labels, (std::vector<std::int64_t>{3, 11}));
        EXPECT_HAS(set.description, "2 of 2 samples from " + folder.path().string());
        config.kind = "fashion-mnist"; // with a path: the same files somewhere else
        EXPECT_EQ(loadImages(config).pixels, set.pixels);
    }
}

TEST_F(ImageSetTest, LimitTakesTheFirst) {
    m_config.kind = "idx";
    writeIdx(idxImages(3, 1, 1, "abc"), idxLabels(std::string("\x01\x02\x03")));
    for (const std::int64_t limit : {1, 2, 3, 1000}) {
        m_config.limit = limit;
        const ImageSet set = loadImages(m_config);
        EXPECT_EQ(set.samples, std::min<std::int64_t>(limit, 3));
        EXPECT_EQ(std::string(set.pixels.begin(), set.pixels.end()),
                  std::string("abc").substr(0, static_cast<std::size_t>(limit)));
        EXPECT_EQ(set.classes, 10);
        EXPECT_EQ(set.labels.back(), set.samples);
    }
}

TEST_F(ImageSetTest, DamagedIdxFilesAreNamed) {
    const std::string good = idxImages(2, 1, 1, "ab"), labels = idxLabels(std::string("\x01\x02"));
    EXPECT_EQ(idxProblem(good, labels), "no error");
    const std::string images = (m_folder / "train-images-idx3-ubyte").string(),
                      names = (m_folder / "train-labels-idx1-ubyte").string();
    EXPECT_HAS(idxProblem(labels, labels),
               images + ": not an IDX file of images: magic number 0x801, expected 0x803");
    EXPECT_HAS(idxProblem(good, good),
               names + ": not an IDX file of labels: magic number 0x803, expected 0x801");
    EXPECT_HAS(idxProblem(good, idxLabels(std::string("\x01"))), names + ": 1 labels for 2 images");
    EXPECT_HAS(idxProblem(good.substr(0, 10), labels), images + ": ends too early");
    EXPECT_HAS(idxProblem(good.substr(0, good.size() - 1), labels),
               "expected 1 more bytes of pixels");
    EXPECT_HAS(idxProblem(good, labels.substr(0, 9)),
               names + ": ends too early or is damaged: expected 1 more bytes of labels");
    EXPECT_HAS(idxProblem("", labels), images + ": ends too early");
    EXPECT_HAS(idxProblem(idxImages(0, 1, 1, ""), idxLabels("")), images + ": 0 images");
    EXPECT_HAS(idxProblem(idxImages(2, 0, 1, ""), labels), "sides up to 65536");
    EXPECT_HAS(idxProblem(idxImages(2, 1, 70000, ""), labels), "sides up to 65536");
    EXPECT_HAS(idxProblem(idxImages(0xFFFFFFFF, 65536, 65536, ""), labels), "more than 64 GiB");
}

TEST_F(ImageSetTest, MissingFilesSayWhatToInstall) {
    m_config.kind = "idx";
    EXPECT_HAS(problem(), m_folder.path().string() + ": no images");
    EXPECT_HAS(problem(), "apt install dataset-fashion-mnist");
    test::writeFile(m_folder / "train-images-idx3-ubyte", "x");
    EXPECT_HAS(problem(), ": no labels");
    m_config.kind = "cifar10";
    EXPECT_HAS(problem(), "no data_batch_1.bin");
}

TEST_F(ImageSetTest, TruncatedCompressionIsDamage) {
    m_config.kind = "idx";
    std::string pixels(4000, 0);
    for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<char>(i * i * 7 + i);
    writeGzip(m_folder / "train-images-idx3-ubyte.gz", idxImages(10, 20, 20, pixels));
    writeGzip(m_folder / "train-labels-idx1-ubyte.gz", idxLabels(std::string(10, '\1')));
    EXPECT_EQ(problem(), "no error");
    const std::string whole = test::readFile(m_folder / "train-images-idx3-ubyte.gz");
    test::writeFile(m_folder / "train-images-idx3-ubyte.gz", whole.substr(0, whole.size() / 2));
    EXPECT_HAS(problem(), "ends too early or is damaged");
}

TEST_F(ImageSetTest, CompressedDataWithAWrongChecksumIsDamage) {
    for (const std::uint32_t side : {10U, 1000U}) {
        m_config.kind = "idx";
        std::string pixels = "abcd" + std::string(4 * side * side - 4, 'p');
        // stored, so that it can be changed
        writeGzip(m_folder / "train-images-idx3-ubyte.gz", idxImages(4, side, side, pixels), "wb0");
        test::writeFile(m_folder / "train-labels-idx1-ubyte", idxLabels(std::string(4, '\1')));
        EXPECT_EQ(problem(), "no error");
        std::string bytes = test::readFile(m_folder / "train-images-idx3-ubyte.gz");
        bytes[bytes.find("abcd")] = 'x';
        test::writeFile(m_folder / "train-images-idx3-ubyte.gz", bytes);
        EXPECT_HAS(problem(), "damaged") << side;
    }
}

std::string cifarRecord(char label, char fill) {
    return std::string(1, label) + std::string(3072, fill);
}

TEST_F(ImageSetTest, CifarBatchesInOrder) {
    m_config.kind = "cifar10";
    test::writeFile(m_folder / "data_batch_1.bin", cifarRecord(9, 'a') + cifarRecord(0, 'b'));
    writeGzip(m_folder / "data_batch_2.bin.gz", cifarRecord(4, 'c'));
    test::writeFile(m_folder / "data_batch_4.bin",
                    cifarRecord(5, 'd')); // without the third it is not read
    const ImageSet set = loadImages(m_config);
    EXPECT_EQ(set.samples, 3);
    EXPECT_EQ(set.channels, 3);
    EXPECT_EQ(set.height, 32);
    EXPECT_EQ(set.width, 32);
    EXPECT_EQ(set.classes, 10);
    EXPECT_EQ(set.labels, (std::vector<std::int64_t>{9, 0, 4}));
    ASSERT_EQ(set.pixels.size(), 3 * 3072U);
    EXPECT_EQ(set.pixels[0], 'a');
    EXPECT_EQ(set.pixels[3072], 'b');
    EXPECT_EQ(set.pixels[3 * 3072 - 1], 'c');
    EXPECT_HAS(set.description, "3 samples");
    m_config.limit = 2;
    EXPECT_EQ(loadImages(m_config).samples, 2);
}

TEST_F(ImageSetTest, DamagedCifarFilesAreNamed) {
    m_config.kind = "cifar10";
    const fs::path file = m_folder / "data_batch_1.bin";
    test::writeFile(file, "");
    EXPECT_HAS(problem(), "data_batch_1.bin is empty");
    test::writeFile(file, cifarRecord(1, 'a').substr(0, 3000));
    EXPECT_HAS(problem(),
               file.string() + ": ends too early or is damaged: expected 73 more bytes of pixels");
    test::writeFile(file, cifarRecord(1, 'a') + cifarRecord(10, 'a'));
    EXPECT_HAS(problem(), "label 10 of sample 1: allowed is 0 … 9");
}

TEST_F(ImageSetTest, CompressionThatEndsBetweenSamplesIsDamageToo) {
    m_config.kind = "cifar10";
    const fs::path file = m_folder / "data_batch_1.bin.gz";
    writeGzip(file, cifarRecord(1, 'a') + cifarRecord(2, 'b'), "wb0");
    const std::string bytes = test::readFile(file);
    test::writeFile(file, bytes.substr(0, bytes.find('b') - 1));
    EXPECT_HAS(problem(), "damaged");
}

TEST_F(ImageSetTest, SyntheticNoiseIsTheMersenneTwisters) {
    m_config = {};
    m_config.kind = "synthetic";
    m_config.shape = {1, 100, 100};
    m_config.samples = 1;
    m_config.classes = 7;
    m_config.seed = 5489;
    const ImageSet set = loadImages(m_config);
    ASSERT_EQ(set.pixels.size(), 10000U);
    EXPECT_EQ(set.pixels[0], 3499211612U % 256);
    // the C++ standard: the 10000th number of a default-seeded mt19937 is 4123659995
    EXPECT_EQ(set.pixels[9999], 4123659995U % 256);
    EXPECT_LT(set.labels[0], 7);
    EXPECT_EQ(set.classes, 7);
}

TEST_F(ImageSetTest, SyntheticNoiseEqualsNumPys) {
    m_config = {};
    m_config.kind = "synthetic";
    m_config.shape = {3, 5, 4};
    m_config.samples = 20;
    m_config.classes = 6;
    m_config.seed = 1234567;
    const ImageSet set = loadImages(m_config);
    PYTHON_OUTPUT(output, R"(
raw = np.random.RandomState(1234567).randint(0, 2**32, size=20 * 60 + 20, dtype=np.uint32)
print(json.dumps([(raw[:1200] % 256).tolist(), (raw[1200:] % 6).tolist()]))
)",
                  {});
    const auto expected = nlohmann::json::parse(output);
    EXPECT_EQ(set.pixels, expected[0].get<std::vector<std::uint8_t>>());
    EXPECT_EQ(set.labels, expected[1].get<std::vector<std::int64_t>>());
    m_config.limit = 5; // the first of the same samples
    const ImageSet first = loadImages(m_config);
    EXPECT_EQ(first.samples, 5);
    EXPECT_TRUE(std::ranges::equal(first.pixels, std::span(set.pixels).first(300)));
    EXPECT_TRUE(std::ranges::equal(first.labels, std::span(set.labels).first(5)));
    m_config.seed = 1234568;
    EXPECT_NE(loadImages(m_config).pixels, first.pixels);
}

TEST_F(ImageSetTest, TooMuchNoiseIsRefused) {
    m_config = {};
    m_config.kind = "synthetic";
    m_config.shape = {1000, 1000, 1000};
    m_config.samples = 100;
    EXPECT_HAS(problem(), "over 16 GiB");
    m_config.shape = {65536, 65536, 65536}; // more bytes than 64 bits count
    m_config.samples = 100000000;
    EXPECT_HAS(problem(), "over 16 GiB");
}

TEST_F(ImageSetTest, PaddingKeepsTheImageInTheMiddle) {
    m_config.kind = "idx";
    writeIdx(idxImages(2, 2, 2, "abcdefgh"), idxLabels(std::string("\x01\x02")));
    m_config.shape = {1, 4, 5};
    const ImageSet set = loadImages(m_config);
    const std::string z(1, '\0');
    const auto image =
        [&](const char* four) { // 4 × 5: one row above and below, one column left, two right
            return std::string(5, '\0') + z + four[0] + four[1] + z + z + z + four[2] + four[3] +
                   z + z + std::string(5, '\0');
        };
    EXPECT_EQ(std::string(set.pixels.begin(), set.pixels.end()), image("abcd") + image("efgh"));
    EXPECT_EQ(set.height, 4);
    EXPECT_EQ(set.width, 5);
    EXPECT_HAS(set.description, "zero-padded from 2 × 2 to 4 × 5");
    m_config.shape = {3, 2, 2};
    const ImageSet colour = loadImages(m_config);
    EXPECT_EQ(std::string(colour.pixels.begin(), colour.pixels.end()), "abcdabcdabcdefghefghefgh");
    EXPECT_HAS(colour.description, "repeated to 3 channels");
    m_config.shape = {1, 2, 2};
    EXPECT_EQ(loadImages(m_config).description.find("padded"), std::string::npos);
}

TEST_F(ImageSetTest, OtherShapesAreRefused) {
    m_config.kind = "idx";
    writeIdx(idxImages(1, 2, 2, "abcd"), idxLabels(std::string("\x01")));
    for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{1, 1, 2}, {1, 2, 1}}) {
        m_config.shape = shape;
        EXPECT_HAS(problem(), "can be padded to larger sides");
    }
    m_config.kind = "cifar10";
    test::writeFile(m_folder / "data_batch_1.bin", cifarRecord(1, 'a'));
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{1, 32, 32}, {6, 32, 32}}) {
        m_config.shape = shape;
        EXPECT_HAS(problem(), "samples of 3x32x32 can be padded");
    }
}

} // namespace
} // namespace driftscope
