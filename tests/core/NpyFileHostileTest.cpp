// SPDX-License-Identifier: GPL-3.0-or-later
// NumPy files that are missing, damaged or made to harm.
#include "training/SampleSet.h"
#include "support/Files.h"
#include "support/Python.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>

namespace driftscope {
namespace {

class NpyFileHostileTest : public ::testing::Test {
protected:
    std::string problem(const std::string& file, const std::string& targets = "") {
        DataConfig config;
        config.kind = "npy";
        config.path = (m_folder / file).string();
        config.targets = targets.empty() ? "" : (m_folder / targets).string();
        return test::messageOf<DataError>([&] { loadSamples(config, -100); });
    }
    test::TemporaryFolder m_folder;
};

TEST_F(NpyFileHostileTest, MissingAndMisnamedFilesSayWhatToWrite) {
    EXPECT_HAS(problem("none.npz"), "none.npz: no such file: expected a file that np.savez(file, x=…, y=…) writes");
    EXPECT_HAS(problem("none.npy"), "none.npy: no such file");
    EXPECT_HAS(problem("data.pkl"), "data.pkl: expected a file .npz");
    test::writeFile(m_folder / "x.npy", "x");
    test::writeFile(m_folder / "x.npz", "x");
    test::writeFile(m_folder / "empty.npz", "");
    std::filesystem::create_directory(m_folder / "folder.npz");
    EXPECT_HAS(problem("folder.npz"), "no such file");
    EXPECT_HAS(problem("x.npy"), "x.npy: needs targets");
    EXPECT_HAS(problem("x.npy", "none.npy"), "none.npy: no such file");
    EXPECT_HAS(problem("x.npz", "x.npy"), "targets is for a path to an .npy");
    EXPECT_HAS(problem("x.npz"), "x.npz: not a zip archive");
    EXPECT_HAS(problem("empty.npz"), "empty.npz: not a zip archive");
    EXPECT_HAS(problem("x.npy", "x.npy"), "x.npy: ends too early");
    test::writeFile(m_folder / "x.npy", "something else");
    EXPECT_HAS(problem("x.npy", "x.npy"), "x.npy: is no NumPy array");
}

TEST_F(NpyFileHostileTest, HostileHeadersAreRefused) {
    const auto npy = [&](const std::string& header, char version = 1) {
        test::writeFile(m_folder / "x.npy", std::string("\x93NUMPY") + version + std::string(1, '\0') +
                                                static_cast<char>(header.size() % 256) +
                                                static_cast<char>(header.size() / 256) + header + std::string(64, 'd'));
        return problem("x.npy", "x.npy");
    };
    const auto shape = [&](const std::string& text) {
        return npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + text + ", }\n");
    };
    EXPECT_EQ(shape("(2, 8)"), "no error");
    EXPECT_HAS(shape("(2, 9)"), "ends too early or is damaged: float32 of 2×9 needs more than the 64 bytes");
    EXPECT_HAS(shape("(4294967296, 4294967296, 4294967296)"), "needs more than");
    EXPECT_HAS(shape("(9223372036854775807, 9223372036854775807)"), "needs more than");
    EXPECT_HAS(shape("(2, 0, 9223372036854775807)"), "no dimension of 0");
    for (const std::string text : {"(-1, 2)", "(9223372036854775808,)", "(2", "(2 3)", "[2, 3]", "(2, x)", "(,)", "2",
                                   "(2, 3", ""})
        EXPECT_HAS(shape(text), "its header is damaged") << text;
    EXPECT_HAS(shape("(" + std::string(200, '1') + ")"), "damaged");
    std::string many;
    for (int i = 0; i < 33; ++i)
        many += "1,";
    EXPECT_HAS(shape("(" + many + ")"), "damaged");
    for (const std::string header :
         {"", "{", "{}", "{'descr'", "{'descr': '<f4'}",
          "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
          "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
          "{'descr': '<f4', 'other': False, 'shape': (1,)}"})
        EXPECT_HAS(npy(header), "its header is damaged") << header;
    for (const char* type : {"", "<f3", "<f9", "f4", "<f44", "<x4", "|f4", "<f1", "\xff\xff\xff"})
        EXPECT_HAS(npy(std::string("{'descr': '") + type + "', 'fortran_order': False, 'shape': (1,)}"),
                   "elements of type")
            << type;
    EXPECT_HAS(npy("{}", 4), "version 4");
    EXPECT_HAS(npy("{}", 0), "version 0");
    // from version 2 on the length has four bytes: two of them are the header's first here
    EXPECT_HAS(npy("zz", 2), "expected at most 65536");
    test::writeFile(m_folder / "x.npy", std::string("\x93NUMPY\x01\x00\xff\xff{", 11));
    EXPECT_HAS(problem("x.npy", "x.npy"), "ends too early");
}

// Whatever is cut off or changed, the worst is one DataError.
TEST_F(NpyFileHostileTest, DamagedArchivesAreRefused) {
    PYTHON_OUTPUT(output, R"(
import zipfile
os.chdir(sys.argv[1])
x = np.random.RandomState(1).standard_normal((6, 3)).astype(np.float32)
np.savez('stored.npz', x=x, y=np.arange(6))
np.savez_compressed('deflated.npz', x=x, y=np.arange(6))
with zipfile.ZipFile('bzip2.npz', 'w', zipfile.ZIP_BZIP2) as archive:
    archive.write('stored.npz', 'x.npy')
    archive.write('stored.npz', 'y.npy')
with zipfile.ZipFile('bomb.npz', 'w', zipfile.ZIP_DEFLATED) as archive:
    archive.writestr('x.npy', b'\x93NUMPY\x01\x00\x46\x00' +
                     b"{'descr': '<f4', 'fortran_order': False, 'shape': (100000000, 100), }\n")
    archive.writestr('y.npy', b'y')
b = bytearray(open('bomb.npz', 'rb').read())
at = b.rindex(b'x.npy') - 46 # its entry in the directory: uncompressed size
b[at + 24:at + 28] = (4_000_000_000).to_bytes(4, 'little')
open('bomb.npz', 'wb').write(b)
)",
                  {m_folder.path().string()});
    EXPECT_HAS(problem("bzip2.npz"), "compressed in a way that NumPy does not write");
    EXPECT_HAS(problem("bomb.npz"), "4000000000 bytes cannot come out of");
    for (const char* file : {"stored.npz", "deflated.npz"}) {
        EXPECT_EQ(problem(file), "no error");
        const std::string whole = test::readFile(m_folder / file);
        for (std::size_t length = 0; length < whole.size(); ++length) {
            test::writeFile(m_folder / "cut.npz", whole.substr(0, length));
            EXPECT_HAS(problem("cut.npz"), "cut.npz: ") << length;
        }
        std::string changed = whole;
        for (std::size_t i = 0; i < whole.size(); ++i) {
            changed[i] = static_cast<char>(~changed[i]);
            test::writeFile(m_folder / "changed.npz", changed);
            problem("changed.npz"); // another kind of exception fails the test
            changed[i] = whole[i];
        }
    }
    std::string changed = test::readFile(m_folder / "stored.npz");
    changed[changed.find("\n", 100) + 3] ^= 1; // a number of x: only the checksum tells
    test::writeFile(m_folder / "changed.npz", changed);
    EXPECT_HAS(problem("changed.npz"), "changed.npz: x.npy: is damaged: its checksum");
}

} // namespace
} // namespace driftscope
