// SPDX-License-Identifier: GPL-3.0-or-later
// float16 and bfloat16: every value, and their distances, against NumPy.
#include "recording/HalfPrecision.h"

#include "analysis/RowMeasurement.h"
#include "support/Files.h"
#include "support/Python.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>

namespace driftscope {
namespace {

template <class T>
void write(const std::filesystem::path& file, const std::vector<T>& values) {
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
}

TEST(HalfPrecision, EveryValueWidensAsInNumPy) {
    const test::TemporaryFolder folder;
    std::vector<std::uint16_t> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<std::uint16_t>(i);
    write(folder / "f16", widened(std::as_bytes(std::span(all)), DType::Float16));
    write(folder / "bf16", widened(std::as_bytes(std::span(all)), DType::BFloat16));
    PYTHON_OUTPUT(output, R"(
bits = np.arange(65536).astype('u2')
half = np.fromfile(sys.argv[1] + '/f16', 'f4')
want = bits.view('f2').astype('f4')
print(np.array_equal(half, want, equal_nan=True), np.array_equal(np.signbit(half), np.signbit(want)))
print(np.array_equal(np.fromfile(sys.argv[1] + '/bf16', 'u4'), bits.astype('u4') << 16))
)",
                  {folder.path().string()});
    EXPECT_EQ(output, "True True\nTrue\n");
}

TEST(HalfPrecision, RoundsToNearestEven) {
    const test::TemporaryFolder folder;
    std::mt19937 random(1);
    std::vector<float> values{0.0F, -0.0F, 65504.0F, 65519.99F, 65520.0F, 1e30F, 6e-8F, 2.98e-8F, 2.99e-8F, 6.1e-5F, 1e-45F};
    for (int i = 0; i < 200000; ++i) { // any bits, and magnitudes around those of float16
        const std::uint32_t bits = random();
        values.push_back(std::bit_cast<float>(bits));
        values.push_back(std::bit_cast<float>((bits & 0x87FFFFFFU) | 0x38000000U));
    }
    std::vector<std::uint16_t> half, brain;
    for (const float value : values) {
        half.push_back(narrowed(value, DType::Float16));
        brain.push_back(narrowed(value, DType::BFloat16));
    }
    write(folder / "values", values);
    write(folder / "f16", half);
    write(folder / "bf16", brain);
    PYTHON_OUTPUT(output, R"(
folder = sys.argv[1]
x = np.fromfile(folder + '/values', 'f4')
with np.errstate(all='ignore'):
    print(np.array_equal(np.fromfile(folder + '/f16', 'f2'), x.astype('f2'), equal_nan=True))
got = np.fromfile(folder + '/bf16', 'u2')
finite = np.isfinite(x)
down = (x.view('u4') >> 16).astype('u2')                      # towards zero
wide = lambda h: (h.astype('u4') << 16).view('f4').astype('f8')
up = down + 1
with np.errstate(all='ignore'):
    upper = np.where(np.isinf(wide(up)), np.copysign(np.float64(2.0 ** 128), x), wide(up))
    low, high = np.abs(x - wide(down)), np.abs(upper - x)
want = np.where((high < low) | ((high == low) & (down % 2 == 1)), up, down)
print(np.array_equal(got[finite], want[finite]), np.isnan(wide(got[np.isnan(x)])).all(), np.isinf(wide(got[np.isinf(x)])).all())
)",
                  {folder.path().string()});
    EXPECT_EQ(output, "True\nTrue True True\n");
}

TEST(HalfPrecision, DistancesAreThoseOfTheirOwnType) {
    const test::TemporaryFolder folder;
    std::mt19937 random(2);
    std::vector<std::uint16_t> a, r;
    for (int i = 0; i < 999; ++i) { // finite in float16, subnormal numbers too
        r.push_back(static_cast<std::uint16_t>(random() % 0x7000));
        a.push_back(static_cast<std::uint16_t>(r.back() + random() % 5));
        if (i % 10 == 0)
            a.back() ^= 0x8000U;
    }
    const std::vector<TensorInfo> tensors{{"w", DType::Float16, {999}}};
    const std::vector<TensorRow> run{TensorRow(DType::Float16, std::as_bytes(std::span(a)))},
        reference{TensorRow(DType::Float16, std::as_bytes(std::span(r)))};
    const RowMeasurement row = measureRow(tensors, run, reference);
    write(folder / "a", a);
    write(folder / "r", r);
    std::string numbers;
    for (const MetricInfo& info : metrics())
        numbers += std::string(info.key) + " " + std::to_string(row.ofTensor(info.metric, 0, 1)) + "\n";
    write(folder / "numbers", std::vector(numbers.begin(), numbers.end()));
    PYTHON_OUTPUT(output, R"(
folder = sys.argv[1]
a, r = (np.fromfile(folder + '/' + n, 'f2') for n in 'ar')
line = lambda x: np.where(x.view('i2') < 0, -(x.view('i2').astype(int) & 0x7FFF), x.view('i2').astype(int))
ulp = np.abs(line(a) - line(r))
x, y = a.astype('f8'), r.astype('f8')
want = {'l2': np.linalg.norm(x - y), 'rel_l2': np.linalg.norm(x - y) / np.linalg.norm(y), 'max_abs': np.abs(x - y).max(),
        'max_rel': (np.abs(x - y) / np.maximum(np.abs(y), float(np.finfo('f2').tiny))).max(), 'ulp_max': ulp.max(),
        'ulp_mean': ulp.mean(), 'ulp_p50': np.percentile(ulp, 50, method='inverted_cdf'),
        'ulp_p99': np.percentile(ulp, 99, method='inverted_cdf'), 'changed': (a.view('u2') != r.view('u2')).mean(),
        'sign_flips': ((x < 0) & (y > 0) | (x > 0) & (y < 0)).sum(), 'nonfinite': 0}
got = dict(line.split() for line in open(folder + '/numbers'))
for key, value in want.items():
    tolerance = 5e-4 if key == 'ulp_p99' else 1e-6  # percentiles above 4095 ULP are up to 0.05 % low
    if abs(float(got[key]) - value) > tolerance * max(1, abs(value)): print(key, got[key], value)
)",
                  {folder.path().string()});
    EXPECT_EQ(output, "");
}

TEST(HalfPrecision, NonfinitePairsAreAsFarApartAsSixteenBitsSay) {
    const std::vector<std::uint16_t> a{0x7C00, 0x7E00, 0x3C00, 0x7C00}, r{0x3C00, 0x7E01, 0x3C00, 0x7C00};
    const std::vector<TensorInfo> tensors{{"w", DType::Float16, {4}}};
    const std::vector<TensorRow> run{TensorRow(DType::Float16, std::as_bytes(std::span(a)))},
        reference{TensorRow(DType::Float16, std::as_bytes(std::span(r)))};
    const RowMeasurement row = measureRow(tensors, run, reference);
    EXPECT_EQ(row.ofTensor(Metric::UlpMax, 0, 1), 65535);
    EXPECT_EQ(row.ofTensor(Metric::UlpMean, 0, 1), 65535.0 / 4);
    EXPECT_EQ(row.ofTensor(Metric::UlpP99, 0, 1), 65535);
    EXPECT_EQ(row.ofTensor(Metric::Nonfinite, 0, 1), 1);
    EXPECT_EQ(row.ofTensor(Metric::Changed, 0, 1), 0.5); // two NaN of other bits count
    EXPECT_EQ(row.ulpHistogram[0], 3U);
    EXPECT_EQ(row.ulpHistogram[16], 1U);
}

} // namespace
} // namespace driftscope
