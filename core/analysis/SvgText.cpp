// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/SvgText.h"

#include "analysis/Markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace driftscope {
namespace {

constexpr double characterWidth = 7, wideCharacterWidth = 12.5;
constexpr int mostDecades = 10;

bool beginsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }

} // namespace

double svgTextWidth(std::string_view text) {
    double width = 0;
    for (const char c : text)
        if (beginsCharacter(c)) // three bytes from 0xE3 on: Chinese, Japanese and Korean
            width += static_cast<unsigned char>(c) >= 0xE3 ? wideCharacterWidth : characterWidth;
    return width;
}

std::string shortened(std::string_view text, std::size_t characters) {
    auto count = static_cast<std::size_t>(std::ranges::count_if(text, beginsCharacter));
    if (count <= characters)
        return std::string(text);
    std::size_t begin = 0;
    while (count >= characters && begin < text.size())
        if (beginsCharacter(text[begin++]))
            --count;
    while (begin < text.size() && !beginsCharacter(text[begin]))
        ++begin;
    return fmt::format("…{}", text.substr(begin));
}

std::string svgText(double x, double y, std::string_view text, std::string_view anchor, std::string_view attributes) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}{}>{}</text>\n", x, y, anchor,
                       attributes.empty() ? "" : " ", attributes, escaped(text));
}

std::string svgLine(double x1, double y1, double x2, double y2, std::string_view cssClass) {
    return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2, y2,
                       cssClass);
}

std::string svgDocument(double width, double height, std::string_view title, std::string_view content) {
    return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
                       "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" aria-label=\"{2}\">\n{3}</svg>\n",
                       width, height, escaped(title), content);
}

std::string powerOfTen(int exponent) {
    static constexpr std::array<std::string_view, 10> digits{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    std::string text = exponent < 0 ? "10⁻" : "10";
    for (const char c : fmt::to_string(std::abs(exponent)))
        text += digits[static_cast<std::size_t>(c - '0')];
    return text;
}

std::vector<LogTick> logTicks(double low, double high) {
    std::vector<LogTick> ticks;
    constexpr double slack = 1e-9;
    const int first = static_cast<int>(std::floor(low)), last = static_cast<int>(std::ceil(high));
    const int stride = std::max(1, (last - first + mostDecades - 1) / mostDecades);
    const bool isNarrow = high - low < 2;
    for (int power = first; power <= last; power += stride)
        for (const int digit : {1, 2, 5}) {
            const double logarithm = power + std::log10(digit);
            if ((digit > 1 && !isNarrow) || logarithm < low - slack || logarithm > high + slack)
                continue;
            ticks.push_back(
                {logarithm, digit == 1 ? powerOfTen(power) : fmt::format("{}·{}", digit, powerOfTen(power))});
        }
    return ticks;
}

} // namespace driftscope
