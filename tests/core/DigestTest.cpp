// SPDX-License-Identifier: GPL-3.0-or-later
// Against xxHash's streaming interface of the shared library, fed in odd pieces: another code path
// than the one-shot call; and against the constants of its specification.
#include "recording/Digest.h"
#include "recording/SumOfSquares.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace driftscope {
namespace {

Digest streamed(std::span<const std::byte> bytes, std::size_t piece) {
    XXH3_state_t* state = XXH3_createState();
    XXH3_128bits_reset(state);
    for (std::size_t i = 0; i < bytes.size(); i += piece)
        XXH3_128bits_update(state, bytes.data() + i, std::min(piece, bytes.size() - i));
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
    XXH3_freeState(state);
    Digest digest{}; // the canonical form is big-endian, high half first
    for (std::size_t i = 0; i < 16; ++i)
        digest[i / 8] = digest[i / 8] << 8 | canonical.digest[i];
    return digest;
}

TEST(Digest, EqualsStreamedXxh3WhateverTheSize) {
    std::mt19937 random(1);
    for (const std::size_t size :
         {0, 1, 3, 4, 8, 9, 16, 17, 128, 129, 240, 241, 256, 1024, 4096, 100003}) {
        std::vector<std::byte> bytes(size);
        for (std::byte& byte : bytes)
            byte = static_cast<std::byte>(random());
        for (const std::size_t piece : {1, 7, 63, 257, 4097})
            EXPECT_EQ(digestOf(bytes), streamed(bytes, piece)) << size << " in " << piece;
    }
}

TEST(Digest, OfNothingIsTheSpecificationsConstant) {
    // XXH3_128bits of the empty input with seed 0: 99aa06d3014798d86001c324468d497f
    EXPECT_EQ(digestOf({}), (Digest{0x99aa06d3014798d8, 0x6001c324468d497f}));
}

TEST(Digest, EveryBitMatters) {
    std::vector<std::byte> bytes(37);
    const Digest before = digestOf(bytes);
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        bytes[bit / 8] ^= std::byte{1} << bit % 8;
        EXPECT_NE(digestOf(bytes), before) << bit;
        bytes[bit / 8] ^= std::byte{1} << bit % 8;
    }
    const float zero = 0.0F, negative = -0.0F;
    EXPECT_NE(digestOf(std::as_bytes(std::span(&zero, 1))),
              digestOf(std::as_bytes(std::span(&negative, 1))));
}

TEST(SumOfSquares, IsExactForIntegersOfAnyCount) {
    for (std::size_t n = 0; n < 40; ++n) {
        std::vector<float> narrow;
        std::vector<double> wide;
        double expected = 0;
        for (std::size_t i = 1; i <= n; ++i) {
            narrow.push_back((i % 2 ? 1.0F : -1.0F) * static_cast<float>(i));
            wide.push_back(narrow.back());
            expected += static_cast<double>(i * i);
        }
        EXPECT_EQ(sumOfSquares(std::as_bytes(std::span(narrow)), DType::Float32), expected) << n;
        EXPECT_EQ(sumOfSquares(std::as_bytes(std::span(wide)), DType::Float64), expected) << n;
    }
}

TEST(SumOfSquares, SquaresInFloat64AndPassesNaNOn) {
    const float large = 1e30F; // its square is beyond float32
    EXPECT_EQ(sumOfSquares(std::as_bytes(std::span(&large, 1)), DType::Float32),
              static_cast<double>(large) * static_cast<double>(large));
    const double values[] = {1, std::nan(""), 2};
    EXPECT_TRUE(std::isnan(sumOfSquares(std::as_bytes(std::span(values)), DType::Float64)));
}

} // namespace
} // namespace driftscope
