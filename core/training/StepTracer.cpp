// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/StepTracer.h"

#include "training/ActivationCapture.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/record_function.h>
#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace driftscope {
namespace {

bool passesThroughNetwork(Phase phase) {
    return phase == Phase::Batch || phase == Phase::Forward || phase == Phase::Loss || phase == Phase::Backward;
}

/// A thread's dropout comes behind the module that it has run last.
std::string nameOfOutput(std::string_view module) {
    static thread_local std::string last;
    if (module != "dropout")
        return last = module;
    return last.empty() ? "dropout" : last + ".dropout";
}

} // namespace

StepTracer::StepTracer(const TraceRequest& request)
    : m_request(request), m_writer(request.file, request.limitBytes),
      m_operators(request.keptOperator, [this](std::span<const std::byte> values) {
          const std::lock_guard held(m_mutex);
          return m_writer.keep(values, false);
      }) {
    m_trace.step = request.step;
    if (!request.replayOf.empty())
        m_replayed.emplace(request.replayOf);
}

void StepTracer::beginInitialisation() {
    if (m_request.step > 0 || !m_request.hasOperators)
        return;
    m_operators.enter(Phase::Init);
    m_operators.start();
}

void StepTracer::endInitialisation() { m_operators.stop(); }

void StepTracer::begin(const Batch& batch, Network& network, std::set<std::string> unbatched) {
    m_unbatched = std::move(unbatched);
    m_trace.sampleIds = batch.ids;
    m_trace.generator = traced("", at::detail::getDefaultCPUGenerator().get_state()).digest;
    addSamples(Phase::Batch, "inputs", 0, batch.inputs, true);
    addSamples(Phase::Batch, "targets", 0, batch.targets, true);
    network.onPassed = [this](std::string_view module, torch::Tensor output) {
        return passed(module, std::move(output));
    };
    network.onRelu = [this](std::string_view module, const torch::Tensor&) {
        const std::lock_guard held(m_mutex);
        if (std::ranges::find(m_trace.reluModules, module) == m_trace.reluModules.end())
            m_trace.reluModules.emplace_back(module);
    };
    if (m_request.hasOperators)
        m_operators.start();
}

torch::Tensor StepTracer::mask(std::int64_t first, std::int64_t size) const {
    if (m_request.onlySamples.empty())
        return {};
    torch::Tensor mask = torch::zeros({size});
    for (std::int64_t i = 0; i < size; ++i)
        if (std::ranges::find(m_request.onlySamples, m_trace.sampleIds[static_cast<std::size_t>(first + i)]) !=
            m_request.onlySamples.end())
            mask[i] = 1;
    return mask;
}

void StepTracer::beginPart(std::int64_t first, std::int64_t size) {
    m_trace.parts.push_back({first, size});
    enter(Phase::Forward);
}

void StepTracer::addLoss(std::int64_t first, const torch::Tensor& mean, const torch::Tensor& weighted) {
    addSamples(Phase::Loss, "mean", first, mean, false);
    addSamples(Phase::Loss, "weighted", first, weighted, false);
}

void StepTracer::endPasses(
    Network& network, std::vector<double> sampleWeights,
    const std::function<torch::Tensor(const torch::Tensor& output, std::int64_t first)>& lossesOf) {
    m_operators.stop();
    network.onPassed = nullptr;
    network.onRelu = nullptr;
    m_trace.sampleWeights = std::move(sampleWeights);
    if (!isReplay())
        for (const auto& [first, output] : m_outputs)
            addSamples(Phase::Loss, "sample_loss", first, lossesOf(output, first), true);
    m_outputs.clear();
    // before the means, which other micro-batches take over other samples
    std::ranges::stable_partition(m_trace.of(Phase::Loss),
                                  [](const TracedTensor& tensor) { return tensor.name == "sample_loss"; });
}

void StepTracer::enter(Phase phase) {
    m_operators.enter(phase);
    if (phase == Phase::Update && m_request.hasOperators)
        m_operators.start();
    if (phase == Phase::Weights)
        m_operators.stop();
}

void StepTracer::add(Phase phase, std::string name, const torch::Tensor& tensor) {
    const std::lock_guard held(m_mutex);
    const bool isKept = phase != Phase::Init || m_request.step == 0; // later ones are the weights of the step before
    m_trace.of(phase).push_back(traced(std::move(name), tensor, [&](std::span<const std::byte> values) {
        return isKept ? m_writer.keep(values, passesThroughNetwork(phase)) : -1;
    }));
}

void StepTracer::addSamples(Phase phase, const std::string& name, std::int64_t first, const torch::Tensor& tensor,
                            bool areRowsSamples) {
    const std::lock_guard held(m_mutex);
    std::vector<Digest> samples;
    TracedTensor part = traced(name, tensor, [&](std::span<const std::byte> values) {
        const std::size_t rows = areRowsSamples && tensor.dim() > 0 ? static_cast<std::size_t>(tensor.size(0)) : 0;
        for (std::size_t i = 0; i < rows; ++i)
            samples.push_back(digestOf(values.subspan(i * (values.size() / rows), values.size() / rows)));
        return m_writer.keep(values, passesThroughNetwork(phase));
    });
    part.samples = std::move(samples);
    part.first = first;
    m_trace.of(phase).push_back(std::move(part));
}

void StepTracer::add(Phase phase, std::span<const std::string> names, std::span<const torch::Tensor> tensors) {
    for (std::size_t i = 0; i < names.size(); ++i)
        add(phase, names[i], tensors[i]);
}

void StepTracer::addGradients(std::span<const std::string> names, std::span<const torch::Tensor> parameters) {
    for (std::size_t i = 0; i < names.size(); ++i)
        if (parameters[i].grad().defined())
            add(Phase::Gradient, names[i], parameters[i].grad());
}

void StepTracer::addOptimizerState(std::span<const std::string> names, const Optimizer& optimizer) {
    for (const Optimizer::State& state : optimizer.state())
        if (state.value.defined())
            add(Phase::Update, fmt::format("{}/{}", names[state.parameter], state.name), state.value);
}

torch::Tensor StepTracer::passed(std::string_view module, torch::Tensor output) {
    const at::DisableRecordFunctionGuard noRecord;
    const std::int64_t first = ActivationCapture::position();
    std::string name = nameOfOutput(module);
    bool areRowsSamples = false;
    {
        const std::lock_guard held(m_mutex);
        areRowsSamples = !m_unbatched.contains(name);
        if (const int times = ++m_times[{name, first}]; times > 1)
            name += fmt::format("#{}", times);
        m_outputs[first] = output.detach();
    }
    m_operators.passed(name);
    addSamples(Phase::Forward, name, first, output, areRowsSamples);
    if (isReplay())
        return replacement(name, first, output);
    if (output.requires_grad())
        output.register_hook([this, name, first, areRowsSamples](const torch::Tensor& gradient) {
            const at::DisableRecordFunctionGuard quietly;
            m_operators.reached(name);
            addSamples(Phase::Backward, name, first, gradient, areRowsSamples);
        });
    return output;
}

/// The other run's output of the same samples, where it has kept them all; else the output itself.
torch::Tensor StepTracer::replacement(const std::string& module, std::int64_t first,
                                      const torch::Tensor& output) const {
    const Trace& theirs = m_replayed->trace();
    const auto typed = [&](const TracedTensor& part, const std::vector<std::byte>& values, at::IntArrayRef sizes) {
        const auto type = floatTypeNamed(part.dtype);
        const torch::Tensor plain = torch::empty(sizes, type == DType::Float64    ? torch::kFloat64
                                                        : type == DType::Float16  ? torch::kFloat16
                                                        : type == DType::BFloat16 ? torch::kBFloat16
                                                                                  : torch::kFloat32);
        if (!type || plain.nbytes() != values.size())
            return torch::Tensor();
        std::memcpy(plain.data_ptr(), values.data(), values.size());
        return plain;
    };
    // strides as the network has made them: they choose the kernels that come next
    const torch::NoGradGuard noGradient;
    const torch::Tensor result = torch::empty_like(output);
    if (m_unbatched.contains(module)) {
        const auto part = std::ranges::find(theirs.of(Phase::Forward), module, &TracedTensor::name);
        if (part == theirs.of(Phase::Forward).end() || !part->isKept())
            return output;
        const torch::Tensor values = typed(*part, m_replayed->values(*part), output.sizes());
        return values.defined() ? result.copy_(values) : output;
    }
    std::vector<const TracedTensor*> parts;
    for (const TracedTensor& part : theirs.of(Phase::Forward))
        if (part.name == module && part.isKept())
            parts.push_back(&part);
    for (std::int64_t row = 0; row < output.size(0); ++row) {
        const std::int64_t id = m_trace.sampleIds[static_cast<std::size_t>(first + row)];
        torch::Tensor values;
        for (const TracedTensor* part : parts) {
            const auto ids = std::span(theirs.sampleIds).subspan(static_cast<std::size_t>(part->first));
            const auto sample = static_cast<std::size_t>(std::ranges::find(ids, id) - ids.begin());
            if (sample < part->samples.size())
                values = typed(*part, m_replayed->sampleValues(*part, sample), output.sizes().slice(1));
        }
        if (!values.defined())
            return output;
        result[row].copy_(values);
    }
    return result;
}

void StepTracer::finish() {
    m_trace.operators = m_operators.take();
    m_writer.finish(std::move(m_trace));
}

} // namespace driftscope
