// SPDX-License-Identifier: GPL-3.0-or-later
// Against values worked out by hand; against NumPy in RunComparisonNumpyTest.cpp.
#include "analysis/RunComparison.h"
#include "support/Files.h"
#include "support/RunFiles.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace driftscope {
namespace {

namespace fs = std::filesystem;
using test::messageOf;
using test::TemporaryFolder;
using test::TestRun;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Two layers, in an order that is not the alphabet's.
TestRun model(std::vector<test::TestRow> rows, DType dtype = DType::Float32) {
    return {test::tinyConfig("run", 100),
            {{"out.weight", dtype, {1}}, {"fc1.weight", dtype, {2}}, {"fc1.bias", dtype, {1}}},
            std::move(rows)};
}

class RunComparisonTest : public ::testing::Test {
protected:
    fs::path write(const TestRun& run) {
        const fs::path file = m_folder / ("run" + std::to_string(m_count++) + ".h5");
        test::writeRun(file, run);
        return file;
    }
    RunComparison compare(const TestRun& run, const TestRun& reference, int threads = 1) {
        const RunReader a(write(run)), r(write(reference));
        return compareRuns(a, r, threads);
    }
    TemporaryFolder m_folder;

private:
    int m_count = 0;
};

double at(const RunComparison& comparison, Metric metric, std::size_t row, const Scope& scope) {
    const auto index = comparison.findScope(scope);
    EXPECT_TRUE(index) << scope.name;
    return index ? comparison.value(metric, row, *index) : -1;
}

const Scope whole{ScopeKind::Model, ""}, fc1{ScopeKind::Layer, "fc1"}, out{ScopeKind::Layer, "out"},
    bias{ScopeKind::Tensor, "fc1.bias"};

TEST_F(RunComparisonTest, ValuesWorkedOutByHand) {
    const double e = 0x1p-21; // one ULP of a float32 in [4, 8), half of one in [8, 16)
    const auto c = compare(model({{0, {{1}, {3, 4}, {12}}}, {1, {{-1}, {3, 4 + e}, {12 + 6 * e}}}}),
                           model({{0, {{1}, {3, 4}, {12}}}, {1, {{1}, {3, 4}, {12}}}}));
    EXPECT_EQ(c.steps, (std::vector<std::int64_t>{0, 1}));
    const std::vector<Scope> scopes{
        whole, out, fc1, {ScopeKind::Tensor, "out.weight"}, {ScopeKind::Tensor, "fc1.weight"},
        bias};
    EXPECT_EQ(c.scopes, scopes);
    for (const MetricInfo& info : metrics())
        for (std::size_t scope = 0; scope < scopes.size(); ++scope)
            EXPECT_EQ(c.value(info.metric, 0, scope), 0) << info.key;

    // fc1: differences 0, e, 6 e; the reference's length is √(9 + 16 + 144) = 13
    EXPECT_DOUBLE_EQ(at(c, Metric::L2, 1, fc1), std::sqrt(37.0) * e);
    EXPECT_DOUBLE_EQ(at(c, Metric::RelativeL2, 1, fc1), std::sqrt(37.0) * e / 13);
    EXPECT_EQ(at(c, Metric::MaxAbsolute, 1, fc1), 6 * e);
    EXPECT_DOUBLE_EQ(at(c, Metric::MeanAbsolute, 1, fc1), 7 * e / 3);
    EXPECT_EQ(at(c, Metric::MaxRelative, 1, fc1), 6 * e / 12);
    EXPECT_EQ(at(c, Metric::UlpMax, 1, fc1), 3);
    EXPECT_DOUBLE_EQ(at(c, Metric::UlpMean, 1, fc1), 4.0 / 3);
    EXPECT_EQ(at(c, Metric::UlpP50, 1, fc1), 1);
    EXPECT_EQ(at(c, Metric::UlpP99, 1, fc1), 3);
    EXPECT_DOUBLE_EQ(at(c, Metric::Changed, 1, fc1), 2.0 / 3);
    EXPECT_EQ(at(c, Metric::SignFlips, 1, fc1), 0);
    EXPECT_EQ(at(c, Metric::UlpP99, 1, bias), 3);

    // the model: from the merged sums, not from averages of the layers
    EXPECT_DOUBLE_EQ(at(c, Metric::L2, 1, whole), std::sqrt(4 + 37 * e * e));
    EXPECT_DOUBLE_EQ(at(c, Metric::RelativeL2, 1, whole), std::sqrt((4 + 37 * e * e) / 170));
    EXPECT_EQ(at(c, Metric::MaxAbsolute, 1, whole), 2);
    EXPECT_EQ(at(c, Metric::SignFlips, 1, whole), 1);
    EXPECT_DOUBLE_EQ(at(c, Metric::Changed, 1, whole), 0.75);
    EXPECT_DOUBLE_EQ(at(c, Metric::CosineDistance, 1, out), 2);
    const double oneToMinusOne = 2.0 * 0x3f800000; // the bits of 1.0F, down to 0 and up again
    EXPECT_EQ(at(c, Metric::UlpMax, 1, whole), oneToMinusOne);
    EXPECT_EQ(at(c, Metric::UlpP50, 1, whole), 1);
    EXPECT_EQ(at(c, Metric::UlpP99, 1, whole), oneToMinusOne);
    EXPECT_DOUBLE_EQ(at(c, Metric::UlpMean, 1, whole), (oneToMinusOne + 4) / 4);
    std::array<std::uint64_t, ulpBinCount> histogram{};
    histogram[0] = histogram[1] = histogram[2] = histogram[31] = 1; // 0, 1, 2–3, 2^30…2^31−1
    EXPECT_EQ(c.ulpHistograms[1], histogram);
    EXPECT_FALSE(c.isIdentical(1, 0));
    EXPECT_TRUE(c.isIdentical(0, 0));
}

TEST_F(RunComparisonTest, ZerosOfOtherSignDifferInBitsAlone) {
    const auto c = compare(model({{0, {{-0.0}, {1, 1}, {1}}}}), model({{0, {{0.0}, {1, 1}, {1}}}}));
    EXPECT_EQ(at(c, Metric::RelativeL2, 0, whole), 0);
    EXPECT_EQ(at(c, Metric::UlpMax, 0, whole), 0);
    EXPECT_EQ(at(c, Metric::SignFlips, 0, whole), 0);
    EXPECT_EQ(at(c, Metric::Changed, 0, whole), 0.25);
    EXPECT_FALSE(c.isIdentical(0, 0));
    EXPECT_EQ(c.first, (FirstDivergence{0, "init", "out.weight"}));
}

TEST_F(RunComparisonTest, NonFiniteValues) {
    const double nan = std::nan("");
    const auto c = compare(model({{0, {{nan}, {1, 1}, {1}}}, {1, {{infinity}, {1, 1}, {nan}}}}),
                           model({{0, {{1}, {1, 1}, {1}}}, {1, {{infinity}, {1, 1}, {nan}}}}));
    EXPECT_EQ(at(c, Metric::RelativeL2, 0, whole), infinity);
    EXPECT_EQ(at(c, Metric::Nonfinite, 0, whole), 1);
    EXPECT_EQ(at(c, Metric::Nonfinite, 0, fc1), 0);
    EXPECT_EQ(at(c, Metric::UlpMax, 0, whole), 4294967295.0);
    EXPECT_TRUE(c.isIdentical(1, 0)); // equal infinities and NaN with equal bits
    // a zero reference has no relative size
    const auto z = compare(model({{0, {{1}, {0, 0}, {0}}}}), model({{0, {{0}, {0, 0}, {0}}}}));
    EXPECT_EQ(at(z, Metric::RelativeL2, 0, out), infinity);
    EXPECT_EQ(at(z, Metric::RelativeL2, 0, fc1), 0);
    EXPECT_EQ(at(z, Metric::L2, 0, whole), 1);
}

TEST_F(RunComparisonTest, MixedTypesCompareInFloat64AndCountUlpsOfFloat32) {
    const auto narrow = model({{0, {{1}, {1, 1}, {1}}}});
    const auto wide = model({{0, {{1 + 0x1p-40}, {1 + 0x1p-22, 1}, {1}}}}, DType::Float64);
    for (const bool swapped : {false, true}) {
        const auto c = swapped ? compare(wide, narrow) : compare(narrow, wide);
        EXPECT_EQ(at(c, Metric::MaxAbsolute, 0, out), 0x1p-40);
        EXPECT_EQ(at(c, Metric::UlpMax, 0, out), 0); // rounded to float32 they are equal
        EXPECT_EQ(at(c, Metric::Changed, 0, out), 1);
        EXPECT_EQ(at(c, Metric::UlpMax, 0, fc1), 2);
        EXPECT_EQ(at(c, Metric::UlpP99, 0, fc1), 2);
        EXPECT_DOUBLE_EQ(at(c, Metric::UlpMean, 0, whole), 0.5);
        EXPECT_DOUBLE_EQ(at(c, Metric::Changed, 0, whole), 0.5);
        EXPECT_EQ(at(c, Metric::L2, 0, fc1), 0x1p-22);
        EXPECT_EQ(c.ulpHistograms[0][0], 3U);
        EXPECT_EQ(c.ulpHistograms[0][2], 1U);
    }
}

TEST_F(RunComparisonTest, OnlyStepsThatBothRecordedAreCompared) {
    const auto steps = [](std::vector<std::int64_t> which) {
        std::vector<test::TestRow> rows;
        for (const std::int64_t step : which)
            rows.push_back({step, {{static_cast<double>(step)}, {1, 1}, {1}}});
        return model(rows);
    };
    // every 2 and every 3 of 7, the last always: a wrong pairing of rows would show as a difference
    const auto c = compare(steps({0, 2, 4, 6, 7}), steps({0, 3, 6, 7}));
    EXPECT_EQ(c.steps, (std::vector<std::int64_t>{0, 6, 7}));
    EXPECT_EQ(c.first, std::nullopt);
    const auto none = compare(steps({1, 3}), steps({2, 4}));
    EXPECT_EQ(none.rows(), 0U);
    EXPECT_EQ(none.first, std::nullopt);
}

/// Rows 0 and 1; what differs in the second run is named.
test::TestRow row(std::int64_t step, bool init, bool batch, bool gradient, bool weights) {
    test::TestRow r{step, {{1}, {2, 3}, {init || weights ? 9.0 : 4.0}}};
    if (step > 0) {
        r.gradients = {{1}, {gradient ? 7.0 : 1.0, 1}, {gradient ? 7.0 : 1.0}};
        r.batchDigest = {batch ? 1U : 2U, 3};
    }
    return r;
}

TEST_F(RunComparisonTest, FirstDivergenceFollowsTheOrderWithinAStep) {
    const auto reference =
        model({row(0, false, false, false, false), row(1, false, false, false, false)});
    const auto first = [&](bool init, bool batch, bool gradient, bool weights) {
        return compare(model({row(0, init, false, false, false),
                              row(1, false, batch, gradient, weights)}),
                       reference)
            .first;
    };
    EXPECT_EQ(first(false, false, false, false), std::nullopt);
    EXPECT_EQ(first(true, true, true, true), (FirstDivergence{0, "init", "fc1.bias"}));
    EXPECT_EQ(first(false, true, true, true), (FirstDivergence{1, "batch", "", 0}));
    EXPECT_EQ(first(false, false, true, true), (FirstDivergence{1, "gradient", "fc1.weight", 0}));
    EXPECT_EQ(first(false, false, false, true), (FirstDivergence{1, "weights", "fc1.bias", 0}));
}

// every third row against every second: 0, 6 and 12 are common
TEST_F(RunComparisonTest, FirstDivergenceKnowsTheLastCommonStepBeforeIt) {
    const auto row = [](std::int64_t step, double last) { return test::TestRow{step, {{1}, {2, 3}, {last}}}; };
    const auto run = model({row(0, 4), row(3, 9), row(6, 4), row(9, 9), row(12, 5)});
    const auto reference = model({row(0, 4), row(2, 8), row(4, 8), row(6, 4), row(8, 8), row(10, 8), row(12, 4)});
    EXPECT_EQ(compare(run, reference).first, (FirstDivergence{12, "weights", "fc1.bias", 6}));
    EXPECT_EQ(compare(model({row(4, 5)}), reference).first, (FirstDivergence{4, "weights", "fc1.bias", -1}));
}

TEST_F(RunComparisonTest, FirstDivergenceNamesTheFirstModuleNotTheFirstName) {
    const auto c = compare(model({{0, {{1}, {2, 3}, {4}}}, {5, {{9}, {9, 9}, {9}}}}),
                           model({{0, {{1}, {2, 3}, {4}}}, {5, {{1}, {2, 3}, {4}}}}));
    EXPECT_EQ(c.first, (FirstDivergence{5, "weights", "out.weight", 0}));
}

TEST_F(RunComparisonTest, TensorsAreMatchedByName) {
    auto reference = model({{0, {{7}, {1, 2}, {5}}}});
    auto run = model({{0, {{5}, {7}, {1, 2}}}});
    run.parameters = {reference.parameters[2], reference.parameters[0], reference.parameters[1]};
    const auto c = compare(run, reference);
    EXPECT_TRUE(c.isIdentical(0, 0));
    EXPECT_EQ(c.scopes[1], fc1); // in the order of the run's own model
}

TEST_F(RunComparisonTest, TwoModelsAreNotTwoRuns) {
    const auto reference = model({{0, {{1}, {2, 3}, {4}}}});
    auto renamed = reference;
    renamed.parameters[1].name = "fc2.weight";
    EXPECT_HAS(messageOf<RecordingError>([&] { compare(renamed, reference); }), "fc2.weight");
    auto larger = model({{0, {{1}, {2, 3, 4}, {4}}}});
    larger.parameters[1].shape = {3};
    const std::string message = messageOf<RecordingError>([&] { compare(larger, reference); });
    EXPECT_HAS(message, "fc1.weight has 3 elements");
    EXPECT_HAS(message, "not two runs of one model");
    auto fewer = model({{0, {{1}, {2, 3}}}});
    fewer.parameters.pop_back();
    EXPECT_HAS(messageOf<RecordingError>([&] { compare(fewer, reference); }), "has 2 tensors");
    EXPECT_NE(messageOf<RecordingError>([&] { compare(reference, fewer); }), "no error");
}

TEST_F(RunComparisonTest, ShapesThatDifferAreTwoModels) {
    auto reference = model({{0, {{1}, {2, 3}, {4}}}});
    auto transposed = reference;
    reference.parameters[1].shape = {1, 2};
    transposed.parameters[1].shape = {2, 1};
    EXPECT_NE(messageOf<RecordingError>([&] { compare(transposed, reference); }), "no error");
}

/// Many rows of values that look random.
TestRun longRun(std::uint32_t seed) {
    std::vector<test::TestRow> rows;
    const auto next = [&] {
        return static_cast<double>((seed = seed * 1664525 + 1013904223) >> 8) / (1 << 24);
    };
    for (std::int64_t step = 0; step < 50; ++step)
        rows.push_back({step, {{next()}, {next(), next()}, {next()}}});
    return model(rows);
}

void expectSame(const RunComparison& a, const RunComparison& b) {
    EXPECT_EQ(a.steps, b.steps);
    EXPECT_EQ(a.scopes, b.scopes);
    EXPECT_EQ(a.first, b.first);
    EXPECT_EQ(a.ulpHistograms, b.ulpHistograms);
    for (std::size_t metric = 0; metric < metricCount; ++metric) {
        ASSERT_EQ(a.values[metric].size(), b.values[metric].size());
        EXPECT_EQ(std::memcmp(a.values[metric].data(), b.values[metric].data(),
                              8 * a.values[metric].size()),
                  0);
    }
}

TEST_F(RunComparisonTest, ThreadsChangeNothing) {
    const TestRun run = longRun(1), reference = longRun(2);
    const auto one = compare(run, reference, 1);
    EXPECT_EQ(one.rows(), 50U);
    expectSame(compare(run, reference, 4), one);
    expectSame(compare(run, reference, 100), one);
    expectSame(compare(run, reference, 0), one);
}

TEST_F(RunComparisonTest, RowByRowGivesTheSameAsAllAtOnce) {
    const TestRun run = longRun(1), reference = longRun(2);
    const RunReader r(write(reference));
    RunWriter writer(m_folder / "live.h5", test::schemaOf(run));
    const RunReader a(m_folder / "live.h5");
    RunComparer comparer(a, r);
    EXPECT_FALSE(comparer.update());
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
        writer.append(test::filled(run, run.rows[i]));
        comparer.update(1 + static_cast<int>(i % 3)); // whatever has reached the file by now
        EXPECT_LE(comparer.result().rows(), i + 1);
    }
    writer.finish(RunState::Finished);
    comparer.update();
    EXPECT_FALSE(comparer.update());
    expectSame(comparer.result(), compare(run, reference));
}

TEST_F(RunComparisonTest, WithoutPercentilesTheOtherMetricsAreTheSame) {
    const RunReader a(write(longRun(1))), r(write(longRun(2)));
    auto all = compareRuns(a, r);
    const auto some = compareRuns(a, r, 2, {.hasPercentiles = false});
    for (const Metric metric : {Metric::UlpP50, Metric::UlpP99}) {
        const std::vector<double>& values = some.values[static_cast<std::size_t>(metric)];
        EXPECT_TRUE(std::ranges::all_of(values, [](double value) { return std::isnan(value); }));
        all.values[static_cast<std::size_t>(metric)] = values;
    }
    expectSame(some, all);
}

TEST_F(RunComparisonTest, TrustedDigestsGiveTheSameWithoutReadingEqualRows) {
    const auto reference =
        model({{0, {{1}, {2, 3}, {4}}}, {1, {{5}, {6, 7}, {8}}}, {2, {{1}, {2, 3}, {4}}}});
    auto run = reference;
    run.rows[1].weights[2] = {8.5};
    const fs::path file = write(run);
    const RunReader a(file), r(write(reference));
    const auto trusting = compareRuns(a, r, 1, {.trustsDigests = true});
    expectSame(trusting, compareRuns(a, r));
    EXPECT_EQ(trusting.first, (FirstDivergence{1, "weights", "fc1.bias", 0}));
    EXPECT_EQ(trusting.ulpHistograms[0][0], 4U);

    // Values that changed behind their digests: damage, unless nobody looks at them.
    const std::string bytes = test::readFile(file);
    const float outOfRowOne = 5, nine = 9;
    const auto rowOne =
        bytes.find(std::string_view(reinterpret_cast<const char*>(&outOfRowOne), sizeof(float)));
    ASSERT_NE(rowOne, std::string::npos);
    const auto damage = [&](std::size_t row) {
        std::string damaged = bytes;
        std::memcpy(damaged.data() + rowOne - sizeof(float) + row * sizeof(float), &nine,
                    sizeof(float));
        const fs::path copy = m_folder / ("damaged" + std::to_string(row) + ".h5");
        test::writeFile(copy, damaged);
        return RunReader(copy);
    };
    const RunReader inEqualRow = damage(0), inOtherRow = damage(1);
    expectSame(compareRuns(inEqualRow, r, 1, {.trustsDigests = true}), trusting);
    EXPECT_HAS(messageOf<RecordingError>([&] { compareRuns(inEqualRow, r); }),
               "contradicts its values");
    EXPECT_HAS(
        messageOf<RecordingError>([&] { compareRuns(inOtherRow, r, 1, {.trustsDigests = true}); }),
        "contradicts its values");
}

TEST_F(RunComparisonTest, AStopRequestEndsItEarly) {
    const RunReader a(write(longRun(1))), r(write(longRun(2)));
    RunComparer comparer(a, r);
    std::stop_source source;
    source.request_stop();
    EXPECT_FALSE(comparer.update(2, source.get_token()));
    EXPECT_EQ(comparer.result().rows(), 0U);
    EXPECT_TRUE(comparer.update());
    EXPECT_EQ(comparer.result().rows(), 50U);
}

TEST(Metric, TableIsInTheOrderOfTheMetricsAndFoundByKey) {
    ASSERT_EQ(metrics().size(), metricCount);
    for (std::size_t i = 0; i < metricCount; ++i) {
        EXPECT_EQ(static_cast<std::size_t>(metrics()[i].metric), i);
        EXPECT_EQ(findMetric(metrics()[i].key), metrics()[i].metric);
        EXPECT_EQ(&infoOf(metrics()[i].metric), &metrics()[i]);
    }
    EXPECT_EQ(findMetric("rel_l2"), Metric::RelativeL2);
    EXPECT_EQ(findMetric("REL_L2"), std::nullopt);
    EXPECT_EQ(findMetric(""), std::nullopt);
}

} // namespace
} // namespace driftscope
