// SPDX-License-Identifier: GPL-3.0-or-later
// The network of the gradient-accumulation report.
#include "training/models/Layers.h"
#include "training/models/Models.h"

#include <fmt/format.h>

namespace driftscope {
namespace {

namespace nn = torch::nn;

/// conv1, max-pool, fc1, fc2; with batch_norm, bn1 behind conv1 and bn2 behind fc1.
class CifarCnn final : public ImageNetwork {
public:
    CifarCnn(const ModelConfig& model, std::int64_t channels, std::int64_t height, std::int64_t width,
             std::int64_t classes)
        : m_dropout(model.dropout) {
        m_conv1 = register_module("conv1", nn::Conv2d(nn::Conv2dOptions(channels, 32, 3).padding(1)));
        if (model.batchNorm)
            m_bn1 = register_module("bn1", nn::BatchNorm2d(32));
        m_fc1 = register_module("fc1", nn::Linear(32 * (height / 2) * (width / 2), 128));
        if (model.batchNorm)
            m_bn2 = register_module("bn2", nn::BatchNorm1d(128));
        makeLast("fc2", 128, classes);
        project(model);
    }

    torch::Tensor forward(torch::Tensor x) override {
        x = activated("conv1", m_conv1(x), "bn1", m_bn1);
        x = torch::flatten(torch::max_pool2d(x, 2), 1);
        x = activated("fc1", linear(m_fc1, x), "bn2", m_bn2);
        return classified(x);
    }

private:
    /// A layer's output behind its BatchNorm, if it has one, its ReLU and dropout.
    template <class Norm>
    torch::Tensor activated(std::string_view layer, torch::Tensor x, std::string_view normName, Norm& norm) const {
        x = observed(layer, x);
        if (norm)
            x = observed(normName, norm(x));
        return dropped(*this, relu(norm ? normName : layer, x), m_dropout);
    }

    double m_dropout;
    nn::Conv2d m_conv1{nullptr};
    nn::BatchNorm2d m_bn1{nullptr};
    nn::Linear m_fc1{nullptr};
    nn::BatchNorm1d m_bn2{nullptr};
};

} // namespace

std::shared_ptr<Network> makeCifarCnn(const ModelConfig& model, const DataShape& data) {
    requireImages(model, data);
    const std::int64_t height = data.input[1];
    const std::int64_t width = data.input[2];
    if (height < 2 || width < 2)
        throw StudyError(fmt::format("cifar_cnn pools 2 × 2: images of {} × {} are too small", height, width));
    return std::make_shared<CifarCnn>(model, data.input[0], height, width, data.classes);
}

} // namespace driftscope
