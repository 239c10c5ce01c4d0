// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/PathText.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace driftscope {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

/// From the last name on; the root is a name too.
Names namesFromTheEnd(const std::string& path) {
    Names names;
    for (const fs::path& name : fs::path(path).lexically_normal())
        if (!name.empty()) // a slash at the end
            names.push_back(name.string());
    std::ranges::reverse(names);
    return names;
}

std::string tail(const Names& names, std::size_t count) {
    fs::path text;
    for (std::size_t i = std::min(count, names.size()); i-- > 0;)
        text /= names[i];
    return text.string();
}

std::size_t commonNames(const Names& a, const Names& b) {
    return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

} // namespace

std::vector<std::string> shortPaths(std::span<const std::string> paths) {
    std::vector<Names> all;
    for (const std::string& path : paths)
        all.push_back(namesFromTheEnd(path));
    // in order, the one that has most in common with another is beside it
    std::vector<Names> sorted = all;
    std::ranges::sort(sorted);
    sorted.erase(std::ranges::unique(sorted).begin(), sorted.end());
    std::vector<std::string> texts;
    for (const Names& names : all) {
        const auto own = std::ranges::lower_bound(sorted, names);
        std::size_t shared = 0;
        if (own != sorted.begin())
            shared = commonNames(names, *std::prev(own));
        if (std::next(own) != sorted.end())
            shared = std::max(shared, commonNames(names, *std::next(own)));
        texts.push_back(tail(names, shared + 1));
    }
    return texts;
}

} // namespace driftscope
