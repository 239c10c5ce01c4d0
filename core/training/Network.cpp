// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/Network.h"

#include <fmt/format.h>
#include <torch/torch.h>

namespace driftscope {
namespace {

namespace nn = torch::nn;

/// The network of the gradient-accumulation report.
struct CifarCnn final : Network {
    CifarCnn(std::int64_t channels, std::int64_t height, std::int64_t width, std::int64_t classes)
        : conv1(register_module("conv1", nn::Conv2d(nn::Conv2dOptions(channels, 32, 3).padding(1)))),
          fc1(register_module("fc1", nn::Linear(32 * (height / 2) * (width / 2), 128))),
          fc2(register_module("fc2", nn::Linear(128, classes))) {}

    torch::Tensor forward(torch::Tensor x) override {
        x = torch::max_pool2d(torch::relu(conv1(x)), 2);
        x = torch::relu(fc1(torch::flatten(x, 1)));
        return fc2(x);
    }

    nn::Conv2d conv1;
    nn::Linear fc1, fc2;
};

/// LeCun et al. 1998: two hidden layers of 300 and 100 units.
struct LeNet300 final : Network {
    LeNet300(std::int64_t inputs, std::int64_t classes)
        : fc1(register_module("fc1", nn::Linear(inputs, 300))),
          fc2(register_module("fc2", nn::Linear(300, 100))),
          fc3(register_module("fc3", nn::Linear(100, classes))) {}

    torch::Tensor forward(torch::Tensor x) override {
        x = torch::relu(fc1(torch::flatten(x, 1)));
        x = torch::relu(fc2(x));
        return fc3(x);
    }

    nn::Linear fc1, fc2, fc3;
};

} // namespace

std::shared_ptr<Network> makeNetwork(const std::string& kind, const ImageSet& data) {
    if (kind == "cifar_cnn") {
        if (data.height < 2 || data.width < 2)
            throw StudyError(fmt::format("cifar_cnn pools 2 × 2: images of {} × {} are too small", data.height,
                                         data.width));
        return std::make_shared<CifarCnn>(data.channels, data.height, data.width, data.classes);
    }
    if (kind == "lenet_300_100")
        return std::make_shared<LeNet300>(data.channels * data.height * data.width, data.classes);
    throw StudyError(fmt::format("model kind \"{}\" is not known", kind));
}

} // namespace driftscope
