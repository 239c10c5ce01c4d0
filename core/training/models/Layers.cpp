// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/models/Layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

namespace driftscope {

namespace nn = torch::nn;

void requireImages(const ModelConfig& model, const DataShape& data) {
    if (data.input.size() != 3)
        throw StudyError(fmt::format("model kind \"{}\" needs images, channels × height × width; a sample of this "
                                     "data is of shape [{}]: use mlp",
                                     model.kind, fmt::join(data.input, ", ")));
}

void truncatedNormal(torch::Tensor tensor, double std) {
    const torch::NoGradGuard noGrad;
    const auto cumulative = [](double x) { return (1.0 + std::erf(x / std::sqrt(2.0))) / 2.0; };
    const double lower = cumulative(-2.0 / std);
    const double upper = cumulative(2.0 / std);
    tensor.uniform_(2 * lower - 1, 2 * upper - 1).erfinv_().mul_(std * std::sqrt(2.0)).add_(0.0).clamp_(-2.0, 2.0);
}

void truncatedNormal(nn::LinearImpl& linear) {
    truncatedNormal(linear.weight, 0.02);
    nn::init::zeros_(linear.bias);
}

torch::Tensor dropped(const Network& network, const torch::Tensor& x, double p) {
    torch::Tensor output = torch::dropout(x, p, network.is_training());
    return p > 0 && network.onPassed ? network.onPassed("dropout", std::move(output)) : output;
}

torch::Tensor linear(const nn::Linear& layer, const torch::Tensor& x) {
    return torch::linear(x, layer->weight, layer->bias);
}

ProjectionHeadImpl::ProjectionHeadImpl(const ModelConfig& model, std::int64_t features, std::int64_t classes)
    : m_hasNorm(model.projectionNorm), m_features(features),
      m_linear(register_module("linear", nn::Linear(features, model.projection))),
      m_lastLayer(register_module("last_layer", nn::Linear(model.projection, classes))) {
    truncatedNormal(*m_linear);
    truncatedNormal(*m_lastLayer);
}

torch::Tensor ProjectionHeadImpl::forward(const Network& network, const std::string& name, torch::Tensor x) {
    if (m_hasNorm)
        x = network.observed(name + ".norm", torch::layer_norm(x, {m_features}));
    x = network.observed(name + ".linear", linear(m_linear, x));
    return network.observed(name + ".last_layer", linear(m_lastLayer, x));
}

void ImageNetwork::makeLast(const std::string& name, std::int64_t features, std::int64_t classes) {
    m_lastName = name;
    m_last = register_module(name, nn::Linear(features, classes));
}

void ImageNetwork::project(const ModelConfig& model) {
    if (model.projection == 0)
        return;
    if (model.headSeed)
        torch::manual_seed(static_cast<std::uint64_t>(*model.headSeed));
    unregister_module(m_lastName);
    m_head = register_module("head", ProjectionHead(model, m_last->options.in_features(), m_last->options.out_features()));
    m_last = nullptr;
}

torch::Tensor ImageNetwork::classified(const torch::Tensor& features) {
    return m_head ? m_head->forward(*this, "head", features) : observed(m_lastName, linear(m_last, features));
}

AttentionImpl::AttentionImpl(const BlockOptions& options)
    : m_options(options), m_qkv(register_module("qkv", nn::Linear(options.width, 3 * options.width))),
      m_proj(register_module("proj", nn::Linear(options.width, options.width))) {}

torch::Tensor AttentionImpl::forward(const Network& network, const std::string& name, const torch::Tensor& x) {
    const std::int64_t samples = x.size(0);
    const std::int64_t tokens = x.size(1);
    const std::int64_t size = m_options.width / m_options.heads;
    const auto qkv = network.observed(name + ".qkv", linear(m_qkv, x))
                         .reshape({samples, tokens, 3, m_options.heads, size})
                         .permute({2, 0, 3, 1, 4})
                         .unbind(0);
    const torch::Tensor query = qkv[0] * (1.0 / std::sqrt(static_cast<double>(size)));
    torch::Tensor scores = torch::matmul(query, qkv[1].transpose(-2, -1));
    if (m_options.isCausal) {
        const torch::Tensor future = torch::ones({tokens, tokens}, x.options().dtype(torch::kBool)).triu(1);
        scores = scores.masked_fill(future, -std::numeric_limits<double>::infinity());
    }
    torch::Tensor y = torch::matmul(torch::softmax(scores, -1), qkv[2]);
    y = y.transpose(1, 2).reshape({samples, tokens, m_options.width});
    y = network.observed(name + ".proj", linear(m_proj, y));
    return network.observed(name, dropped(network, y, m_options.dropout));
}

FeedForwardImpl::FeedForwardImpl(const BlockOptions& options)
    : m_dropout(options.dropout), m_fc1(register_module("fc1", nn::Linear(options.width, 4 * options.width))),
      m_fc2(register_module("fc2", nn::Linear(4 * options.width, options.width))) {}

torch::Tensor FeedForwardImpl::forward(const Network& network, const std::string& name, torch::Tensor x) {
    x = torch::gelu(network.observed(name + ".fc1", linear(m_fc1, x)));
    x = dropped(network, x, m_dropout);
    x = network.observed(name + ".fc2", linear(m_fc2, x));
    return dropped(network, x, m_dropout);
}

TransformerBlockImpl::TransformerBlockImpl(const BlockOptions& options)
    : m_norm1(register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({options.width}).eps(options.eps)))),
      m_attn(register_module("attn", Attention(options))),
      m_norm2(register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({options.width}).eps(options.eps)))),
      m_mlp(register_module("mlp", FeedForward(options))) {}

torch::Tensor TransformerBlockImpl::forward(const Network& network, const std::string& name, torch::Tensor x) {
    x = x + m_attn->forward(network, name + ".attn", network.observed(name + ".norm1", m_norm1(x)));
    x = x + m_mlp->forward(network, name + ".mlp", network.observed(name + ".norm2", m_norm2(x)));
    return network.observed(name, x);
}

} // namespace driftscope
