// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording/Trace.h"

#include "recording/RunFile.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <iterator>
#include <utility>

namespace driftscope {
namespace {

using Json = nlohmann::json;

std::filesystem::path valuesBeside(std::filesystem::path file) { return file += ".values"; }

std::string toHex(const Digest& digest) { return fmt::format("{:016x}{:016x}", digest[0], digest[1]); }

Digest digestFromHex(const std::string& text) {
    Digest digest{};
    for (std::size_t i = 0; i < digest.size(); ++i) {
        const char* begin = text.data() + 16 * i;
        if (text.size() != 32 || std::from_chars(begin, begin + 16, digest[i], 16).ptr != begin + 16)
            throw RecordingError(fmt::format("\"{}\" is no digest", text));
    }
    return digest;
}

Json toJson(const std::vector<Digest>& digests) {
    Json list = Json::array();
    for (const Digest& digest : digests)
        list.push_back(toHex(digest));
    return list;
}

std::vector<Digest> digestsFrom(const Json& list) {
    std::vector<Digest> digests;
    for (const Json& text : list)
        digests.push_back(digestFromHex(text.get_ref<const std::string&>()));
    return digests;
}

Json toJson(const std::vector<TracedTensor>& tensors) {
    Json list = Json::array();
    for (const TracedTensor& tensor : tensors)
        list.push_back({{"name", tensor.name},
                        {"dtype", tensor.dtype},
                        {"shape", tensor.shape},
                        {"digest", toHex(tensor.digest)},
                        {"samples", toJson(tensor.samples)},
                        {"first", tensor.first},
                        {"offset", tensor.offset},
                        {"bytes", tensor.bytes}});
    return list;
}

std::vector<TracedTensor> tensorsFrom(const Json& list) {
    std::vector<TracedTensor> tensors;
    for (const Json& in : list)
        tensors.push_back({in.at("name").get<std::string>(), in.at("dtype").get<std::string>(),
                           in.at("shape").get<std::vector<std::uint64_t>>(),
                           digestFromHex(in.at("digest").get_ref<const std::string&>()), digestsFrom(in.at("samples")),
                           in.at("first").get<std::int64_t>(), in.at("offset").get<std::int64_t>(),
                           in.at("bytes").get<std::uint64_t>()});
    return tensors;
}

Json toJson(const std::vector<TracedOperator>& operators) {
    Json list = Json::array();
    for (const TracedOperator& op : operators)
        list.push_back({{"name", op.name},
                        {"phase", static_cast<int>(op.phase)},
                        {"module", op.module},
                        {"depth", op.depth},
                        {"end", op.end},
                        {"arguments", op.arguments},
                        {"inputs", toJson(op.inputs)},
                        {"outputs", toJson(op.outputs)}});
    return list;
}

std::vector<TracedOperator> operatorsFrom(const Json& list) {
    std::vector<TracedOperator> operators;
    for (const Json& in : list) {
        const auto phase = in.at("phase").get<std::size_t>();
        if (phase >= phaseCount)
            throw RecordingError(fmt::format("there is no phase {}", phase));
        operators.push_back({in.at("name").get<std::string>(), static_cast<Phase>(phase),
                             in.at("module").get<std::string>(), in.at("depth").get<int>(),
                             in.at("end").get<std::int64_t>(), in.at("arguments").get<std::string>(),
                             digestsFrom(in.at("inputs")), tensorsFrom(in.at("outputs"))});
    }
    return operators;
}

Json toJson(const Trace& trace) {
    Json parts = Json::array(), phases = Json::object();
    for (const Trace::Part& part : trace.parts)
        parts.push_back({part.first, part.size});
    for (std::size_t i = 0; i < phaseCount; ++i)
        phases[std::string(nameOf(static_cast<Phase>(i)))] = toJson(trace.phases[i]);
    return {{"step", trace.step},
            {"sample_ids", trace.sampleIds},
            {"sample_weights", trace.sampleWeights},
            {"parts", std::move(parts)},
            {"relu_modules", trace.reluModules},
            {"generator", toHex(trace.generator)},
            {"phases", std::move(phases)},
            {"operators", toJson(trace.operators)},
            {"omitted_bytes", trace.omittedBytes}};
}

Trace traceFrom(const Json& in) {
    Trace trace;
    trace.step = in.at("step").get<std::int64_t>();
    trace.sampleIds = in.at("sample_ids").get<std::vector<std::int64_t>>();
    trace.sampleWeights = in.at("sample_weights").get<std::vector<double>>();
    for (const Json& part : in.at("parts"))
        trace.parts.push_back({part.at(0).get<std::int64_t>(), part.at(1).get<std::int64_t>()});
    trace.reluModules = in.at("relu_modules").get<std::vector<std::string>>();
    trace.generator = digestFromHex(in.at("generator").get_ref<const std::string&>());
    for (std::size_t i = 0; i < phaseCount; ++i)
        trace.phases[i] = tensorsFrom(in.at("phases").at(std::string(nameOf(static_cast<Phase>(i)))));
    trace.operators = operatorsFrom(in.at("operators"));
    trace.omittedBytes = in.at("omitted_bytes").get<std::uint64_t>();
    return trace;
}

} // namespace

TraceWriter::TraceWriter(const std::filesystem::path& file, std::uint64_t limitBytes)
    : m_file(file), m_values(valuesBeside(file), std::ios::binary), m_room{limitBytes / 2, limitBytes / 2} {
    if (!m_values)
        throw RecordingError(fmt::format("{}: cannot be created", valuesBeside(file).string()));
}

std::int64_t TraceWriter::keep(std::span<const std::byte> values, bool passesThroughNetwork) {
    std::uint64_t& room = m_room[passesThroughNetwork ? 1 : 0];
    if (values.size() > room) {
        m_omitted += values.size();
        return -1;
    }
    m_values.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size()));
    if (!m_values)
        throw RecordingError(fmt::format("{}: cannot be written; is the disk full?", valuesBeside(m_file).string()));
    room -= values.size();
    const auto offset = static_cast<std::int64_t>(m_size);
    m_size += values.size();
    return offset;
}

void TraceWriter::finish(Trace trace) {
    trace.omittedBytes = m_omitted;
    m_values.close();
    std::ofstream out(m_file, std::ios::binary);
    out << toJson(trace).dump(-1, ' ', false, Json::error_handler_t::replace);
    out.close();
    if (!m_values || !out)
        throw RecordingError(fmt::format("{}: cannot be written; is the disk full?", m_file.string()));
}

TraceReader::TraceReader(const std::filesystem::path& file)
    : m_file(file), m_values(valuesBeside(file), std::ios::binary | std::ios::ate) {
    std::ifstream in(file, std::ios::binary);
    if (!in || !m_values)
        throw RecordingError(fmt::format("{}: there is no such trace", file.string()));
    m_size = static_cast<std::uint64_t>(m_values.tellg());
    try {
        m_trace = traceFrom(Json::parse(in));
    } catch (const std::exception& error) {
        throw RecordingError(fmt::format("{}: not a trace: {}", file.string(), error.what()));
    }
}

std::vector<std::byte> TraceReader::read(std::uint64_t offset, std::uint64_t bytes) const {
    if (offset > m_size || bytes > m_size - offset)
        throw RecordingError(fmt::format("{}: its values end at {} bytes", m_file.string(), m_size));
    std::vector<std::byte> values(bytes);
    m_values.seekg(static_cast<std::streamoff>(offset));
    m_values.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(bytes));
    if (!m_values)
        throw RecordingError(fmt::format("{}: its values cannot be read", m_file.string()));
    return values;
}

std::vector<std::byte> TraceReader::values(const TracedTensor& tensor) const {
    if (!tensor.isKept())
        throw RecordingError(fmt::format("{}: the values of {} were not kept", m_file.string(), tensor.name));
    return read(static_cast<std::uint64_t>(tensor.offset), tensor.bytes);
}

std::vector<std::byte> TraceReader::sampleValues(const TracedTensor& tensor, std::size_t sample) const {
    if (!tensor.isKept() || sample >= tensor.samples.size())
        throw RecordingError(fmt::format("{}: the values of {} were not kept", m_file.string(), tensor.name));
    const std::uint64_t bytes = tensor.bytes / tensor.samples.size();
    return read(static_cast<std::uint64_t>(tensor.offset) + sample * bytes, bytes);
}

std::optional<DType> floatTypeNamed(std::string_view name) {
    for (const DType type : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16})
        if (name == nameOf(type))
            return type;
    return std::nullopt;
}

} // namespace driftscope
