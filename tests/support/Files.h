// SPDX-License-Identifier: GPL-3.0-or-later
// Whole files as strings, and what an expression throws.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace driftscope::test {

inline void writeFile(const std::filesystem::path& file, std::string_view bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
}

inline std::string readFile(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// The message of the Error that `work` throws; "no error" if it throws none. Others get through.
template <class Error, class Work>
std::string messageOf(Work work) {
    try {
        work();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

} // namespace driftscope::test

/// `text` holds `part`; shows both if not.
#define EXPECT_HAS(text, part)                                                                     \
    EXPECT_PRED2(::driftscope::test::contains, std::string(text), std::string(part))
