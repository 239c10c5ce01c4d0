// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/ArraySamples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>

namespace driftscope {
namespace {

using Kind = ElementType::Kind;

constexpr std::array<std::string_view, 4> inputNames{"x", "inputs", "images", "data"};
constexpr std::array<std::string_view, 3> targetNames{"y", "targets", "labels"};
constexpr std::int64_t mostClasses = 1000000;
constexpr std::uint64_t mostBytes = std::uint64_t{1} << 36;

bool isInteger(const ElementType& type) { return type.kind == Kind::Unsigned || type.kind == Kind::Signed; }

/// "uint8", "float32", "bfloat16".
std::string text(const ElementType& type) {
    static constexpr std::string_view words[] = {"uint", "int", "float", "bfloat"};
    return fmt::format("{}{}", words[static_cast<std::size_t>(type.kind)], 8 * type.bytes);
}

/// "float32 of 100×1×28×28".
std::string text(const StoredArray& array) {
    return fmt::format("{} of {}", text(array.type),
                       array.shape.empty() ? "no dimension" : fmt::format("{}", fmt::join(array.shape, "×")));
}

/// Bit pattern of a float16 or bfloat16; NaNs keep their sign and payload.
float fromHalf(std::uint16_t bits) {
    const std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1FU, mantissa = bits & 0x3FFU;
    if (exponent == 0) {
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
        return sign == 0 ? magnitude : -magnitude;
    }
    const std::uint32_t wide = exponent == 0x1F ? 0xFF : exponent + 112;
    return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

float fromBrainHalf(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

/// Reads elements of Raw, an unsigned integer of their size, and converts each.
template <class Raw, class Out, class Convert>
void readAs(StoredArray& array, std::span<Out> out, Convert convert) {
    const bool isSwapped = array.type.isBigEndian != (std::endian::native == std::endian::big);
    std::vector<std::uint8_t> buffer(std::min<std::size_t>(out.size(), 1U << 16) * sizeof(Raw));
    while (!out.empty()) {
        const std::size_t count = std::min(out.size(), buffer.size() / sizeof(Raw));
        array.data->read(std::span(buffer).first(count * sizeof(Raw)));
        for (std::size_t i = 0; i < count; ++i) {
            std::array<std::uint8_t, sizeof(Raw)> bytes;
            std::memcpy(bytes.data(), buffer.data() + i * sizeof(Raw), sizeof(Raw));
            if (isSwapped)
                std::ranges::reverse(bytes);
            out[i] = convert(std::bit_cast<Raw>(bytes));
        }
        out = out.subspan(count);
    }
}

std::vector<float> readReals(StoredArray& array, std::size_t count) {
    std::vector<float> values(count);
    const std::span<float> out(values);
    if (array.type.kind == Kind::BrainReal)
        readAs<std::uint16_t>(array, out, &fromBrainHalf);
    else if (array.type.bytes == 2)
        readAs<std::uint16_t>(array, out, &fromHalf);
    else if (array.type.bytes == 4)
        readAs<std::uint32_t>(array, out, [](std::uint32_t raw) { return std::bit_cast<float>(raw); });
    else
        readAs<std::uint64_t>(array, out,
                              [](std::uint64_t raw) { return static_cast<float>(std::bit_cast<double>(raw)); });
    return values;
}

template <class Raw>
void readIntegersAs(StoredArray& array, std::span<std::int64_t> out) {
    if (array.type.kind == Kind::Signed)
        readAs<Raw>(array, out, [](Raw raw) { return std::int64_t{static_cast<std::make_signed_t<Raw>>(raw)}; });
    else
        readAs<Raw>(array, out, [](Raw raw) {
            constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
            return static_cast<std::int64_t>(std::min<std::uint64_t>(raw, largest)); // refused later as too large
        });
}

std::vector<std::int64_t> readIntegers(StoredArray& array, std::size_t count) {
    std::vector<std::int64_t> values(count);
    switch (array.type.bytes) {
    case 1: readIntegersAs<std::uint8_t>(array, values); break;
    case 2: readIntegersAs<std::uint16_t>(array, values); break;
    case 4: readIntegersAs<std::uint32_t>(array, values); break;
    default: readIntegersAs<std::uint64_t>(array, values); break;
    }
    return values;
}

/// Throws DataError unless there are samples, all of the array is in the file, and `samples` of it fit into memory
/// with `bytes` for an element. Returns the elements of so many samples.
std::size_t checkedCount(const StoredArray& array, std::int64_t samples, std::size_t bytes) {
    if (*std::ranges::min_element(array.shape) < 1)
        throw DataError(fmt::format("{}: {}: expected at least one sample, and no dimension of 0", array.name,
                                    text(array)));
    std::uint64_t room = array.data->left() / static_cast<std::uint64_t>(array.type.bytes);
    std::uint64_t ofOne = 1;
    for (const std::int64_t size : array.shape) {
        room /= static_cast<std::uint64_t>(size);
        if (room == 0)
            throw DataError(fmt::format("{}: ends too early or is damaged: {} needs more than the {} bytes that are "
                                        "there",
                                        array.name, text(array), array.data->left()));
    }
    for (std::size_t i = 1; i < array.shape.size(); ++i) // no overflow: there is room for all of it
        ofOne *= static_cast<std::uint64_t>(array.shape[i]);
    if (ofOne > mostBytes / bytes / static_cast<std::uint64_t>(samples))
        throw DataError(fmt::format("{}: {}: more than 64 GiB in memory; use [data] limit", array.name, text(array)));
    return static_cast<std::size_t>(ofOne) * static_cast<std::size_t>(samples);
}

/// Reads inputs and sets their shape.
void readInputs(SampleSet& set, StoredArray& array) {
    const auto& [kind, bytes, isBigEndian] = array.type;
    const std::size_t rank = array.shape.size();
    set.shape.assign(array.shape.begin() + 1, array.shape.end());
    if (kind == Kind::Unsigned && bytes == 1 && (rank == 3 || rank == 4)) {
        std::vector<std::uint8_t> pixels(checkedCount(array, set.samples, 1));
        array.data->read(pixels);
        set.inputs = std::move(pixels);
        if (rank == 3)
            set.shape.insert(set.shape.begin(), 1);
    } else if (!isInteger(array.type) && rank >= 2) {
        set.inputs = readReals(array, checkedCount(array, set.samples, sizeof(float)));
    } else if (kind == Kind::Signed && bytes >= 4 && rank == 2) {
        const std::size_t count = checkedCount(array, set.samples, sizeof(std::int64_t));
        std::vector<std::int64_t> tokens = readIntegers(array, count);
        if (const std::int64_t least = *std::ranges::min_element(tokens); least < 0)
            throw DataError(fmt::format("{}: token {}: allowed is 0 and more", array.name, least));
        set.inputs = std::move(tokens);
    } else {
        throw DataError(fmt::format("{}: {}: expected inputs of samples first: uint8 images of N×H×W or N×C×H×W, "
                                    "floating point of N×…, or int32 or int64 tokens of N×T; array.astype and "
                                    "array.reshape make them",
                                    array.name, text(array)));
    }
}

/// Reads targets and sets their shape and the number of classes.
void readTargets(SampleSet& set, StoredArray& array, std::int64_t ignoreIndex) {
    if (!isInteger(array.type)) {
        set.targets = readReals(array, checkedCount(array, set.samples, sizeof(float)));
        set.targetShape.assign(array.shape.begin() + 1, array.shape.end());
        return;
    }
    if (array.shape.size() != 1)
        throw DataError(fmt::format("{}: {}: expected targets that are integers of N, the class labels, or floating "
                                    "point of N×…; array.reshape(-1) or array.astype(np.float32) makes them",
                                    array.name, text(array)));
    const std::size_t count = checkedCount(array, set.samples, sizeof(std::int64_t));
    std::vector<std::int64_t> labels = readIntegers(array, count);
    std::int64_t largest = 1;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] == ignoreIndex)
            continue;
        if (labels[i] < 0 || labels[i] >= mostClasses)
            throw DataError(fmt::format("{}: label {} of sample {}: allowed are 0 … {} and ignore_index = {}; targets "
                                        "that are no classes must be floating point",
                                        array.name, labels[i], i, mostClasses - 1, ignoreIndex));
        largest = std::max(largest, labels[i]);
    }
    set.classes = largest + 1;
    set.targets = std::move(labels);
}

} // namespace

std::string printable(std::string text) {
    constexpr std::size_t longest = 40;
    std::ranges::replace_if(text, [](unsigned char c) { return c < 0x20 || c >= 0x7F; }, '?');
    if (text.size() > longest)
        text.replace(longest, std::string::npos, "…");
    return text;
}

std::pair<std::size_t, std::size_t> findArrays(const std::string& file, const std::vector<std::string>& names) {
    const auto find = [&](const auto& allowed) {
        const auto isAllowed = [&](const std::string& name) { return std::ranges::count(allowed, name) > 0; };
        const auto first = std::ranges::find_if(names, isAllowed);
        const bool isOnly = first != names.end() && std::none_of(first + 1, names.end(), isAllowed);
        return isOnly ? static_cast<std::size_t>(first - names.begin()) : names.size();
    };
    const std::size_t inputs = find(inputNames), targets = find(targetNames);
    if (inputs < names.size() && targets < names.size())
        return {inputs, targets};
    std::vector<std::string> shown;
    for (const std::string& name : names)
        if (shown.size() < 10)
            shown.push_back(printable(name));
    throw DataError(fmt::format("{}: has {}{}: expected one array of inputs, named {}, and one of targets, named {}; "
                                "np.savez(file, x=…, y=…) and save_file({{\"x\": …, \"y\": …}}, file) name them",
                                file, names.empty() ? "no arrays" : fmt::format("{}", fmt::join(shown, ", ")),
                                shown.size() < names.size() ? ", …" : "", fmt::join(inputNames, ", "),
                                fmt::join(targetNames, ", ")));
}

SampleSet samplesFromArrays(StoredArray inputs, StoredArray targets, const DataConfig& config,
                            std::int64_t ignoreIndex, const std::string& origin) {
    for (const StoredArray* array : {&inputs, &targets})
        if (array->shape.empty())
            throw DataError(fmt::format("{}: {}: expected samples in the first dimension", array->name, text(*array)));
    const std::int64_t available = inputs.shape[0];
    if (targets.shape[0] != available)
        throw DataError(fmt::format("{}: {} targets for the {} inputs of {}: expected one for each", targets.name,
                                    targets.shape[0], available, inputs.name));
    SampleSet set;
    set.samples = config.limit ? std::min(available, *config.limit) : available;
    readInputs(set, inputs);
    readTargets(set, targets, ignoreIndex);
    set.description = fmt::format("{}, {} of {} samples of {} ({}) from {}", origin, set.samples, available,
                                  toText(set.shape), text(inputs.type), config.path);
    return set;
}

} // namespace driftscope
