// SPDX-License-Identifier: GPL-3.0-or-later
// The built-in networks. Includes LibTorch: for core/training only.
#pragma once

#include "training/ImageSet.h"

#include <torch/nn/module.h>

#include <memory>
#include <string>

namespace driftscope {

/// A module whose parameters have the names, order and initialisation of its PyTorch original.
struct Network : torch::nn::Module {
    /// samples × channels × height × width → samples × classes
    virtual torch::Tensor forward(torch::Tensor input) = 0;
};

/// Builds the network for data of this shape, drawing its initial weights (float32, as PyTorch does)
/// from the default generator. Throws StudyError if the data does not fit it.
std::shared_ptr<Network> makeNetwork(const std::string& kind, const ImageSet& data);

} // namespace driftscope
