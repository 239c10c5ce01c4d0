// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/Trainer.h"

#include "recording/RunWriter.h"
#include "training/Hardware.h"
#include "training/ImageSet.h"
#include "training/Network.h"
#include "training/Optimizer.h"
#include "training/Sampler.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace driftscope {
namespace {

using Clock = std::chrono::steady_clock;

torch::ScalarType torchType(const std::string& dtype) {
    return dtype == "float64" ? torch::kFloat64 : torch::kFloat32;
}

struct Batch {
    std::vector<std::int64_t> ids;
    torch::Tensor inputs;  ///< samples × channels × height × width
    torch::Tensor targets; ///< samples
    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(ids.size()); }
};

/// Pixels as torchvision's ToTensor gives them, x / 255 in float32, widened after that for float64.
Batch makeBatch(const ImageSet& data, std::vector<std::int64_t> ids, torch::ScalarType type,
                const torch::Device& device) {
    static const auto scaled = [] {
        std::array<float, 256> table{};
        for (std::size_t i = 0; i < table.size(); ++i)
            table[i] = static_cast<float>(i) / 255.0F;
        return table;
    }();
    const auto count = static_cast<std::int64_t>(ids.size());
    const std::int64_t pixels = data.channels * data.height * data.width;
    torch::Tensor inputs = torch::empty({count, data.channels, data.height, data.width}, torch::kFloat32);
    torch::Tensor targets = torch::empty({count}, torch::kInt64);
    auto* to = inputs.data_ptr<float>();
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t id = ids[static_cast<std::size_t>(i)];
        const std::uint8_t* from = data.pixels.data() + id * pixels;
        to = std::transform(from, from + pixels, to, [](std::uint8_t pixel) { return scaled[pixel]; });
        targets.data_ptr<std::int64_t>()[i] = data.labels[static_cast<std::size_t>(id)];
    }
    return {std::move(ids), inputs.to(device, type), targets.to(device)};
}

std::span<const std::byte> bytesOf(const torch::Tensor& contiguousOnCpu) {
    return {static_cast<const std::byte*>(contiguousOnCpu.data_ptr()), contiguousOnCpu.nbytes()};
}

/// The tensor's values for the writer: itself where it lies in memory as they are written, else a copy.
TensorValues valuesOf(const torch::Tensor& tensor) {
    auto owner = std::make_shared<torch::Tensor>(tensor.detach().to(torch::kCPU).contiguous());
    return {bytesOf(*owner), owner};
}

/// Steps that get a row: 0, every nth, and the last.
std::vector<std::int64_t> recordedSteps(std::int64_t steps, std::int64_t every) {
    std::vector<std::int64_t> recorded;
    for (std::int64_t step = 0; step < steps; step += every)
        recorded.push_back(step);
    recorded.push_back(steps);
    return recorded;
}

class Trainer {
public:
    Trainer(const RunConfig& config, const TrainingObserver& observer)
        : m_config(config), m_observer(observer), m_type(torchType(config.train.dtype)),
          m_device(config.train.device), m_data(loadImages(config.data)),
          m_sampler(config.train, m_data.samples) {
        torch::manual_seed(static_cast<std::uint64_t>(config.train.seed));
        m_network = makeNetwork(config.model.kind, m_data);
        m_network->to(m_device, m_type);
        m_network->train();
        for (const auto& item : m_network->named_parameters()) {
            m_names.push_back(item.key());
            m_parameters.push_back(item.value());
        }
        m_optimizer.emplace(config.train, m_parameters);
    }

    [[nodiscard]] std::int64_t steps() const {
        if (m_config.train.steps)
            return *m_config.train.steps;
        const double steps = std::ceil(*m_config.train.epochs * static_cast<double>(m_sampler.batchesPerEpoch()));
        if (steps > 1e9)
            throw StudyError(fmt::format("epochs = {}: that is {} steps; allowed are 1e9", *m_config.train.epochs,
                                         steps));
        return static_cast<std::int64_t>(steps);
    }

    RunState run(const std::filesystem::path& file) {
        const std::int64_t total = steps();
        const std::vector<std::int64_t> recorded = recordedSteps(total, m_config.record.every);
        if (!file.empty())
            m_writer.emplace(file, schema(recorded));
        m_observer.started(total, threadCount());
        try {
            const RunState state = loop(total);
            if (m_writer)
                m_writer->finish(state);
            return state;
        } catch (const std::exception& error) {
            if (m_writer)
                m_writer->finish(RunState::Failed, error.what());
            throw;
        }
    }

private:
    [[nodiscard]] RunSchema schema(std::vector<std::int64_t> recorded) const {
        auto environment = nlohmann::ordered_json::parse(environmentFingerprint());
        environment["data"] = m_data.description;
        RunSchema schema{m_config, environment.dump(), std::move(recorded), {}};
        for (std::size_t i = 0; i < m_parameters.size(); ++i) {
            const auto sizes = m_parameters[i].sizes();
            schema.parameters.push_back({m_names[i], m_type == torch::kFloat64 ? DType::Float64 : DType::Float32,
                                         {sizes.begin(), sizes.end()}});
        }
        return schema;
    }

    RunState loop(std::int64_t total) {
        if (m_writer) {
            RunRow row;
            keepWeights(row);
            m_writer->append(std::move(row));
        }
        for (std::int64_t step = 1; step <= total; ++step) {
            if (m_observer.isStopped())
                return RunState::Cancelled;
            const double loss = trainStep(m_writer && (step % m_config.record.every == 0 || step == total));
            m_observer.stepped(step, loss);
        }
        return RunState::Finished;
    }

    /// One update, and its row if it is to be recorded. Returns the loss over the batch.
    double trainStep(bool isRecorded) {
        const auto start = Clock::now();
        const Batch batch = makeBatch(m_data, m_sampler.nextBatch(), m_type, m_device);
        double loss = 0;
        std::int64_t correct = 0;
        m_optimizer->zeroGradients();
        const std::vector<MicroBatch> parts = microBatches(batch.size());
        for (const auto& [first, size] : parts) {
            const torch::Tensor targets = batch.targets.narrow(0, first, size);
            const torch::Tensor output = m_network->forward(batch.inputs.narrow(0, first, size));
            const torch::Tensor microLoss = scaledLoss(torch::cross_entropy_loss(output, targets), size, batch.size(), parts);
            microLoss.backward();
            loss += microLoss.item<double>();
            correct += output.detach().argmax(1).eq(targets).sum().item<std::int64_t>();
        }
        const auto waiting = Clock::now();
        if (m_writer)
            m_writer->waitUntilWritten(); // it reads the weights where they are
        const auto waited = Clock::now() - waiting;
        m_optimizer->step();
        if (!isRecorded)
            return loss;

        RunRow row;
        row.scalars[StepSeconds] = std::chrono::duration<double>(Clock::now() - start - waited).count();
        keepWeights(row);
        keepGradients(row);
        row.batchDigest = digestOfBatch(batch);
        row.scalars[Loss] = loss;
        row.scalars[Accuracy] = static_cast<double>(correct) / static_cast<double>(batch.size());
        row.scalars[LearningRate] = m_config.train.learningRate;
        row.sampleIds = batch.ids;
        m_writer->append(std::move(row));
        return loss;
    }

    struct MicroBatch {
        std::int64_t first, size;
    };

    /// As torch.tensor_split: sizes differ by one at most. Fewer than `accumulation` only where an
    /// epoch's incomplete last batch has fewer samples than that.
    [[nodiscard]] std::vector<MicroBatch> microBatches(std::int64_t samples) const {
        const std::int64_t count = std::min(m_config.train.accumulation, samples);
        std::vector<MicroBatch> parts;
        for (std::int64_t i = 0, first = 0; i < count; ++i) {
            const std::int64_t size = samples / count + (i < samples % count ? 1 : 0);
            parts.push_back({first, size});
            first += size;
        }
        return parts;
    }

    /// The micro-batch's mean loss weighted so that the sum over all is the batch's mean: divided by the
    /// number of micro-batches where they are equal, as people write it.
    static torch::Tensor scaledLoss(const torch::Tensor& mean, std::int64_t size, std::int64_t batch,
                                    const std::vector<MicroBatch>& parts) {
        if (parts.size() == 1)
            return mean;
        if (parts.front().size == parts.back().size)
            return mean / static_cast<double>(parts.size());
        return mean * (static_cast<double>(size) / static_cast<double>(batch));
    }

    /// Nothing changes them after this: the optimizer only reads them, and each step makes new ones.
    void keepGradients(RunRow& row) const {
        for (const torch::Tensor& parameter : m_parameters)
            row.gradients.push_back(
                valuesOf(parameter.grad().defined() ? parameter.grad() : torch::zeros_like(parameter)));
    }

    /// The next update changes them: trainStep waits for the writer before it.
    void keepWeights(RunRow& row) const {
        for (const torch::Tensor& parameter : m_parameters)
            row.weights.push_back(valuesOf(parameter));
    }

    static Digest digestOfBatch(const Batch& batch) {
        const Digest inputs = digestOf(bytesOf(batch.inputs.to(torch::kCPU).contiguous()));
        const Digest targets = digestOf(bytesOf(batch.targets.to(torch::kCPU).contiguous()));
        const std::array both{inputs, targets};
        return digestOf(std::as_bytes(std::span(both)));
    }

    RunConfig m_config;
    const TrainingObserver& m_observer;
    torch::ScalarType m_type;
    torch::Device m_device;
    ImageSet m_data;
    Sampler m_sampler;
    std::shared_ptr<Network> m_network;
    std::vector<std::string> m_names;
    std::vector<torch::Tensor> m_parameters;
    std::optional<Optimizer> m_optimizer;
    std::optional<RunWriter> m_writer;
};

} // namespace

RunState train(const RunConfig& config, const std::filesystem::path& file, const TrainingObserver& observer) {
    applyHardware(config.train);
    return Trainer(config, observer).run(file);
}

} // namespace driftscope
