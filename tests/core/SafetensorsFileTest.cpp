// SPDX-License-Identifier: GPL-3.0-or-later
// Files put together by Python's struct and json, good ones and hostile ones.
#include "training/SampleSet.h"
#include "support/Files.h"
#include "support/Python.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <bit>

namespace driftscope {
namespace {

using Json = nlohmann::json;
using Integers = std::vector<std::int64_t>;
using test::messageOf;

std::string littleEndian(std::uint64_t number) {
    std::string bytes;
    for (int i = 0; i < 8; ++i)
        bytes += static_cast<char>(number >> (8 * i));
    return bytes;
}

class SafetensorsFileTest : public ::testing::Test {
protected:
    SafetensorsFileTest() {
        m_config.kind = "safetensors";
        m_config.path = (m_folder / "data.safetensors").string();
    }
    SampleSet load(const std::string& file) {
        m_config.path = (m_folder / file).string();
        return loadSamples(m_config, -100);
    }
    /// What is wrong with a file of these bytes.
    std::string problemOfBytes(const std::string& bytes) {
        test::writeFile(m_config.path, bytes);
        const std::string problem = messageOf<DataError>([&] { loadSamples(m_config, -100); });
        if (problem != "no error") {
            EXPECT_HAS(problem, m_config.path + ": ");
        }
        return problem;
    }
    /// What is wrong with a file of this header and 64 bytes of data.
    std::string problem(const std::string& header) {
        return problemOfBytes(littleEndian(header.size()) + header + std::string(64, '\0'));
    }
    /// What is wrong with inputs x so described; y, four labels of 64 bits, is right.
    std::string problemOfInputs(const std::string& x) {
        return problem(R"({"x":)" + x + R"(,"y":{"dtype":"I64","shape":[4],"data_offsets":[32,64]}})");
    }

    test::TemporaryFolder m_folder;
    DataConfig m_config;
};

constexpr const char* right = R"({"dtype":"F32","shape":[4,2],"data_offsets":[0,32]})";

TEST_F(SafetensorsFileTest, EveryTypeIsAsPythonWroteIt) {
    PYTHON_OUTPUT(output, R"(
import struct
def write(file, **tensors): # of name: (dtype, array, bytes)
    header, data = {'__metadata__': {'format': 'pt', 'x': 'no tensor'}}, b''
    for name, (dtype, array, raw) in tensors.items():
        header[name] = {'dtype': dtype, 'shape': list(array.shape), 'data_offsets': [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    open(os.path.join(sys.argv[1], file), 'wb').write(struct.pack('<Q', len(text)) + text + data)
random = np.random.RandomState(2)
y = np.array([3, 0, -100, 1])
labels = ('I64', y, y.astype('<i8').tobytes())
reals = random.standard_normal((4, 2, 3))
bits = lambda a: a.astype(np.float32).view(np.uint32).ravel().tolist()
brain = reals.astype('<f4').view('<u4') >> 16
pixels = random.randint(0, 256, (4, 2, 3)).astype(np.uint8)
tokens = random.randint(0, 1000, (4, 5))
cases = {}
def case(dtype, array, raw, expected):
    write(dtype, y=labels, x=(dtype, array, raw), extra=('F8_E4M3', np.zeros(3), b'abc'))
    cases[dtype] = [array.shape[1:], expected]
for dtype, kind in [('F16', '<f2'), ('F32', '<f4'), ('F64', '<f8')]:
    case(dtype, reals, reals.astype(kind).tobytes(), bits(reals.astype(kind)))
case('BF16', reals, brain.astype('<u2').tobytes(), (brain << 16).ravel().tolist())
case('U8', pixels, pixels.tobytes(), pixels.ravel().tolist())
case('I32', tokens, tokens.astype('<i4').tobytes(), tokens.ravel().tolist())
case('I64', tokens, tokens.astype('<i8').tobytes(), tokens.ravel().tolist())
write('regression', inputs=('F32', reals, reals.astype('<f4').tobytes()),
      targets=('F64', reals[:, 0], reals[:, 0].astype('<f8').tobytes()))
cases['regression'] = [[2, 3], bits(reals)]
print(json.dumps(cases))
)",
                  {m_folder.path().string()});
    const Json cases = Json::parse(output);
    EXPECT_EQ(cases.size(), 8U);
    for (const auto& [name, expected] : cases.items()) {
        SCOPED_TRACE(name);
        const SampleSet set = load(name);
        EXPECT_EQ(set.samples, 4);
        Integers shape = expected[0];
        if (const auto* pixels = std::get_if<std::vector<std::uint8_t>>(&set.inputs)) {
            EXPECT_EQ(*pixels, expected[1].get<std::vector<std::uint8_t>>());
            shape.insert(shape.begin(), 1);
        } else if (const auto* tokens = std::get_if<Integers>(&set.inputs)) {
            EXPECT_EQ(*tokens, expected[1].get<Integers>());
        } else {
            std::vector<std::uint32_t> bits;
            for (const float value : std::get<std::vector<float>>(set.inputs))
                bits.push_back(std::bit_cast<std::uint32_t>(value));
            EXPECT_EQ(bits, expected[1].get<std::vector<std::uint32_t>>());
        }
        EXPECT_EQ(set.shape, shape);
        if (name == "regression") {
            EXPECT_EQ(set.targetShape, Integers{3});
            EXPECT_EQ(std::get<std::vector<float>>(set.targets)[2], std::get<std::vector<float>>(set.inputs)[2]);
        } else {
            EXPECT_EQ(std::get<Integers>(set.targets), (Integers{3, 0, -100, 1}));
            EXPECT_EQ(set.classes, 4);
        }
        m_config.limit = 1;
        EXPECT_EQ(load(name).samples, 1);
        m_config.limit.reset();
    }
}

TEST_F(SafetensorsFileTest, OffsetsThatCannotBeAreRefused) {
    EXPECT_EQ(problemOfInputs(right), "no error");
    const auto offsets = [&](const std::string& text) {
        return problemOfInputs(R"({"dtype":"F32","shape":[4,2],"data_offsets":)" + text + "}");
    };
    for (const char* text : {"[0,65]", "[32,0]", "[0]", "[]", "[0,16,32]", "[0,9223372036854775807]", "[64,96]"})
        EXPECT_HAS(offsets(text), "expected a begin and an end within the 64 bytes") << text;
    for (const char* text : {"[-8,24]", "[0,18446744073709551615]", "[0,1e300]", "[0,32.0]", "\"0,32\"", "null", "{}",
                             "[\"0\",\"32\"]", "[18446744073709551608,24]", "[0,99999999999999999999999]"})
        EXPECT_HAS(offsets(text), "data_offsets: expected a list of numbers ≥ 0") << text;
    EXPECT_HAS(offsets("[1,33]"), "tensors x and y overlap");
    EXPECT_HAS(offsets("[32,64]"), "overlap");
    EXPECT_HAS(offsets("[0,64]"), "overlap");
    EXPECT_HAS(offsets("[0,31]"), "needs more than the 31 bytes");
    EXPECT_HAS(offsets("[0,0]"), "needs more than the 0 bytes");
}

TEST_F(SafetensorsFileTest, ShapesAndTypesThatCannotBeAreRefused) {
    const auto shape = [&](const std::string& text) {
        return problemOfInputs(R"({"dtype":"F32","shape":)" + text + R"(,"data_offsets":[0,32]})");
    };
    EXPECT_HAS(shape("[4,3]"), "float32 of 4×3 needs more than the 32 bytes");
    EXPECT_HAS(shape("[4,4611686018427387904]"), "needs more than");
    EXPECT_HAS(shape("[4,4294967296,4294967296]"), "needs more than");
    EXPECT_HAS(shape("[4,9223372036854775808]"), "shape: expected a list of numbers ≥ 0");
    EXPECT_HAS(shape("[4,-2]"), "shape: expected a list of numbers ≥ 0");
    EXPECT_HAS(shape("4"), "shape: expected a list of numbers ≥ 0");
    EXPECT_HAS(shape("[]"), "float32 of no dimension: expected samples");
    EXPECT_HAS(shape("[4]"), "float32 of 4: expected inputs");
    EXPECT_HAS(shape("[0,8]"), "4 targets for the 0 inputs");
    EXPECT_HAS(shape("[4,0]"), "no dimension of 0");
    EXPECT_HAS(shape("[5,1]"), "4 targets for the 5 inputs");
    for (const char* dtype : {"F8_E4M3", "BOOL", "f32", "", "I16"})
        EXPECT_HAS(problemOfInputs(R"({"dtype":")" + std::string(dtype) + R"(","shape":[4,2],"data_offsets":[0,32]})"),
                   "expected F32, F64, F16, BF16, U8, I64 or I32")
            << dtype;
    EXPECT_HAS(problemOfInputs(R"({"dtype":3,"shape":[4,2],"data_offsets":[0,32]})"), "expected an object with dtype");
    EXPECT_HAS(problemOfInputs(R"({"shape":[4,2],"data_offsets":[0,32]})"), "expected an object with dtype");
    EXPECT_HAS(problemOfInputs(R"({"dtype":"F32","data_offsets":[0,32]})"), "shape: expected a list");
    EXPECT_HAS(problemOfInputs("[]"), "expected an object with dtype");
    EXPECT_HAS(problemOfInputs(R"({"dtype":"U8","shape":[4,8],"data_offsets":[0,32]})"),
               "uint8 of 4×8: expected inputs");
}

TEST_F(SafetensorsFileTest, HeadersThatCannotBeAreRefused) {
    EXPECT_HAS(problemOfBytes(""), "ends too early");
    EXPECT_HAS(problemOfBytes("1234567"), "ends too early");
    EXPECT_HAS(problemOfBytes(littleEndian(0)), "its header is damaged");
    EXPECT_HAS(problemOfBytes(littleEndian(3) + "{}"), "its header would have 3 bytes: expected at most 2");
    EXPECT_HAS(problemOfBytes(littleEndian(~std::uint64_t{0}) + "{}"), "18446744073709551615 bytes");
    EXPECT_HAS(problemOfBytes(littleEndian(5000000) + std::string(6000000, ' ')), "expected at most 4194304");
    for (const char* header : {"", "[]", "null", "{", "{\"x\"", "\xff\xfe", "{\"\xff\":1}", "{}x"})
        EXPECT_HAS(problem(header), "expected a JSON object") << header;
    EXPECT_HAS(problem("{}"), "has no arrays: expected one array of inputs");
    EXPECT_HAS(problem(R"({"x":)" + std::string(right) + "}"), "has x: expected");
    EXPECT_HAS(problem(R"({"weight":)" + std::string(right) + "}"), "has weight: expected");
    EXPECT_HAS(problem(R"({"a\n\u0007é":)" + std::string(right) + "}"), "has a????: expected");
    EXPECT_HAS(problem("{\"x\":" + std::string(4000000, '[')), "nested too deeply");
    std::string deep = "{\"x\":";
    for (int i = 0; i < 500000; ++i)
        deep += "{\"a\":";
    EXPECT_HAS(problem(deep), "nested too deeply");
}

TEST_F(SafetensorsFileTest, EveryPrefixAndEveryChangedByteIsOneErrorAtWorst) {
    const std::string header = R"({"x":)" + std::string(right) +
                               R"(,"y":{"dtype":"I64","shape":[4],"data_offsets":[32,64]}})";
    const std::string whole = littleEndian(header.size()) + header + std::string(64, '\0');
    EXPECT_EQ(problemOfBytes(whole), "no error");
    for (std::size_t length = 0; length < whole.size(); ++length)
        EXPECT_NE(problemOfBytes(whole.substr(0, length)), "no error") << length;
    for (std::size_t i = 0; i < whole.size(); ++i)
        for (const int mask : {0x01, 0x10, 0x80, 0xFF}) {
            std::string changed = whole;
            changed[i] = static_cast<char>(changed[i] ^ mask);
            problemOfBytes(changed);
        }
}

TEST_F(SafetensorsFileTest, AMissingFileSaysWhatWritesOne) {
    EXPECT_HAS(messageOf<DataError>([&] { load("none.safetensors"); }),
               "none.safetensors: no such file: expected a file that safetensors.torch.save_file");
}

} // namespace
} // namespace driftscope
