// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/TextFile.h"

#include "training/ByteSource.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace driftscope {

SampleSet loadText(const DataConfig& config, std::int64_t ignoreIndex) {
    requireDataFiles(config);
    const auto context = static_cast<std::size_t>(config.context);
    const std::int64_t wanted = config.limit.value_or(std::numeric_limits<std::int64_t>::max());
    const std::int64_t mostSamples = (std::int64_t{1} << 36) / (2 * 8 * config.context);
    std::vector<std::int64_t> inputs, targets;
    SampleSet set;
    set.shape = set.targetShape = {config.context};
    set.classes = 256;
    std::int64_t cut = 0;
    std::string line; // two bytes more than a sample needs: one may be the carriage return of the line's end
    bool isLonger = false;
    const auto endLine = [&] {
        if (!isLonger && line.ends_with('\r'))
            line.pop_back();
        if (line.size() >= 2) {
            if (set.samples == mostSamples)
                throw DataError(fmt::format("{}: more than 64 GiB of samples; use [data] limit or a smaller context",
                                            config.path));
            const std::size_t length = std::min(line.size() - 1, context);
            const auto* bytes = reinterpret_cast<const unsigned char*>(line.data());
            inputs.insert(inputs.end(), bytes, bytes + length);
            targets.insert(targets.end(), bytes + 1, bytes + 1 + length);
            ++set.samples;
            inputs.resize(static_cast<std::size_t>(set.samples) * context, 0);
            targets.resize(static_cast<std::size_t>(set.samples) * context, ignoreIndex);
            cut += line.size() - 1 > context;
        }
        line.clear();
        isLonger = false;
    };

    FileSource file(config.path);
    std::string buffer;
    while (file.left() > 0 && set.samples < wanted) {
        buffer.resize(static_cast<std::size_t>(std::min<std::uint64_t>(file.left(), 1U << 16)));
        file.read({reinterpret_cast<std::uint8_t*>(buffer.data()), buffer.size()});
        for (const char c : buffer) {
            if (set.samples == wanted)
                break;
            if (c == '\n')
                endLine();
            else if (line.size() < context + 2)
                line += c;
            else
                isLonger = true;
        }
    }
    if (set.samples < wanted)
        endLine();
    if (set.samples == 0)
        throw DataError(fmt::format("{}: no line of two bytes or more: expected a text with a sample on each line",
                                    config.path));
    set.inputs = std::move(inputs);
    set.targets = std::move(targets);
    set.description = fmt::format("text, {} lines as bytes from {}, {} of them cut at {} tokens", set.samples,
                                  config.path, cut, config.context);
    return set;
}

} // namespace driftscope
