// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/RunConfig.h"

#include "study/SettingJson.h"

#include <fmt/format.h>

#include <regex>

namespace driftscope {

std::string label(const RunConfig& run) {
    std::string text;
    for (const auto& [key, value] : run.settings) {
        const std::string_view shortName = settingOfAxis(key).shortName;
        if (!text.empty())
            text += " · ";
        if (!shortName.empty())
            text += fmt::format("{} ", shortName);
        text += toText(value);
    }
    if (text.empty())
        text = "run";
    if (run.isControl)
        text += " · again";
    return run.isTwin ? text + " · float64 twin" : text;
}

std::string toJson(const RunConfig& run) {
    Json out = {{"id", run.id},
                {"study", run.study},
                {"reference", run.isReference},
                {"twin", run.isTwin},
                {"control", run.isControl},
                {"settings", settingsToJson(run.settings)}};
    for (const SettingSpec& spec : settingSpecs())
        out[std::string(spec.section)][std::string(spec.key)] = valueToJson(spec.get(run));
    return out.dump();
}

RunConfig runConfigFromJson(std::string_view text) {
    RunConfig run;
    try {
        const Json in = Json::parse(text);
        run.id = in.at("id").get<std::string>();
        run.study = in.at("study").get<std::string>();
        run.isReference = in.at("reference").get<bool>();
        run.isTwin = in.at("twin").get<bool>();
        run.isControl = in.value("control", false);
        for (const auto& [key, value] : in.at("settings").items()) {
            const SettingSpec& spec = settingOfAxis(key);
            run.settings.push_back({spec.axisKey(), valueFromJson(spec, value)});
        }
        for (const SettingSpec& spec : settingSpecs()) {
            const auto& section = in.at(std::string(spec.section));
            if (!section.contains(spec.key))
                continue;
            const SettingValue value = valueFromJson(spec, section.at(std::string(spec.key)));
            const bool mayBeUnset = std::holds_alternative<std::monostate>(spec.get(RunConfig{}));
            if (std::holds_alternative<std::monostate>(value) && !mayBeUnset)
                throw StudyError(fmt::format("run configuration: {} must be set", spec.key));
            spec.set(run, value);
        }
    } catch (const Json::exception& error) {
        throw StudyError(fmt::format("run configuration: {}", error.what()));
    }
    validate(run);
    return run;
}

void validate(const RunConfig& run) {
    const TrainConfig& train = run.train;
    if (train.steps.has_value() == train.epochs.has_value())
        throw StudyError(train.steps ? "[train] has both steps and epochs: give one of them"
                                     : "[train] needs steps or epochs");
    if (train.accumulation > train.batch)
        throw StudyError(fmt::format("accumulation = {} is more than batch = {}: a micro-batch needs a "
                                     "sample; allowed is 1 … {}",
                                     train.accumulation, train.batch, train.batch));
    if (train.betas.size() != 2 || train.betas[0] >= 1 || train.betas[1] >= 1)
        throw StudyError(fmt::format("betas = {}: allowed are two numbers, 0 ≤ beta < 1",
                                     toText(train.betas)));
    if (train.momentum != 0 && train.optimizer != "sgd")
        throw StudyError(fmt::format("momentum = {} is for optimizer = \"sgd\"; {} has betas instead",
                                     train.momentum, train.optimizer));
    static const std::regex device("cpu|cuda:[0-9]{1,3}");
    if (!std::regex_match(train.device, device))
        throw StudyError(fmt::format("device = \"{}\" is not known; allowed: cpu, cuda:0, cuda:1, …",
                                     train.device));
    if (!run.data.shape.empty() && run.data.shape.size() != 3)
        throw StudyError(fmt::format("shape = {}: allowed are three numbers, channels, height and width",
                                     toText(run.data.shape)));
    if (run.data.kind == "synthetic" && run.data.shape.empty())
        throw StudyError("data kind \"synthetic\" needs a shape, such as [3, 32, 32]");
    if ((run.data.kind == "idx" || run.data.kind == "cifar10") && run.data.path.empty())
        throw StudyError(fmt::format("data kind \"{}\" needs a path: the folder with its files",
                                     run.data.kind));
}

} // namespace driftscope
