// SPDX-License-Identifier: GPL-3.0-or-later
// A small causal language model in the way of GPT-2.
#include "training/models/Layers.h"
#include "training/models/Models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace driftscope {
namespace {

namespace nn = torch::nn;

/// Token and position embeddings, pre-norm blocks, final norm, linear head over the vocabulary. Weights
/// are normal with standard deviation 0.02, biases 0.
class LanguageModel final : public Network {
public:
    LanguageModel(const ModelConfig& model, std::int64_t context, std::int64_t vocabulary) {
        const BlockOptions options{
            .width = model.width, .heads = model.heads, .dropout = model.dropout, .isCausal = true};
        m_tokens = register_module("token_embedding", nn::Embedding(vocabulary, model.width));
        m_positions = register_module("position_embedding", nn::Embedding(context, model.width));
        const auto blocks = register_module("blocks", nn::ModuleList());
        for (std::int64_t i = 0; i < model.depth; ++i) {
            m_blocks.emplace_back(options);
            blocks->push_back(m_blocks.back());
        }
        m_norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({model.width})));
        m_head = register_module("head", nn::Linear(model.width, vocabulary));

        for (const auto& module : modules(false)) {
            if (auto* embedding = module->as<nn::Embedding>())
                nn::init::normal_(embedding->weight, 0, 0.02);
            if (auto* linear = module->as<nn::Linear>()) {
                nn::init::normal_(linear->weight, 0, 0.02);
                nn::init::zeros_(linear->bias);
            }
        }
    }

    /// int64 samples × tokens → samples × tokens × vocabulary
    torch::Tensor forward(torch::Tensor tokens) override {
        const torch::Tensor positions = torch::arange(tokens.size(1), tokens.options());
        torch::Tensor x = observed("token_embedding", m_tokens(tokens));
        x = x + observed("position_embedding", m_positions(positions));
        for (std::size_t i = 0; i < m_blocks.size(); ++i)
            x = m_blocks[i]->forward(*this, fmt::format("blocks.{}", i), x);
        return observed("head", linear(m_head, observed("norm", m_norm(x))));
    }

private:
    nn::Embedding m_tokens{nullptr}, m_positions{nullptr};
    std::vector<TransformerBlock> m_blocks;
    nn::LayerNorm m_norm{nullptr};
    nn::Linear m_head{nullptr};
};

} // namespace

std::shared_ptr<Network> makeLanguageModel(const ModelConfig& model, const DataShape& data) {
    if (data.input.size() != 1)
        throw StudyError(fmt::format("model kind \"transformer\" needs samples that are rows of tokens; a sample of "
                                     "this data is of shape [{}]",
                                     fmt::join(data.input, ", ")));
    if (model.width % model.heads != 0)
        throw StudyError(fmt::format("width = {} is no multiple of heads = {}", model.width, model.heads));
    return std::make_shared<LanguageModel>(model, data.input[0], data.classes);
}

} // namespace driftscope
