// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/Growth.h"

#include "support/Python.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <sstream>

namespace driftscope {
namespace {

struct Curve {
    std::vector<std::int64_t> steps;
    std::vector<double> values;
    std::optional<Growth> fit(double saturation = std::numeric_limits<double>::infinity()) const {
        return fitGrowth(steps, values, saturation);
    }
};

Curve curve(std::int64_t last, const auto& value) {
    Curve result;
    for (std::int64_t step = 0; step <= last; ++step) {
        result.steps.push_back(step);
        result.values.push_back(value(step));
    }
    return result;
}

TEST(TheilSen, ByHand) {
    // slopes between the pairs: 1, 3/2, 1, 2, 1, 0; their median is 1
    const std::vector<double> x{0, 1, 2, 3}, y{0, 1, 3, 3};
    const Slope fit = theilSen(x, y);
    EXPECT_DOUBLE_EQ(fit.slope, 1);
    EXPECT_DOUBLE_EQ(fit.intercept, 0); // median of 0, 0, 1, 0
    EXPECT_LE(fit.low, 1);
    EXPECT_GE(fit.high, 1);
}

TEST(TheilSen, OneWildPointChangesLittle) {
    std::vector<double> x, y;
    for (int i = 0; i < 21; ++i) {
        x.push_back(i);
        y.push_back(i == 10 ? 1e6 : 3.0 * i + 1);
    }
    EXPECT_DOUBLE_EQ(theilSen(x, y).slope, 3);
    EXPECT_DOUBLE_EQ(theilSen(x, y).intercept, 1);
}

// The same by NumPy: all slopes in a matrix, the interval by Sen's formula.
TEST(TheilSen, LikeNumPy) {
    std::mt19937 random(20);
    std::normal_distribution<double> noise;
    std::vector<double> x, y;
    for (int i = 0; i < 37; ++i) {
        x.push_back(i + 0.25 * (i % 3));
        y.push_back(std::round(4 * (0.3 * i + noise(random))) / 4); // with ties
    }
    PYTHON_OUTPUT(output, R"(
x, y = (np.array(json.loads(text)) for text in sys.argv[1:])
i, j = np.triu_indices(len(x), 1)
slopes = np.sort((y[j] - y[i]) / (x[j] - x[i]))
n = len(x)
ties = np.unique(y, return_counts=True)[1]
sigma = np.sqrt((n * (n - 1) * (2 * n + 5) - (ties * (ties - 1) * (2 * ties + 5)).sum()) / 18)
z = 1.959963984540054
print(*map(repr, map(float, (np.median(slopes), np.median(y - np.median(slopes) * x),
      slopes[int(round((len(slopes) - z * sigma) / 2)) - 1], slopes[int(round((len(slopes) + z * sigma) / 2))]))))
)",
                  {fmt::format("[{}]", fmt::join(x, ",")), fmt::format("[{}]", fmt::join(y, ","))});
    double slope = 0, intercept = 0, low = 0, high = 0;
    std::istringstream(output) >> slope >> intercept >> low >> high;
    const Slope fit = theilSen(x, y);
    EXPECT_NEAR(fit.slope, slope, 1e-12);
    EXPECT_NEAR(fit.intercept, intercept, 1e-12);
    EXPECT_NEAR(fit.low, low, 1e-12);
    EXPECT_NEAR(fit.high, high, 1e-12);
}

TEST(Growth, Exponential) {
    const auto growth = curve(100, [](std::int64_t step) {
                            return step < 10 ? 0.0 : 1e-8 * std::exp2(static_cast<double>(step - 10) / 8.0);
                        }).fit();
    ASSERT_TRUE(growth);
    EXPECT_EQ(growth->form, GrowthForm::Exponential);
    EXPECT_NEAR(growth->rate, std::numbers::ln2 / 8, 1e-12);
    EXPECT_NEAR(growth->doublingSteps, 8, 1e-9);
    EXPECT_TRUE(growth->isGrowing());
    EXPECT_EQ(growth->firstStep, 10);
    EXPECT_EQ(growth->lastStep, 100);
    EXPECT_EQ(growth->points, 91U);
    EXPECT_LT(growth->aicExponential, growth->aicPowerLaw);
}

TEST(Growth, PowerLawAtLogarithmicSteps) {
    Curve points;
    for (const std::int64_t step : {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}) {
        points.steps.push_back(step);
        points.values.push_back(1e-8 * std::sqrt(static_cast<double>(step)));
    }
    const auto growth = points.fit();
    ASSERT_TRUE(growth);
    EXPECT_EQ(growth->form, GrowthForm::PowerLaw);
    EXPECT_NEAR(growth->rate, 0.5, 1e-12);
    EXPECT_TRUE(std::isnan(growth->doublingSteps));
}

TEST(Growth, NoneOfALevelCurve) {
    std::mt19937 random(3);
    std::normal_distribution<double> noise;
    const auto growth = curve(60, [&](std::int64_t) { return 1e-7 * std::exp(0.3 * noise(random)); }).fit();
    ASSERT_TRUE(growth);
    EXPECT_FALSE(growth->isGrowing());
    EXPECT_LE(growth->low, 0);
    EXPECT_GE(growth->high, 0);
}

TEST(Growth, EndsAtThePlateau) {
    const auto saturating = [](std::int64_t step) {
        return 1 / (1 + 1e8 * std::exp(-0.4 * static_cast<double>(step)));
    };
    const auto growth = curve(200, saturating).fit();
    ASSERT_TRUE(growth);
    EXPECT_NEAR(growth->rate, 0.4, 0.01);
    EXPECT_LT(growth->lastStep, 60);
    const auto known = curve(200, saturating).fit(0.01);
    ASSERT_TRUE(known);
    EXPECT_LT(known->lastStep, 40);
    EXPECT_NEAR(known->rate, 0.4, 0.002);
}

// Half of it is within a factor of two of the end, and it still grows.
TEST(Growth, ARootHasNoPlateau) {
    const auto growth = curve(1000, [](std::int64_t step) { return 1e-8 * std::sqrt(static_cast<double>(step)); }).fit();
    ASSERT_TRUE(growth);
    EXPECT_EQ(growth->form, GrowthForm::PowerLaw);
    EXPECT_EQ(growth->firstStep, 1);
    EXPECT_EQ(growth->lastStep, 1000);
    EXPECT_NEAR(growth->rate, 0.5, 1e-12);
}

TEST(Growth, BeginsWhereALevelBeginningEnds) {
    std::mt19937 random(5);
    std::normal_distribution<double> noise;
    const auto growth = curve(200, [&](std::int64_t step) {
                            return 1e-8 * std::exp(0.05 * noise(random) + 0.1 * std::max<double>(0, static_cast<double>(step - 80)));
                        }).fit();
    ASSERT_TRUE(growth);
    EXPECT_GE(growth->firstStep, 75);
    EXPECT_LE(growth->firstStep, 90);
    EXPECT_EQ(growth->lastStep, 200);
    EXPECT_EQ(growth->form, GrowthForm::Exponential);
    EXPECT_NEAR(growth->rate, 0.1, 0.003);
}

TEST(Growth, LeavesOutWhatIsNoNumber) {
    Curve points = curve(20, [](std::int64_t step) { return std::exp(static_cast<double>(step)); });
    points.values[7] = std::numeric_limits<double>::quiet_NaN();
    points.values[8] = std::numeric_limits<double>::infinity();
    points.values[9] = 0;
    const auto growth = points.fit();
    ASSERT_TRUE(growth);
    EXPECT_EQ(growth->points, 17U);
    EXPECT_NEAR(growth->rate, 1, 1e-12);
}

TEST(Growth, TooFewRows) {
    EXPECT_FALSE(curve(4, [](std::int64_t step) { return static_cast<double>(step); }).fit());
    EXPECT_FALSE(curve(50, [](std::int64_t) { return 0.0; }).fit());
    EXPECT_FALSE(fitGrowth({}, {}));
}

TEST(Growth, ManyRowsAreThinned) {
    const auto growth = curve(200000, [](std::int64_t step) { return std::exp(1e-4 * static_cast<double>(step)); }).fit();
    ASSERT_TRUE(growth);
    EXPECT_NEAR(growth->rate, 1e-4, 1e-12);
    EXPECT_EQ(growth->points, 200000U);
}

} // namespace
} // namespace driftscope
