// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/RunConfig.h"

#include "study/SettingJson.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <regex>
#include <tuple>

namespace driftscope {

std::string valueText(const RunConfig& run, const Assignment& setting) {
    const auto known = run.shortValues.find(setting.key);
    return known != run.shortValues.end() ? known->second : toText(setting.value);
}

std::string label(const RunConfig& run) {
    std::string text;
    for (const Assignment& setting : run.settings) {
        const std::string_view shortName = settingOfAxis(setting.key).shortName;
        if (!text.empty())
            text += " · ";
        if (!shortName.empty())
            text += fmt::format("{} ", shortName);
        text += valueText(run, setting);
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
    if (!run.shortValues.empty())
        out["short_values"] = run.shortValues;
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
        run.shortValues = in.value("short_values", std::map<std::string, std::string>{});
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

namespace {

bool isOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
}

void require(bool isAllowed, const std::string& otherwise) {
    if (!isAllowed)
        throw StudyError(otherwise);
}

void validateModel(const ModelConfig& model, const DataConfig& data) {
    require(model.kind != "torchscript" || !model.path.empty(),
            "model kind \"torchscript\" needs a path: the file that torch.jit.save wrote");
    require(!model.batchNorm || isOneOf(model.kind, {"mlp", "cifar_cnn"}),
            fmt::format("batch_norm is for mlp and cifar_cnn; {} has {}", model.kind,
                        isOneOf(model.kind, {"resnet18", "resnet50"}) ? "it anyway" : "no place for it"));
    require(model.dropout == 0 ||
                isOneOf(model.kind, {"mlp", "lenet_300_100", "cifar_cnn", "vit_tiny", "deit_small", "transformer"}),
            fmt::format("dropout: {} has no place for it", model.kind));
    require(model.projection > 0 || (!model.projectionNorm && !model.headSeed),
            "projection_norm and head_seed are for a projection head: give projection, its units");
    require(model.projection == 0 || !isOneOf(model.kind, {"transformer", "torchscript"}),
            fmt::format("projection: {} has no place for a projection head", model.kind));
    require(model.kind != "transformer" || model.width % model.heads == 0,
            fmt::format("width = {} is no multiple of heads = {}", model.width, model.heads));
    require((data.kind == "text") == (model.kind == "transformer") || model.kind == "torchscript",
            fmt::format("data kind \"{}\" does not go with model kind \"{}\": the transformer, and it alone, reads "
                        "text",
                        data.kind, model.kind));
}

void validateData(const DataConfig& data) {
    require(data.shape.empty() || data.shape.size() == 3,
            fmt::format("shape = {}: allowed are three numbers, channels, height and width", toText(data.shape)));
    require(data.kind != "synthetic" || !data.shape.empty(),
            "data kind \"synthetic\" needs a shape, such as [3, 32, 32]");
    require(isOneOf(data.kind, {"fashion-mnist", "synthetic"}) || !data.path.empty(),
            fmt::format("data kind \"{}\" needs a path: the {}", data.kind,
                        isOneOf(data.kind, {"npy", "safetensors", "text"}) ? "file" : "folder with its files"));
    require(data.targets.empty() || data.kind == "npy",
            fmt::format("targets is for data kind \"npy\", not \"{}\"", data.kind));
    require(data.mean.size() == data.std.size(),
            fmt::format("mean has {} numbers, std has {}: allowed is one of each per channel", data.mean.size(),
                        data.std.size()));
    require(data.kind != "text" || (data.randomCrop == 0 && !data.randomFlip && data.mean.empty()),
            "random_crop, random_flip, mean and std are for images, not for text");
}

void validateTraining(const TrainConfig& train) {
    require(train.steps.has_value() != train.epochs.has_value(),
            train.steps ? "[train] has both steps and epochs: give one of them" : "[train] needs steps or epochs");
    require(train.accumulation <= train.batch,
            fmt::format("accumulation = {} is more than batch = {}: a micro-batch needs a sample; allowed is 1 … {}",
                        train.accumulation, train.batch, train.batch));
    require(train.betas.size() == 2 && train.betas[0] < 1 && train.betas[1] < 1,
            fmt::format("betas = {}: allowed are two numbers, 0 ≤ beta < 1", toText(train.betas)));
    require(train.momentum == 0 || train.optimizer == "sgd",
            fmt::format("momentum = {} is for optimizer = \"sgd\"; {} has betas instead", train.momentum,
                        train.optimizer));
    static const std::regex device("cpu|cuda:[0-9]{1,3}");
    require(std::regex_match(train.device, device),
            fmt::format("device = \"{}\" is not known; allowed: cpu, cuda:0, cuda:1, …", train.device));
    require(train.labelSmoothing == 0 || train.loss == "cross_entropy",
            fmt::format("label_smoothing is for loss = \"cross_entropy\", not \"{}\"", train.loss));
    require(!train.autocast || train.dtype == "float32",
            fmt::format("autocast = true is for dtype = \"float32\", not \"{}\"", train.dtype));
    require(train.tf32 != "emulated" || (train.device == "cpu" && train.dtype == "float32" && !train.autocast),
            "tf32 = \"emulated\" is for device = \"cpu\" and dtype = \"float32\" without autocast");
}

} // namespace

std::string whyUnused(const RunConfig& run, const SettingSpec& spec) {
    const auto& [model, data, train, record] = std::tie(run.model, run.data, run.train, run.record);
    const bool isAdam = train.optimizer != "sgd";
    const bool isAugmented = data.randomCrop > 0 || data.randomFlip;
    const struct {
        std::string_view section, key;
        bool isUsed;
        std::string_view owner;
    } rules[] = {
        {"model", "path", model.kind == "torchscript", "model kind \"torchscript\""},
        {"model", "hidden", model.kind == "mlp", "model kind \"mlp\""},
        {"model", "width", model.kind == "transformer", "model kind \"transformer\""},
        {"model", "depth", model.kind == "transformer", "model kind \"transformer\""},
        {"model", "heads", model.kind == "transformer", "model kind \"transformer\""},
        {"data", "path", data.kind != "synthetic", "data that are read from files"},
        {"data", "samples", data.kind == "synthetic", "data kind \"synthetic\""},
        {"data", "classes", data.kind == "synthetic", "data kind \"synthetic\""},
        {"data", "seed", data.kind == "synthetic", "data kind \"synthetic\""},
        {"data", "context", data.kind == "text", "data kind \"text\""},
        {"train", "betas", isAdam, "adam and adamw"},
        {"train", "eps", isAdam, "adam and adamw"},
        {"train", "ignore_index", train.loss == "cross_entropy", "loss \"cross_entropy\""},
        {"train", "order_seed", train.order != "sequential", "an order that is shuffled"},
        {"train", "worker_rng", isAugmented, "augmented data: random_crop or random_flip"},
        {"record", "sample_size", record.weights == "sample", "weights = \"sample\""},
        {"record", "every", record.steps.empty() && !record.isLogarithmic, "recordings without a list of steps"},
    };
    for (const auto& rule : rules)
        if (rule.section == spec.section && rule.key == spec.key && !rule.isUsed)
            return fmt::format("{} is only for {}", spec.key, rule.owner);
    return "";
}

void validate(const RunConfig& run) {
    validateTraining(run.train);
    validateData(run.data);
    validateModel(run.model, run.data);
    require(run.train.accumulator != "canonical" ||
                (!run.model.batchNorm && !isOneOf(run.model.kind, {"resnet18", "resnet50"})),
            fmt::format("accumulator = \"canonical\" computes each sample by itself; the batch statistics of {} need the "
                        "others",
                        run.model.batchNorm ? "batch_norm" : run.model.kind));
    require(run.record.reluProbe == 0 || run.model.kind != "torchscript",
            "relu_probe: which ReLUs a torchscript module has is not known");
    require(run.record.steps.empty() || std::ranges::is_sorted(run.record.steps, std::less_equal<>{}),
            fmt::format("[record] steps = {}: they must rise", toText(run.record.steps)));
}

} // namespace driftscope
