// SPDX-License-Identifier: GPL-3.0-or-later
// Traces with values written out by hand.
#pragma once

#include "recording/Trace.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace driftscope::test {

class HandMadeTrace {
public:
    explicit HandMadeTrace(const std::filesystem::path& file, std::uint64_t limitBytes = 1 << 20)
        : m_file(file), m_writer(file, limitBytes) {}

    Trace trace; ///< all but tensors: filled by the test

    /// float32 values of a tensor as a whole.
    TracedTensor& add(Phase phase, const std::string& name, const std::vector<float>& values) {
        trace.of(phase).push_back(traced(name, values));
        return trace.of(phase).back();
    }
    /// The same, of `samples` samples from the position `first` of the batch on.
    TracedTensor& addSamples(Phase phase, const std::string& name, std::int64_t first, std::size_t samples,
                             const std::vector<float>& values) {
        TracedTensor& tensor = add(phase, name, values);
        tensor.first = first;
        tensor.shape = {samples, values.size() / samples};
        const std::span all(values);
        for (std::size_t i = 0; i < samples; ++i)
            tensor.samples.push_back(
                digestOf(std::as_bytes(all.subspan(i * (values.size() / samples), values.size() / samples))));
        return tensor;
    }
    /// An operator with inputs of these values and one output; an input without values was not written yet.
    TracedOperator& addOperator(const std::string& name, const std::vector<std::vector<float>>& inputs,
                                const std::vector<float>& output, int depth, std::int64_t end) {
        TracedOperator op;
        op.name = name;
        op.depth = depth;
        op.end = end;
        for (const std::vector<float>& input : inputs)
            op.inputs.push_back(input.empty() ? Digest{} : digestOf(std::as_bytes(std::span(input))));
        op.outputs.push_back(traced("", output));
        trace.operators.push_back(std::move(op));
        return trace.operators.back();
    }

    TraceReader finished() {
        m_writer.finish(trace);
        return TraceReader(m_file);
    }

private:
    TracedTensor traced(const std::string& name, const std::vector<float>& values) {
        const auto bytes = std::as_bytes(std::span(values));
        TracedTensor tensor{name, "float32", {values.size()}, digestOf(bytes)};
        tensor.bytes = bytes.size();
        tensor.offset = m_writer.keep(bytes, false);
        return tensor;
    }

    std::filesystem::path m_file;
    TraceWriter m_writer;
};

} // namespace driftscope::test
