// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/SampleSet.h"

#include "training/ImageSet.h"
#include "training/NpyFile.h"
#include "training/SafetensorsFile.h"
#include "training/TextFile.h"

#include <fmt/format.h>

#include <utility>

namespace driftscope {
namespace {

SampleSet samplesFromImages(ImageSet images) {
    return {images.samples,           {images.channels, images.height, images.width}, {}, images.classes,
            std::move(images.pixels), std::move(images.labels), std::move(images.description)};
}

/// Pixels are fitted to [data] shape as those of loadImages are; anything else has its own shape.
SampleSet fittedSamples(SampleSet set, const DataConfig& config) {
    auto* pixels = std::get_if<std::vector<std::uint8_t>>(&set.inputs);
    if (!pixels)
        throw DataError(fmt::format("{}: [data] shape = {} is for images of 8 bits: these samples are of {}",
                                    config.path, toText(config.shape), toText(set.shape)));
    ImageSet images{set.samples, set.shape[0], set.shape[1], set.shape[2], set.classes, std::move(*pixels), {},
                    std::move(set.description)};
    images = fitted(std::move(images), config.shape);
    set.shape = config.shape;
    set.inputs = std::move(images.pixels);
    set.description = std::move(images.description);
    return set;
}

} // namespace

SampleSet loadSamples(const DataConfig& config, std::int64_t ignoreIndex) {
    SampleSet set;
    if (config.kind == "npy")
        set = loadNpy(config, ignoreIndex);
    else if (config.kind == "safetensors")
        set = loadSafetensors(config, ignoreIndex);
    else if (config.kind == "text")
        set = loadText(config, ignoreIndex);
    else
        return samplesFromImages(loadImages(config));
    return config.shape.empty() ? set : fittedSamples(std::move(set), config);
}

} // namespace driftscope
