// SPDX-License-Identifier: GPL-3.0-or-later
#include "execution/DataCheck.h"

#include "execution/WorkerProcess.h"
#include "study/DataFiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace driftscope {
namespace {

/// Noise is right by itself, and its size is known, but what labels a module takes is not.
bool needsReading(const RunConfig& run) { return run.data.kind != "synthetic" || run.model.kind == "torchscript"; }

/// Equal for runs whose data are read alike.
std::string readingOf(const RunConfig& run) {
    const bool isModule = run.model.kind == "torchscript";
    std::string key;
    for (const SettingSpec& spec : settingSpecs())
        if (spec.section == "data" || spec.key == "ignore_index" || spec.key == "loss" ||
            (isModule && spec.section == "model"))
            key += fmt::format("{}.{} = {}\n", spec.section, spec.key, toText(spec.get(run)));
    return key;
}

/// An epoch of PyTorch's DataLoader has one incomplete batch then, or with drop_last none.
void checkBatch(const RunConfig& run, std::int64_t samples, std::set<std::string>& warnings) {
    if (samples == 0 || run.train.batch <= samples)
        return;
    if (run.train.tail == "drop")
        throw StudyError(fmt::format("tail = \"drop\": the {} samples make no complete batch of {}", samples,
                                     run.train.batch));
    warnings.insert(fmt::format("batch = {} is more than the {} samples of the data: every update takes all {} of them",
                                run.train.batch, samples, samples));
}

} // namespace

CheckedData checkData(std::span<const RunConfig> runs, const std::filesystem::path& worker, std::stop_token stop) {
    std::map<std::string, std::size_t> places; // of what is read
    std::vector<RunConfig> toRead;
    for (const RunConfig& run : runs) {
        requireDataFiles(run.data);
        requireModelFile(run.model);
        if (needsReading(run) && places.try_emplace(readingOf(run), toRead.size()).second)
            toRead.push_back(run);
    }
    std::vector<DataFound> found;
    if (!toRead.empty())
        found = readData(worker, toRead, std::move(stop));
    for (const DataFound& data : found)
        if (!data.problem.empty())
            throw DataError(data.problem);
    found.resize(toRead.size()); // what the worker had no answer to
    CheckedData checked;
    std::set<std::string> warnings;
    for (const RunConfig& run : runs) {
        const std::int64_t samples =
            needsReading(run) ? found[places.at(readingOf(run))].samples
                              : std::min(run.data.samples, run.data.limit.value_or(run.data.samples));
        checkBatch(run, samples, warnings);
        checked.samples.push_back(samples);
    }
    checked.warnings.assign(warnings.begin(), warnings.end());
    return checked;
}

} // namespace driftscope
