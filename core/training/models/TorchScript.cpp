// SPDX-License-Identifier: GPL-3.0-or-later
// Any module that Python has scripted or traced, and saved.
#include "training/models/Models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/script.h>

#include <algorithm>
#include <filesystem>

namespace driftscope {
namespace {

/// What went wrong, in the one line that says it: the first, or the last where the interpreter has put the
/// module's source before it.
std::string summary(const std::exception& error) {
    const auto* ours = dynamic_cast<const c10::Error*>(&error);
    std::string text = ours ? ours->what_without_backtrace() : error.what();
    if (!text.starts_with("The following operation failed in the TorchScript interpreter"))
        return text.substr(0, text.find('\n'));
    text.erase(text.find_last_not_of('\n') + 1);
    return text.substr(text.rfind('\n') + 1);
}

/// Name and tensor of each, the first name only of a tensor that has several, as Python lists them.
template <class List>
Network::NamedTensors once(const List& list) {
    Network::NamedTensors tensors;
    for (const auto& item : list) {
        const bool isKnown = std::ranges::any_of(
            tensors, [&](const auto& known) { return known.value().is_same(item.value); });
        if (!isKnown)
            tensors.insert(item.name, item.value);
    }
    return tensors;
}

/// Its modules' outputs are out of reach: only the last is handed on, as "output".
class TorchScript final : public Network {
public:
    TorchScript(std::string path, torch::jit::Module module, std::vector<std::int64_t> input)
        : m_path(std::move(path)), m_module(std::move(module)), m_input(std::move(input)) {
        m_module.train();
    }

    torch::Tensor forward(torch::Tensor x) override {
        return observed("output", output(std::move(x)));
    }

    [[nodiscard]] NamedTensors namedParameters() const override { return once(m_module.named_parameters()); }
    [[nodiscard]] NamedTensors namedBuffers() const override { return once(m_module.named_buffers()); }

    void train(bool on = true) override {
        Network::train(on);
        m_module.train(on);
    }

private:
    torch::Tensor output(torch::Tensor x) {
        const torch::IValue value = [&] {
            try {
                return m_module.forward({std::move(x)});
            } catch (const std::exception& error) {
                throw StudyError(fmt::format("{}: the module failed on samples of shape [{}]: {}", m_path,
                                             fmt::join(m_input, ", "), summary(error)));
            }
        }();
        if (!value.isTensor())
            throw StudyError(fmt::format("{}: the module puts out a {}; allowed is one tensor, samples × classes",
                                         m_path, value.tagKind()));
        return value.toTensor();
    }

    std::string m_path;
    torch::jit::Module m_module;
    std::vector<std::int64_t> m_input;
};

} // namespace

std::shared_ptr<Network> loadTorchScript(const ModelConfig& model, const DataShape& data) {
    const std::string remedy = fmt::format("make it in Python: torch.jit.script(model).save(\"{}\")", model.path);
    if (!std::filesystem::is_regular_file(model.path))
        throw StudyError(fmt::format("{}: there is no such file; {}", model.path, remedy));
    torch::jit::Module module = [&] {
        try {
            return torch::jit::load(model.path, torch::kCPU);
        } catch (const std::exception& error) {
            throw StudyError(fmt::format("{}: not a TorchScript module ({}); {}", model.path, summary(error), remedy));
        }
    }();
    auto network = std::make_shared<TorchScript>(model.path, std::move(module), data.input);
    const auto parameters = network->namedParameters();
    if (std::ranges::none_of(parameters, [](const auto& item) { return item.value().requires_grad(); }))
        throw StudyError(fmt::format("{}: the module has no parameters to train; save it without torch.jit.freeze",
                                     model.path));
    return network;
}

} // namespace driftscope
