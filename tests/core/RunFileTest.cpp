// SPDX-License-Identifier: GPL-3.0-or-later
// The run file as others read it: every dataset and attribute that the design lists, through h5py.
#include "recording/RunReader.h"
#include "recording/RunWriter.h"
#include "recording/Version.h"
#include "support/Files.h"
#include "support/Python.h"
#include "support/RunFiles.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <regex>

namespace driftscope {
namespace {

using test::TemporaryFolder;
using test::TestRun;
using Json = nlohmann::json;

/// Two rows of a model whose names are not in alphabetical order, with a scalar and an own
/// parameter.
TestRun handMade(const std::string& gradients) {
    TestRun run{test::tinyConfig("by-hand", 4),
                {{"fc2.weight", DType::Float32, {2, 3}},
                 {"fc1.bias", DType::Float32, {}},
                 {"block.0.conv.weight", DType::Float64, {1, 2, 1, 1}},
                 {"alpha", DType::Float32, {3}}},
                {}};
    run.config.train.batch = 3;
    run.config.record.gradients = gradients;
    run.rows.push_back({0, {{1, -2, 3.5, 0, -0.0, 1e-40}, {0.1}, {0.1, -1e300}, {7, 8, 9}}});
    run.rows.push_back({4,
                        {{1, 2, 3, 4, 5, 6}, {0.25}, {1.5, 2.5}, {-7, -8, -9}},
                        {{1, 0, 0, 0, 0, 2}, {3}, {0.5, 0}, {0, 0, -4}},
                        0.75,
                        {11, 12},
                        {5, 18446744073709551615U}});
    return run;
}

/// Every dataset as {"path": {dtype, shape, attrs, values, contiguous}}, groups in the order of
/// creation.
constexpr const char* dumpFile = R"(
def plain(value):
    if isinstance(value, bytes): return value.decode()
    if isinstance(value, np.ndarray) and value.dtype.kind == 'f': return [float(v).hex() for v in value.flat]
    if isinstance(value, np.ndarray): return [int(v) for v in value.flat]
    return value.item() if hasattr(value, 'item') else value
out = {}
order = []
with h5py.File(sys.argv[1], 'r') as f:
    out['attrs'] = {k: plain(v) for k, v in f.attrs.items()}
    out['version_dtype'] = f.attrs.get_id('format_version').dtype.str
    def visit(name, item):
        if not isinstance(item, h5py.Dataset): return
        d = {'dtype': item.dtype.str, 'shape': item.shape, 'attrs': {k: plain(v) for k, v in item.attrs.items()}}
        plist = item.id.get_create_plist()
        d['contiguous'] = plist.get_layout() == h5py.h5d.CONTIGUOUS
        value = item[()]
        if item.dtype.kind == 'f': value = np.asarray(value)
        d['values'] = plain(value)
        out[name] = d
    f.visititems(visit)
    def children(group):
        names = []
        opened = f[group]
        opened.id.links.iterate(names.append, idx_type=h5py.h5.INDEX_CRT_ORDER)
        return [n.decode() for n in names]
    for group in ('weights', 'gradients', 'digest/weights', 'digest/gradient'):
        if group in f: out['order ' + group] = children(group)
print(json.dumps(out))
)";

std::vector<std::string> hex(const std::vector<double>& values) {
    std::vector<std::string> texts;
    for (const double value : values) {
        char text[64];
        std::snprintf(text, sizeof text, "%a", value);
        texts.emplace_back(text);
    }
    return texts;
}

/// Values as Python's float.hex writes them, read back: spelling differs, numbers do not.
std::vector<double> reals(const Json& dataset) {
    std::vector<double> values;
    for (const auto& text : dataset.at("values"))
        values.push_back(std::strtod(text.get<std::string>().c_str(), nullptr));
    return values;
}

void expectBits(const std::vector<double>& values, const std::vector<double>& expected) {
    EXPECT_EQ(hex(values), hex(expected));
}

TEST(RunFile, H5pyReadsEveryDatasetAndAttribute) {
    const TemporaryFolder folder;
    test::writeRun(folder / "run.h5", handMade("full"));
    PYTHON_OUTPUT(output, dumpFile, {(folder / "run.h5").string()});
    const Json f = Json::parse(output);

    EXPECT_EQ(f["attrs"]["format"], "driftscope.run");
    EXPECT_EQ(f["attrs"]["format_version"], 1);
    EXPECT_EQ(f["version_dtype"], "<i8");
    EXPECT_EQ(f["attrs"]["generator"], std::string(generatorName()));
    EXPECT_TRUE(std::regex_match(
        f["attrs"]["run_id"].get<std::string>(),
        std::regex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")));
    EXPECT_TRUE(std::regex_match(
        f["attrs"]["created"].get<std::string>(),
        std::regex("20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z")));
    EXPECT_EQ(Json::parse(f["config"]["values"].get<std::string>())["id"], "by-hand");
    EXPECT_EQ(f["environment"]["values"], R"({"cpu":"by hand"})");
    EXPECT_EQ(f["progress"]["values"], Json({2, 1}));
    EXPECT_EQ(f["message"]["dtype"], "|S1024");
    EXPECT_EQ(f["message"]["values"], "");
    EXPECT_EQ(f["step"]["values"], Json({0, 4}));
    for (const char* name : {"progress", "step", "batch/sample_ids"})
        EXPECT_EQ(f[name]["dtype"], "<i8") << name;
    EXPECT_EQ(f["batch/sample_ids"]["shape"], Json({2, 3}));
    EXPECT_EQ(f["batch/sample_ids"]["values"], Json({-1, -1, -1, 11, 12, -1}));
    EXPECT_EQ(f["batch/digest"]["dtype"], "<u8");
    EXPECT_EQ(f["batch/digest"]["values"], Json({0, 0, 5, 18446744073709551615U}));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    expectBits(reals(f["scalars/loss"]), {nan, 0.75});
    expectBits(reals(f["scalars/grad_norm_sq"]), {nan, 1 + 4 + 9 + 0.25 + 16});
    for (const char* name : {"loss", "accuracy", "grad_norm_sq", "learning_rate", "step_seconds"}) {
        const Json& scalar = f["scalars/" + std::string(name)];
        EXPECT_EQ(scalar["dtype"], "<f8") << name;
        EXPECT_EQ(scalar["shape"], Json({2})) << name;
    }

    const Json order{"fc2.weight", "fc1.bias", "block.0.conv.weight", "alpha"};
    for (const char* group : {"weights", "gradients", "digest/weights", "digest/gradient"})
        EXPECT_EQ(f["order " + std::string(group)], order) << group;
    expectBits(reals(f["weights/fc2.weight"]),
               {1, -2, 3.5, 0, -0.0, static_cast<double>(1e-40F), 1, 2, 3, 4, 5, 6});
    expectBits(reals(f["weights/fc1.bias"]), {static_cast<double>(0.1F), 0.25});
    expectBits(reals(f["weights/block.0.conv.weight"]), {0.1, -1e300, 1.5, 2.5});
    expectBits(reals(f["gradients/fc2.weight"]), {nan, nan, nan, nan, nan, nan, 1, 0, 0, 0, 0, 2});
    expectBits(reals(f["gradients/block.0.conv.weight"]), {nan, nan, 0.5, 0});
    EXPECT_EQ(f["weights/fc2.weight"]["shape"], Json({2, 2, 3}));
    EXPECT_EQ(f["weights/fc1.bias"]["shape"], Json({2}));
    EXPECT_EQ(f["weights/block.0.conv.weight"]["shape"], Json({2, 1, 2, 1, 1}));
    EXPECT_EQ(f["gradients/alpha"]["shape"], Json({2, 3}));
    EXPECT_EQ(f["weights/fc2.weight"]["dtype"], "<f4");
    EXPECT_EQ(f["weights/block.0.conv.weight"]["dtype"], "<f8");
    EXPECT_EQ(f["weights/block.0.conv.weight"]["attrs"],
              Json({{"layer", "block.0.conv"}, {"kind", "weight"}, {"dtype", "float64"}}));
    EXPECT_EQ(f["weights/alpha"]["attrs"],
              Json({{"layer", ""}, {"kind", "alpha"}, {"dtype", "float32"}}));
    for (const auto& [name, dataset] : f.items())
        if (dataset.contains("contiguous") && name != "config" && name != "environment") {
            EXPECT_TRUE(dataset["contiguous"].get<bool>()) << name;
        }
}

TEST(RunFile, DigestsAreOfTheBytesThatWereWritten) {
    const TemporaryFolder folder;
    test::writeRun(folder / "run.h5", handMade("full"));
    PYTHON_OUTPUT(output, dumpFile, {(folder / "run.h5").string()});
    const Json f = Json::parse(output);
    const float bias = 0.1F;
    const Digest digest = digestOf(std::as_bytes(std::span(&bias, 1)));
    EXPECT_EQ(f["digest/weights/fc1.bias"]["dtype"], "<u8");
    EXPECT_EQ(f["digest/weights/fc1.bias"]["shape"], Json({2, 2}));
    EXPECT_EQ(f["digest/weights/fc1.bias"]["values"][0], digest[0]);
    EXPECT_EQ(f["digest/weights/fc1.bias"]["values"][1], digest[1]);
    const double gradient[] = {0.5, 0};
    const Digest other = digestOf(std::as_bytes(std::span(gradient)));
    EXPECT_EQ(f["digest/gradient/block.0.conv.weight"]["values"], Json({0, 0, other[0], other[1]}));
}

TEST(RunFile, WithoutGradientsTheirDigestsAndNormStay) {
    const TemporaryFolder folder;
    test::writeRun(folder / "none.h5", handMade("none"));
    test::writeRun(folder / "full.h5", handMade("full"));
    const RunReader none(folder / "none.h5"), full(folder / "full.h5");
    EXPECT_FALSE(none.hasGradients());
    EXPECT_TRUE(full.hasGradients());
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(none.gradientDigest(i, 0), Digest{});
        EXPECT_NE(none.gradientDigest(i, 1), Digest{});
        EXPECT_EQ(none.gradientDigest(i, 1), full.gradientDigest(i, 1));
    }
    EXPECT_EQ(none.scalar(GradNormSq)[1], 30.25);
    PYTHON_OUTPUT(output, "print('gradients' in h5py.File(sys.argv[1], 'r'))",
                  {(folder / "none.h5").string()});
    EXPECT_EQ(output, "False\n");
}

TEST(RunFile, ReadsBackThroughTheReader) {
    const TemporaryFolder folder;
    const TestRun run = handMade("full");
    test::writeRun(folder / "run.h5", run);
    const RunReader reader(folder / "run.h5");
    EXPECT_EQ(std::vector(reader.parameters().begin(), reader.parameters().end()), run.parameters);
    EXPECT_EQ(std::vector(reader.steps().begin(), reader.steps().end()),
              (std::vector<std::int64_t>{0, 4}));
    EXPECT_EQ(reader.weights(2, 1).values<double>()[1], 2.5);
    EXPECT_EQ(reader.gradients(3, 1).values<float>()[2], -4.0F);
    EXPECT_EQ(reader.sampleIds(1), (std::vector<std::int64_t>{11, 12, -1}));
    EXPECT_EQ(reader.batchDigest(1), (Digest{5, 18446744073709551615U}));
    EXPECT_EQ(reader.config()->train.batch, 3);
    EXPECT_EQ(reader.environment(), R"({"cpu":"by hand"})");
    EXPECT_EQ(reader.generator(), generatorName());
    EXPECT_EQ(reader.scalar(Loss)[1], 0.75);
    EXPECT_EQ(reader.file(), folder / "run.h5");
    EXPECT_EQ(reader.runId().size(), 36U);
    test::writeRun(folder / "again.h5", run);
    EXPECT_NE(RunReader(folder / "again.h5").runId(), reader.runId());
}

TEST(RunFile, EmptyTensorsAndLargeRowsAreKept) {
    const TemporaryFolder folder;
    TestRun run{test::tinyConfig("x", 1),
                {{"empty", DType::Float32, {0, 3}}, {"w", DType::Float32, {1}}},
                {}};
    run.rows.push_back({0, {{}, {1}}});
    run.rows.push_back({1, {{}, {2}}, {{}, {3}}});
    test::writeRun(folder / "run.h5", run);
    const RunReader reader(folder / "run.h5");
    EXPECT_EQ(reader.parameters()[0].shape, (std::vector<std::uint64_t>{0, 3}));
    EXPECT_TRUE(reader.weights(0, 1).bytes().empty());
    EXPECT_EQ(reader.weights(1, 1).values<float>()[0], 2.0F);
}

} // namespace
} // namespace driftscope
