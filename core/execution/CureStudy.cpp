// SPDX-License-Identifier: GPL-3.0-or-later
#include "execution/CureStudy.h"

#include "recording/RunDigests.h"
#include "recording/RunReader.h"

#include <fmt/format.h>

#include <algorithm>

namespace driftscope {
namespace {

namespace fs = std::filesystem;

/// What was read of a run's file: its digests, or why it can't take part.
struct Recording {
    std::optional<RunDigests> digests;
    std::string reason;
};

Recording readRecording(const fs::path& file) {
    std::error_code ignored;
    if (!fs::exists(fs::symlink_status(file, ignored)))
        return {{}, "not run"};
    if (fs::is_symlink(file, ignored))
        return {{}, fmt::format("{}: is a link, which is not followed", file.string())};
    try {
        const RunReader reader(file);
        const RunState state = reader.progress().state;
        if (state == RunState::Finished && !reader.steps().empty())
            return {digestsOf(reader), ""};
        const std::string message = reader.message();
        return {{}, message.empty() ? std::string(nameOf(state)) : fmt::format("{}: {}", nameOf(state), message)};
    } catch (const RecordingError& error) {
        return {{}, error.what()};
    }
}

} // namespace

CureStudy readCureStudy(const StudyFolder& folder) {
    CureStudy study;
    std::map<std::size_t, std::size_t> subjectOf; // by position in the study
    std::map<std::size_t, RunDigests> digests;    // of references
    const auto add = [&](std::size_t run, const RunDigests& recorded) {
        subjectOf[run] = study.subjects.size();
        study.subjects.push_back({folder.runs[run], study.subjects.size(), recorded.steps.back(), {}});
    };
    for (std::size_t i = 0; i < folder.runs.size(); ++i) {
        if (!folder.runs[i].isReference || folder.runs[i].isTwin)
            continue;
        if (Recording recording = readRecording(folder.runFile(folder.runs[i])); recording.digests) {
            add(i, *recording.digests);
            digests[i] = std::move(*recording.digests);
        } else {
            study.leftOut.push_back({folder.runs[i].id, recording.reason});
        }
    }
    for (std::size_t i = 0; i < folder.runs.size(); ++i) {
        const RunConfig& run = folder.runs[i];
        if (run.isReference || run.isTwin || run.isControl)
            continue;
        const std::optional<std::size_t> reference = folder.referenceOf(i);
        const Recording recording = readRecording(folder.runFile(run));
        if (!recording.digests) {
            study.leftOut.push_back({run.id, recording.reason});
        } else if (!reference || !digests.contains(*reference)) {
            study.leftOut.push_back(
                {run.id, reference ? fmt::format("its reference, {}, has not finished", folder.runs[*reference].id)
                                   : std::string("it has no reference")});
        } else {
            add(i, *recording.digests);
            study.subjects.back().reference = subjectOf.at(*reference);
            study.subjects.back().recordedDifference = firstDifferentStep(*recording.digests, digests.at(*reference));
        }
    }
    if (std::ranges::all_of(study.subjects, &CureSubject::isReference))
        throw StudyError(fmt::format(
            "{}: has no finished run to compare with a finished reference{}", folder.path.string(),
            study.leftOut.empty() ? "; give the study an axis" : "; driftscope-cli run --resume does the others"));
    return study;
}

} // namespace driftscope
