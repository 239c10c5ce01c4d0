// SPDX-License-Identifier: GPL-3.0-or-later
// Damaged and malicious files: a RecordingError, or values; never a crash, another exception, or a
// look outside the file. What could crash runs in a process of its own, so that the rest is tested
// too.
#include "analysis/RunComparison.h"
#include "recording/RunReader.h"
#include "support/ChildProcess.h"
#include "support/Files.h"
#include "support/Python.h"
#include "support/RunFiles.h"
#include "support/TemporaryFolder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <sys/mman.h>

namespace driftscope {
namespace {

namespace fs = std::filesystem;
using test::messageOf;
using test::TemporaryFolder;

/// Everything a view or a comparison would read. True if the file was accepted.
bool readEverything(const fs::path& file) {
    try {
        const RunReader reader(file);
        (void)reader.message();
        const auto rows = static_cast<std::size_t>(reader.progress().rows);
        for (int scalar = 0; scalar < ScalarCount; ++scalar)
            (void)reader.scalar(static_cast<Scalar>(scalar));
        for (std::size_t row = 0; row < rows; ++row) {
            (void)reader.sampleIds(row);
            (void)reader.batchDigest(row);
            for (std::size_t i = 0; i < reader.parameters().size(); ++i) {
                (void)digestOf(reader.weights(i, row).bytes());
                (void)reader.weightDigest(i, row);
                (void)reader.gradientDigest(i, row);
                if (reader.hasGradients())
                    (void)digestOf(reader.gradients(i, row).bytes());
            }
        }
        if (rows > 0 && !reader.parameters().empty())
            (void)compareRuns(reader, reader);
        return true;
    } catch (const RecordingError&) {
        return false;
    }
}

/// A valid file of a few kilobytes with everything in it.
std::string smallFile(const fs::path& file) {
    test::TestRun run{test::tinyConfig("small", 2),
                      {{"a.weight", DType::Float32, {2, 3}}, {"b", DType::Float64, {1}}},
                      {}};
    run.config.record.gradients = "full";
    run.rows.push_back({0, {{1, 2, 3, 4, 5, 6}, {7}}});
    run.rows.push_back(
        {2, {{2, 2, 3, 4, 5, 6}, {8}}, {{1, 1, 1, 1, 1, 1}, {1}}, 0.5, {1, 2}, {3, 4}});
    run.message = "fine";
    test::writeRun(file, run);
    return test::readFile(file);
}

TEST(RunReaderHostile, TheUndamagedFileIsAccepted) {
    const TemporaryFolder folder;
    smallFile(folder / "run.h5");
    EXPECT_TRUE(readEverything(folder / "run.h5"));
}

TEST(RunReaderHostile, TruncatedAnywhereIsRefused) {
    const TemporaryFolder folder;
    const std::string whole = smallFile(folder / "run.h5");
    ASSERT_GT(whole.size(), 4096U);
    for (std::size_t size = 0; size < whole.size(); size += 512) {
        test::writeFile(folder / "cut.h5", whole.substr(0, size));
        const std::string message =
            messageOf<RecordingError>([&] { RunReader reader(folder / "cut.h5"); });
        EXPECT_HAS(message, (folder / "cut.h5").string() + ": ") << size;
    }
    test::writeFile(folder / "cut.h5", whole.substr(0, whole.size() - 1));
    EXPECT_HAS(messageOf<RecordingError>([&] { RunReader reader(folder / "cut.h5"); }), "cut.h5");
}

/// `whole` with a few random bytes changed, and which.
std::string damagedCopy(const std::string& whole, unsigned seed, std::string& changes) {
    std::mt19937 random(seed);
    std::string damaged = whole;
    for (unsigned n = 1 + random() % 4; n > 0; --n) {
        // metadata is at the front; what follows are values, where damage is rarely noticed
        const std::size_t at = random() % (random() % 2 ? damaged.size() : damaged.size() / 2);
        damaged[at] = static_cast<char>(random());
        changes += fmt::format(" [{}] = {}", at, static_cast<unsigned char>(damaged[at]));
    }
    return damaged;
}

/// What a child counts and its parent still knows when the child has crashed.
struct Shared {
    Shared()
        : counts(static_cast<Counts*>(::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE,
                                             MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
    ~Shared() { ::munmap(counts, sizeof(Counts)); }
    struct Counts {
        unsigned current, refused;
    } * counts;
};

/// Damaged copies, each read in full. A child reads on until it crashes.
void flipBytes(const fs::path& original, unsigned firstSeed, unsigned howMany) {
    const fs::path file = original.parent_path() / "flipped.h5";
    const std::string whole = test::readFile(original);
    const Shared shared;
    unsigned crashesInHdf5 = 0;
    for (unsigned next = 0; next < howMany; next = shared.counts->current + 1) {
        const auto [problem, isInHdf5] = test::runInChild([&] {
            for (unsigned i = next; i < howMany; ++i) {
                shared.counts->current = i;
                std::string changes;
                test::writeFile(file, damagedCopy(whole, firstSeed + i, changes));
                shared.counts->refused += !readEverything(file);
            }
        });
        crashesInHdf5 += isInHdf5;
        if (!problem.empty() && !isInHdf5) {
            std::string changes;
            damagedCopy(whole, firstSeed + shared.counts->current, changes);
            ADD_FAILURE() << original.filename() << changes << ": " << problem;
        }
    }
    EXPECT_LE(crashesInHdf5, howMany / 20);
    EXPECT_GT(shared.counts->refused, howMany / 20) << "the flips meet nothing";
    EXPECT_LT(shared.counts->refused + crashesInHdf5, howMany);
    ::testing::Test::RecordProperty("crashes_in_libhdf5", static_cast<int>(crashesInHdf5));
}

TEST(RunReaderHostile, RandomByteFlips) {
    const TemporaryFolder folder;
    smallFile(folder / "run.h5");
    flipBytes(folder / "run.h5", 1000, 400);
}

TEST(RunReaderHostile, RandomByteFlipsInForeignLayouts) {
    const TemporaryFolder folder;
    PYTHON_OUTPUT(output, R"(
os.chdir(sys.argv[1])
for name, options in (('old', {}), ('latest', {'libver': 'latest'})):
    with h5py.File(name + '.h5', 'w', **options) as f:
        f.create_dataset('weights/w', data=np.arange(12, dtype='>f4').reshape(3, 4), chunks=(1, 4), compression='gzip')
        f.create_dataset('weights/v', data=np.arange(3.0), maxshape=(None,), chunks=(2,), fletcher32=True)
        f.create_dataset('progress', data=np.array([3, 1]), chunks=(1,))
        f['step'] = np.arange(3)
)",
                  {folder.path().string()});
    flipBytes(folder / "old.h5", 2000, 150);
    flipBytes(folder / "latest.h5", 3000, 150);
}

TEST(RunReaderHostile, LinksAreNotFollowed) {
    const TemporaryFolder folder;
    fs::create_directory(folder / "study");
    PYTHON_OUTPUT(output, R"(
os.chdir(sys.argv[1])
with h5py.File('secret.h5', 'w') as f:
    f['weights/w'] = np.full((3, 2), 42, dtype='f4'); f['step'] = np.arange(3); f['text'] = 'secret'
np.full(6, 42, dtype='f4').tofile('secret.bin')
os.chdir('study')
w = np.zeros((3, 2), dtype='f4')
def link(name, function):
    with h5py.File(name + '.h5', 'w') as f: function(f)
secret = '../secret.h5'
def group(f): f['weights'] = h5py.ExternalLink(secret, '/weights')
link('external-group', group)
def dataset(f): f['weights/v'] = w; f['weights/w'] = h5py.ExternalLink(secret, '/weights/w')
link('external-dataset', dataset)
def soft(f): f['real/w'] = w; f['weights'] = h5py.SoftLink('/real')
link('soft-group', soft)
def chain(f): f['e'] = h5py.ExternalLink(secret, '/weights'); f['weights'] = h5py.SoftLink('/e')
link('soft-to-external', chain)
def step(f): f['weights/w'] = w; f['step'] = h5py.ExternalLink(secret, '/step'); f['message'] = h5py.ExternalLink(secret, '/text')
link('external-step', step)
def virtual(f):
    layout = h5py.VirtualLayout((3, 2), 'f4'); layout[:] = h5py.VirtualSource(secret, 'weights/w', (3, 2))
    f.create_group('weights').create_virtual_dataset('w', layout)
link('virtual', virtual)
def storage(f): f.create_dataset('weights/w', (3, 2), 'f4', external=[('../secret.bin', 0, h5py.h5f.UNLIMITED)])
link('external-storage', storage)
def vstep(f):
    f['weights/w'] = w
    layout = h5py.VirtualLayout((3,), 'i8'); layout[:] = h5py.VirtualSource(secret, 'step', (3,))
    f.create_virtual_dataset('step', layout)
link('virtual-step', vstep)
def stext(f):
    f['weights/w'] = w
    f.create_dataset('message', (), 'S24', external=[('../secret.bin', 0, 24)])
    f.create_dataset('scalars/loss', (3,), 'f8', external=[('../secret.bin', 0, 24)])
link('storage-text', stext)
def loop(f): f['weights'] = h5py.SoftLink('/weights')
link('soft-loop', loop)
def hard(f): f['weights/w'] = w; f['weights/loop'] = f['weights']
link('hard-loop', hard)
)",
                  {folder.path().string()});
    const auto message = [&](const char* name) {
        return messageOf<RecordingError>([&] { RunReader reader(folder / "study" / name); });
    };
    for (const char* name :
         {"external-group.h5", "soft-group.h5", "soft-to-external.h5", "soft-loop.h5"})
        EXPECT_HAS(message(name), "has no /weights") << name;
    for (const char* name : {"virtual.h5", "external-storage.h5"})
        EXPECT_HAS(message(name), "/weights/w keeps its values in another file") << name;
    EXPECT_HAS(message("virtual-step.h5"), "/step keeps its values in another file");
    EXPECT_HAS(message("hard-loop.h5"), "/weights/loop is not a dataset");
    const RunReader text(folder / "study/storage-text.h5");
    EXPECT_EQ(text.message(), "");
    EXPECT_TRUE(text.scalar(Loss).empty());
    const RunReader dataset(folder / "study/external-dataset.h5");
    ASSERT_EQ(dataset.parameters().size(), 1U);
    EXPECT_EQ(dataset.parameters()[0].name, "v");
    const RunReader step(folder / "study/external-step.h5");
    EXPECT_EQ(step.message(), "");
    EXPECT_FALSE(step.config());
}

// A link's name may hold a slash if nobody who writes it minds: "l/w" then leads through the link
// l.
TEST(RunReaderHostile, SlashesInNamesLeadNowhere) {
    const TemporaryFolder folder;
    PYTHON_OUTPUT(output, R"(
os.chdir(sys.argv[1])
with h5py.File('secret.h5', 'w') as f: f['w'] = np.full((3, 2), 42, dtype='f4')
for name, target in (('external', h5py.ExternalLink('secret.h5', '/')), ('soft', h5py.SoftLink('/other'))):
    with h5py.File('x.h5', 'w') as f:
        f['other/w'] = np.zeros((3, 2), dtype='f4')
        f['weights/lXw'] = np.zeros((3, 2), dtype='f4')
        f['weights/l'] = target
    data = open('x.h5', 'rb').read()
    assert b'lXw' in data
    open(name + '.h5', 'wb').write(data.replace(b'lXw', b'l/w'))
data = open('x.h5', 'rb').read()
open('dot.h5', 'wb').write(data.replace(b'lXw', b'.\0\0'))
open('nameless.h5', 'wb').write(data.replace(b'lXw', b'\0\0\0'))
)",
                  {folder.path().string()});
    for (const char* name : {"external.h5", "soft.h5", "dot.h5", "nameless.h5"})
        EXPECT_EQ(test::runInChild([&] {
                      if (readEverything(folder / name) &&
                          !RunReader(folder / name).parameters().empty())
                          throw std::logic_error("accepted");
                  }).problem,
                  "")
            << name;
}

// Sizes that a few bytes claim: refused, or an error when a row is read, but no exhausted memory.
TEST(RunReaderHostile, ClaimedSizesDoNotExhaustMemory) {
    const TemporaryFolder folder;
    PYTHON_OUTPUT(output, R"(
os.chdir(sys.argv[1])
def make(name, path, shape, dtype, chunks):
    with h5py.File(name + '.h5', 'w') as f:
        if path != 'weights/w': f['weights/w'] = np.zeros((3, 2), dtype='f4')
        f.create_dataset(path, shape=shape, dtype=dtype, chunks=chunks)
make('row', 'weights/w', (3, 2**38), 'f4', (1, 1024))
make('step', 'step', (2**32 - 1,), 'i8', (1024,))
make('rows', 'weights/w', (2**40, 1), 'f4', (1024, 1))
make('scalar', 'scalars/loss', (2**31,), 'f8', (1024,))
make('samples', 'batch/sample_ids', (3, 2**40), 'i8', (1, 1024))
with h5py.File('text.h5', 'w') as f:
    f['weights/w'] = np.zeros((3, 2), dtype='f4')
    f.attrs['format'] = np.bytes_('driftscope.run')
    f.create_dataset('config', shape=(), dtype='S67000000')
)",
                  {folder.path().string()});
    for (const char* name : {"row.h5", "step.h5", "rows.h5", "scalar.h5", "samples.h5", "text.h5"})
        EXPECT_EQ(test::runInChild([&] { (void)readEverything(folder / name); }).problem, "")
            << name;
}

TEST(RunReaderHostile, ADigestThatContradictsItsValuesIsDamage) {
    const TemporaryFolder folder;
    smallFile(folder / "good.h5");
    fs::copy_file(folder / "good.h5", folder / "digest.h5");
    fs::copy_file(folder / "good.h5", folder / "value.h5");
    PYTHON_OUTPUT(output, R"(
with h5py.File(sys.argv[1], 'r+') as f: f['digest/weights/a.weight'][1, 1] += np.uint64(1)
with h5py.File(sys.argv[2], 'r+') as f: f['weights/b'][1, 0] = 9
)",
                  {(folder / "digest.h5").string(), (folder / "value.h5").string()});
    const RunReader good(folder / "good.h5");
    for (const auto& [name, tensor] :
         {std::pair("digest.h5", "a.weight"), std::pair("value.h5", "b")}) {
        const RunReader bad(folder / name);
        const std::string message = messageOf<RecordingError>([&] { compareRuns(bad, good); });
        EXPECT_HAS(message, (folder / name).string());
        EXPECT_HAS(message,
                   std::string("the digest of ") + tensor + " at step 2 contradicts its values");
    }
}

} // namespace
} // namespace driftscope
