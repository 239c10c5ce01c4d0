// SPDX-License-Identifier: GPL-3.0-or-later
// Fully connected networks; lenet_300_100 (LeCun et al. 1998) is one with 300 and 100 hidden units.
#include "training/models/Layers.h"
#include "training/models/Models.h"

#include <fmt/format.h>

#include <functional>
#include <numeric>

namespace driftscope {
namespace {

namespace nn = torch::nn;

/// Layers fc1, fc2, …; with batch_norm, bn1 behind fc1 and so on; none behind the last.
class Mlp final : public ImageNetwork {
public:
    Mlp(const ModelConfig& model, const std::vector<std::int64_t>& hidden, std::int64_t inputs, std::int64_t classes)
        : m_dropout(model.dropout) {
        for (const std::int64_t units : hidden) {
            const std::size_t number = m_layers.size() + 1;
            m_layers.push_back(register_module(fmt::format("fc{}", number), nn::Linear(inputs, units)));
            if (model.batchNorm)
                m_norms.push_back(register_module(fmt::format("bn{}", number), nn::BatchNorm1d(units)));
            inputs = units;
        }
        makeLast(fmt::format("fc{}", m_layers.size() + 1), inputs, classes);
        project(model);
    }

    torch::Tensor forward(torch::Tensor x) override {
        x = torch::flatten(x, 1);
        for (std::size_t i = 0; i < m_layers.size(); ++i) {
            std::string name = fmt::format("fc{}", i + 1);
            x = observed(name, linear(m_layers[i], x));
            if (!m_norms.empty()) {
                name = fmt::format("bn{}", i + 1);
                x = observed(name, m_norms[i](x));
            }
            x = dropped(*this, relu(name, x), m_dropout);
        }
        return classified(x);
    }

private:
    double m_dropout;
    std::vector<nn::Linear> m_layers;
    std::vector<nn::BatchNorm1d> m_norms;
};

} // namespace

std::shared_ptr<Network> makeMlp(const ModelConfig& model, const std::vector<std::int64_t>& hidden,
                                 const DataShape& data) {
    if (data.input.empty())
        throw StudyError(fmt::format("model kind \"{}\" needs samples with a shape; those of this data are single "
                                     "numbers",
                                     model.kind));
    const std::int64_t inputs =
        std::accumulate(data.input.begin(), data.input.end(), std::int64_t{1}, std::multiplies<>());
    return std::make_shared<Mlp>(model, hidden, inputs, data.classes);
}

} // namespace driftscope
