// SPDX-License-Identifier: GPL-3.0-or-later
#include "execution/Explain.h"

#include "analysis/RunComparison.h"
#include "execution/WorkerProcess.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace driftscope {
namespace {

using Json = nlohmann::ordered_json;

struct Stopped {};

/// A run that can't be trained here; the message says which and why.
struct NotTrained : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Where two files part, by their digests.
struct RecordedDifference {
    std::int64_t lastEqual = -1; ///< step; −1: none
    std::int64_t step = 0;
    std::string phase, tensor;
};

std::size_t rowsOf(const RunReader& run) { return static_cast<std::size_t>(run.progress().rows); }

std::optional<std::size_t> rowOf(const RunReader& run, std::int64_t step) {
    const auto found = std::ranges::lower_bound(run.steps(), step);
    const auto row = static_cast<std::size_t>(found - run.steps().begin());
    return row < rowsOf(run) && *found == step ? std::optional(row) : std::nullopt;
}

std::optional<std::size_t> parameterNamed(const RunReader& run, const std::string& name) {
    const auto found = std::ranges::find(run.parameters(), name, &TensorInfo::name);
    return found == run.parameters().end()
               ? std::nullopt
               : std::optional(static_cast<std::size_t>(found - run.parameters().begin()));
}

/// What differs between a row of each, in the words of a first divergence.
std::optional<RecordedDifference> differenceAt(const RunReader& a, std::size_t rowA, const RunReader& b,
                                               std::size_t rowB) {
    const std::int64_t step = a.steps()[rowA];
    std::optional<RecordedDifference> found;
    const auto note = [&](std::string phase, const std::string& tensor) {
        found = {-1, step, std::move(phase), tensor};
    };
    for (std::size_t i = 0; i < a.parameters().size() && !found; ++i)
        if (const auto j = parameterNamed(b, a.parameters()[i].name); j && a.weightDigest(i, rowA) != b.weightDigest(*j, rowB))
            note(step == 0 ? "init" : "weights", a.parameters()[i].name);
    if (step == 0)
        return found;
    for (std::size_t i = 0; i < a.parameters().size(); ++i) {
        const auto j = parameterNamed(b, a.parameters()[i].name);
        const auto left = a.gradientDigest(i, rowA);
        const auto right = j ? b.gradientDigest(*j, rowB) : std::nullopt;
        if (left && right && *left != *right) {
            note("gradient", a.parameters()[i].name);
            break;
        }
    }
    const auto left = a.batchDigest(rowA), right = b.batchDigest(rowB);
    if (found && left && right && *left != *right)
        note("batch", "");
    return found;
}

/// Over the steps that both have. `common`: how many these are.
std::optional<RecordedDifference> firstDifference(const RunReader& a, const RunReader& b, std::size_t& common) {
    std::int64_t lastEqual = -1;
    common = 0;
    for (std::size_t rowA = 0; rowA < rowsOf(a); ++rowA) {
        const std::optional<std::size_t> rowB = rowOf(b, a.steps()[rowA]);
        if (!rowB)
            continue;
        ++common;
        if (auto found = differenceAt(a, rowA, b, *rowB)) {
            found->lastEqual = lastEqual;
            return found;
        }
        lastEqual = a.steps()[rowA];
    }
    return std::nullopt;
}

/// Every leaf of the configurations' sections that differs.
void findDifferences(const Json& a, const Json& b, const std::string& path, std::vector<std::string>& out) {
    if (!a.is_object() || !b.is_object()) {
        if (a != b)
            out.push_back(fmt::format("{}: {} → {}", path, a.dump(), b.dump()));
        return;
    }
    for (const auto& [key, value] : a.items())
        findDifferences(value, b.value(key, Json()), path + "." + key, out);
}

std::vector<std::string> differingSettings(const RunConfig& a, const RunConfig& b) {
    const Json left = Json::parse(toJson(a)), right = Json::parse(toJson(b));
    std::vector<std::string> differences;
    for (const char* section : {"model", "data", "train"})
        findDifferences(left.value(section, Json::object()), right.value(section, Json::object()), section,
                        differences);
    return differences;
}

class Explainer {
public:
    Explainer(const RunReader& a, const RunReader& b, const ExplainOptions& options, std::stop_token stop)
        : m_a{a, "A"}, m_b{b, "B"}, m_options(options), m_stop(std::move(stop)) {}

    Explanation run() {
        const RunComparer areOneModel(m_a.recorded, m_b.recorded); // throws where they are not
        std::size_t common = 0;
        const auto recorded = firstDifference(m_a.recorded, m_b.recorded, common);
        if (common == 0)
            throw RecordingError(fmt::format("{} and {} have no recorded step in common", m_a.recorded.file().string(),
                                             m_b.recorded.file().string()));
        Explanation out;
        if (recorded) {
            try {
                out = trainAndTrace(*recorded);
            } catch (const NotTrained& reason) {
                out = {};
                out.notes.push_back(fmt::format("{}; what is said here comes from the files alone", reason.what()));
            }
            if (out.phases.empty()) { // not reproduced here
                out.step = recorded->step;
                out.phase = recorded->phase;
                out.tensor = recorded->tensor;
                if (out.whyNoOperator.empty())
                    out.whyNoOperator = "the step was not traced";
            }
        } else {
            out.isIdentical = true;
            out.whyNoOperator = "nothing differs";
            out.notes.push_back(fmt::format("{} steps were compared, by their digests", common));
        }
        out.reproductionA = m_a.reproduction;
        out.reproductionB = m_b.reproduction;
        out.settings = differingSettings(*m_a.recorded.config(), *m_b.recorded.config());
        addNotes(out);
        return out;
    }

private:
    struct Side {
        const RunReader& recorded;
        std::string name;
        Reproduction reproduction{};
        std::unique_ptr<RunReader> again{}; ///< the re-run, where one was needed, with every step
        std::unique_ptr<TraceReader> trace{};
    };

    Explanation trainAndTrace(const RecordedDifference& recorded) {
        std::optional<std::int64_t> step = recorded.step;
        if (recorded.step - recorded.lastEqual > 1)
            step = locate(recorded.step);
        if (!step)
            return notReproduced(recorded.step);
        traceBoth(*step, {.hasOperators = true});
        if (!m_a.again && (!isAsRecorded(m_a, *step) || !isAsRecorded(m_b, *step))) {
            const std::int64_t before = *step;
            step = locate(recorded.step);
            if (!step)
                return notReproduced(recorded.step);
            if (*step != before)
                traceBoth(*step, {.hasOperators = true});
        }
        Explanation out = explainTraces(*m_a.trace, *m_b.trace);
        checkAgain(out);
        measureOperatorOf(out);
        replay(out);
        measureFlips(out);
        return out;
    }

    static Explanation notReproduced(std::int64_t last) {
        Explanation out;
        out.notes.push_back(fmt::format("trained again on this machine, the two runs have equal bits up to step {}: what "
                                        "parted them when they were recorded does not do so here",
                                        last));
        return out;
    }

    /// The first step in which the two differ as they are trained here, none up to `last`.
    std::optional<std::int64_t> locate(std::int64_t last) {
        for (Side* side : {&m_a, &m_b}) {
            trainAgain(*side, std::max<std::int64_t>(last, 1));
            std::size_t common = 0;
            const auto other = firstDifference(side->recorded, *side->again, common);
            side->reproduction = {true, !other, other ? other->step : -1};
        }
        std::size_t common = 0;
        const auto found = firstDifference(*m_a.again, *m_b.again, common);
        return found ? std::optional(found->step) : std::nullopt;
    }

    void trainAgain(Side& side, std::int64_t steps) {
        say(fmt::format("training {} again up to step {}", side.name, steps));
        WorkerRequest request{.config = configOf(side), .file = m_options.folder / (side.name + ".h5")};
        request.config.train.steps = steps;
        request.config.train.epochs.reset();
        train(side, std::move(request));
        side.again = std::make_unique<RunReader>(m_options.folder / (side.name + ".h5"));
    }

    /// As recorded, but for what is recorded: digests of every step.
    [[nodiscard]] static RunConfig configOf(const Side& side) {
        RunConfig config = *side.recorded.config();
        config.record = {};
        config.record.weights = "digest";
        return config;
    }

    void train(const Side& side, WorkerRequest request) {
        const std::filesystem::path log = m_options.folder / (side.name + ".log");
        const WorkerEnded end = runWorker({.worker = m_options.worker, .log = log}, std::move(request), m_stop,
                                          [](const WorkerEvent&) {});
        if (m_stop.stop_requested())
            throw Stopped{};
        if (end.state != RunState::Finished)
            throw NotTrained(fmt::format("{} ({}) could not be trained again here: {}", side.name,
                                         side.recorded.file().string(), end.message));
    }

    std::unique_ptr<TraceReader> trace(const Side& side, const std::string& name, TraceRequest request) {
        request.file = m_options.folder / (name + ".trace");
        const std::filesystem::path file = request.file;
        WorkerRequest worker{.config = configOf(side), .file = {}};
        worker.trace = std::move(request);
        train(side, std::move(worker));
        return std::make_unique<TraceReader>(file);
    }

    void traceBoth(std::int64_t step, TraceRequest request) {
        request.step = step;
        for (Side* side : {&m_a, &m_b}) {
            say(fmt::format("tracing step {} of {}", step, side->name));
            side->trace = trace(*side, side->name, request);
        }
    }

    /// Whether the traced step has the bits of the side's file, where that has the step.
    static bool isAsRecorded(Side& side, std::int64_t step) {
        const std::optional<std::size_t> row = rowOf(side.recorded, step);
        if (!row)
            return true;
        side.reproduction.isChecked = true;
        if (!hasBitsOf(*side.trace, side.recorded, *row)) {
            side.reproduction.isReproduced = false;
            side.reproduction.firstStep = step;
        }
        return side.reproduction.isReproduced;
    }

    static bool hasBitsOf(const TraceReader& trace, const RunReader& run, std::size_t row) {
        const bool isInit = trace.trace().step == 0;
        for (const TracedTensor& tensor : trace.trace().of(isInit ? Phase::Init : Phase::Weights))
            if (const auto i = parameterNamed(run, tensor.name); i && run.weightDigest(*i, row) != tensor.digest)
                return false;
        for (const TracedTensor& tensor : trace.trace().of(Phase::Gradient)) {
            const auto i = parameterNamed(run, tensor.name);
            const auto digest = i ? run.gradientDigest(*i, row) : std::nullopt;
            if (digest && *digest != tensor.digest)
                return false;
        }
        return true;
    }

    /// The step was found in a re-run: its trace is yet another, which may differ from run to run.
    void checkAgain(Explanation& out) const {
        for (const Side* side : {&m_a, &m_b}) {
            if (!side->again)
                continue;
            const std::optional<std::size_t> row = rowOf(*side->again, out.step);
            if (row && !hasBitsOf(*side->trace, *side->again, *row))
                out.notes.push_back(fmt::format("{} trained twice here has other bits at step {}: it differs from run "
                                                "to run, and so does what is said of it",
                                                side->name, out.step));
        }
    }

    /// In traces of their own: values of all operators would not fit anywhere.
    void measureOperatorOf(Explanation& out) {
        if (!out.op)
            return;
        std::unique_ptr<TraceReader> traces[2];
        for (const Side* side : {&m_a, &m_b}) {
            say(fmt::format("measuring {} in {}", out.op->name, side->name));
            traces[side == &m_b] = trace(*side, side->name + ".operator",
                                         {.step = out.step,
                                          .hasOperators = true,
                                          .keptOperator = static_cast<std::int64_t>(out.op->position)});
        }
        if (!measureOperator(*out.op, *traces[0], *traces[1]))
            out.notes.push_back(fmt::format("traced once more, {} put out other bits, or too many to be kept: its "
                                            "difference is not measured",
                                            out.op->name));
    }

    void replay(Explanation& out) {
        const PhaseComparison* batch = out.find(Phase::Batch);
        const PhaseComparison* forward = out.find(Phase::Forward);
        if (out.step == 0)
            out.whyNoReplay = "the runs differ before any forward pass";
        else if (!out.find(Phase::Init)->isIdentical() || !batch->isIdentical())
            out.whyNoReplay = "weights or batches differ, so that no module is fed the same";
        else if (forward->isIdentical())
            out.whyNoReplay = "the forward pass is identical: no module has an error of its own";
        if (!out.whyNoReplay.empty())
            return;
        say(fmt::format("feeding B's modules what A's were fed at step {}", out.step));
        const auto fed = trace(m_b, "replay",
                               {.step = out.step, .replayOf = m_options.folder / (m_a.name + ".trace")});
        out.replay = compareReplay(*m_a.trace, *m_b.trace, *fed);
        if (m_a.trace->trace().omittedBytes > 0)
            out.notes.push_back("some of A's outputs found no room in its trace: behind these modules, B's own outputs "
                                "went on in the replay");
    }

    /// Flips of ReLUs between forward passes of the same batch from the same weights.
    void measureFlips(Explanation& out) {
        if (!out.whyNoReplay.empty())
            return;
        FlipShare flips = countFlips(*m_a.trace, *m_b.trace);
        if (flips.modules.empty())
            return;
        if (!flips.samples.empty()) {
            std::unique_ptr<TraceReader> only[2];
            for (const Side* side : {&m_a, &m_b}) {
                say(fmt::format("the gradient of the samples with flips alone in {}", side->name));
                only[side == &m_b] =
                    trace(*side, side->name + ".flips", {.step = out.step, .onlySamples = flips.samples});
            }
            flips.ofGradient = shareOfGradient(*m_a.trace, *m_b.trace, *only[0], *only[1]);
        }
        out.flips = std::move(flips);
    }

    void addNotes(Explanation& out) const {
        for (const Side* side : {&m_a, &m_b})
            if (side->reproduction.isChecked && !side->reproduction.isReproduced)
                out.notes.push_back(fmt::format(
                    "the re-run of {} on this machine does not give the recorded bits from step {} on: what is said "
                    "here is of the runs as they are trained here",
                    side->name, side->reproduction.firstStep));
        if (const PhaseComparison* init = out.find(Phase::Init); init && out.step > 0 && !init->isIdentical())
            out.notes.push_back(fmt::format("the weights before step {} differ already", out.step));
    }

    void say(const std::string& text) const {
        if (m_options.say)
            m_options.say(text);
    }

    Side m_a, m_b;
    const ExplainOptions& m_options;
    std::stop_token m_stop;
};

} // namespace

std::optional<Explanation> explain(const RunReader& a, const RunReader& b, const ExplainOptions& options,
                                   std::stop_token stop) {
    for (const RunReader* run : {&a, &b})
        if (!run->config())
            throw RecordingError(fmt::format("{}: holds no configuration to train it again from; diff compares what "
                                             "files of others record",
                                             run->file().string()));
    try {
        return Explainer(a, b, options, std::move(stop)).run();
    } catch (const Stopped&) {
        return std::nullopt;
    }
}

} // namespace driftscope
