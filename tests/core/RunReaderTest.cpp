// SPDX-License-Identifier: GPL-3.0-or-later
// Files that others made, in every layout that HDF5 has, read the same; those that are no run files
// are refused by name. Damaged and hostile files are in RunReaderHostileTest.cpp.
#include "recording/RunReader.h"
#include "support/Files.h"
#include "support/Python.h"
#include "support/RunFiles.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <thread>

namespace driftscope {
namespace {

using test::messageOf;
using test::TemporaryFolder;

/// weights a (3 rows of 2 × 2, float32) and b (3 rows of 5, float64): row · 100 + index, and 0.1.
constexpr const char* foreignFiles = R"(
os.chdir(sys.argv[1])
a = (np.arange(3)[:, None] * 100 + np.arange(4)[None, :]).reshape(3, 2, 2).astype('f4') + np.float32(0.1)
b = (np.arange(3)[:, None] * 100 + np.arange(5)[None, :]).astype('f8') + 0.1
def make(name, step=True, file={}, **options):
    with h5py.File(name + '.h5', 'w', **file) as f:
        f.create_dataset('weights/a', data=a, **options)
        f.create_dataset('weights/b', data=b, **options)
        if step: f['step'] = np.array([0, 5, 7])
        f['extra/group/data'] = np.arange(5)
        f.attrs['comment'] = 'by hand'
make('contiguous')
make('chunked', chunks=True)
make('compressed', compression='gzip', shuffle=True, fletcher32=True)
make('extensible', chunks=True, maxshape=None)
make('latest', file={'libver': 'latest'})
make('latest-chunked', file={'libver': 'latest'}, chunks=True)
make('userblock', file={'userblock_size': 512})
make('ordered', file={'track_order': True})
make('nostep', step=False)
with h5py.File('bigendian.h5', 'w') as f:
    f['weights/a'] = a.astype('>f4'); f['weights/b'] = b.astype('>f8'); f['step'] = np.array([0, 5, 7], dtype='>i2')
with h5py.File('unaligned.h5', 'w') as f:
    f['weights/a'] = a; f['step'] = np.array([0, 5, 7], dtype='u1')
    space = h5py.h5s.create_simple((3, 5))
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE); plist.set_layout(h5py.h5d.COMPACT)
    d = h5py.h5d.create(f['weights'].id, b'b', h5py.h5t.IEEE_F64LE, space, plist)
    d.write(h5py.h5s.ALL, h5py.h5s.ALL, b)
)";

TEST(RunReader, ForeignLayoutsGiveTheSameValues) {
    const TemporaryFolder folder;
    PYTHON_OUTPUT(output, foreignFiles, {folder.path().string()});
    for (const char* name :
         {"contiguous", "chunked", "compressed", "extensible", "latest", "latest-chunked",
          "userblock", "ordered", "nostep", "bigendian", "unaligned"}) {
        SCOPED_TRACE(name);
        const RunReader reader(folder / (std::string(name) + ".h5"));
        ASSERT_EQ(reader.parameters().size(), 2U);
        EXPECT_EQ(reader.parameters()[0], (TensorInfo{"a", DType::Float32, {2, 2}}));
        EXPECT_EQ(reader.parameters()[1], (TensorInfo{"b", DType::Float64, {5}}));
        const bool hasSteps = std::string(name) != "nostep";
        EXPECT_EQ(
            std::vector(reader.steps().begin(), reader.steps().end()),
            (hasSteps ? std::vector<std::int64_t>{0, 5, 7} : std::vector<std::int64_t>{0, 1, 2}));
        EXPECT_EQ(reader.progress().rows, 3);
        EXPECT_EQ(reader.progress().state, RunState::Finished);
        EXPECT_FALSE(reader.hasDigests());
        EXPECT_FALSE(reader.hasGradients());
        EXPECT_FALSE(reader.config().has_value());
        EXPECT_EQ(reader.environment(), "{}");
        EXPECT_EQ(reader.runId(), "");
        EXPECT_EQ(reader.message(), "");
        EXPECT_TRUE(reader.scalar(Loss).empty());
        EXPECT_TRUE(reader.sampleIds(0).empty());
        EXPECT_EQ(reader.batchDigest(0), std::nullopt);
        EXPECT_EQ(reader.gradientDigest(0, 0), std::nullopt);
        for (std::size_t row = 0; row < 3; ++row) {
            std::vector<float> a;
            std::vector<double> b;
            for (std::size_t i = 0; i < 4; ++i)
                a.push_back(static_cast<float>(row * 100 + i) + 0.1F);
            for (std::size_t i = 0; i < 5; ++i)
                b.push_back(static_cast<double>(row * 100 + i) + 0.1);
            const TensorRow first = reader.weights(0, row), second = reader.weights(1, row);
            EXPECT_EQ(std::vector(first.values<float>().begin(), first.values<float>().end()), a);
            EXPECT_EQ(std::vector(second.values<double>().begin(), second.values<double>().end()),
                      b);
            EXPECT_EQ(reader.weightDigest(0, row), digestOf(std::as_bytes(std::span(a))));
            EXPECT_EQ(reader.weightDigest(1, row), digestOf(std::as_bytes(std::span(b))));
        }
    }
}

TEST(RunReader, RowsOfOtherLayoutsOutliveTheNextRead) {
    const TemporaryFolder folder;
    PYTHON_OUTPUT(output, foreignFiles, {folder.path().string()});
    const RunReader reader(folder / "compressed.h5");
    const TensorRow first = reader.weights(0, 0);
    const TensorRow second = reader.weights(0, 1);
    EXPECT_EQ(first.values<float>()[0], 0.1F);
    EXPECT_EQ(second.values<float>()[0], 100.1F);
}

TEST(RunReader, SeveralThreadsReadAtOnce) {
    const TemporaryFolder folder;
    PYTHON_OUTPUT(output, foreignFiles, {folder.path().string()});
    const RunReader reader(folder / "compressed.h5");
    std::vector<std::jthread> threads;
    std::atomic<int> wrong = 0;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (std::size_t i = 0; i < 200; ++i)
                if (reader.weights(1, i % 3).values<double>()[4] !=
                    static_cast<double>(i % 3 * 100 + 4) + 0.1)
                    ++wrong;
        });
    threads.clear();
    EXPECT_EQ(wrong, 0);
}

/// One file per way to be no run file; what the message must name after the colon.
constexpr const char* badFiles = R"(
os.chdir(sys.argv[1])
w = np.arange(6, dtype='f4').reshape(3, 2)
expected = {}
def bad(name, what):
    def decorator(function):
        with h5py.File(name + '.h5', 'w') as f: function(f)
        expected[name] = what
    return decorator
def good(f, n=3):
    f['weights/w'] = w; f['step'] = np.arange(n)

@bad('no-weights', '/weights')
def _(f): f['step'] = np.arange(3)
@bad('other-format', 'driftscope.study')
def _(f): good(f); f.attrs['format'] = np.bytes_('driftscope.study')
@bad('weights-dataset', '/weights')
def _(f): f['weights'] = w
@bad('nested', '/weights/group is not a dataset')
def _(f): f['weights/group/w'] = w
@bad('scalar', '/weights/w')
def _(f): f['weights/w'] = np.float32(3)
@bad('null-space', '/weights/w')
def _(f): f['weights/w'] = h5py.Empty('f4')
for kind in ('i4', 'u2', 'u1', 'c8', 'S3', '?'):
    @bad('type-' + kind.strip('?'), '/weights/w: its type is not known; allowed: float32, float64, float16')
    def _(f): f['weights/w'] = np.zeros((3, 2), dtype=kind)
@bad('type-compound', '/weights/w: its type is not known')
def _(f): f['weights/w'] = np.zeros(3, dtype=[('a', 'f4'), ('b', 'f4')])
@bad('type-array', '/weights/w: its type is not known')
def _(f): f.create_dataset('weights/w', shape=(3,), dtype=np.dtype(('f4', (2,))))
@bad('type-16-bits', '/weights/w: its type is not known')
def _(f):
    t = h5py.h5t.IEEE_F32LE.copy(); t.set_fields(15, 9, 6, 0, 9); t.set_size(2); t.set_ebias(31)
    f.create_group('weights'); h5py.h5d.create(f['weights'].id, b'w', t, h5py.h5s.create_simple((3, 2)))
@bad('rows-differ', '/weights/w has 3 rows, others have 4')
def _(f): good(f); f['weights/v'] = np.zeros((4, 2), dtype='f4')
@bad('step-rows', '/step has 4 rows, /weights has 3')
def _(f): good(f, 4)
@bad('step-equal', '/step must rise')
def _(f): f['weights/w'] = w; f['step'] = np.array([0, 1, 1])
@bad('step-falls', '/step must rise')
def _(f): f['weights/w'] = w; f['step'] = np.array([0, 2, 1])
@bad('step-2d', '/step')
def _(f): f['weights/w'] = np.zeros((4, 1), 'f4'); f['step'] = np.arange(4).reshape(2, 2)
@bad('step-text', '/step')
def _(f): f['weights/w'] = w; f['step'] = np.array([b'0', b'1', b'2'])
@bad('step-real', '/step')
def _(f): f['weights/w'] = w; f['step'] = np.array([0, 1.5, np.nan])
@bad('digest-shape', '/digest/weights/w')
def _(f): good(f); f['digest/weights/w'] = np.zeros((3, 3), dtype='u8')
@bad('digest-rows', '/digest/weights/w')
def _(f): good(f); f['digest/weights/w'] = np.zeros((2, 2), dtype='u8')
@bad('digest-flat', '/digest/weights/w')
def _(f): good(f); f['digest/weights/w'] = np.zeros(3, dtype='u8')
@bad('digest-real', '/digest/weights/w')
def _(f): good(f); f['digest/weights/w'] = np.zeros((3, 2), dtype='f8')
@bad('digest-text', '/digest/weights/w')
def _(f): good(f); f['digest/weights/w'] = np.full((3, 2), b'x')
@bad('digest-missing', '/digest')
def _(f): good(f); f['weights/v'] = w; f['digest/weights/w'] = np.zeros((3, 2), dtype='u8')
@bad('gradient-shape', '/gradients/w')
def _(f): good(f); f['gradients/w'] = np.zeros((3, 3), dtype='f4')
@bad('gradient-missing', '/gradients has no w')
def _(f): good(f); f.create_group('gradients')
@bad('batch-rows', '/batch')
def _(f): good(f); f['batch/sample_ids'] = np.zeros((2, 2), dtype='i8')
@bad('batch-digest', '/batch/digest')
def _(f): good(f); f['batch/digest'] = np.zeros((3, 3), dtype='u8')
@bad('progress-three', '/progress')
def _(f): good(f); f['progress'] = np.array([3, 1, 0])
@bad('progress-2d', '/progress')
def _(f): good(f); f['progress'] = np.array([[3, 1]])
@bad('config', '/config')
def _(f): good(f); f.attrs['format'] = np.bytes_('driftscope.run'); f['config'] = np.bytes_('{"id": 3')
@bad('huge', '/weights/w')
def _(f): f.create_dataset('weights/w', shape=(2, 2**40, 2**18), dtype='f4', chunks=(1, 1024, 1))
with open('text.h5', 'w') as f: f.write('weights')
expected['text'] = 'not an HDF5 file'
open('empty.h5', 'w').close()
expected['empty'] = 'not an HDF5 file'
os.mkdir('folder.h5')
expected['folder'] = 'no such file'
expected['missing'] = 'no such file'
for name, what in expected.items(): print(name + '\t' + what)
)";

TEST(RunReader, WhatIsNoRunFileIsRefusedByName) {
    const TemporaryFolder folder;
    PYTHON_OUTPUT(output, badFiles, {folder.path().string()});
    std::istringstream lines(output);
    int count = 0;
    for (std::string name, what; std::getline(lines, name, '\t') && std::getline(lines, what);
         ++count) {
        const auto file = folder / (name + ".h5");
        const std::string message = messageOf<RecordingError>([&] { RunReader reader(file); });
        EXPECT_EQ(message.substr(0, file.string().size() + 2), file.string() + ": ") << name;
        EXPECT_HAS(message, what) << name;
    }
    EXPECT_EQ(count, 40);
}

TEST(RunReader, StatesThatNobodyKnowsAreFailedAndRowsAreClamped) {
    const TemporaryFolder folder;
    PYTHON_OUTPUT(output, R"(
os.chdir(sys.argv[1])
for name, progress in (('many', [99, 1]), ('negative', [-5, 1]), ('state', [2, 77]), ('minus', [2, -1]), ('run', [1, 0])):
    with h5py.File(name + '.h5', 'w') as f:
        f['weights/w'] = np.zeros((3, 2), dtype='f4')
        f.create_dataset('progress', data=np.array(progress, dtype='i4'), chunks=(1,))
)",
                  {folder.path().string()});
    EXPECT_EQ(RunReader(folder / "many.h5").progress().rows, 3);
    EXPECT_EQ(RunReader(folder / "negative.h5").progress().rows, 0);
    EXPECT_EQ(RunReader(folder / "state.h5").progress().state, RunState::Failed);
    EXPECT_EQ(RunReader(folder / "minus.h5").progress().state, RunState::Failed);
    EXPECT_EQ(RunReader(folder / "run.h5").progress().state, RunState::Failed); // nobody writes it
}

TEST(RunReader, IsMovable) {
    const TemporaryFolder folder;
    test::writeRun(folder / "run.h5",
                   {test::tinyConfig("x", 1), {{"w", DType::Float32, {1}}}, {{0, {{3}}}}});
    RunReader reader(folder / "run.h5");
    const TensorRow row = reader.weights(0, 0);
    const RunReader moved = std::move(reader);
    EXPECT_EQ(moved.weights(0, 0).values<float>()[0], 3.0F);
    EXPECT_EQ(row.values<float>()[0], 3.0F);
}

} // namespace
} // namespace driftscope
