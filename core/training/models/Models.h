// SPDX-License-Identifier: GPL-3.0-or-later
// The families of networks that makeNetwork chooses from; a file for each.
#pragma once

#include "training/Network.h"

namespace driftscope {

std::shared_ptr<Network> makeMlp(const ModelConfig& model, const std::vector<std::int64_t>& hidden,
                                 const DataShape& data);
std::shared_ptr<Network> makeCifarCnn(const ModelConfig& model, const DataShape& data);
std::shared_ptr<Network> makeResNet(const ModelConfig& model, const DataShape& data);
std::shared_ptr<Network> makeVisionTransformer(const ModelConfig& model, const DataShape& data);
std::shared_ptr<Network> makeLanguageModel(const ModelConfig& model, const DataShape& data);
std::shared_ptr<Network> loadTorchScript(const ModelConfig& model, const DataShape& data);

} // namespace driftscope
