// SPDX-License-Identifier: GPL-3.0-or-later
#include "execution/WorkerProtocol.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <limits>

namespace driftscope {

using Json = nlohmann::ordered_json;

namespace {

/// In the order of StreamUse.
constexpr std::string_view streamUses[] = {"none", "compare", "feed"};

Json toJson(const TraceRequest& trace) {
    return {{"file", trace.file.string()},
            {"step", trace.step},
            {"operators", trace.hasOperators},
            {"kept_operator", trace.keptOperator},
            {"replay_of", trace.replayOf.string()},
            {"only_samples", trace.onlySamples},
            {"limit_bytes", trace.limitBytes}};
}

TraceRequest traceFrom(const Json& in) {
    return {in.at("file").get<std::string>(),
            in.at("step").get<std::int64_t>(),
            in.at("operators").get<bool>(),
            in.at("kept_operator").get<std::int64_t>(),
            in.at("replay_of").get<std::string>(),
            in.at("only_samples").get<std::vector<std::int64_t>>(),
            in.at("limit_bytes").get<std::uint64_t>()};
}

} // namespace

std::string toLine(const WorkerRequest& request) {
    try {
        Json out{{"run", Json::parse(toJson(request.config))},
                 {"file", request.file.string()},
                 {"reference_file", request.referenceFile.string()},
                 {"stream", streamUses[static_cast<std::size_t>(request.stream)]},
                 {"stream_descriptor", request.streamDescriptor},
                 {"trial_steps", request.trialSteps}};
        if (request.trace)
            out["trace"] = toJson(*request.trace);
        return out.dump();
    } catch (const Json::exception& error) { // a name that is no UTF-8
        throw ExecutionError(fmt::format("{}: can't be handed to a worker: {}", request.file.string(), error.what()));
    }
}

std::string toLine(const WorkerEvent& event) {
    struct Visitor {
        Json operator()(const WorkerStarted& e) const {
            return {{"event", "started"}, {"steps", e.steps}, {"threads", e.threads}, {"recorded_bytes", e.recordedBytes}};
        }
        Json operator()(const WorkerStepped& e) const { // a loss that is no number travels as null
            return {{"event", "step"}, {"step", e.step}, {"loss", e.loss}};
        }
        Json operator()(const WorkerEnded& e) const {
            return {{"event", nameOf(e.state)},
                    {"message", e.message},
                    {"seconds", e.trainingSeconds},
                    {"peak_memory", e.peakMemoryBytes}};
        }
    };
    return std::visit(Visitor{}, event).dump(-1, ' ', false, Json::error_handler_t::replace);
}

WorkerRequest parseRequest(std::string_view line) {
    try {
        const Json in = Json::parse(line);
        const auto use = std::ranges::find(streamUses, in.value("stream", "none"));
        if (use == std::end(streamUses))
            throw ExecutionError("the worker's request is not understood: stream must be none, compare or feed");
        return {runConfigFromJson(in.at("run").dump()),
                in.at("file").get<std::string>(),
                in.value("reference_file", ""),
                static_cast<StreamUse>(use - std::begin(streamUses)),
                in.value("stream_descriptor", -1),
                in.value("trial_steps", std::int64_t{0}),
                in.contains("trace") ? std::optional(traceFrom(in.at("trace"))) : std::nullopt};
    } catch (const Json::exception& error) {
        throw ExecutionError(fmt::format("the worker's request is not understood: {}", error.what()));
    }
}

WorkerEvent parseEvent(std::string_view line) {
    try {
        const Json in = Json::parse(line);
        const auto name = in.at("event").get<std::string>();
        if (name == "started")
            return WorkerStarted{in.at("steps").get<std::int64_t>(), in.at("threads").get<int>(),
                                 in.at("recorded_bytes").get<std::uint64_t>()};
        if (name == "step") {
            const Json& loss = in.at("loss");
            return WorkerStepped{in.at("step").get<std::int64_t>(),
                                 loss.is_null() ? std::numeric_limits<double>::quiet_NaN() : loss.get<double>()};
        }
        for (const RunState state :
             {RunState::Finished, RunState::Failed, RunState::Cancelled, RunState::Unavailable})
            if (name == nameOf(state))
                return WorkerEnded{state, in.at("message").get<std::string>(), in.at("seconds").get<double>(),
                                   in.at("peak_memory").get<std::int64_t>()};
        throw ExecutionError(fmt::format("the worker's event \"{}\" is not known", name));
    } catch (const Json::exception& error) {
        throw ExecutionError(fmt::format("the worker's event is not understood: {}", error.what()));
    }
}

std::string toLine(std::span<const RunConfig> runs) {
    try {
        Json all = Json::array();
        for (const RunConfig& run : runs)
            all.push_back(Json::parse(toJson(run)));
        return Json{{"runs", all}}.dump();
    } catch (const Json::exception& error) { // a name that is no UTF-8
        throw ExecutionError(fmt::format("the runs can't be handed to a worker: {}", error.what()));
    }
}

std::string toLine(const DataFound& found) {
    return Json{{"samples", found.samples}, {"problem", found.problem}}.dump(-1, ' ', false,
                                                                            Json::error_handler_t::replace);
}

std::vector<RunConfig> parseDataRequest(std::string_view line) {
    try {
        const Json in = Json::parse(line);
        std::vector<RunConfig> runs;
        for (const auto& run : in.at("runs").get<std::vector<Json>>()) // anything but an array is refused
            runs.push_back(runConfigFromJson(run.dump()));
        return runs;
    } catch (const Json::exception& error) {
        throw ExecutionError(fmt::format("the worker's request is not understood: {}", error.what()));
    }
}

DataFound parseDataFound(std::string_view line) {
    try {
        const Json in = Json::parse(line);
        return {in.at("samples").get<std::int64_t>(), in.at("problem").get<std::string>()};
    } catch (const Json::exception& error) {
        throw ExecutionError(fmt::format("what the worker found is not understood: {}", error.what()));
    }
}

} // namespace driftscope
