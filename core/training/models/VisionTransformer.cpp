// SPDX-License-Identifier: GPL-3.0-or-later
// Dosovitskiy et al. 2020 and Touvron et al. 2020 as timm writes them: its names and initialisation.
#include "training/models/Layers.h"
#include "training/models/Models.h"

#include <fmt/format.h>

namespace driftscope {
namespace {

namespace nn = torch::nn;

constexpr std::int64_t depth = 12;

std::int64_t patchSize(const DataShape& data) { return data.input[1] >= 64 ? 16 : 4; }

/// A convolution that makes one vector of each patch.
class PatchEmbeddingImpl : public nn::Module {
public:
    PatchEmbeddingImpl(std::int64_t channels, std::int64_t width, std::int64_t patch)
        : m_proj(register_module("proj", nn::Conv2d(nn::Conv2dOptions(channels, width, patch).stride(patch)))) {}

    /// samples × channels × height × width → samples × patches × width
    torch::Tensor forward(const Network& network, const std::string& name, const torch::Tensor& x) {
        return network.observed(name + ".proj", m_proj(x)).flatten(2).transpose(1, 2);
    }

private:
    nn::Conv2d m_proj;
};
TORCH_MODULE(PatchEmbedding);

class VisionTransformer final : public ImageNetwork {
public:
    VisionTransformer(const ModelConfig& model, const DataShape& data) {
        const bool isTiny = model.kind == "vit_tiny";
        const std::int64_t width = isTiny ? 192 : 384;
        const std::int64_t patch = patchSize(data);
        const std::int64_t patches = (data.input[1] / patch) * (data.input[2] / patch);
        const BlockOptions options{.width = width, .heads = isTiny ? 3 : 6, .dropout = model.dropout, .eps = 1e-6};
        m_patches = register_module("patch_embed", PatchEmbedding(data.input[0], width, patch));
        m_classToken = register_parameter("cls_token", torch::zeros({1, 1, width}));
        m_positions = register_parameter("pos_embed", torch::randn({1, patches + 1, width}) * 0.02);
        const auto blocks = register_module("blocks", nn::ModuleList());
        for (std::int64_t i = 0; i < depth; ++i) {
            m_blocks.emplace_back(options);
            blocks->push_back(m_blocks.back());
        }
        m_norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({width}).eps(options.eps)));
        makeLast("head", width, data.classes);

        truncatedNormal(m_positions, 0.02);
        nn::init::normal_(m_classToken, 0, 1e-6);
        for (const auto& module : modules(false))
            if (auto* linear = module->as<nn::Linear>())
                truncatedNormal(*linear);
        project(model);
    }

    torch::Tensor forward(torch::Tensor x) override {
        x = m_patches->forward(*this, "patch_embed", x);
        x = torch::cat({m_classToken.expand({x.size(0), -1, -1}), x}, 1) + m_positions;
        for (std::size_t i = 0; i < m_blocks.size(); ++i)
            x = m_blocks[i]->forward(*this, fmt::format("blocks.{}", i), x);
        x = observed("norm", m_norm(x));
        return classified(x.select(1, 0));
    }

private:
    PatchEmbedding m_patches{nullptr};
    torch::Tensor m_classToken, m_positions;
    std::vector<TransformerBlock> m_blocks;
    nn::LayerNorm m_norm{nullptr};
};

} // namespace

std::shared_ptr<Network> makeVisionTransformer(const ModelConfig& model, const DataShape& data) {
    requireImages(model, data);
    const std::int64_t patch = patchSize(data);
    if (data.input[1] % patch != 0 || data.input[2] % patch != 0)
        throw StudyError(fmt::format("{} cuts images into patches of {} × {}: {} × {} pixels are no multiple of that; "
                                     "pad them with shape in [data]",
                                     model.kind, patch, patch, data.input[1], data.input[2]));
    return std::make_shared<VisionTransformer>(model, data);
}

} // namespace driftscope
