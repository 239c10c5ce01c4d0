// SPDX-License-Identifier: GPL-3.0-or-later
// Images as sample sets, CIFAR-100 and text; the other formats have files of their own.
#include "training/SampleSet.h"
#include "training/ImageSet.h"
#include "support/Files.h"
#include "support/Python.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

namespace driftscope {
namespace {

using Integers = std::vector<std::int64_t>;
using Pixels = std::vector<std::uint8_t>;
using test::messageOf;

class SampleSetTest : public ::testing::Test {
protected:
    SampleSetTest() { m_config.path = m_folder.path().string(); }
    SampleSet loadText(const std::string& text, std::int64_t ignoreIndex = -100) {
        m_config.kind = "text";
        m_config.path = (m_folder / "text.txt").string();
        test::writeFile(m_config.path, text);
        return loadSamples(m_config, ignoreIndex);
    }
    std::string problem() {
        return messageOf<DataError>([&] { loadSamples(m_config, -100); });
    }
    test::TemporaryFolder m_folder;
    DataConfig m_config;
};

TEST_F(SampleSetTest, ImagesAreWhatLoadImagesLoads) {
    m_config = {};
    m_config.kind = "synthetic";
    m_config.shape = {3, 5, 4};
    m_config.samples = 20;
    m_config.limit = 7;
    m_config.classes = 13;
    const SampleSet set = loadSamples(m_config, -100);
    const ImageSet images = loadImages(m_config);
    EXPECT_EQ(set.samples, 7);
    EXPECT_EQ(set.shape, (Integers{3, 5, 4}));
    EXPECT_TRUE(set.targetShape.empty());
    EXPECT_EQ(set.classes, 13);
    EXPECT_EQ(std::get<Pixels>(set.inputs), images.pixels);
    EXPECT_EQ(std::get<Integers>(set.targets), images.labels);
    EXPECT_EQ(set.description, images.description);
}

std::string record(char coarse, char fine, char fill) {
    return std::string{coarse, fine} + std::string(3072, fill);
}

TEST_F(SampleSetTest, Cifar100HasItsFineLabels) {
    m_config.kind = "cifar100";
    EXPECT_HAS(problem(), m_folder.path().string() + ": no train.bin: expected the folder cifar-100-binary");
    const std::string bytes = record(0, 99, 'a') + record(19, 0, 'b') + record(3, 42, 'c');
    const std::string file = (m_folder / "train.bin.gz").string();
    gzFile out = gzopen(file.c_str(), "wb");
    gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(out);
    for (const bool isPlain : {false, true}) {
        if (isPlain) {
            std::filesystem::remove(file);
            test::writeFile(m_folder / "train.bin", bytes);
        }
        const SampleSet set = loadSamples(m_config, -100);
        EXPECT_EQ(set.samples, 3);
        EXPECT_EQ(set.shape, (Integers{3, 32, 32}));
        EXPECT_EQ(set.classes, 100);
        EXPECT_EQ(std::get<Integers>(set.targets), (Integers{99, 0, 42}));
        EXPECT_EQ(std::get<Pixels>(set.inputs)[0], 'a');
        EXPECT_EQ(std::get<Pixels>(set.inputs)[3072], 'b');
        EXPECT_EQ(std::get<Pixels>(set.inputs)[3 * 3072 - 1], 'c');
        EXPECT_HAS(set.description, "CIFAR-100, 3 samples");
    }
    m_config.limit = 2;
    EXPECT_EQ(loadSamples(m_config, -100).samples, 2);
}

TEST_F(SampleSetTest, DamagedCifar100IsNamed) {
    m_config.kind = "cifar100";
    const auto problemOf = [&](const std::string& bytes) {
        test::writeFile(m_folder / "train.bin", bytes);
        return problem();
    };
    EXPECT_HAS(problemOf(""), "train.bin is empty");
    EXPECT_HAS(problemOf(record(1, 1, 'a') + "\1"),
               "train.bin: ends too early or is damaged: expected 1 more bytes of labels");
    EXPECT_HAS(problemOf(record(1, 1, 'a').substr(0, 3000)), "expected 74 more bytes of pixels");
    EXPECT_HAS(problemOf(record(1, 1, 'a') + record(1, 100, 'a')), "label 100 of sample 1: allowed is 0 … 99");
    EXPECT_HAS(problemOf(record(20, 1, 'a')), "label 20 of sample 0: allowed is 0 … 19; is it the binary version?");
}

TEST_F(SampleSetTest, ImagesTooLargeToPadAreRefused) {
    m_config.kind = "cifar100";
    std::string records;
    for (int i = 0; i < 6; ++i)
        records += record(1, 1, 'a');
    test::writeFile(m_folder / "train.bin", records);
    m_config.shape = {3, 65536, 65536};
    EXPECT_HAS(problem(), "[data] shape = 3x65536x65536: 6 samples of it are more than 64 GiB");
}

TEST_F(SampleSetTest, TextPredictsTheNextByte) {
    m_config.context = 4;
    const SampleSet set = loadText("abc\n\nx\nabcde\nabcdef\n\xff" "0");
    EXPECT_EQ(set.samples, 4); // one byte alone predicts nothing
    EXPECT_EQ(set.shape, Integers{4});
    EXPECT_EQ(set.targetShape, Integers{4});
    EXPECT_EQ(set.classes, 256);
    EXPECT_EQ(std::get<Integers>(set.inputs),
              (Integers{'a', 'b', 0, 0, 'a', 'b', 'c', 'd', 'a', 'b', 'c', 'd', 0xFF, 0, 0, 0}));
    EXPECT_EQ(std::get<Integers>(set.targets),
              (Integers{'b', 'c', -100, -100, 'b', 'c', 'd', 'e', 'b', 'c', 'd', 'e', '0', -100, -100, -100}));
    EXPECT_HAS(set.description, "4 lines as bytes from " + m_config.path + ", 1 of them cut at 4 tokens");
    EXPECT_EQ(std::get<Integers>(loadText("ab", 7).targets), (Integers{'b', 7, 7, 7}));
}

TEST_F(SampleSetTest, TextEqualsPythons) {
    PYTHON_OUTPUT(output, R"(
random = np.random.RandomState(3)
lines = [random.randint(0, 256, n).astype(np.uint8).tobytes().replace(b'\n', b'').replace(b'\r', b'')
         for n in random.randint(0, 200, 3000)]
ends = [[b'\n', b'\r\n'][i] for i in random.randint(0, 2, 3000)]
open(sys.argv[1], 'wb').write(b''.join(l + e for l, e in zip(lines, ends)))
lines = [l for l in lines if len(l) > 1]
pad = lambda l, fill: (list(l) + [fill] * 60)[:60]
print(json.dumps([sum((pad(l[:-1], 0) for l in lines), []), sum((pad(l[1:], -7) for l in lines), [])]))
)",
                  {(m_folder / "text.txt").string()});
    const auto expected = nlohmann::json::parse(output);
    m_config.context = 60;
    const SampleSet set = loadText(test::readFile(m_folder / "text.txt"), -7);
    EXPECT_TRUE(std::get<Integers>(set.inputs) == expected[0].get<Integers>());
    EXPECT_TRUE(std::get<Integers>(set.targets) == expected[1].get<Integers>());
}

TEST_F(SampleSetTest, LineEndsAndLimits) {
    m_config.context = 3;
    // the carriage return belongs to the end of the line, unless it is cut off before
    EXPECT_EQ(std::get<Integers>(loadText("abcd\r\n").targets), (Integers{'b', 'c', 'd'}));
    EXPECT_HAS(loadText("abcd\r\n").description, ", 0 of them cut");
    EXPECT_EQ(std::get<Integers>(loadText("ab\r").targets), (Integers{'b', -100, -100}));
    EXPECT_EQ(std::get<Integers>(loadText("a\rb\n").targets), (Integers{'\r', 'b', -100}));
    EXPECT_EQ(std::get<Integers>(loadText("abc\rx\n").targets), (Integers{'b', 'c', '\r'}));
    EXPECT_EQ(loadText("x\r\nab\r\n").samples, 1);
    std::string lines;
    for (int i = 0; i < 50000; ++i)
        lines += "line\n";
    EXPECT_EQ(loadText(lines).samples, 50000);
    m_config.limit = 3;
    const SampleSet set = loadText(lines);
    EXPECT_EQ(set.samples, 3);
    EXPECT_EQ(std::get<Integers>(set.inputs), (Integers{'l', 'i', 'n', 'l', 'i', 'n', 'l', 'i', 'n'}));
    EXPECT_EQ(loadText(std::string(1000000, 'a')).samples, 1); // longer than any buffer
}

TEST_F(SampleSetTest, TextWithoutSamplesIsRefused) {
    for (const char* text : {"", "\n\n", "a\nb\nc", "\r\n", "a\r\n"})
        EXPECT_HAS(messageOf<DataError>([&] { loadText(text); }), "text.txt: no line of two bytes or more");
    m_config.path = (m_folder / "none.txt").string();
    EXPECT_HAS(problem(), "none.txt: no such file: expected a text file");
    m_config.path = m_folder.path().string();
    EXPECT_HAS(problem(), "no such file");
    m_config.shape = {1, 2, 2};
    EXPECT_HAS(messageOf<DataError>([&] { loadText("abc\n"); }), "shape = 1x2x2 is for images");
}

} // namespace
} // namespace driftscope
