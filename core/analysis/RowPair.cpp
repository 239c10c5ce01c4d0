// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/RowPair.h"

#include "recording/HalfPrecision.h"

#include <fmt/format.h>

#include <algorithm>

namespace driftscope {
namespace {

/// How many rows of at most that step are written.
std::size_t rowsUpTo(const RunReader& reader, std::int64_t step) {
    const auto written = reader.steps().first(static_cast<std::size_t>(reader.progress().rows));
    return static_cast<std::size_t>(std::ranges::upper_bound(written, step) - written.begin());
}

std::vector<double> valuesOf(const TensorRow& row) { return asDoubles(row.bytes(), row.dtype()); }

} // namespace

RowPair::RowPair(const StudyResults& results, std::size_t run, std::int64_t step)
    : m_run(results.folder.runFile(results.runs.at(run).config)) {
    if (const auto reference = results.runs[run].reference)
        m_reference.emplace(results.folder.runFile(results.runs[*reference].config));
    std::size_t rows = rowsUpTo(m_run, step), referenceRows = m_reference ? rowsUpTo(*m_reference, step) : 0;
    while (m_reference && rows > 0 && referenceRows > 0 &&
           m_run.steps()[rows - 1] != m_reference->steps()[referenceRows - 1])
        --(m_run.steps()[rows - 1] > m_reference->steps()[referenceRows - 1] ? rows : referenceRows);
    if (rows == 0 || (m_reference && referenceRows == 0))
        throw RecordingError(fmt::format("{}: no step up to {} is recorded{}", m_run.file().string(), step,
                                         m_reference ? " here and in the reference" : ""));
    m_row = rows - 1;
    m_referenceRow = m_reference ? referenceRows - 1 : 0;
}

TensorPair RowPair::tensor(std::size_t position) const {
    TensorPair pair{m_run.parameters()[position], valuesOf(m_run.weights(position, m_row)), {}};
    if (!m_reference)
        return pair;
    const auto parameters = m_reference->parameters();
    const auto other = std::ranges::find(parameters, pair.info.name, &TensorInfo::name);
    if (other != parameters.end())
        pair.reference = valuesOf(
            m_reference->weights(static_cast<std::size_t>(other - parameters.begin()), m_referenceRow));
    if (other == parameters.end() || other->shape != pair.info.shape || pair.reference.size() != pair.run.size())
        throw RecordingError(fmt::format("{}: has no {} of the same shape, or keeps other values of it",
                                         m_reference->file().string(), pair.info.name));
    return pair;
}

} // namespace driftscope
