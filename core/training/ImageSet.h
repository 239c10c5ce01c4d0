// SPDX-License-Identifier: GPL-3.0-or-later
// Labelled 8-bit images in memory, from the files that data sets come in. No LibTorch here.
#pragma once

#include "study/DataFiles.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace driftscope {

struct ImageSet {
    std::int64_t samples = 0;
    std::int64_t channels = 0, height = 0, width = 0;
    std::int64_t classes = 0;
    std::vector<std::uint8_t> pixels; ///< samples × channels × height × width
    std::vector<std::int64_t> labels; ///< samples, each in [0, classes)
    std::string description;          ///< one line for reports: where from, how many, what was done to them
};

/// Loads what the configuration asks for, at most `limit` samples, fitted to `shape` if one is given.
/// Throws DataError.
ImageSet loadImages(const DataConfig& config);

/// Zeros around the images, and a single channel repeated, to `shape`: channels, height, width. Labels and
/// description are kept, the latter with what was done. Throws DataError if the shape asks for anything else.
ImageSet fitted(ImageSet set, const std::vector<std::int64_t>& shape);

} // namespace driftscope
