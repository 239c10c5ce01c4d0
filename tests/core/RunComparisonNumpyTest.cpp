// SPDX-License-Identifier: GPL-3.0-or-later
// The whole way, from files to values, against NumPy in extended precision and Python's integers.
#include "analysis/RunComparison.h"
#include "support/Python.h"
#include "support/RunFiles.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <random>

namespace driftscope {
namespace {

using Json = nlohmann::json;

constexpr const char* independent = R"(
L = np.longdouble
def ordered(x):
    bits = x.view('i4' if x.dtype == np.float32 else 'i8')
    low = (1 << (8 * x.itemsize - 1)) - 1
    return [-(int(b) & low) if b < 0 else int(b) for b in bits]
def metrics(pairs):
    a = np.concatenate([L(p[0]) for p in pairs]); r = np.concatenate([L(p[1]) for p in pairs])
    d = np.abs(a - r)
    tiny = np.concatenate([np.full(p[1].size, np.finfo(p[1].dtype).tiny, dtype=L) for p in pairs])
    norm = lambda x: np.sqrt((x * x).sum())
    ulps = sorted(abs(x - y) for p in pairs for x, y in zip(ordered(p[0]), ordered(p[1])))
    n = len(ulps)
    rank = lambda percent: ulps[-(-percent * n // 100) - 1]
    small = np.array([min(u, 2**52) for u in ulps], dtype='i8')
    assert np.percentile(small, 50, method='inverted_cdf') == min(rank(50), 2**52)
    unit = a / norm(a) - r / norm(r)
    changed = sum(int((p[0].view('i4' if p[0].itemsize == 4 else 'i8') != p[1].view('i4' if p[1].itemsize == 4 else 'i8')).sum()) for p in pairs)
    out = {'l2': norm(a - r), 'rel_l2': norm(a - r) / norm(r), 'max_abs': d.max(), 'mean_abs': d.mean(),
           'max_rel': (d / np.maximum(np.abs(r), tiny)).max(), 'cosine_distance': (unit * unit).sum() / 2,
           'ulp_max': ulps[-1], 'ulp_mean': L(sum(ulps)) / n, 'ulp_p50': rank(50), 'ulp_p99': rank(99),
           'changed': L(changed) / n, 'sign_flips': int(((a < 0) & (r > 0) | (a > 0) & (r < 0)).sum()), 'nonfinite': 0}
    return {k: float(v) for k, v in out.items()}
result = []
with h5py.File(sys.argv[1], 'r') as run, h5py.File(sys.argv[2], 'r') as ref:
    names = list(run['weights'])
    for row in range(run['step'].size):
        pair = {n: (run['weights'][n][row].reshape(-1), ref['weights'][n][row].reshape(-1)) for n in names}
        scopes = {'': metrics(list(pair.values()))}
        for layer in sorted({n.rsplit('.', 1)[0] for n in names}):
            scopes['layer ' + layer] = metrics([pair[n] for n in names if n.rsplit('.', 1)[0] == layer])
        for n in names: scopes['tensor ' + n] = metrics([pair[n]])
        result.append(scopes)
print(json.dumps(result))
)";

/// Tensors of several sizes and both types; the run is the reference with errors from none to all
/// of it.
std::pair<test::TestRun, test::TestRun> randomRuns() {
    test::TestRun run{test::tinyConfig("run", 9),
                      {{"fc1.weight", DType::Float32, {37, 11}},
                       {"fc1.bias", DType::Float32, {37}},
                       {"conv.weight", DType::Float32, {4, 3, 3, 3}},
                       {"fc2.weight", DType::Float64, {3, 37}},
                       {"fc2.bias", DType::Float64, {1}}},
                      {}};
    test::TestRun reference = run;
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    for (std::int64_t step = 0; step < 6; ++step) {
        // relative errors of about 2^-23 (an ULP of float32), then each row 16 times more
        const double size = std::ldexp(1.0, static_cast<int>(4 * step) - 23);
        test::TestRow a{step, {}}, r{step, {}};
        for (const TensorInfo& tensor : run.parameters) {
            auto& values = a.weights.emplace_back();
            auto& others = r.weights.emplace_back();
            for (std::uint64_t i = 0; i < tensor.elements(); ++i) {
                others.push_back(normal(random));
                values.push_back(i % 3 == 0 ? others.back()
                                            : others.back() * (1 + size * normal(random)));
            }
        }
        run.rows.push_back(a);
        reference.rows.push_back(r);
    }
    return {run, reference};
}

TEST(RunComparisonNumpy, EveryMetricOfEveryScopeAgrees) {
    const test::TemporaryFolder folder;
    const auto [run, reference] = randomRuns();
    test::writeRun(folder / "a.h5", run);
    test::writeRun(folder / "r.h5", reference);
    PYTHON_OUTPUT(output, independent, {(folder / "a.h5").string(), (folder / "r.h5").string()});
    const Json expected = Json::parse(output);
    const RunReader a(folder / "a.h5"), r(folder / "r.h5");
    const RunComparison comparison = compareRuns(a, r);
    ASSERT_EQ(comparison.rows(), expected.size());
    ASSERT_EQ(comparison.scopes.size(), 1U + 3 + 5);
    bool hasBuckets = false;
    for (std::size_t row = 0; row < expected.size(); ++row)
        for (std::size_t scope = 0; scope < comparison.scopes.size(); ++scope) {
            const auto& [kind, name] = comparison.scopes[scope];
            const std::string key = kind == ScopeKind::Model
                                        ? ""
                                        : (kind == ScopeKind::Layer ? "layer " : "tensor ") + name;
            for (const MetricInfo& info : metrics()) {
                const double value = comparison.value(info.metric, row, scope);
                const double wanted = expected[row].at(key).at(std::string(info.key)).get<double>();
                SCOPED_TRACE(std::string(info.key) + " of " + key + " at row " +
                             std::to_string(row));
                if (info.metric == Metric::UlpP50 || info.metric == Metric::UlpP99) {
                    EXPECT_LE(value, wanted);
                    EXPECT_GE(value, wanted < 4096 ? wanted : wanted * (1 - 0.0005));
                    hasBuckets |= wanted >= 4096;
                } else {
                    EXPECT_NEAR(value, wanted, 1e-9 * std::abs(wanted));
                }
            }
        }
    EXPECT_TRUE(hasBuckets);
}

} // namespace
} // namespace driftscope
