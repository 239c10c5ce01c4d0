// SPDX-License-Identifier: GPL-3.0-or-later
// Random tensors compared with NumPy, which works straight from the definitions in longdouble,
// decimal numbers and Python integers: divergence_reference.py.
#include "analysis/Divergence.h"
#include "analysis/UlpCounts.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>
#include <vector>

#ifndef DRIFTSCOPE_PYTHON
#define DRIFTSCOPE_PYTHON "/usr/bin/python3"
#endif

namespace driftscope {
namespace {

using Reference = std::map<std::string, std::string>;

constexpr std::size_t elementCount = 10007;

template <typename T>
using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <typename T>
struct Pair {
    std::vector<T> a;
    std::vector<T> r;
};

template <typename T>
class DivergenceReferenceTest : public testing::Test {
protected:
    void SetUp() override {
        m_folder = std::filesystem::path(testing::TempDir()) /
                   ("divergence-" + std::to_string(getpid()) + "-" + std::to_string(sizeof(T)));
        std::filesystem::create_directories(m_folder);
    }

    void TearDown() override { std::filesystem::remove_all(m_folder); }

    void compareWithNumPy(const Pair<T>& pair) {
        Reference reference;
        ask(pair, reference);
        if (testing::Test::IsSkipped() || testing::Test::HasFatalFailure())
            return;
        const std::span<const T> a(pair.a);
        const std::span<const T> r(pair.r);
        const Divergence d = measureDivergence(a, r);
        const auto integer = [&](const std::string& name) {
            return std::stoull(reference.at(name));
        };
        const auto expectReal = [&](const std::string& name, long double value, long double scale) {
            const long double expected = std::stold(reference.at(name));
            if (value == static_cast<double>(expected))
                return;
            EXPECT_LE(std::abs(value - expected), 2e-14L * scale)
                << name << " " << value << " " << expected;
        };
        const auto expectRelative = [&](const std::string& name, long double value) {
            expectReal(name, value, std::stold(reference.at(name)));
        };
        EXPECT_EQ(d.count, integer("count"));
        EXPECT_EQ(d.changed, integer("changed"));
        EXPECT_EQ(d.signFlips, integer("sign_flips"));
        EXPECT_EQ(d.nonfinite, integer("nonfinite"));
        EXPECT_EQ(d.ulpMax, integer("ulp_max"));
        for (std::size_t bin = 0; bin < ulpBinCount; ++bin)
            EXPECT_EQ(d.ulpHistogram[bin], integer("bin_" + std::to_string(bin))) << bin;
        UlpCounts counts;
        counts.add(a, r, d);
        for (const int percent : {1, 50, 90, 99, 100}) {
            const std::uint64_t exact = integer("ulp_p" + std::to_string(percent));
            const std::uint64_t counted = counts.percentile(percent);
            EXPECT_LE(counted, exact) << percent;
            EXPECT_GE(counted, exact < 4096 ? exact : exact - exact / 2048) << percent;
        }

        expectRelative("ulp_sum", d.ulpSum);
        expectRelative("l2", l2(d));
        expectRelative("relative_l2", relativeL2(d));
        expectRelative("mean_absolute", meanAbsolute(d));
        expectRelative("max_absolute", d.maxAbsolute);
        expectRelative("max_relative", d.maxRelative);
        expectRelative("length_run", std::sqrt(d.squaredRun));
        expectRelative("length_reference", std::sqrt(d.squaredReference));
        expectReal("product", d.product, std::sqrt(d.squaredRun) * std::sqrt(d.squaredReference));
        // (‖a‖ − ‖r‖)² is taken off, which costs digits where the lengths differ more than the
        // directions.
        const long double lengths = std::sqrt(d.squaredRun) - std::sqrt(d.squaredReference);
        const long double both = std::sqrt(d.squaredRun * d.squaredReference);
        expectReal("cosine_distance", cosineDistance(d),
                   std::stold(reference.at("cosine_distance")) + lengths * lengths / both);
    }

    static Pair<T> makePair(std::uint64_t seed, auto&& makeR, auto&& makeA) {
        std::mt19937_64 random(seed);
        Pair<T> pair;
        for (std::size_t i = 0; i < elementCount; ++i) {
            pair.r.push_back(makeR(random));
            pair.a.push_back(makeA(random, pair.r.back()));
        }
        return pair;
    }

    static T normal(std::mt19937_64& random) {
        return static_cast<T>(0.05 * std::normal_distribution<double>()(random));
    }

    static T anyBits(std::mt19937_64& random) {
        return std::bit_cast<T>(static_cast<Word<T>>(random()));
    }

    static T anyFinite(std::mt19937_64& random) {
        T value = anyBits(random);
        while (!std::isfinite(value))
            value = anyBits(random);
        return value;
    }

private:
    void write(const std::string& name, const std::vector<T>& values) const {
        std::ofstream file(m_folder / name, std::ios::binary);
        file.write(reinterpret_cast<const char*>(values.data()),
                   static_cast<std::streamsize>(values.size() * sizeof(T)));
        ASSERT_TRUE(file.good());
    }

    void ask(const Pair<T>& pair, Reference& reference) const {
        write("a.bin", pair.a);
        write("r.bin", pair.r);
        const auto script =
            std::filesystem::path(__FILE__).parent_path() / "divergence_reference.py";
        const std::string command = std::string("'" DRIFTSCOPE_PYTHON "' '") + script.string() +
                                    (sizeof(T) == 4 ? "' float32 '" : "' float64 '") +
                                    (m_folder / "a.bin").string() + "' '" +
                                    (m_folder / "r.bin").string() + "'";
        FILE* output = popen(command.c_str(), "r");
        ASSERT_NE(output, nullptr);
        std::array<char, 256> name{};
        std::array<char, 256> value{};
        while (std::fscanf(output, "%255s %255s", name.data(), value.data()) == 2)
            reference.emplace(name.data(), value.data());
        const int status = pclose(output);
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (code == 77 || code == 127)
            GTEST_SKIP() << "needs " DRIFTSCOPE_PYTHON " with NumPy";
        ASSERT_EQ(code, 0) << command;
    }

    std::filesystem::path m_folder;
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(DivergenceReferenceTest, Types);

TYPED_TEST(DivergenceReferenceTest, FewUlpApart) {
    this->compareWithNumPy(this->makePair(1, this->normal, [](auto& random, TypeParam r) {
        const auto bits = std::bit_cast<Word<TypeParam>>(r);
        const auto apart = static_cast<Word<TypeParam>>(random() % 9 - 4);
        return std::bit_cast<TypeParam>(static_cast<Word<TypeParam>>(bits + apart));
    }));
}

TYPED_TEST(DivergenceReferenceTest, RelativeDifferences) {
    this->compareWithNumPy(this->makePair(2, this->normal, [](auto& random, TypeParam r) {
        return static_cast<TypeParam>(
            r *
            (1 + 0.02 * static_cast<double>(DivergenceReferenceTest<TypeParam>::normal(random))));
    }));
}

TYPED_TEST(DivergenceReferenceTest, Unrelated) {
    this->compareWithNumPy(this->makePair(
        3, this->normal, [this](auto& random, TypeParam) { return this->normal(random); }));
}

TYPED_TEST(DivergenceReferenceTest, MuchShorterRun) {
    this->compareWithNumPy(this->makePair(4, this->normal, [this](auto& random, TypeParam r) {
        return static_cast<TypeParam>(1e-6 * static_cast<double>(r + this->normal(random)));
    }));
}

TYPED_TEST(DivergenceReferenceTest, Subnormal) {
    const auto tiny = [](auto& random) {
        const auto bits = static_cast<Word<TypeParam>>(random() % 4096);
        const auto value = std::bit_cast<TypeParam>(bits);
        return random() % 2 == 0 ? value : -value;
    };
    this->compareWithNumPy(
        this->makePair(5, tiny, [&](auto& random, TypeParam) { return tiny(random); }));
}

TYPED_TEST(DivergenceReferenceTest, AnyFiniteBits) {
    this->compareWithNumPy(this->makePair(6, this->anyFinite, [this](auto& random, TypeParam r) {
        return random() % 3 == 0 ? r : this->anyFinite(random);
    }));
}

TYPED_TEST(DivergenceReferenceTest, NanAndInfinityOnBothSides) {
    const auto special = [this](auto& random) {
        if (random() % 2 == 0)
            return this->normal(random);
        const TypeParam inf = std::numeric_limits<TypeParam>::infinity();
        const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
        return random() % 3 == 0 ? nan : random() % 2 == 0 ? inf : -inf;
    };
    this->compareWithNumPy(
        this->makePair(7, special, [](auto&, TypeParam r) { return std::isnan(r) ? -r : r; }));
}

TYPED_TEST(DivergenceReferenceTest, AnyBits) {
    this->compareWithNumPy(this->makePair(8, this->anyBits, [this](auto& random, TypeParam r) {
        return random() % 3 == 0 ? r : this->anyBits(random);
    }));
}

} // namespace
} // namespace driftscope
