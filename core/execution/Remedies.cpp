// SPDX-License-Identifier: GPL-3.0-or-later
#include "execution/Remedies.h"

#include "execution/RemedyPython.h"
#include "execution/WorkerEnvironment.h"
#include "study/SettingJson.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <string_view>

namespace driftscope {
namespace {

constexpr std::string_view workspace = ":4096:8";

bool isOnGpu(const RunConfig& run) { return run.train.device != "cpu"; }

/// The value that all references agree on; none if they don't, or if none of the settings varies.
std::optional<std::vector<Assignment>> fixedSettings(std::span<const RunConfig> runs,
                                                     std::initializer_list<std::string_view> keys) {
    std::vector<Assignment> settings;
    for (const std::string_view key : keys) {
        const SettingSpec& spec = settingNamed(key);
        std::optional<SettingValue> fixed;
        for (const RunConfig& run : runs) {
            if (!run.isReference)
                continue;
            if (fixed && *fixed != spec.get(run))
                return std::nullopt;
            fixed = spec.get(run);
        }
        if (!fixed)
            return std::nullopt;
        settings.push_back({spec.axisKey(), *fixed});
    }
    return settings;
}

/// The variables that a worker with these settings gets, but for how its threads wait, which changes no bit.
std::vector<std::pair<std::string, std::string>> environmentOf(const std::vector<Assignment>& settings) {
    RunConfig run;
    for (const auto& [key, value] : settings)
        settingNamed(key).set(run, value);
    auto variables = workerEnvironment(run.train);
    std::erase_if(variables, [](const auto& variable) { return variable.first == "OMP_WAIT_POLICY"; });
    return variables;
}

/// A candidate, its value in words where the sentence has a place for it.
struct Recipe {
    std::string name, sentence;
    std::optional<std::vector<Assignment>> settings;
};

/// In the order of what they cost a run: nothing first, the sums of single samples last.
std::vector<Recipe> recipesFor(std::span<const RunConfig> runs) {
    const auto fixed = [&](std::string_view key) { return fixedSettings(runs, {key}); };
    const auto set = [](std::string_view key, SettingValue value) {
        return std::optional(std::vector<Assignment>{{std::string(key), std::move(value)}});
    };
    std::vector<Recipe> recipes{
        {"fixed interop_threads", "The same number of threads runs operators beside each other.",
         fixed("interop_threads")},
        {"fixed init_threads", "The same number of threads initialises the network.", fixed("init_threads")},
        {"fixed order", "Every run sees the samples in the reference's order.",
         fixedSettings(runs, {"order", "order_seed"})},
        {"per-sample worker generator",
         "Each sample's augmentation is drawn from a generator of its own, seeded by the seed, the epoch and the "
         "sample's id: the draws no longer depend on the number of loader workers.",
         set("worker_rng", std::string("per-sample"))},
        {"fixed threads", "The same number of threads works on an operator, so its sums are split in the same way.",
         fixed("threads")},
        {"fixed cpu_isa", "ATen, oneDNN and OpenBLAS use kernels of the same instruction set.", fixed("cpu_isa")},
        {"fixed blas", "Matrix products come from the same library.", fixed("blas")},
        {"TF32 off", "Matrix products and convolutions keep all 23 mantissa bits of float32.",
         set("tf32", std::string("off"))},
        {"cudnn_benchmark off", "cuDNN does not choose algorithms by timing them.", set("cudnn_benchmark", false)}};
    const bool hasGpu = std::ranges::any_of(runs, isOnGpu);
    if (hasGpu)
        recipes.push_back({"fixed cublas_workspace",
                           "cuBLAS gets workspaces of one size, which its results need to be repeatable.",
                           set("cublas_workspace", std::string(workspace))});
    std::vector<Assignment> deterministic{{"deterministic", true}};
    if (hasGpu) // cuBLAS refuses to work without it
        deterministic.push_back({"cublas_workspace", std::string(workspace)});
    const bool isVaried = std::ranges::any_of(runs, [](const RunConfig& run) {
        return std::ranges::find(run.settings, "deterministic", &Assignment::key) != run.settings.end();
    });
    if (hasGpu || isVaried)
        recipes.push_back({"deterministic algorithms",
                           "Operators whose result depends on the order in which threads finish are replaced.",
                           deterministic});
    recipes.push_back(
        {"canonical accumulator",
         "Each sample's gradient is computed by itself on one thread, and they are summed in a binary tree over "
         "the samples' ids: the same bits for every split, order within the batch and thread count.",
         set("accumulator", std::string("canonical"))});
    return recipes;
}

void apply(RunConfig& run, const std::vector<Assignment>& settings) {
    for (const auto& [key, value] : settings)
        if (key != "cublas_workspace" || isOnGpu(run))
            settingNamed(key).set(run, value);
}

/// True where the settings make another training of the run: one that a rule says is unused does not.
bool isChanged(const RunConfig& run, const std::vector<Assignment>& settings) {
    RunConfig treated = run;
    apply(treated, settings);
    return std::ranges::any_of(settings, [&](const Assignment& setting) {
        const SettingSpec& spec = settingNamed(setting.key);
        return spec.get(treated) != spec.get(run) && (whyUnused(treated, spec).empty() || whyUnused(run, spec).empty());
    });
}

} // namespace

std::vector<Remedy> remediesFor(std::span<const RunConfig> runs) {
    std::vector<Remedy> remedies;
    for (Recipe& recipe : recipesFor(runs)) {
        if (!recipe.settings ||
            std::ranges::none_of(runs, [&](const RunConfig& run) { return isChanged(run, *recipe.settings); }))
            continue;
        Remedy remedy{.key = recipe.settings->front().key,
                      .name = std::move(recipe.name),
                      .sentence = std::move(recipe.sentence),
                      .settings = std::move(*recipe.settings),
                      .environment = {},
                      .python = {}};
        remedy.environment = environmentOf(remedy.settings);
        remedy.python = pythonFor(remedy);
        remedies.push_back(std::move(remedy));
    }
    return remedies;
}

RunConfig withRemedy(RunConfig run, const Remedy& remedy) {
    apply(run, remedy.settings);
    validate(run);
    return run;
}

std::string contentOf(RunConfig run) {
    run.id.clear();
    run.study.clear();
    run.settings.clear();
    run.shortValues.clear();
    run.isReference = false;
    return toJson(run);
}

Prescription prescribe(std::span<const Remedy> remedies, std::span<const std::string> axes) {
    Prescription all;
    std::set<std::string> seen;
    for (const Remedy& remedy : remedies) {
        for (const auto& [key, value] : remedy.settings) {
            if (!seen.insert(key).second)
                continue;
            if (all.toml.empty())
                all.toml = "[train]\n";
            const bool isAxis = std::ranges::find(axes, key) != axes.end();
            all.toml += fmt::format("{} = {}{}\n", settingNamed(key).key, valueToJson(value).dump(),
                                    isAxis ? "  # and no longer in [axes], which would override it" : "");
            all.overrides.push_back(fmt::format("{}={}", key, toText(value)));
        }
        for (const auto& [name, value] : remedy.environment)
            if (seen.insert(name).second)
                all.environment.push_back(fmt::format("{}={}", name, value));
    }
    all.python = pythonFor(remedies);
    return all;
}

} // namespace driftscope
