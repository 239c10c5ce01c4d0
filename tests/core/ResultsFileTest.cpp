// SPDX-License-Identifier: GPL-3.0-or-later
// study.h5: what it holds, that it is used when up to date and only then.
#include "analysis/ResultsFile.h"
#include "recording/Version.h"
#include "support/ChildProcess.h"
#include "support/Files.h"
#include "support/Python.h"
#include "support/TemporaryFolder.h"
#include "support/TinyStudy.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace driftscope {
namespace {

namespace fs = std::filesystem;
using test::messageOf;
using test::tinyRun;

class ResultsFileTest : public ::testing::Test {
protected:
    ResultsFileTest() : m_study(test::tinyStudy(m_folder / "study")) {
        for (std::size_t i = 0; i < 2; ++i)
            record(i, 0.5 * static_cast<double>(i));
        recordOutcome(m_study.runFile(m_study.runs[2]), m_study.runs[2], RunState::Unavailable,
                      "no such thing");
    }
    void record(std::size_t i, double difference) {
        fs::remove(m_study.runFile(m_study.runs[i]));
        test::writeRun(m_study.runFile(m_study.runs[i]), tinyRun(m_study.runs[i], difference));
    }
    /// L2 of run 1 at its last row, as it would be shown now.
    double shown() const {
        const auto results = loadResults(openStudyFolder(m_study.path));
        return results.runs.at(1).comparison->value(Metric::L2, 2, 0);
    }
    /// Saves results, then plants a value that only a reader of study.h5 would show.
    std::string plantValue(const std::string& more = "") {
        saveResults(loadResults(m_study));
        return "f = h5py.File(sys.argv[1], 'r+')\nf['results/thr2/l2'][2, 0] = 123\n" + more;
    }
    std::vector<std::string> path() const { return {m_study.resultsFile().string()}; }

    test::TemporaryFolder m_folder;
    StudyFolder m_study;
};

TEST_F(ResultsFileTest, ResultsOfAStudy) {
    const StudyResults results = loadResults(m_study);
    ASSERT_EQ(results.runs.size(), 3U);
    EXPECT_FALSE(results.runs[0].comparison);
    EXPECT_EQ(results.runs[0].reference, std::nullopt);
    EXPECT_EQ(results.runs[0].verdict.kind, "");
    const RunResult& run = results.runs[1];
    EXPECT_EQ(run.reference, 0U);
    EXPECT_EQ(run.state, RunState::Finished);
    EXPECT_EQ(run.rows, 3);
    EXPECT_EQ(run.totalRows, 3);
    EXPECT_EQ(run.steps, (std::vector<std::int64_t>{0, 1, 2}));
    EXPECT_TRUE(std::isnan(run.scalars[Loss].at(0)));
    EXPECT_EQ(run.scalars[Loss].at(2), 0.5);
    EXPECT_EQ(run.comparison->value(Metric::L2, 1, 0), 0.5);
    EXPECT_EQ(shown(), 1);
    EXPECT_EQ(results.runs[2].state, RunState::Unavailable);
    EXPECT_EQ(results.runs[2].message, "no such thing");
    EXPECT_FALSE(results.runs[2].comparison);
    EXPECT_FALSE(fs::exists(m_study.resultsFile())) << "loading writes nothing";
}

TEST_F(ResultsFileTest, SavedResultsComeBackWhole) {
    const StudyResults results = loadResults(m_study);
    saveResults(results);
    EXPECT_FALSE(fs::exists(m_study.path / "study.h5.new"));
    const auto cached = readResultsFile(m_study.resultsFile());
    ASSERT_EQ(cached.size(), 1U); // the reference and the unavailable run have nothing to compare
    const auto& [runId, referenceRunId, comparison] = cached.at("thr2");
    const RunComparison& wanted = *results.runs[1].comparison;
    EXPECT_EQ(runId, results.runs[1].runId);
    EXPECT_EQ(referenceRunId, results.runs[0].runId);
    EXPECT_EQ(comparison->steps, wanted.steps);
    EXPECT_EQ(comparison->scopes, wanted.scopes);
    EXPECT_EQ(comparison->values, wanted.values);
    EXPECT_EQ(comparison->ulpHistograms, wanted.ulpHistograms);
    EXPECT_EQ(comparison->first, wanted.first);
    EXPECT_EQ(comparison->first, (FirstDivergence{1, "weights", "fc1.weight", 0}));
    saveResults(results); // once more, over the first
    EXPECT_EQ(readResultsFile(m_study.resultsFile()).size(), 1U);
}

TEST_F(ResultsFileTest, H5pyReadsIt) {
    saveResults(loadResults(m_study));
    PYTHON_OUTPUT(output, R"(
f = h5py.File(sys.argv[1], 'r')
text = lambda o, k: o.attrs[k].decode() if isinstance(o.attrs[k], bytes) else o.attrs[k]
g = f['results/thr2']
print(json.dumps({
    'format': text(f, 'format'), 'generator': text(f, 'generator'), 'study': 'name = ' in f['study'][()].decode(),
    'runs': sorted(f['runs']), 'results': sorted(f['results']), 'label': text(g, 'label'), 'state': text(g, 'state'),
    'reference': text(g, 'reference'), 'verdict': text(g, 'verdict'), 'scope': [s.decode() for s in g['scope'][:]],
    'l2': g['l2'][:].tolist(), 'step': g['step'][:].tolist(), 'histogram': list(g['ulp_histogram'].shape),
    'unavailable': [text(f['results/thr3'], 'state'), text(f['results/thr3'], 'message')]}))
)",
                  path());
    const auto f = nlohmann::json::parse(output);
    EXPECT_EQ(f["format"], "driftscope.study");
    EXPECT_EQ(f["generator"], std::string(generatorName()));
    EXPECT_EQ(f["study"], true);
    const nlohmann::json ids{"thr1", "thr2", "thr3"};
    EXPECT_EQ(f["runs"], ids);
    EXPECT_EQ(f["results"], ids);
    EXPECT_EQ(f["label"], "thr 2");
    EXPECT_EQ(f["state"], "finished");
    EXPECT_EQ(f["reference"], "thr1");
    EXPECT_EQ(f["verdict"], "inconclusive");
    EXPECT_EQ(f["step"], nlohmann::json({0, 1, 2}));
    EXPECT_EQ(f["scope"], nlohmann::json({"model", "layer fc1", "layer out", "tensor fc1.weight",
                                          "tensor out.bias"}));
    EXPECT_EQ(f["l2"], nlohmann::json::parse("[[0,0,0,0,0],[0.5,0.5,0,0.5,0],[1,1,0,1,0]]"));
    EXPECT_EQ(f["histogram"], nlohmann::json({3, 33}));
    EXPECT_EQ(f["unavailable"], nlohmann::json({"unavailable", "no such thing"}));
}

TEST_F(ResultsFileTest, LinksResolveAfterTheFolderHasMoved) {
    saveResults(loadResults(m_study));
    fs::create_directory(m_folder / "elsewhere");
    fs::rename(m_study.path, m_folder / "elsewhere/renamed");
    PYTHON_OUTPUT(output, R"(
f = h5py.File(sys.argv[1], 'r')
print(f['runs/thr2/weights/fc1.weight'][2].tolist(), f['runs/thr3/progress'][:].tolist())
)",
                  {(m_folder / "elsewhere/renamed/study.h5").string()});
    EXPECT_EQ(output, "[2.0, 2.0] [0, 4]\n");
    EXPECT_EQ(loadResults(openStudyFolder(m_folder / "elsewhere/renamed")).runs[1].rows, 3);
}

TEST_F(ResultsFileTest, UpToDateResultsAreUsed) {
    PYTHON_OUTPUT(output, plantValue(), path());
    EXPECT_EQ(shown(), 123);
}

TEST_F(ResultsFileTest, ResultsOfAnotherRecordingAreNot) {
    PYTHON_OUTPUT(output, plantValue(), path());
    record(1, 0.25); // the same run once more: other values, another UUID
    EXPECT_EQ(shown(), 0.5);
    record(0, 0); // the reference too
    EXPECT_EQ(shown(), 0.5);
}

TEST_F(ResultsFileTest, ResultsAgainstAnotherReferenceAreNot) {
    PYTHON_OUTPUT(output, plantValue(), path());
    record(0, 0.25);
    EXPECT_EQ(shown(), 0.5); // 2 · (0.5 − 0.25)
}

TEST_F(ResultsFileTest, ResultsOfAnotherVersionAreNot) {
    PYTHON_OUTPUT(output, plantValue("f.attrs['generator'] = np.bytes_('Driftscope 99.0')"),
                  path());
    EXPECT_EQ(shown(), 1);
}

TEST_F(ResultsFileTest, ResultsOfAnotherFormatAreNot) {
    PYTHON_OUTPUT(output, plantValue("f.attrs['format'] = np.bytes_('driftscope.other')"), path());
    EXPECT_EQ(shown(), 1);
}

TEST_F(ResultsFileTest, GarbageIsNoCache) {
    saveResults(loadResults(m_study));
    const std::string good = test::readFile(m_study.resultsFile());
    for (const std::string& bytes : {std::string(), std::string("garbage"),
                                     good.substr(0, good.size() / 2), good.substr(0, 700)}) {
        test::writeFile(m_study.resultsFile(), bytes);
        EXPECT_TRUE(readResultsFile(m_study.resultsFile()).empty());
        EXPECT_EQ(shown(), 1);
    }
    fs::remove(m_study.resultsFile());
    fs::create_directory(m_study.resultsFile());
    EXPECT_EQ(shown(), 1);
}

TEST_F(ResultsFileTest, WrongShapesAreNoCache) {
    for (const char* change :
         {"del f['results/thr2/l2']",
          "del f['results/thr2/l2']; f['results/thr2/l2'] = np.zeros(3)",
          "del f['results/thr2/ulp_histogram']; f['results/thr2/ulp_histogram'] = np.zeros((3, "
          "32), 'u8')",
          "del f['results/thr2/scope']; f['results/thr2/scope'] = np.zeros(5, 'S255')",
          "del f['results/thr2/scope']; f['results/thr2/scope'] = np.zeros((5, 1), 'S256')",
          "del f['results/thr2/step']; f['results/thr2/step'] = h5py.SoftLink('/nowhere')"}) {
        PYTHON_OUTPUT(output, plantValue(change), path());
        EXPECT_EQ(shown(), 1) << change;
        fs::remove(m_study.resultsFile());
    }
}

TEST_F(ResultsFileTest, AnAttributeOfAnotherShapeIsNoCache) {
    PYTHON_OUTPUT(output, plantValue("f['results/thr2'].attrs['first_step'] = np.arange(4096)"),
                  path());
    EXPECT_EQ(test::runInChild([&] { (void)shown(); }).problem, "");
}

TEST_F(ResultsFileTest, ResultsWithoutScopesAreNoCache) {
    PYTHON_OUTPUT(output, plantValue(R"(
g = f['results/thr2']
del g['scope']; g['scope'] = np.zeros(0, 'S256')
for name in list(g):
    if name not in ('step', 'scope', 'ulp_histogram'): del g[name]; g[name] = np.zeros((3, 0))
)"),
                  path());
    EXPECT_EQ(test::runInChild([&] { (void)shown(); }).problem, "");
}

TEST_F(ResultsFileTest, AFolderThatIsGoneIsARecordingError) {
    const StudyResults results = loadResults(m_study);
    fs::remove_all(m_study.path);
    EXPECT_HAS(messageOf<RecordingError>([&] { saveResults(results); }),
               m_study.resultsFile().string());
}

} // namespace
} // namespace driftscope
