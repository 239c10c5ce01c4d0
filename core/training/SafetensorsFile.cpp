// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/SafetensorsFile.h"

#include "training/ArraySamples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

namespace driftscope {
namespace {

using Json = nlohmann::json;

/// A tensor as the header has it, its place checked against the file.
struct Entry {
    std::string name, dtype;
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0, end = 0; ///< in the file
};

[[noreturn]] void fail(const std::string& path, const std::string& what) {
    throw DataError(fmt::format("{}: {}; safetensors.torch.save_file({{\"x\": …, \"y\": …}}, file) writes what is "
                                "expected",
                                path, what));
}

/// The header; `file` is then at the first tensor's first byte.
Json readHeader(FileSource& file, const std::string& path) {
    constexpr std::uint64_t longest = 1 << 22; // some 30000 tensors
    constexpr int deepest = 8;
    std::array<std::uint8_t, 8> start{};
    if (file.left() < start.size())
        fail(path, "ends too early: expected the header's length in the first 8 bytes");
    file.read(start);
    std::uint64_t length = 0;
    for (std::size_t i = start.size(); i-- > 0;)
        length = length << 8 | start[i];
    if (length > std::min(longest, file.left()))
        fail(path, fmt::format("its header would have {} bytes: expected at most {}, what the file has", length,
                               std::min(longest, file.left())));
    std::string text(static_cast<std::size_t>(length), '\0');
    file.read({reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
    const auto refuseDepth = [&](int depth, Json::parse_event_t, Json&) {
        if (depth > deepest)
            fail(path, "its header is nested too deeply");
        return true;
    };
    Json header = Json::parse(text, refuseDepth, false);
    if (!header.is_object())
        fail(path, "its header is damaged: expected a JSON object with the tensors");
    return header;
}

/// Numbers of a JSON array that are 0 … largest int64; throws through fail() if one is not.
std::vector<std::int64_t> numbers(const Json& tensor, const char* key, const std::string& path,
                                  const std::string& name) {
    std::vector<std::int64_t> result;
    const auto list = tensor.find(key);
    const auto isNumber = [](const Json& value) {
        return value.is_number_unsigned() && value.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max();
    };
    if (list == tensor.end() || !list->is_array() || !std::ranges::all_of(*list, isNumber))
        fail(path, fmt::format("tensor {}: {}: expected a list of numbers ≥ 0", printable(name), key));
    for (const Json& value : *list)
        result.push_back(value.get<std::int64_t>());
    return result;
}

/// Every tensor; `first` is the place in the file that offsets count from, `size` the bytes behind it.
std::vector<Entry> readEntries(const Json& header, const std::string& path, std::uint64_t first, std::uint64_t size) {
    std::vector<Entry> entries;
    for (const auto& [name, tensor] : header.items()) {
        if (name == "__metadata__")
            continue;
        if (!tensor.is_object() || !tensor.contains("dtype") || !tensor["dtype"].is_string())
            fail(path, fmt::format("tensor {}: expected an object with dtype, shape, data_offsets", printable(name)));
        const std::vector<std::int64_t> offsets = numbers(tensor, "data_offsets", path, name);
        if (offsets.size() != 2 || offsets[0] > offsets[1] || static_cast<std::uint64_t>(offsets[1]) > size)
            fail(path, fmt::format("tensor {}: data_offsets = [{}]: expected a begin and an end within the {} bytes "
                                   "that are there; the file may have been cut",
                                   printable(name), fmt::join(offsets, ", "), size));
        const auto begin = static_cast<std::uint64_t>(offsets[0]), end = static_cast<std::uint64_t>(offsets[1]);
        entries.push_back({name, tensor["dtype"].get<std::string>(), numbers(tensor, "shape", path, name),
                           first + begin, first + end});
    }
    std::ranges::sort(entries, {}, [](const Entry& entry) { return std::pair(entry.begin, entry.end); });
    for (std::size_t i = 1; i < entries.size(); ++i)
        if (entries[i].begin < entries[i - 1].end)
            fail(path, fmt::format("tensors {} and {} overlap", printable(entries[i - 1].name),
                                   printable(entries[i].name)));
    return entries;
}

StoredArray openTensor(const Entry& entry, const std::string& path) {
    using Kind = ElementType::Kind;
    using Named = std::pair<std::string_view, ElementType>;
    static constexpr Named types[] = {{"F32", {Kind::Real, 4}},    {"F64", {Kind::Real, 8}}, {"F16", {Kind::Real, 2}},
                                      {"BF16", {Kind::BrainReal, 2}}, {"U8", {Kind::Unsigned, 1}},
                                      {"I64", {Kind::Signed, 8}},  {"I32", {Kind::Signed, 4}}};
    const auto type = std::ranges::find(types, entry.dtype, &Named::first);
    if (type == std::end(types))
        fail(path, fmt::format("tensor {}: dtype {}: expected F32, F64, F16, BF16, U8, I64 or I32", entry.name,
                               printable(entry.dtype)));
    auto source = std::make_unique<FileSource>(path);
    source->restrict(entry.begin, entry.end - entry.begin);
    return {fmt::format("{}: {}", path, entry.name), type->second, entry.shape, std::move(source)};
}

} // namespace

SampleSet loadSafetensors(const DataConfig& config, std::int64_t ignoreIndex) {
    requireDataFiles(config);
    FileSource file(config.path);
    const std::uint64_t size = file.left();
    const Json header = readHeader(file, config.path);
    const std::vector<Entry> entries = readEntries(header, config.path, size - file.left(), file.left());
    std::vector<std::string> names;
    for (const Entry& entry : entries)
        names.push_back(entry.name);
    const auto [x, y] = findArrays(config.path, names);
    StoredArray inputs = openTensor(entries[x], config.path), targets = openTensor(entries[y], config.path);
    return samplesFromArrays(std::move(inputs), std::move(targets), config, ignoreIndex, "safetensors");
}

} // namespace driftscope
