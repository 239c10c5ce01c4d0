// SPDX-License-Identifier: GPL-3.0-or-later
// The networks. Includes LibTorch: for core/training only.
#pragma once

#include "study/RunConfig.h"

#include <torch/nn/module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace driftscope {

/// A module whose parameters have the names, order and initialisation of its PyTorch original.
struct Network : torch::nn::Module {
    /// samples × shape of an input → samples × classes (transformer: samples × tokens × classes)
    virtual torch::Tensor forward(torch::Tensor input) = 0;

    /// Told of what a module puts out, in the order of execution, where somebody listens.
    using Listener = std::function<void(std::string_view module, const torch::Tensor& output)>;
    Listener onActivation;
    /// The same for ReLUs, by the name of the module whose output they take.
    Listener onRelu;

protected:
    /// Hands on the output of a module and returns it.
    torch::Tensor observed(std::string_view module, torch::Tensor output) const {
        if (onActivation)
            onActivation(module, output);
        return output;
    }
    /// relu(input), which the module of that name has put out.
    torch::Tensor relu(std::string_view module, const torch::Tensor& input) const {
        torch::Tensor output = torch::relu(input);
        if (onRelu)
            onRelu(module, output);
        return output;
    }
};

/// What a network must know of the data it is made for.
struct DataShape {
    std::vector<std::int64_t> input; ///< of one sample: channels, height, width; or its tokens
    std::int64_t classes = 0;        ///< outputs: classes, the vocabulary, or the size of a real target
};

/// Builds the network for data of this shape, drawing its initial weights (float32, as PyTorch does)
/// from the default generator. Throws StudyError if the data does not fit it.
std::shared_ptr<Network> makeNetwork(const ModelConfig& model, const DataShape& data);

} // namespace driftscope
