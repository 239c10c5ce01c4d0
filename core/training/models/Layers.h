// SPDX-License-Identifier: GPL-3.0-or-later
// Pieces that several networks share. A layer's forward takes the network, which it tells of every
// module's output, and its own name in it.
#pragma once

#include "training/Network.h"

#include <torch/torch.h>

namespace driftscope {

/// Throws StudyError unless samples are channels × height × width.
void requireImages(const ModelConfig& model, const DataShape& data);

/// Fills the tensor from N(0, std²) cut off at ±2, by the arithmetic of torch.nn.init.trunc_normal_.
void truncatedNormal(torch::Tensor tensor, double std);

/// Weight truncated-normal with standard deviation 0.02, bias 0.
void truncatedNormal(torch::nn::LinearImpl& linear);

/// x with each unit dropped with probability p, in training mode.
torch::Tensor dropped(const Network& network, const torch::Tensor& x, double p);

/// samples … × in → samples … × out, as Python's F.linear. Not layer(x): for more than two dimensions
/// LibTorch's C++ layer adds the bias behind the product, where Python's fused one rounds differently.
torch::Tensor linear(const torch::nn::Linear& layer, const torch::Tensor& x);

/// Takes the place of an image network's last layer: an optional LayerNorm without affine parameters
/// (not a registered module: it has nothing to train), `linear` and `last_layer`.
class ProjectionHeadImpl : public torch::nn::Module {
public:
    ProjectionHeadImpl(const ModelConfig& model, std::int64_t features, std::int64_t classes);
    /// samples × features → samples × classes
    torch::Tensor forward(const Network& network, const std::string& name, torch::Tensor x);

private:
    bool m_hasNorm;
    std::int64_t m_features;
    torch::nn::Linear m_linear, m_lastLayer;
};
TORCH_MODULE(ProjectionHead);

/// A network for images whose last layer a projection head can replace.
class ImageNetwork : public Network {
protected:
    /// To be called when all before it is registered: the linear layer features → classes.
    void makeLast(const std::string& name, std::int64_t features, std::int64_t classes);
    /// To be called when the network is initialised: replaces the last layer by a projection head named
    /// "head" where the configuration asks for one, seeding the default generator before if it says so.
    void project(const ModelConfig& model);
    /// samples × features → samples × classes
    torch::Tensor classified(const torch::Tensor& features);

private:
    std::string m_lastName;
    torch::nn::Linear m_last{nullptr};
    ProjectionHead m_head{nullptr};
};

struct BlockOptions {
    std::int64_t width, heads;
    double dropout = 0;   ///< behind the attention's projection and both layers of the mlp, as timm's proj_drop
    double eps = 1e-5;    ///< of the LayerNorms
    bool isCausal = false; ///< a token sees none behind it
};

/// Multi-head self-attention in plain matrix products and softmax.
class AttentionImpl : public torch::nn::Module {
public:
    explicit AttentionImpl(const BlockOptions& options);
    /// samples × tokens × width → the same
    torch::Tensor forward(const Network& network, const std::string& name, const torch::Tensor& x);

private:
    BlockOptions m_options;
    torch::nn::Linear m_qkv, m_proj;
};
TORCH_MODULE(Attention);

/// width → 4 · width, GELU → width, token by token.
class FeedForwardImpl : public torch::nn::Module {
public:
    explicit FeedForwardImpl(const BlockOptions& options);
    /// samples × tokens × width → the same
    torch::Tensor forward(const Network& network, const std::string& name, torch::Tensor x);

private:
    double m_dropout;
    torch::nn::Linear m_fc1, m_fc2;
};
TORCH_MODULE(FeedForward);

/// A transformer's pre-norm block: x + attn(norm1(x)), then x + mlp(norm2(x)).
class TransformerBlockImpl : public torch::nn::Module {
public:
    explicit TransformerBlockImpl(const BlockOptions& options);
    /// samples × tokens × width → the same
    torch::Tensor forward(const Network& network, const std::string& name, torch::Tensor x);

private:
    torch::nn::LayerNorm m_norm1;
    Attention m_attn;
    torch::nn::LayerNorm m_norm2;
    FeedForward m_mlp;
};
TORCH_MODULE(TransformerBlock);

} // namespace driftscope
