// SPDX-License-Identifier: GPL-3.0-or-later
// The networks. Includes LibTorch: for core/training only.
#pragma once

#include "study/RunConfig.h"

#include <torch/nn/module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace driftscope {

/// A module whose parameters have the names, order and initialisation of its PyTorch original.
struct Network : torch::nn::Module {
    using NamedTensors = torch::OrderedDict<std::string, torch::Tensor>;

    /// samples × shape of an input → samples × classes (transformer: samples × tokens × classes)
    virtual torch::Tensor forward(torch::Tensor input) = 0;

    /// Parameters by their names in PyTorch and in its order. Read these, not named_parameters(): a
    /// TorchScript module's are not registered here, for LibTorch allows no dot in a registered name.
    [[nodiscard]] virtual NamedTensors namedParameters() const { return named_parameters(); }
    /// The same for buffers: BatchNorm's statistics.
    [[nodiscard]] virtual NamedTensors namedBuffers() const { return named_buffers(); }

    /// Moves parameters and buffers in place, and gives real-valued ones the type, as Python's
    /// Module.to does: counters stay integers.
    void convert(const torch::Device& device, torch::ScalarType type);

    /// Told of what a module puts out, in the order of execution, where somebody listens.
    using Listener = std::function<void(std::string_view module, const torch::Tensor& output)>;
    Listener onActivation;
    /// The same for ReLUs, by the name of the module whose output they take; for the ReLU at the end of
    /// a residual block, which takes a sum, by the block's name.
    Listener onRelu;
    /// Told of the same outputs, and of dropout's, as "dropout". The network goes on with what it returns.
    using Substitute = std::function<torch::Tensor(std::string_view module, torch::Tensor output)>;
    Substitute onPassed;

    /// For the network's layers: hands on the output of a module and returns it.
    torch::Tensor observed(std::string_view module, torch::Tensor output) const {
        if (onActivation)
            onActivation(module, output);
        return onPassed ? onPassed(module, std::move(output)) : output;
    }
    /// For the network's layers: relu(input), which the module of that name has put out.
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

/// Builds the network for data of this shape, in training mode, drawing its initial weights (float32 on
/// the CPU, as PyTorch does) from the default generator. Throws StudyError if the data does not fit it,
/// or a TorchScript file cannot be read.
std::shared_ptr<Network> makeNetwork(const ModelConfig& model, const DataShape& data);

} // namespace driftscope
