// SPDX-License-Identifier: GPL-3.0-or-later
// What the plots' SVG has in common; private to core/analysis.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace driftscope {

inline constexpr double svgLineHeight = 20; ///< of 12 px text, in pixels

/// Pixels that 12 px text takes at most in common fonts.
double svgTextWidth(std::string_view text);

/// At most so many characters: what stands at the beginning gives way to an ellipsis, since names differ at the end.
std::string shortened(std::string_view text, std::size_t characters);

/// A <text>, escaped; anchor: start, middle or end.
std::string svgText(double x, double y, std::string_view text, std::string_view anchor = "start",
                    std::string_view attributes = "");
std::string svgLine(double x1, double y1, double x2, double y2, std::string_view cssClass);

/// The picture with its size, and its title for those who can't see it.
std::string svgDocument(double width, double height, std::string_view title, std::string_view content);

/// "10⁻⁷"
std::string powerOfTen(int exponent);

/// A label on a log axis and the logarithm where it stands.
struct LogTick {
    double logarithm = 0;
    std::string label;
};
/// Between two decimal logarithms, at most about 10: powers of ten, or 1, 2 and 5 times them in a narrow range.
std::vector<LogTick> logTicks(double low, double high);

} // namespace driftscope
