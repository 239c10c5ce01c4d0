// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/HtmlReport.h"

#include "support/Files.h"
#include "support/HandMadeResults.h"
#include "support/Python.h"
#include "support/TemporaryFolder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

namespace driftscope {
namespace {

using Json = nlohmann::json;
using test::comparisonOf;
using test::resultsOf;

/// What an XML parser finds in a page: its text without the style, its headings, its tables, and what would load or run.
constexpr const char* readPage = R"(
import xml.etree.ElementTree as ET
root = ET.parse(sys.argv[1]).getroot()
tag = lambda element: element.tag.split("}")[1]
text = lambda element: " ".join("".join(element.itertext()).split())
body = [element for element in root if tag(element) == "body"][0]
tables = [[[text(cell) for cell in row] for row in table.iter() if tag(row) == "tr"]
          for table in root.iter() if tag(table) == "table"]
loads = [f"{tag(element)} {key}" for element in root.iter() for key in element.keys()
         if key in ("src", "href", "data", "action", "srcset") or key.startswith("on") or key.endswith("}href")]
loads += [tag(element) for element in root.iter() if tag(element) in ("script", "link", "iframe", "object", "embed", "img")]
print(json.dumps({"text": text(body), "tables": tables, "loads": loads,
                  "headings": [text(element) for element in root.iter() if tag(element) in ("h1", "h2", "h3")],
                  "hover": [element.get("title") for element in root.iter() if element.get("title")]}))
)";

test::PythonResult parsed(const std::string& page) {
    const test::TemporaryFolder folder;
    test::writeFile(folder / "page.html", page);
    return test::runPython(readPage, {(folder / "page.html").string()});
}

/// Declares `found`, what the parser found; skips the test without Python's libraries, fails it for broken markup.
#define READ_PAGE(found, page)                                                                                           \
    const test::PythonResult found##Result = parsed(page);                                                            \
    if (found##Result.hasNoLibraries)                                                                                  \
        GTEST_SKIP() << found##Result.output;                                                                          \
    ASSERT_EQ(found##Result.exitCode, 0) << found##Result.output;                                                      \
    const Json found = Json::parse(found##Result.output)

/// thr 2 differs by rounding, thr 3 not at all, thr 4 could not run.
StudyResults study() {
    StudyResults results = resultsOf("threads = [1, 2, 3, 4]", "description = \"Does the thread count matter?\"\n");
    results.folder.path = "/studies/by hand";
    const auto comparison = comparisonOf(Metric::RelativeL2, {0, 1.23456e-7, 2e-7});
    comparison->first = FirstDivergence{10, "gradient", "fc1.weight", 9};
    RunResult& run = results.runs[1];
    run.comparison = comparison;
    run.verdict = {"rounding",
                   "The same mathematics. Nothing to mend.",
                   {{"size", "as large as rounding", "rounding", 0.55, 8192}, {"digests", "they part at step 10", ""}}};
    run.growth = Growth{.rate = 0.031, .low = 0.029, .high = 0.034, .doublingSteps = 22.36, .firstStep = 10,
                        .lastStep = 20, .points = 5};
    results.runs[2].comparison = comparisonOf(Metric::RelativeL2, {0, 0, 0});
    results.runs[2].verdict = {"identical", "Equal bits. Nothing is to be done.", {}};
    results.runs[3].state = RunState::Unavailable;
    results.runs[3].message = "threads = 4: this machine has 2 cores";
    for (std::size_t i = 0; i < 3; ++i)
        results.runs[i].environment =
            fmt::format(R"({{"cpu":{{"model":"Xeon","cores":2}},"threads":{{"intra_op":{}}},"data":"noise, 64 samples"}})", i + 1);
    return results;
}

HtmlReportContext context() {
    HtmlReportContext context;
    context.attribution.axes = {
        {"threads", 3, 3, 1, 1.5e-7, 2e-7, {{"fc1", 1, 1.5e-7}, {"out", 3, 0}}},
        {"seed", 0, 0, 0, 0, 0, {}},
    };
    context.attribution.interactions = {{"threads", "seed", "threads 1 → 2 with seed 1 → 2", 2e-3, 1e-7}};
    context.studyToml = "# by me\n[study]\nname = \"<by hand>\"\n";
    context.created = "2026-01-02T03:04:05Z";
    return context;
}

TEST(HtmlReport, SaysEverythingInItsOrder) {
    READ_PAGE(found, htmlReport(study(), context()));
    EXPECT_EQ(found["headings"], Json({"by hand", "Runs", "Why they differ", "thr 2 ≈ rounding", "Distance by step",
                                       "Layers and runs", "How fast it grows", "Which setting does it", "Environment",
                                       "The study", "To do it again"}));
    const auto text = found["text"].get<std::string>();
    for (const char* part :
         {"Does the thread count matter?", "Data: noise, 64 samples",
          "1 of 2 runs differs from thr 1; by rounding; 1 run has not finished.", "The same mathematics. Nothing to mend.",
          "bit-identical", "threads and seed together: 0.002, alone at most 1.00e-07", "# by me [study] name = \"<by hand>\"",
          "driftscope-cli run study.toml", "Driftscope ", "2026-01-02T03:04:05Z"})
        EXPECT_HAS(text, part);
    EXPECT_EQ(found["loads"], Json::array());
}

TEST(HtmlReport, TablesHoldTheNumbers) {
    READ_PAGE(found, htmlReport(study(), context()));
    const Json& tables = found["tables"];
    ASSERT_EQ(tables.size(), 7U); // runs, evidence, growth, attribution, by layer, environment: different, same
    EXPECT_EQ(tables[0][1], Json({"thr 1", "finished", "the reference", "", "", "", "", ""}));
    EXPECT_EQ(tables[0][2], Json({"thr 2", "finished", "step 10, phase gradient, fc1.weight", "2.00e-07", "0", "0", "20",
                                  "≈ rounding"}));
    EXPECT_EQ(tables[0][3], Json({"thr 3", "finished", "none: bit-identical", "0", "0", "0", "20", "= identical"}));
    EXPECT_EQ(tables[0][4], Json({"thr 4", "unavailable", "threads = 4: this machine has 2 cores", "", "", "", "", ""}));
    EXPECT_EQ(tables[1][1], Json({"size", "as large as rounding", "0.55", "8.19e+03", "rounding"}));
    EXPECT_EQ(tables[1][2], Json({"digests", "they part at step 10", "", "", ""}));
    EXPECT_EQ(tables[2][1], Json({"thr 2", "exponential", "0.031 per step", "0.029 … 0.034", "22.4", "10 – 20", "5"}));
    EXPECT_EQ(tables[3], Json({{"setting", "pairs", "bit-identical", "median relative L2 distance", "largest"},
                               {"threads", "3", "1 of 3", "1.50e-07", "2.00e-07"}}));
    EXPECT_EQ(tables[4][1], Json({"fc1", "1.50e-07 (1 of 3 identical)"}));
    EXPECT_EQ(tables[4][2], Json({"out", "0 (3 of 3 identical)"}));
    EXPECT_EQ(tables[5], Json({{"field", "value", "runs"},
                               {"threads.intra_op", "1", "thr 1"},
                               {"threads.intra_op", "2", "thr 2"},
                               {"threads.intra_op", "3", "thr 3"}}));
    // pairs of texts would be an object otherwise
    EXPECT_EQ(tables[6], Json::array({Json::array({"field", "value"}), Json::array({"cpu.model", "Xeon"}),
                                      Json::array({"cpu.cores", "2"}), Json::array({"data", "noise, 64 samples"})}));
    EXPECT_NE(std::ranges::find(found["hover"], Json("22.36")), found["hover"].end()); // all digits
}

TEST(HtmlReport, WhatHasNothingToSayIsLeftOut) {
    StudyResults results = resultsOf("threads = [1, 2]");
    for (RunResult& run : results.runs)
        run.state.reset();
    READ_PAGE(found, htmlReport(results, {}));
    EXPECT_EQ(found["headings"], Json({"by hand", "Runs"}));
    READ_PAGE(none, htmlReport({}, {}));
    EXPECT_HAS(none["text"].get<std::string>(), "Nothing has been compared yet.");
}

TEST(HtmlReport, HostileTextStaysText) {
    const std::string hostile = "</style></pre><script>alert(1)</script><img src=x onerror='alert(1)'/>\" onload=\"\x01\xff";
    StudyResults results = study();
    results.folder.study.name = results.folder.study.description = hostile;
    RunResult& run = results.runs[1];
    run.config.id = hostile + ".h5";
    run.verdict.summary = hostile;
    run.verdict.evidence = {{hostile, hostile, hostile}};
    const auto comparison = std::make_shared<RunComparison>(*run.comparison);
    comparison->first = FirstDivergence{10, hostile, hostile};
    comparison->scopes[1].name = hostile;
    run.comparison = comparison;
    run.environment = Json{{"data", "<script>alert(1)</script>"}, {"<script>", {{"'\"<img src=x>", "\"><b>"}}}}.dump();
    results.runs[3].message = hostile;
    HtmlReportContext all = context();
    all.attribution.axes[0].axis = all.attribution.axes[0].layers[0].name = all.attribution.interactions[0].example = hostile;
    all.studyToml = all.created = hostile;
    const std::string page = htmlReport(results, all);
    for (const char* part : {"<script", "<img", "onload=\"", "onerror='", "</style></pre>"})
        EXPECT_FALSE(test::contains(page, part)) << part;
    READ_PAGE(found, page);
    EXPECT_EQ(found["loads"], Json::array());
    EXPECT_EQ(found["headings"][0].get<std::string>().substr(0, 24), hostile.substr(0, 24));
}

TEST(HtmlReport, EnvironmentsOfOthersDoNoHarm) {
    StudyResults results = study();
    std::string deep;
    for (int i = 0; i < 100'000; ++i)
        deep += "{\"a\":[";
    results.runs[0].environment = deep;
    results.runs[1].environment = "[1, 2]";
    deep = "{\"data\": 3, \"long\": \"" + std::string(1000, 'x') + "\", \"nested\": ";
    for (int i = 0; i < 100; ++i)
        deep += "{\"a\":";
    deep += "1" + std::string(100, '}') + "}";
    results.runs[2].environment = deep;
    READ_PAGE(found, htmlReport(results, context()));
    EXPECT_HAS(found["text"].get<std::string>(), std::string(1000, 'x')); // folded, not cut
    EXPECT_HAS(found["text"].get<std::string>(), "nested.a.a.a");
}

TEST(HtmlReport, KnowsItsOwnPages) {
    EXPECT_TRUE(isHtmlReport(htmlReport({}, {}).substr(0, 1024)));
    EXPECT_TRUE(isHtmlReport(htmlReport(study(), context()).substr(0, 1024)));
    EXPECT_FALSE(isHtmlReport(""));
    EXPECT_FALSE(isHtmlReport("<!DOCTYPE html>\n<html><head><meta name=\"generator\" content=\"Hugo\"/>"));
    EXPECT_FALSE(isHtmlReport("# how to see <meta name=\"generator\" content=\"Driftscope 0.1.0\"/>"));
}

/// Runs, layers and steps as large studies have them.
TEST(HtmlReport, ALargeStudyMakesAPageThatCanBeSent) {
    std::string seeds = "seed = [1";
    for (int seed = 2; seed <= 24; ++seed)
        seeds += fmt::format(", {}", seed);
    StudyResults results = resultsOf(seeds + "]", "twin = \"float64\"");
    ASSERT_EQ(results.runs.size(), 48U);
    constexpr std::size_t layers = 300, rows = 1000;
    RunComparison comparison;
    comparison.scopes = {{ScopeKind::Model, ""}};
    for (std::size_t layer = 0; layer < layers; ++layer)
        comparison.scopes.push_back({ScopeKind::Layer, fmt::format("layer4.{}.downsample.0", layer)});
    for (std::size_t row = 0; row < rows; ++row)
        comparison.steps.push_back(static_cast<std::int64_t>(row));
    for (auto& values : comparison.values)
        for (std::size_t i = 0; i < rows * (layers + 1); ++i)
            values.push_back(1e-7 * static_cast<double>(1 + i * 7919 % 10'007));
    comparison.first = FirstDivergence{0, "init", "layer4.0.weight"};
    const auto shared = std::make_shared<const RunComparison>(std::move(comparison));
    for (RunResult& run : results.runs) {
        if (!run.reference)
            continue;
        run.comparison = shared;
        run.verdict = {"random", "Another seed. Set it.", {}};
        for (int i = 0; i < 12; ++i)
            run.verdict.evidence.push_back({"name", std::string(160, 'x'), "random", 1e-7, 1e-6});
    }
    const std::string page = htmlReport(results, context());
    EXPECT_LT(page.size(), 2'000'000U);
    READ_PAGE(found, page);
    EXPECT_HAS(found["text"].get<std::string>(), "of 300 layers that are furthest apart");
    EXPECT_EQ(found["tables"][0].size(), 25U); // no twins
}

} // namespace
} // namespace driftscope
