// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/Recorder.h"

#include "analysis/RowMeasurement.h"
#include "recording/RowStream.h"
#include "training/Hardware.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <numeric>
#include <thread>

namespace driftscope {
namespace {

std::span<const std::byte> bytesOf(const torch::Tensor& contiguousOnCpu) {
    return {static_cast<const std::byte*>(contiguousOnCpu.data_ptr()), contiguousOnCpu.nbytes()};
}

std::vector<std::uint64_t> shapeOf(const torch::Tensor& tensor) {
    const auto sizes = tensor.sizes();
    return {sizes.begin(), sizes.end()};
}

template <class T>
TensorValues kept(std::vector<T> numbers) {
    auto owner = std::make_shared<std::vector<T>>(std::move(numbers));
    return {std::as_bytes(std::span(*owner)), owner};
}

/// All ones: a NaN in every float type.
TensorValues missing(std::size_t bytes) { return kept(std::vector(bytes, std::byte{0xFF})); }

/// numpy.packbits of output > 0.
std::vector<std::uint8_t> packedSigns(const torch::Tensor& output) {
    const torch::Tensor isOn = output.gt(0).to(torch::kCPU).contiguous().flatten();
    const bool* on = isOn.data_ptr<bool>();
    const auto count = static_cast<std::size_t>(isOn.numel());
    std::vector<std::uint8_t> packed((count + 7) / 8);
    for (std::size_t i = 0; i < count; ++i)
        if (on[i])
            packed[i / 8] |= static_cast<std::uint8_t>(0x80U >> (i % 8));
    return packed;
}

/// 1, 2, 5, 10, 20, 50, … up to the last step.
std::vector<std::int64_t> logarithmicSteps(std::int64_t last) {
    std::vector<std::int64_t> steps;
    for (std::int64_t decade = 1; decade <= last; decade *= 10)
        for (const std::int64_t factor : {1, 2, 5})
            steps.push_back(decade * factor);
    return steps;
}

/// Of the state of the generator that a network on this device draws from.
Digest digestOfGenerator(const torch::Device& device) {
    at::Generator generator = at::globalContext().defaultGenerator(device);
    const std::lock_guard held(generator.mutex());
    return digestOf(bytesOf(generator.get_state().contiguous()));
}

/// A forward pass that changes nothing: no gradients, no draws, no batch statistics.
class Quietly {
public:
    explicit Quietly(Network& network) : m_network(network) { m_network.eval(); }
    ~Quietly() {
        m_network.train();
        m_network.onActivation = nullptr;
        m_network.onRelu = nullptr;
    }
    Quietly(const Quietly&) = delete;
    Quietly& operator=(const Quietly&) = delete;

private:
    Network& m_network;
    torch::NoGradGuard m_noGradient;
};

} // namespace

DType dtypeOf(torch::ScalarType type) {
    switch (type) {
    case torch::kFloat64: return DType::Float64;
    case torch::kFloat16: return DType::Float16;
    case torch::kBFloat16: return DType::BFloat16;
    default: return DType::Float32;
    }
}

namespace {

/// A copy on its way from a GPU into pinned memory, behind whatever its stream computes: nobody waits for it but
/// who reads it, and the next update, on the same stream, comes after it.
struct CopyFromGpu {
    explicit CopyFromGpu(const torch::Tensor& tensor)
        : host(torch::empty(tensor.sizes(), tensor.options().device(torch::kCPU).pinned_memory(true))),
          copied(tensor.device().type()) {
        host.copy_(tensor.detach(), /*non_blocking=*/true);
        copied.record(c10::impl::VirtualGuardImpl(tensor.device().type()).getStream(tensor.device()));
    }
    torch::Tensor host;
    c10::Event copied;
};

} // namespace

TensorValues valuesOf(const torch::Tensor& tensor) {
    if (tensor.is_cuda()) {
        auto copy = std::make_shared<CopyFromGpu>(tensor);
        return {bytesOf(copy->host), copy, [copy] {
                    while (!copy->copied.query())
                        std::this_thread::sleep_for(std::chrono::microseconds(50));
                }};
    }
    auto owner = std::make_shared<torch::Tensor>(tensor.detach().to(torch::kCPU).contiguous());
    return {bytesOf(*owner), owner};
}

std::vector<std::int64_t> recordedSteps(const RecordConfig& config, std::int64_t steps) {
    std::vector<std::int64_t> wanted;
    if (config.isLogarithmic)
        wanted = logarithmicSteps(steps);
    else if (!config.steps.empty())
        wanted = config.steps;
    else
        for (std::int64_t step = config.every; step < steps; step += config.every)
            wanted.push_back(step);
    std::vector<std::int64_t> recorded{0};
    for (const std::int64_t step : wanted)
        if (step > 0 && step < steps)
            recorded.push_back(step);
    if (steps > 0)
        recorded.push_back(steps);
    return recorded;
}

Recorder::Recorder(const std::filesystem::path& file, Recorded recorded, std::int64_t steps,
                   const std::optional<ReferenceReplay>& replay)
    : m_recorded(std::move(recorded)), m_steps(recordedSteps(m_recorded.config.record, steps)) {
    for (std::size_t i = 0; i < m_recorded.parameters.size(); ++i)
        m_tensors.push_back({m_recorded.names[i], dtypeOf(m_recorded.parameters[i].scalar_type()),
                             shapeOf(m_recorded.parameters[i])});
    if (replay) {
        m_reference.emplace(replay->file);
        if (!std::ranges::equal(m_reference->parameters(), m_tensors, {}, &TensorInfo::name, &TensorInfo::name) ||
            !std::ranges::equal(m_reference->parameters(), m_tensors, {}, &TensorInfo::shape, &TensorInfo::shape))
            throw RecordingError(fmt::format("{}: has other tensors than this run: they can't be compared",
                                             replay->file.string()));
        m_stream.emplace(replay->stream, m_reference->parameters(), m_reference->steps());
    }
    planOptimizerState();
    planRandomStates();
    planActivationsAndSigns(steps);
    // without a file the size alone is asked for
    if (m_reference || (file.empty() && m_recorded.config.record.weights == "metrics" && !m_recorded.config.isReference))
        planMetrics();
    const RunSchema planned = schema();
    m_recordedBytes = valueBytes(planned);
    if (!file.empty())
        m_writer = std::make_unique<RunWriter>(file, planned);
}

RunSchema Recorder::schema() const {
    auto environment = nlohmann::ordered_json::parse(environmentFingerprint());
    environment["data"] = m_recorded.source.data().description;
    return {m_recorded.config, environment.dump(), m_steps, m_tensors, m_extras,
            m_reference ? m_reference->runId() : ""};
}

void Recorder::planOptimizerState() {
    if (m_recorded.config.record.optimizer == "full")
        for (const Optimizer::State& state : m_recorded.optimizer.state())
            m_extras.push_back({fmt::format("/optimizer/{}/{}", m_recorded.names[state.parameter], state.name),
                                m_tensors[state.parameter].dtype, m_tensors[state.parameter].shape, {}});
}

void Recorder::planRandomStates() {
    m_firstRandom = m_extras.size();
    for (const char* moment : {"before_forward", "after_backward"})
        m_extras.push_back({fmt::format("/digest/random/{}", moment), DType::UInt64, {2}, {}});
    m_firstActivation = m_firstRelu = m_extras.size();
}

/// Runs the network once to see what it puts out.
void Recorder::planActivationsAndSigns(std::int64_t steps) {
    const RecordConfig& record = m_recorded.config.record;
    const std::vector<std::int64_t>& activationSteps = record.activations;
    for (const std::int64_t step : activationSteps)
        if (!isRecorded(step))
            throw StudyError(fmt::format("activations = {}: step {} is not one of the recorded steps, 0 to {}",
                                         toText(record.activations), step, steps));
    if (activationSteps.empty() && record.reluProbe == 0)
        return;
    const Quietly quietly(m_recorded.network);
    const auto probe = [&](std::int64_t samples) {
        std::vector<std::int64_t> ids(static_cast<std::size_t>(std::min(samples, m_recorded.source.data().samples)));
        std::iota(ids.begin(), ids.end(), std::int64_t{0});
        return m_recorded.source.makePlain(std::move(ids)).inputs.to(m_recorded.device);
    };
    if (!activationSteps.empty()) {
        ActivationCapture one;
        m_recorded.network.onActivation = [&](std::string_view module, const torch::Tensor& output) {
            one.add(module, output);
        };
        m_recorded.forward(probe(1));
        m_recorded.network.onActivation = nullptr;
        for (const auto& [module, output] : one.take()) {
            std::vector<std::uint64_t> shape = shapeOf(output);
            if (shape.empty() || shape[0] != 1) { // not of samples, as an embedding of positions
                m_unbatched.insert(module);
                continue;
            }
            shape[0] = static_cast<std::uint64_t>(m_recorded.config.train.batch);
            m_extras.push_back({"/activations/" + module, dtypeOf(output.scalar_type()), shape, activationSteps});
        }
    }
    m_firstRelu = m_extras.size();
    if (record.reluProbe > 0) {
        m_probe = probe(record.reluProbe);
        m_recorded.network.onRelu = [&](std::string_view module, const torch::Tensor& output) {
            m_extras.push_back({fmt::format("/relu/{}", module), DType::UInt8,
                                {static_cast<std::uint64_t>(output.numel() + 7) / 8}, {},
                                static_cast<std::uint64_t>(output.numel())});
        };
        m_recorded.forward(m_probe);
    }
}

void Recorder::planMetrics() {
    m_firstMetric = m_extras.size();
    const std::uint64_t scopes = scopesOf(m_tensors).size();
    for (const MetricInfo& metric : metrics())
        m_extras.push_back({fmt::format("/comparison/{}", metric.key), DType::Float64, {scopes}, {}});
    m_extras.push_back({"/comparison/ulp_histogram", DType::UInt64, {ulpBinCount}, {}});
}

bool Recorder::isRecorded(std::int64_t step) const {
    return std::ranges::binary_search(m_steps, step);
}

void Recorder::beforeForward(std::int64_t step) {
    if (isRecorded(step))
        m_randomStates[0] = digestOfGenerator(m_recorded.device);
    m_isListening = m_firstRelu > m_firstActivation &&
                    std::ranges::find(m_extras[m_firstActivation].steps, step) != m_extras[m_firstActivation].steps.end();
    if (m_isListening)
        m_recorded.network.onActivation = [this](std::string_view module, const torch::Tensor& output) {
            if (!m_unbatched.contains(module))
                m_activations.add(module, output);
        };
}

void Recorder::beforeUpdate() {
    m_recorded.network.onActivation = nullptr;
    m_randomStates[1] = digestOfGenerator(m_recorded.device);
    if (m_writer && m_recorded.device.is_cpu()) // from a GPU there are copies
        m_writer->release();
}

void Recorder::record(std::int64_t step, RunRow row) {
    if (!m_writer)
        return;
    for (const torch::Tensor& parameter : m_recorded.parameters) {
        row.weights.push_back(valuesOf(parameter));
        // nothing changes a gradient after this: the optimizer only reads it, and each step makes new ones
        if (step > 0)
            row.gradients.push_back(
                valuesOf(parameter.grad().defined() ? parameter.grad() : torch::zeros_like(parameter)));
    }
    addOptimizerState(row);
    if (step == 0) // after the initialisation
        m_randomStates.fill(digestOfGenerator(m_recorded.device));
    addRandomStates(row);
    addActivations(row);
    addReluSigns(row);
    addMetrics(step, row);
    m_writer->append(std::move(row));
}

void Recorder::addOptimizerState(RunRow& row) const {
    if (m_recorded.config.record.optimizer != "full")
        return;
    std::size_t extra = 0;
    for (const Optimizer::State& state : m_recorded.optimizer.state()) {
        // the next update changes it in place: it waits for the writer, as the weights do
        row.extras.emplace_back(extra++, state.value.defined() ? valuesOf(state.value)
                                                               : missing(m_tensors[state.parameter].bytes()));
    }
}

void Recorder::addRandomStates(RunRow& row) const {
    for (std::size_t i = 0; i < m_randomStates.size(); ++i)
        row.extras.emplace_back(m_firstRandom + i,
                                kept(std::vector<std::uint64_t>(m_randomStates[i].begin(), m_randomStates[i].end())));
}

void Recorder::addActivations(RunRow& row) {
    if (!m_isListening)
        return;
    m_isListening = false;
    std::size_t extra = m_firstActivation;
    for (auto& [module, output] : m_activations.take()) {
        const ExtraDataset& dataset = m_extras.at(extra);
        if (dataset.path != "/activations/" + module)
            throw RecordingError(fmt::format("the network ran {} where {} was expected: its activations can't be kept",
                                             module, dataset.path));
        const std::uint64_t bytes = TensorInfo{dataset.path, dataset.dtype, dataset.shape}.bytes();
        TensorValues values = valuesOf(output);
        if (values.bytes.size() > bytes)
            throw RecordingError(fmt::format("the network's {} puts out {} bytes where {} were expected: its "
                                             "activations can't be kept",
                                             module, values.bytes.size(), bytes));
        if (values.bytes.size() < bytes) { // an incomplete batch
            std::vector<std::byte> padded(bytes, std::byte{0xFF});
            std::ranges::copy(values.arrived(), padded.begin());
            values = kept(std::move(padded));
        }
        row.extras.emplace_back(extra++, std::move(values));
    }
}

void Recorder::addReluSigns(RunRow& row) {
    if (!m_probe.defined())
        return;
    const Quietly quietly(m_recorded.network);
    std::size_t extra = m_firstRelu;
    m_recorded.network.onRelu = [&](std::string_view, const torch::Tensor& output) {
        row.extras.emplace_back(extra++, kept(packedSigns(output)));
    };
    m_recorded.forward(m_probe);
}

void Recorder::addMetrics(std::int64_t step, RunRow& row) {
    if (!m_reference)
        return;
    std::size_t extra = m_firstMetric;
    const std::optional<std::vector<TensorRow>> theirs = m_stream->read(step);
    if (!theirs) { // a step that only this run records
        for (; extra < m_extras.size(); ++extra)
            row.extras.emplace_back(
                extra, missing(TensorInfo{m_extras[extra].path, m_extras[extra].dtype, m_extras[extra].shape}.bytes()));
        return;
    }
    const auto referenceRow = std::ranges::lower_bound(m_reference->steps(), step) - m_reference->steps().begin();
    std::vector<TensorRow> ours;
    for (std::size_t i = 0; i < m_tensors.size(); ++i) {
        ours.emplace_back(m_tensors[i].dtype, row.weights[i].arrived());
        if (digestOf((*theirs)[i].bytes()) != m_reference->weightDigest(i, static_cast<std::size_t>(referenceRow)))
            throw RecordingError(fmt::format(
                "step {}: the reference, run again beside this run, has other bits in {} than its recording: it can't be "
                "repeated on this machine, which weights = \"metrics\" needs; weights = \"full\" does not",
                step, m_tensors[i].name));
    }
    const RowMeasurement measured = measureRow(m_tensors, ours, *theirs);
    for (const std::vector<double>& values : measured.values)
        row.extras.emplace_back(extra++, kept(values));
    row.extras.emplace_back(
        extra, kept(std::vector<std::uint64_t>(measured.ulpHistogram.begin(), measured.ulpHistogram.end())));
}

void Recorder::finish(RunState state, std::string_view message) {
    if (m_writer)
        m_writer->finish(state, message);
}

} // namespace driftscope
