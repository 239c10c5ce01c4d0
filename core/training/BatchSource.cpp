// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/BatchSource.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>

namespace driftscope {
namespace {

std::int64_t product(const std::vector<std::int64_t>& shape) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape)
        count *= extent;
    return count;
}

/// x / 255 for every pixel value.
const std::array<float, 256>& scaledPixels() {
    static const auto scaled = [] {
        std::array<float, 256> table{};
        for (std::size_t i = 0; i < table.size(); ++i)
            table[i] = static_cast<float>(i) / 255.0F;
        return table;
    }();
    return scaled;
}

struct Crop {
    std::int64_t top = 0, left = 0; ///< of the crop in the image, negative in the zeros around it
    bool isFlipped = false;
};

/// The draws of torchvision's RandomCrop.get_params and RandomHorizontalFlip.
Crop drawCrop(const DataConfig& config, at::Generator generator) {
    Crop crop;
    if (const std::int64_t padding = config.randomCrop; padding > 0) {
        const auto draw = [&] {
            return torch::randint(0, 2 * padding + 1, {1}, generator, torch::kInt64).item<std::int64_t>();
        };
        crop.top = draw() - padding;
        crop.left = draw() - padding;
    }
    if (config.randomFlip)
        crop.isFlipped = torch::rand({1}, generator).item<float>() < 0.5F;
    return crop;
}

/// to = from shifted and mirrored, zeros where it comes from outside; both channels × height × width.
void applyCrop(const Crop& crop, const float* from, float* to, std::int64_t channels, std::int64_t height,
               std::int64_t width) {
    for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t y = 0; y < height; ++y)
            for (std::int64_t x = 0; x < width; ++x) {
                const std::int64_t fromY = y + crop.top;
                const std::int64_t fromX = (crop.isFlipped ? width - 1 - x : x) + crop.left;
                const bool isInside = fromY >= 0 && fromY < height && fromX >= 0 && fromX < width;
                *to++ = isInside ? from[(c * height + fromY) * width + fromX] : 0.0F;
            }
}

} // namespace

BatchSource::BatchSource(const DataConfig& config, std::int64_t ignoreIndex, torch::ScalarType type)
    : m_config(config), m_type(type), m_data(loadSamples(config, ignoreIndex)), m_elements(product(m_data.shape)) {
    const bool isImage = m_data.shape.size() == 3 && !std::holds_alternative<std::vector<std::int64_t>>(m_data.inputs);
    const std::string& name = config.path.empty() ? config.kind : config.path;
    if (isAugmented() && !isImage)
        throw DataError(fmt::format("{}: random_crop and random_flip need images: channels × height × width", name));
    if (!config.mean.empty() && (!isImage || static_cast<std::int64_t>(config.mean.size()) != m_data.shape[0]))
        throw DataError(fmt::format("{}: mean and std have {} numbers; allowed is one of each per channel of the images{}",
                                    name, config.mean.size(), isImage ? fmt::format(", {}", m_data.shape[0]) : ""));
}

Batch BatchSource::empty(std::vector<std::int64_t> ids) const {
    const auto sizes = [&](const std::vector<std::int64_t>& shape) {
        std::vector<std::int64_t> all{static_cast<std::int64_t>(ids.size())};
        all.insert(all.end(), shape.begin(), shape.end());
        return all;
    };
    const bool areTokens = std::holds_alternative<std::vector<std::int64_t>>(m_data.inputs);
    const bool areLabels = std::holds_alternative<std::vector<std::int64_t>>(m_data.targets);
    torch::Tensor inputs = torch::empty(sizes(m_data.shape), areTokens ? torch::kInt64 : torch::kFloat32);
    torch::Tensor targets = torch::empty(sizes(m_data.targetShape), areLabels ? torch::kInt64 : torch::kFloat32);
    return {std::move(ids), std::move(inputs), std::move(targets)};
}

void BatchSource::fill(Batch& batch, std::int64_t position, const std::optional<at::Generator>& generator) const {
    const std::int64_t id = batch.ids[static_cast<std::size_t>(position)];
    if (const auto* tokens = std::get_if<std::vector<std::int64_t>>(&m_data.inputs)) {
        std::copy_n(tokens->begin() + id * m_elements, m_elements,
                    batch.inputs.data_ptr<std::int64_t>() + position * m_elements);
    } else {
        float* to = batch.inputs.data_ptr<float>() + position * m_elements;
        const bool isCropped = generator && isAugmented();
        std::vector<float> buffer(isCropped ? static_cast<std::size_t>(m_elements) : 0);
        float* plain = isCropped ? buffer.data() : to;
        if (const auto* pixels = std::get_if<std::vector<std::uint8_t>>(&m_data.inputs))
            std::transform(pixels->begin() + id * m_elements, pixels->begin() + (id + 1) * m_elements, plain,
                           [](std::uint8_t pixel) { return scaledPixels()[pixel]; });
        else
            std::copy_n(std::get<std::vector<float>>(m_data.inputs).begin() + id * m_elements, m_elements, plain);
        if (isCropped)
            applyCrop(drawCrop(m_config, *generator), plain, to, m_data.shape[0], m_data.shape[1],
                      m_data.shape[2]);
        for (std::size_t c = 0; c < m_config.mean.size(); ++c) {
            const std::int64_t plane = m_elements / m_data.shape[0];
            const auto mean = static_cast<float>(m_config.mean[c]), std = static_cast<float>(m_config.std[c]);
            float* channel = to + static_cast<std::int64_t>(c) * plane;
            std::transform(channel, channel + plane, channel, [&](float x) { return (x - mean) / std; });
        }
    }
    const std::int64_t targets = product(m_data.targetShape);
    if (const auto* labels = std::get_if<std::vector<std::int64_t>>(&m_data.targets))
        std::copy_n(labels->begin() + id * targets, targets,
                    batch.targets.data_ptr<std::int64_t>() + position * targets);
    else
        std::copy_n(std::get<std::vector<float>>(m_data.targets).begin() + id * targets, targets,
                    batch.targets.data_ptr<float>() + position * targets);
}

/// Real numbers in the run's own type, rounded once.
Batch BatchSource::finished(Batch batch) const {
    if (batch.inputs.is_floating_point())
        batch.inputs = batch.inputs.to(m_type);
    if (batch.targets.is_floating_point())
        batch.targets = batch.targets.to(m_type);
    return batch;
}

Batch BatchSource::makePlain(std::vector<std::int64_t> ids) const {
    Batch batch = empty(std::move(ids));
    for (std::int64_t i = 0; i < batch.size(); ++i)
        fill(batch, i, std::nullopt);
    return finished(std::move(batch));
}

Batch BatchSource::make(std::vector<std::int64_t> ids, at::Generator generator) const {
    Batch batch = empty(std::move(ids));
    for (std::int64_t i = 0; i < batch.size(); ++i)
        fill(batch, i, generator);
    return finished(std::move(batch));
}

} // namespace driftscope
