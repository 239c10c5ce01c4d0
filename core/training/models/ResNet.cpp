// SPDX-License-Identifier: GPL-3.0-or-later
// He et al. 2015 as torchvision writes it: its modules, names, order and initialisation.
#include "training/models/Layers.h"
#include "training/models/Models.h"

#include <fmt/format.h>

#include <array>

namespace driftscope {
namespace {

namespace nn = torch::nn;

nn::Conv2d convolution(std::int64_t from, std::int64_t to, std::int64_t kernel, std::int64_t stride) {
    return nn::Conv2d(nn::Conv2dOptions(from, to, kernel).stride(stride).padding(kernel / 2).bias(false));
}

/// conv1, bn1, conv2, bn2 and so on around a shortcut. Two convolutions of 3 × 3 (basic), or three of
/// 1 × 1, 3 × 3 and 1 × 1 that end with four times the channels (bottleneck).
class ResidualImpl : public nn::Module {
public:
    ResidualImpl(bool isBottleneck, std::int64_t from, std::int64_t channels, std::int64_t stride) {
        const std::int64_t to = isBottleneck ? 4 * channels : channels;
        if (stride != 1 || from != to)
            m_downsample = nn::Sequential(convolution(from, to, 1, stride), nn::BatchNorm2d(to));
        if (isBottleneck) {
            add(convolution(from, channels, 1, 1), channels);
            add(convolution(channels, channels, 3, stride), channels);
            add(convolution(channels, to, 1, 1), to);
        } else {
            add(convolution(from, channels, 3, stride), channels);
            add(convolution(channels, channels, 3, 1), channels);
        }
        if (m_downsample)
            register_module("downsample", m_downsample);
    }

    /// samples × channels × height × width → samples × its channels × height / stride × width / stride
    torch::Tensor forward(const Network& network, const std::string& name, const torch::Tensor& x) {
        torch::Tensor y = x;
        for (std::size_t i = 0; i < m_convolutions.size(); ++i) {
            y = network.observed(fmt::format("{}.conv{}", name, i + 1), m_convolutions[i](y));
            const std::string norm = fmt::format("{}.bn{}", name, i + 1);
            y = network.observed(norm, m_norms[i](y));
            if (i + 1 < m_convolutions.size())
                y = network.relu(norm, y);
        }
        return network.observed(name, network.relu(name, y + shortcut(network, name + ".downsample", x)));
    }

private:
    void add(nn::Conv2d convolution, std::int64_t channels) {
        const std::size_t number = m_convolutions.size() + 1;
        m_convolutions.push_back(register_module(fmt::format("conv{}", number), std::move(convolution)));
        m_norms.push_back(register_module(fmt::format("bn{}", number), nn::BatchNorm2d(channels)));
    }

    torch::Tensor shortcut(const Network& network, const std::string& name, const torch::Tensor& x) {
        if (!m_downsample)
            return x;
        const torch::Tensor y = network.observed(name + ".0", m_downsample[0]->as<nn::Conv2d>()->forward(x));
        return network.observed(name + ".1", m_downsample[1]->as<nn::BatchNorm2d>()->forward(y));
    }

    std::vector<nn::Conv2d> m_convolutions;
    std::vector<nn::BatchNorm2d> m_norms;
    nn::Sequential m_downsample{nullptr};
};
TORCH_MODULE(Residual);

class ResNet final : public ImageNetwork {
public:
    ResNet(const ModelConfig& model, std::int64_t channels, std::int64_t classes) {
        const bool isBottleneck = model.kind == "resnet50";
        const std::array<int, 4> depths = isBottleneck ? std::array{3, 4, 6, 3} : std::array{2, 2, 2, 2};
        m_conv1 = register_module("conv1", convolution(channels, 64, 7, 2));
        m_bn1 = register_module("bn1", nn::BatchNorm2d(64));
        std::int64_t from = 64;
        for (std::size_t layer = 0; layer < depths.size(); ++layer) {
            const std::int64_t width = std::int64_t{64} << layer;
            const auto blocks = register_module(fmt::format("layer{}", layer + 1), nn::ModuleList());
            for (int i = 0; i < depths[layer]; ++i) {
                const Residual block(isBottleneck, from, width, layer > 0 && i == 0 ? 2 : 1);
                blocks->push_back(block);
                m_blocks.emplace_back(fmt::format("layer{}.{}", layer + 1, i), block);
                from = isBottleneck ? 4 * width : width;
            }
        }
        makeLast("fc", from, classes);
        for (const auto& module : modules(false))
            if (auto* convolution = module->as<nn::Conv2d>())
                nn::init::kaiming_normal_(convolution->weight, 0, torch::kFanOut, torch::kReLU);
        project(model);
    }

    torch::Tensor forward(torch::Tensor x) override {
        x = observed("conv1", m_conv1(x));
        x = relu("bn1", observed("bn1", m_bn1(x)));
        x = torch::max_pool2d(x, 3, 2, 1);
        for (auto& [name, block] : m_blocks)
            x = block->forward(*this, name, x);
        return classified(torch::flatten(torch::adaptive_avg_pool2d(x, {1, 1}), 1));
    }

private:
    nn::Conv2d m_conv1{nullptr};
    nn::BatchNorm2d m_bn1{nullptr};
    std::vector<std::pair<std::string, Residual>> m_blocks;
};

} // namespace

std::shared_ptr<Network> makeResNet(const ModelConfig& model, const DataShape& data) {
    requireImages(model, data);
    return std::make_shared<ResNet>(model, data.input[0], data.classes);
}

} // namespace driftscope
