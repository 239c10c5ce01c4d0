// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/SampleSet.h"

#include "training/ImageSet.h"

namespace driftscope {

SampleSet loadSamples(const DataConfig& config, std::int64_t) {
    ImageSet images = loadImages(config);
    SampleSet set;
    set.samples = images.samples;
    set.shape = {images.channels, images.height, images.width};
    set.classes = images.classes;
    set.inputs = std::move(images.pixels);
    set.targets = std::move(images.labels);
    set.description = std::move(images.description);
    return set;
}

} // namespace driftscope
