// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording/SumOfSquares.h"

#include "recording/HalfPrecision.h"

#include <array>
#include <cstring>

namespace driftscope {
namespace {

template <class T>
double sum(std::span<const std::byte> bytes) {
    // eight sums side by side: a compiler vectorises them without changing their order
    constexpr std::size_t lanes = 8;
    std::array<double, lanes> sums{};
    std::array<T, lanes> block;
    while (bytes.size() >= sizeof block) {
        std::memcpy(block.data(), bytes.data(), sizeof block);
        for (std::size_t i = 0; i < lanes; ++i)
            sums[i] += static_cast<double>(block[i]) * static_cast<double>(block[i]);
        bytes = bytes.subspan(sizeof block);
    }
    const std::size_t rest = bytes.size() / sizeof(T);
    if (rest > 0)
        std::memcpy(block.data(), bytes.data(), rest * sizeof(T));
    for (std::size_t i = 0; i < rest; ++i)
        sums[i] += static_cast<double>(block[i]) * static_cast<double>(block[i]);
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

} // namespace

double sumOfSquares(std::span<const std::byte> tensor, DType type) {
    if (type == DType::Float16 || type == DType::BFloat16) {
        const std::vector<float> wide = widened(tensor, type);
        return sum<float>(std::as_bytes(std::span(wide)));
    }
    return type == DType::Float32 ? sum<float>(tensor) : sum<double>(tensor);
}

} // namespace driftscope
