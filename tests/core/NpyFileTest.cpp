// SPDX-License-Identifier: GPL-3.0-or-later
// NumPy writes the files and says what is in them.
#include "training/SampleSet.h"
#include "support/Files.h"
#include "support/Python.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <cmath>

namespace driftscope {
namespace {

using Json = nlohmann::json;
using Integers = std::vector<std::int64_t>;
using test::messageOf;

class NpyFileTest : public ::testing::Test {
protected:
    NpyFileTest() { m_config.kind = "npy"; }

    SampleSet load(const std::string& file, const std::string& targets = "") {
        m_config.path = (m_folder / file).string();
        m_config.targets = targets.empty() ? "" : (m_folder / targets).string();
        return loadSamples(m_config, -100);
    }
    std::string problem(const std::string& file, const std::string& targets = "") {
        return messageOf<DataError>([&] { load(file, targets); });
    }
    std::vector<std::string> arguments() { return {m_folder.path().string()}; }

    test::TemporaryFolder m_folder;
    DataConfig m_config;
};

std::vector<std::uint32_t> bitsOf(const std::vector<float>& values) {
    std::vector<std::uint32_t> bits;
    for (const float value : values)
        bits.push_back(std::isnan(value) ? 0x7FC00000U : std::bit_cast<std::uint32_t>(value));
    return bits;
}

void expectValues(const Json& values, const InputValues& inputs) {
    if (const auto* pixels = std::get_if<std::vector<std::uint8_t>>(&inputs))
        EXPECT_EQ(*pixels, values.get<std::vector<std::uint8_t>>());
    else if (const auto* tokens = std::get_if<Integers>(&inputs))
        EXPECT_EQ(*tokens, values.get<Integers>());
    else
        EXPECT_EQ(bitsOf(std::get<std::vector<float>>(inputs)), values.get<std::vector<std::uint32_t>>());
}

// Python's side of expectValues: pixels and tokens as they are, floats as their bits
constexpr const char* values = R"(
def values(a):
    if a.dtype.kind in 'ui':
        return a.ravel().tolist()
    with np.errstate(over='ignore'):
        f = a.astype(np.float32).ravel()
    f[np.isnan(f)] = np.nan
    return f.view(np.uint32).tolist()
os.chdir(sys.argv[1])
random = np.random.RandomState(1)
)";

TEST_F(NpyFileTest, InputsOfEveryTypeAreAsNumPyReadsThem) {
    PYTHON_OUTPUT(output, std::string(values) + R"(
cases = []
def case(x, shape):
    name = f'{len(cases)}.npz'
    [np.savez, np.savez_compressed][len(cases) % 2](name, x=x, y=np.arange(len(x)))
    cases.append([name, shape, values(x), str(x.dtype)])
case(random.randint(0, 256, (3, 2, 4)).astype(np.uint8), [1, 2, 4])
case(random.randint(0, 256, (3, 2, 4)).astype(np.uint8), [1, 2, 4])
case(random.randint(0, 256, (3, 2, 5, 4)).astype(np.uint8), [2, 5, 4])
for order in '<>':
    for kind in ['f2', 'f4', 'f8']:
        x = random.standard_normal((4, 3, 2)) * 10.0 ** random.randint(-6, 5, (4, 3, 2))
        x[0, 0] = [np.inf, -0.0]
        x[1, 0] = [np.nan, 1e-300]
        case(x.astype(order + kind), [3, 2])
    for kind in ['i4', 'i8']:
        case(random.randint(0, 2**31 - 1, (5, 7)).astype(order + kind), [7])
case(np.array([[2**62]]), [1])
case(np.arange(65536, dtype=np.uint16).view(np.float16).reshape(256, 256), [256]) # all there are
case(np.array([[1 + 2**-24, 1 + 3 * 2**-24, 1e39, -1e39, 1e-46]]), [5]) # rounded to the nearest, even
print(json.dumps(cases))
)",
                  arguments());
    for (const Json& each : Json::parse(output)) {
        SCOPED_TRACE(each[3].get<std::string>() + " in " + each[0].get<std::string>());
        const SampleSet set = load(each[0]);
        EXPECT_EQ(set.shape, each[1].get<Integers>());
        expectValues(each[2], set.inputs);
        EXPECT_EQ(std::get<Integers>(set.targets).size(), static_cast<std::size_t>(set.samples));
        EXPECT_HAS(set.description, m_config.path);
    }
}

TEST_F(NpyFileTest, TargetsOfEveryTypeAreAsNumPyReadsThem) {
    PYTHON_OUTPUT(output, std::string(values) + R"(
cases = []
for name in 'x inputs images data'.split():
    for target in 'y targets labels'.split():
        for order in '<>':
            for kind in ['u1', 'i1', 'u2', 'i2', 'u4', 'i4', 'u8', 'i8', 'f2', 'f4', 'f8']:
                y = random.randint(0, 120, 6).astype(order + kind)
                if kind[0] == 'i':
                    y[2] = -100 # does not count
                if kind[0] == 'f':
                    y = (y / 7).astype(y.dtype)
                file = f'{len(cases)}.npz'
                np.savez(file, **{name: np.zeros((6, 1), np.float32), target: y})
                cases.append([file, values(y), int(y.max()) + 1 if kind[0] != 'f' else 0])
print(json.dumps(cases))
)",
                  arguments());
    for (const Json& each : Json::parse(output)) {
        SCOPED_TRACE(each[0].get<std::string>());
        const SampleSet set = load(each[0]);
        EXPECT_EQ(set.samples, 6);
        EXPECT_EQ(set.classes, each[2].get<std::int64_t>());
        EXPECT_TRUE(set.targetShape.empty());
        if (set.classes > 0)
            EXPECT_EQ(std::get<Integers>(set.targets), each[1].get<Integers>());
        else
            expectValues(each[1], std::get<std::vector<float>>(set.targets));
    }
}

TEST_F(NpyFileTest, OtherArraysFilesAndVersions) {
    PYTHON_OUTPUT(output, std::string(values) + R"(
np.savez('more.npz', a=np.zeros(3), y=np.float32([[1, 2], [3, 4], [5, 6]]), x_test=np.zeros(1), x=np.ones((3, 2)))
np.savez('binary.npz', x=np.ones((3, 2)), y=np.zeros(3, int))
np.savez('ignored.npz', x=np.ones((3, 2)), y=np.full(3, -100))
for version in [1, 2, 3]:
    with open(f'x{version}.npy', 'wb') as f:
        np.lib.format.write_array(f, np.arange(12, dtype='>f4').reshape(3, 4), version=(version, 0))
np.save('y.npy', np.array([4, 0, 2], np.uint8))
with open('long.npy', 'wb') as f: # another order and other quotes, as others may write it
    header = b' { "shape" : ( 3 , 1 ), "fortran_order":False ,"descr":"<i8"}\n'
    f.write(b'\x93NUMPY\x01\x00' + len(header).to_bytes(2, 'little') + header)
    f.write(np.array([7, 8, 9, 1000], '<i8').tobytes()) # and something behind
)",
                  arguments());
    SampleSet set = load("more.npz");
    EXPECT_EQ(set.targetShape, Integers{2});
    EXPECT_EQ(std::get<std::vector<float>>(set.targets), (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(set.classes, 0);
    EXPECT_EQ(load("binary.npz").classes, 2); // at least
    EXPECT_EQ(load("ignored.npz").classes, 2);
    for (const char* file : {"x1.npy", "x2.npy", "x3.npy"}) {
        set = load(file, "y.npy");
        EXPECT_EQ(std::get<std::vector<float>>(set.inputs)[11], 11) << file;
        EXPECT_EQ(std::get<Integers>(set.targets), (Integers{4, 0, 2}));
        EXPECT_EQ(set.classes, 5);
    }
    EXPECT_EQ(std::get<Integers>(load("long.npy", "y.npy").inputs), (Integers{7, 8, 9}));
}

TEST_F(NpyFileTest, LimitTakesTheFirstAndShapePads) {
    PYTHON_OUTPUT(output, std::string(values) + R"(
x = np.arange(200000 * 4, dtype=np.uint32).astype(np.uint8).reshape(200000, 2, 2)
np.savez_compressed('a.npz', x=x, y=np.arange(200000) % 77)
np.savez('f.npz', x=x.astype(np.float32), y=np.zeros(200000))
)",
                  arguments());
    EXPECT_EQ(load("a.npz").classes, 77);
    EXPECT_EQ(std::get<std::vector<float>>(load("f.npz").inputs).size(), 800000U);
    m_config.limit = 2;
    SampleSet set = load("a.npz");
    EXPECT_EQ(set.samples, 2);
    EXPECT_EQ(std::get<std::vector<std::uint8_t>>(set.inputs), (std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(std::get<Integers>(set.targets), (Integers{0, 1}));
    EXPECT_HAS(set.description, "2 of 200000 samples of 1x2x2 (uint8)");
    EXPECT_EQ(std::get<std::vector<float>>(load("f.npz").targets).size(), 2U);
    m_config.limit = 1;
    m_config.shape = {2, 2, 3};
    set = load("a.npz");
    EXPECT_EQ(set.shape, m_config.shape);
    EXPECT_EQ(std::get<std::vector<std::uint8_t>>(set.inputs),
              (std::vector<std::uint8_t>{0, 1, 0, 2, 3, 0, 0, 1, 0, 2, 3, 0}));
    EXPECT_EQ(set.targets, TargetValues(Integers{0}));
    EXPECT_HAS(set.description, "repeated to 2 channels");
    EXPECT_HAS(problem("f.npz"), "[data] shape = 2x2x3 is for images of 8 bits");
}

TEST_F(NpyFileTest, WhatCannotBeTrainedOnIsRefusedWithAReason) {
    PYTHON_OUTPUT(output, std::string(values) + R"(
cases = []
def case(expected, x=np.zeros((3, 2)), y=np.arange(3), **more):
    name = f'{len(cases)}.npz'
    np.savez(name, x=x, y=y, **more)
    cases.append([name, expected])
def names(expected, **arrays):
    np.savez(f'{len(cases)}.npz', **arrays)
    cases.append([f'{len(cases)}.npz', expected])
case('x.npy: is in Fortran order: expected C order; save np.ascontiguousarray(array)',
     np.asfortranarray(np.zeros((3, 2))))
case('np.ascontiguousarray', y=np.asfortranarray(np.zeros((3, 2))))
case('elements of type |b1', np.zeros((3, 2), bool))
case('elements of type <c16', np.zeros((3, 2), complex))
case('elements of type <U3', y=np.array(['cat', 'dog', 'cow']))
case('elements of type |O', y=np.array([{}, [], None], object))
case('elements of type several fields', np.zeros(3, [('a', 'f4'), ('b', 'i4')]))
case('elements of type <f16', np.zeros((3, 2), np.longdouble))
case('elements of type <M8[s]', y=np.zeros(3, 'M8[s]'))
case('uint8 of 3×2: expected inputs', np.zeros((3, 2), np.uint8))
case('uint8 of 3×1×1×1×1: expected inputs', np.zeros((3, 1, 1, 1, 1), np.uint8))
case('int16 of 3×2: expected inputs', np.zeros((3, 2), np.int16))
case('uint32 of 3×2: expected inputs', np.zeros((3, 2), np.uint32))
case('int64 of 3×2×2: expected inputs', np.zeros((3, 2, 2), int))
case('float64 of 3: expected inputs', np.zeros(3))
case('float64 of no dimension: expected samples', np.float64(3))
case('int64 of no dimension: expected samples', y=np.int64(3))
case('4 targets for the 3 inputs', y=np.arange(4))
case('int64 of 3×1: expected targets', y=np.zeros((3, 1), int))
case('at least one sample', np.zeros((0, 2)), np.zeros(0, int))
case('no dimension of 0', np.zeros((3, 0)))
case('label -1 of sample 1: allowed are 0 … 999999 and ignore_index = -100', y=np.array([0, -1, 2]))
case('label 1000000 of sample 2', y=np.array([0, 1, 1000000]))
case('label 9223372036854775807 of sample 0', y=np.array([2**64 - 100, 1, 0], np.uint64))
case('token -5: allowed is 0', np.array([[1, -5]] * 3))
case('has x, y, labels: expected one array of inputs, named x, inputs, images, data, and one of targets',
     labels=np.zeros(3))
names('has a, b: expected', a=np.zeros((3, 2)), b=np.zeros(3))
names('has X, y', X=np.zeros((3, 2)), y=np.zeros(3))
names('has x: expected', x=np.zeros((3, 2)))
names('has no arrays')
names('has evil???evil???', **{'evil\n\xff' * 20: np.zeros(1)})
print(json.dumps(cases))
)",
                  arguments());
    for (const Json& each : Json::parse(output)) {
        const std::string file = each[0];
        EXPECT_HAS(problem(file), each[1].get<std::string>());
        EXPECT_HAS(problem(file), file);
        EXPECT_EQ(problem(file).find('\n'), std::string::npos);
        EXPECT_LT(problem(file).size(), 600U);
    }
}

} // namespace
} // namespace driftscope
