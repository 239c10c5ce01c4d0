// SPDX-License-Identifier: GPL-3.0-or-later
// Speed of measureDivergence against that of a plain sum over the same two arrays, one thread each.
//
// Every round times the sum, the sum with prefetching and the divergence one after the other, so
// that whatever else the machine does meets all three alike; `ratio` is the median over the rounds
// of (time of the sum) / (time of the divergence), the target being 0.7. `ratio_prefetched` is
// against the sum that asks for memory ahead. Arrays of DRIFTSCOPE_BENCH_MB megabytes each, 512 by
// default: well beyond any cache.
#include "analysis/Divergence.h"
#include "bench/PlainSum.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <type_traits>
#include <vector>

namespace {

using namespace driftscope;

constexpr int rounds = 15;

enum class Data {
    Identical, ///< every bit
    FewUlp,    ///< 8 of 9 elements up to 4 ULP away: rounding
    Drifted,   ///< about 5e-4 away: runs that have drifted
    Unrelated, ///< two seeds
};

template <typename T>
using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <typename T>
struct Arrays {
    std::size_t size;
    std::unique_ptr<T[]> a;
    std::unique_ptr<T[]> r;

    [[nodiscard]] std::span<const T> run() const { return {a.get(), size}; }
    [[nodiscard]] std::span<const T> reference() const { return {r.get(), size}; }
};

std::size_t arrayBytes() {
    const char* megabytes = std::getenv("DRIFTSCOPE_BENCH_MB");
    return (megabytes != nullptr ? std::strtoull(megabytes, nullptr, 10) : 512) * 1'000'000;
}

template <typename T>
Arrays<T> makeArrays(Data data) {
    const std::size_t n = arrayBytes() / sizeof(T);
    Arrays<T> arrays{n, std::make_unique_for_overwrite<T[]>(n),
                     std::make_unique_for_overwrite<T[]>(n)};
    // Normal numbers are slow to draw; a pool of a million, read with a stride, is as good here.
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal(0, 0.05);
    std::vector<T> pool(std::size_t{1} << 20);
    for (T& value : pool)
        value = static_cast<T>(normal(random));
    const auto drawn = [&](std::size_t i) { return pool[i & (pool.size() - 1)]; };
    for (std::size_t i = 0; i < n; ++i) {
        const T r = drawn(7 * i + i / pool.size());
        arrays.r[i] = r;
        switch (data) {
        case Data::Identical:
            arrays.a[i] = r;
            break;
        case Data::FewUlp:
            arrays.a[i] = std::bit_cast<T>(static_cast<Word<T>>(
                std::bit_cast<Word<T>>(r) + static_cast<Word<T>>(random() % 9 - 4)));
            break;
        case Data::Drifted:
            arrays.a[i] = static_cast<T>(r * (1 + 0.01 * static_cast<double>(drawn(i))));
            break;
        case Data::Unrelated:
            arrays.a[i] = drawn(13 * i + 5);
            break;
        }
    }
    return arrays;
}

template <class Work>
double secondsOf(Work work) {
    const auto start = std::chrono::steady_clock::now();
    auto result = work();
    benchmark::DoNotOptimize(result);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

template <typename T>
void divergence(benchmark::State& state, Data data) {
    const Arrays<T> arrays = makeArrays<T>(data);
    const std::span<const T> a = arrays.run();
    const std::span<const T> r = arrays.reference();
    std::vector<double> sums, divergences, ratios, prefetchedRatios;
    for ([[maybe_unused]] auto _ : state) {
        const double sum = secondsOf([&] { return bench::plainSum(a, r); });
        const double prefetched = secondsOf([&] { return bench::prefetchedSum(a, r); });
        const double measured = secondsOf([&] { return measureDivergence(a, r); });
        state.SetIterationTime(measured);
        sums.push_back(sum);
        divergences.push_back(measured);
        ratios.push_back(sum / measured);
        prefetchedRatios.push_back(prefetched / measured);
    }
    const double gigabytes = 2e-9 * static_cast<double>(a.size_bytes());
    state.counters["ratio"] = median(ratios);
    state.counters["ratio_prefetched"] = median(prefetchedRatios);
    state.counters["sum_GB/s"] = gigabytes / median(sums);
    state.counters["divergence_GB/s"] = gigabytes / median(divergences);
}

using Function = void (*)(benchmark::State&, Data);

void add(const char* name, Function function, Data data) {
    benchmark::RegisterBenchmark(name, function, data)
        ->UseManualTime()
        ->Iterations(rounds)
        ->Unit(benchmark::kMillisecond);
}

} // namespace

int main(int argc, char** argv) {
    add("divergence/float32/few_ulp", divergence<float>, Data::FewUlp);
    add("divergence/float32/identical", divergence<float>, Data::Identical);
    add("divergence/float32/drifted", divergence<float>, Data::Drifted);
    add("divergence/float32/unrelated", divergence<float>, Data::Unrelated);
    add("divergence/float64/few_ulp", divergence<double>, Data::FewUlp);
    add("divergence/float64/identical", divergence<double>, Data::Identical);
    add("divergence/float64/drifted", divergence<double>, Data::Drifted);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 1;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
