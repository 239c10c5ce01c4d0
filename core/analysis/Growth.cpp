// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/Growth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <vector>

namespace driftscope {
namespace {

constexpr std::size_t fewestPoints = 5;
/// Pairs of points grow with their square.
constexpr std::size_t mostPoints = 400;

double medianOf(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    if (values.size() % 2 == 1)
        return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

struct Window {
    std::vector<double> steps, logarithms;
};

void thin(Window& window) {
    const std::size_t count = window.steps.size();
    if (count <= mostPoints)
        return;
    Window thinned;
    for (std::size_t i = 0; i < mostPoints; ++i) {
        const std::size_t at = i * (count - 1) / (mostPoints - 1);
        thinned.steps.push_back(window.steps[at]);
        thinned.logarithms.push_back(window.logarithms[at]);
    }
    window = std::move(thinned);
}

void keep(Window& window, std::size_t first, std::size_t end) {
    for (std::vector<double>* values : {&window.steps, &window.logarithms}) {
        values->resize(end);
        values->erase(values->begin(), values->begin() + static_cast<std::ptrdiff_t>(first));
    }
}

/// Whether a part of the window neither rises nor falls: by no more than a tenth from one end to the other, or its
/// slope's interval does not say so.
bool isLevel(Window window, std::size_t first, std::size_t end) {
    keep(window, first, end);
    thin(window);
    const Slope slope = theilSen(window.steps, window.logarithms);
    const double length = window.steps.back() - window.steps.front();
    return slope.low * length <= 0.1 && slope.high * length >= -0.1;
}

/// The rows that grow: from the first that differs, or the end of a level beginning, to the first of a plateau.
Window growingRows(std::span<const std::int64_t> steps, std::span<const double> divergence, double saturation) {
    Window window;
    for (std::size_t i = 0; i < std::min(steps.size(), divergence.size()); ++i) {
        if (!(divergence[i] > 0) || !std::isfinite(divergence[i]) || steps[i] <= 0)
            continue;
        if (divergence[i] >= saturation / 2)
            break;
        window.steps.push_back(static_cast<double>(steps[i]));
        window.logarithms.push_back(std::log(divergence[i]));
    }
    // Level parts are a quarter of the rows at least, within a factor of two of the largest or smallest value.
    const std::size_t count = window.steps.size();
    if (count < 4 * fewestPoints)
        return window;
    const auto [bottom, top] = std::ranges::minmax(window.logarithms);
    std::size_t end = 0, begin = count;
    while (window.logarithms[end] < top - std::numbers::ln2)
        ++end;
    while (window.logarithms[begin - 1] > bottom + std::numbers::ln2)
        --begin;
    const bool isSaturated = end >= fewestPoints && count - end >= count / 4 && isLevel(window, end, count);
    const bool beginsLevel = begin >= count / 4 && count - begin >= fewestPoints && isLevel(window, 0, begin);
    const std::size_t last = isSaturated ? end + 1 : count, first = beginsLevel ? begin - 1 : 0;
    if (last < first + fewestPoints)
        return window;
    keep(window, first, last);
    return window;
}

/// Of a fit with two parameters and errors of one unknown variance.
double aicOf(std::span<const double> x, std::span<const double> y, const Slope& fit) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double residual = y[i] - fit.intercept - fit.slope * x[i];
        sum += residual * residual;
    }
    const auto count = static_cast<double>(x.size());
    // a perfect fit has no variance to take the logarithm of
    return count * std::log(std::max(sum / count, 1e-300)) + 6;
}

} // namespace

Slope theilSen(std::span<const double> x, std::span<const double> y) {
    const std::size_t count = x.size();
    std::vector<double> slopes;
    slopes.reserve(count * (count - 1) / 2);
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = i + 1; j < count; ++j)
            slopes.push_back((y[j] - y[i]) / (x[j] - x[i]));
    std::ranges::sort(slopes);
    Slope result;
    result.slope = medianOf(slopes);
    std::vector<double> rest(count);
    for (std::size_t i = 0; i < count; ++i)
        rest[i] = y[i] - result.slope * x[i];
    result.intercept = medianOf(rest);

    // variance of Kendall's S, less what ties take from it (Sen 1968, equation 2.6)
    const auto n = static_cast<double>(count);
    double variance = n * (n - 1) * (2 * n + 5);
    std::map<double, double> ties;
    for (const double value : y)
        ++ties[value];
    for (const auto& [value, times] : ties)
        variance -= times * (times - 1) * (2 * times + 5);
    const double sigma = std::sqrt(std::max(variance, 0.0) / 18);
    constexpr double z = 1.959963984540054; // 97.5 % of a normal distribution
    const auto pairs = static_cast<double>(slopes.size());
    const double upper = std::nearbyint((pairs + z * sigma) / 2), lower = std::nearbyint((pairs - z * sigma) / 2) - 1;
    result.high = slopes[static_cast<std::size_t>(std::clamp(upper, 0.0, pairs - 1))];
    result.low = slopes[static_cast<std::size_t>(std::clamp(lower, 0.0, pairs - 1))];
    return result;
}

std::optional<Growth> fitGrowth(std::span<const std::int64_t> steps, std::span<const double> divergence,
                                double saturation) {
    Window window = growingRows(steps, divergence, saturation);
    if (window.steps.size() < fewestPoints)
        return std::nullopt;
    Growth growth;
    growth.points = window.steps.size();
    growth.firstStep = static_cast<std::int64_t>(window.steps.front());
    growth.lastStep = static_cast<std::int64_t>(window.steps.back());
    thin(window);
    std::vector<double> logarithmicSteps(window.steps.size());
    std::ranges::transform(window.steps, logarithmicSteps.begin(), [](double step) { return std::log(step); });

    const Slope exponential = theilSen(window.steps, window.logarithms);
    const Slope power = theilSen(logarithmicSteps, window.logarithms);
    growth.aicExponential = aicOf(window.steps, window.logarithms, exponential);
    growth.aicPowerLaw = aicOf(logarithmicSteps, window.logarithms, power);
    const bool isExponential = growth.aicExponential <= growth.aicPowerLaw;
    const Slope& better = isExponential ? exponential : power;
    growth.form = isExponential ? GrowthForm::Exponential : GrowthForm::PowerLaw;
    growth.rate = better.slope;
    growth.low = better.low;
    growth.high = better.high;
    if (isExponential && growth.rate > 0)
        growth.doublingSteps = std::numbers::ln2 / growth.rate;
    return growth;
}

} // namespace driftscope
