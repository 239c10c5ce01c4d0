// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/Network.h"

#include "training/models/Models.h"

#include <fmt/format.h>
#include <torch/torch.h>

namespace driftscope {

void Network::convert(const torch::Device& device, torch::ScalarType type) {
    const torch::NoGradGuard noGrad;
    for (const NamedTensors& tensors : {namedParameters(), namedBuffers()})
        for (const auto& item : tensors) {
            torch::Tensor tensor = item.value();
            tensor.set_data(tensor.is_floating_point() ? tensor.to(device, type) : tensor.to(device));
        }
}

std::shared_ptr<Network> makeNetwork(const ModelConfig& model, const DataShape& data) {
    if (model.kind == "mlp")
        return makeMlp(model, model.hidden, data);
    if (model.kind == "lenet_300_100")
        return makeMlp(model, {300, 100}, data);
    if (model.kind == "cifar_cnn")
        return makeCifarCnn(model, data);
    if (model.kind == "resnet18" || model.kind == "resnet50")
        return makeResNet(model, data);
    if (model.kind == "vit_tiny" || model.kind == "deit_small")
        return makeVisionTransformer(model, data);
    if (model.kind == "transformer")
        return makeLanguageModel(model, data);
    if (model.kind == "torchscript")
        return loadTorchScript(model, data);
    throw StudyError(fmt::format("model kind \"{}\" is not known", model.kind));
}

} // namespace driftscope
