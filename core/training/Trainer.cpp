// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/Trainer.h"

#include "recording/RowStream.h"
#include "training/Autocast.h"
#include "training/CanonicalGradient.h"
#include "training/GradientSum.h"
#include "training/Hardware.h"
#include "training/Loader.h"
#include "training/Loss.h"
#include "training/Network.h"
#include "training/Optimizer.h"
#include "training/Recorder.h"
#include "training/StepTracer.h"
#include "training/Tf32Emulation.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <set>

namespace driftscope {
namespace {

using Clock = std::chrono::steady_clock;

torch::ScalarType torchType(const std::string& dtype) {
    return dtype == "float64"    ? torch::kFloat64
           : dtype == "bfloat16" ? torch::kBFloat16
           : dtype == "float16"  ? torch::kFloat16
                                 : torch::kFloat32;
}

/// What the network puts out per sample: classes, or the numbers of a real target.
DataShape shapeOf(const SampleSet& data) {
    std::int64_t outputs = data.classes;
    if (std::holds_alternative<std::vector<float>>(data.targets)) {
        outputs = 1;
        for (const std::int64_t extent : data.targetShape)
            outputs *= extent;
    }
    return {data.shape, outputs};
}

Digest digestOfBatch(const Batch& batch) {
    const std::array both{digestOf(valuesOf(batch.inputs).bytes), digestOf(valuesOf(batch.targets).bytes)};
    return digestOf(std::as_bytes(std::span(both)));
}

/// What one step has shown.
struct StepOutcome {
    double loss = 0;
    std::int64_t correct = 0, counted = 0;
};

class Trainer {
public:
    Trainer(const RunConfig& config, const TrainingOutput& output, const TrainingObserver& observer)
        : m_config(config), m_output(output), m_observer(observer), m_device(config.train.device),
          m_source(config.data, config.train.ignoreIndex, torchType(config.train.dtype)),
          m_loader(config.train, m_source) {
        if (output.trace)
            m_tracer = std::make_unique<StepTracer>(*output.trace);
        torch::manual_seed(static_cast<std::uint64_t>(config.train.seed));
        if (m_tracer)
            m_tracer->beginInitialisation();
        m_network = makeNetwork(config.model, shapeOf(m_source.data()));
        m_network->convert(m_device, torchType(config.train.dtype));
        if (m_tracer)
            m_tracer->endInitialisation();
        m_network->train();
        applyTrainingThreads(config.train);
        for (const auto& item : m_network->namedParameters()) {
            m_names.push_back(item.key());
            m_parameters.push_back(item.value());
        }
        m_optimizer.emplace(config.train, m_parameters);
        if (config.train.accumulator == "canonical") {
            for (const auto& item : m_network->namedBuffers())
                if (item.key().ends_with("running_mean"))
                    throw StudyError(fmt::format("accumulator = \"canonical\" computes each sample by itself; the batch "
                                                 "statistics of {} need the others",
                                                 item.key()));
            // dropout draws at random, what a module of others does is not known, and autocast keeps casts of weights
            // for all threads together
            const bool isRandom = config.model.dropout > 0 || config.model.kind == "torchscript";
            // a trace has one order
            const bool isSerial = isRandom || config.train.autocast || m_device.is_cuda() || m_tracer;
            m_canonical.emplace(config.train, *m_network, m_parameters, isSerial ? 1 : threadCount());
        } else {
            m_sum.emplace(config.train.accumulator, m_parameters);
        }
    }

    RunState run() {
        const std::int64_t total = m_tracer ? m_tracer->step() : steps();
        try {
            open(total);
            m_observer.started(total, threadCount(), m_recorder->recordedBytes());
            const RunState state = loop(total);
            if (m_tracer && state == RunState::Finished)
                m_tracer->finish();
            finish(state, "");
            return state;
        } catch (const std::exception& error) {
            const auto* torchError = dynamic_cast<const c10::Error*>(&error);
            const std::string what = torchError ? torchError->what_without_backtrace() : error.what();
            if (const std::string reason = missingAbility(what); !reason.empty()) {
                finish(RunState::Unavailable, reason);
                throw Unavailable(reason);
            }
            finish(RunState::Failed, what);
            throw;
        }
    }

private:
    [[nodiscard]] std::int64_t steps() const {
        if (m_config.train.steps)
            return *m_config.train.steps;
        const double steps = std::ceil(*m_config.train.epochs * static_cast<double>(m_loader.batchesPerEpoch()));
        if (steps > 1e9)
            throw StudyError(fmt::format("epochs = {}: that is {} steps; allowed are 1e9", *m_config.train.epochs,
                                         steps));
        return static_cast<std::int64_t>(steps);
    }

    void open(std::int64_t total) {
        m_recordedSteps = recordedSteps(m_config.record, total);
        std::optional<ReferenceReplay> replay;
        if (m_output.referenceStream >= 0)
            replay = {m_output.referenceStream, m_output.referenceFile};
        m_recorder.emplace(m_output.file,
                           Recorded{m_config, m_source, *m_optimizer, *m_network, m_names, m_parameters, m_device,
                                    [this](torch::Tensor input) { return forward(std::move(input)); }},
                           total, std::move(replay));
    }

    void finish(RunState state, const std::string& message) {
        if (m_recorder)
            m_recorder->finish(state, message);
    }

    /// What LibTorch says where it has no kernel for what a setting asks for, as a reason; else "".
    [[nodiscard]] std::string missingAbility(const std::string& what) const {
        const std::string first = what.substr(0, what.find('\n'));
        if (first.find("not implemented for") != std::string::npos && m_config.train.dtype != "float32")
            return fmt::format("dtype = {}: this LibTorch can't: {}", m_config.train.dtype, first);
        if (first.find("deterministic implementation") != std::string::npos)
            return fmt::format("deterministic = true: this LibTorch can't: {}", first);
        return "";
    }

    RunState loop(std::int64_t total) {
        keepRow(0, {});
        if (total == 0 && m_tracer)
            m_tracer->add(Phase::Init, m_names, m_parameters);
        const auto start = Clock::now();
        for (std::int64_t step = 1; step <= total; ++step) {
            if (m_observer.isStopped())
                return RunState::Cancelled;
            m_observer.stepped(step, trainStep(step));
            if (isTrialOver(step, start))
                break;
        }
        return RunState::Finished;
    }

    /// A trial ends after so many steps, or with the first that is slow enough to be timed by itself.
    [[nodiscard]] bool isTrialOver(std::int64_t step, Clock::time_point start) const {
        return m_output.trialSteps > 0 &&
               (step >= m_output.trialSteps || Clock::now() - start > std::chrono::seconds(1));
    }

    /// The state after the step's update goes where the weights go.
    void keepRow(std::int64_t step, RunRow row) {
        if (!std::ranges::binary_search(m_recordedSteps, step))
            return;
        if (m_output.stream >= 0) {
            std::vector<TensorValues> weights;
            for (const torch::Tensor& parameter : m_parameters)
                weights.push_back(valuesOf(parameter));
            writeStreamedRow(m_output.stream, step, weights);
        }
        m_recorder->record(step, std::move(row));
    }

    /// One update. Returns the loss over the batch.
    double trainStep(std::int64_t step) {
        const auto start = Clock::now();
        Batch batch = m_loader.next();
        const bool isRecorded = m_recorder->isRecorded(step);
        RunRow row;
        if (isRecorded)
            row.batchDigest = digestOfBatch(batch);
        batch.inputs = onDevice(batch.inputs);
        batch.targets = onDevice(batch.targets);
        m_recorder->beforeForward(step);
        m_optimizer->zeroGradients();
        if (m_tracer && step == m_tracer->step())
            return trainTracedStep(batch);
        const StepOutcome outcome = computeGradient(batch);
        const auto waiting = Clock::now();
        m_recorder->beforeUpdate();
        const auto waited = Clock::now() - waiting;
        m_optimizer->step();
        if (isRecorded) {
            row.scalars[StepSeconds] = std::chrono::duration<double>(Clock::now() - start - waited).count();
            row.scalars[Loss] = outcome.loss;
            if (m_config.train.loss == "cross_entropy")
                row.scalars[Accuracy] = static_cast<double>(outcome.correct) / static_cast<double>(outcome.counted);
            row.scalars[LearningRate] = m_config.train.learningRate;
            row.sampleIds = batch.ids;
        }
        keepRow(step, std::move(row));
        return outcome.loss;
    }

    /// The update in which the training ends, phase by phase.
    double trainTracedStep(const Batch& batch) {
        m_tracer->add(Phase::Init, m_names, m_parameters);
        m_tracer->begin(batch, *m_network, unbatchedModules());
        m_isTracing = true;
        if (m_tracer->isReplay()) {
            replay(batch);
            return 0;
        }
        const StepOutcome outcome = computeGradient(batch);
        m_tracer->addGradients(m_names, m_parameters);
        m_tracer->enter(Phase::Update);
        m_optimizer->step();
        m_tracer->enter(Phase::Weights);
        m_tracer->addOptimizerState(m_names, *m_optimizer);
        m_tracer->add(Phase::Weights, m_names, m_parameters);
        return outcome.loss;
    }

    /// Modules whose output has no row per sample, as an embedding of positions: asked with one sample, in a pass
    /// that changes nothing.
    [[nodiscard]] std::set<std::string> unbatchedModules() const {
        std::set<std::string> unbatched;
        const torch::NoGradGuard noGradient;
        m_network->eval();
        m_network->onPassed = [&](std::string_view module, torch::Tensor output) {
            if (output.dim() == 0 || output.size(0) != 1)
                unbatched.emplace(module);
            return output;
        };
        forward(m_source.makePlain({0}).inputs.to(m_device));
        m_network->onPassed = nullptr;
        m_network->train();
        return unbatched;
    }

    /// The step's forward passes, whose modules are fed what another run's were.
    void replay(const Batch& batch) {
        std::vector<MicroBatch> parts = microBatches(m_config.train, batch.size());
        if (m_canonical) { // as it does: sample by sample, each on one thread
            parts.clear();
            for (std::int64_t i = 0; i < batch.size(); ++i)
                parts.push_back({i, 1});
            at::set_num_threads(1);
        }
        for (const auto& [first, size] : parts) {
            ActivationCapture::beginAt(first);
            m_tracer->beginPart(first, size);
            forward(batch.inputs.narrow(0, first, size));
        }
        m_tracer->endPasses(*m_network, {}, {});
    }

    /// weights: of every micro-batch's mean over so many counted targets.
    void endTracedPasses(const Batch& batch, const std::vector<MicroBatch>& parts,
                         const std::vector<std::int64_t>& counted, const std::vector<LossWeight>& weights) {
        std::vector<double> each;
        for (std::size_t i = 0; i < parts.size(); ++i)
            each.insert(each.end(), static_cast<std::size_t>(parts[i].size),
                        counted[i] == 0 ? 0
                                        : weights[i].factor / static_cast<double>(weights[i].divisor) /
                                              static_cast<double>(counted[i]));
        m_tracer->endPasses(*m_network, std::move(each), [&](const torch::Tensor& output, std::int64_t first) {
            std::optional<Autocast> autocast;
            if (m_config.train.autocast)
                autocast.emplace(m_device.type());
            return sampleLosses(m_config.train, output, batch.targets.narrow(0, first, output.size(0)));
        });
    }

    /// To a GPU from pinned memory, while it still computes.
    [[nodiscard]] torch::Tensor onDevice(const torch::Tensor& tensor) const {
        return m_device.is_cuda() ? tensor.pin_memory().to(m_device, /*non_blocking=*/true) : tensor;
    }

    torch::Tensor forward(torch::Tensor input) const {
        std::optional<Tf32Emulation> tf32;
        if (m_config.train.tf32 == "emulated")
            tf32.emplace();
        std::optional<Autocast> autocast;
        if (m_config.train.autocast)
            autocast.emplace(m_device.type());
        return m_network->forward(std::move(input));
    }

    /// Samples whose mask is 0 pass no gradient back from the network's output; of the others no bit changes.
    static void silence(const torch::Tensor& output, const torch::Tensor& mask) {
        if (!mask.defined())
            return;
        output.register_hook([mask](const torch::Tensor& gradient) {
            const at::DisableRecordFunctionGuard quietly;
            std::vector<std::int64_t> shape(static_cast<std::size_t>(gradient.dim()), 1);
            shape[0] = mask.size(0);
            return gradient * mask.reshape(shape).to(gradient.options());
        });
    }

    /// Leaves the batch's gradient at the parameters.
    StepOutcome computeGradient(const Batch& batch) {
        std::optional<Tf32Emulation> tf32;
        if (m_config.train.tf32 == "emulated")
            tf32.emplace();
        const std::vector<MicroBatch> parts = microBatches(m_config.train, batch.size());
        std::vector<std::int64_t> counted;
        for (const auto& [first, size] : parts)
            counted.push_back(countedTargets(m_config.train, batch.targets.narrow(0, first, size)));
        const std::vector<LossWeight> weights =
            lossWeights(m_config.train, counted, batch.size() == m_config.train.batch);
        if (m_canonical)
            return computeCanonically(batch, parts, counted, weights);

        StepOutcome sum;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const auto& [first, size] = parts[i];
            if (counted[i] == 0 && m_config.train.lossNormalization == "batch")
                continue; // nothing of it counts; its mean is 0 / 0
            ActivationCapture::beginAt(first);
            if (m_isTracing)
                m_tracer->beginPart(first, size);
            std::optional<Autocast> autocast;
            if (m_config.train.autocast)
                autocast.emplace(m_device.type());
            const torch::Tensor output = m_network->forward(batch.inputs.narrow(0, first, size));
            if (m_isTracing)
                silence(output, m_tracer->mask(first, size));
            const Outcome outcome = lossOf(m_config.train, output, batch.targets.narrow(0, first, size));
            const torch::Tensor loss = weights[i].of(outcome.mean);
            autocast.reset();
            if (m_isTracing)
                m_tracer->addLoss(first, outcome.mean, loss);
            loss.backward();
            if (m_isTracing)
                m_tracer->enter(Phase::Gradient);
            m_sum->add();
            sum.loss += loss.item<double>();
            sum.correct += outcome.correct;
            sum.counted += outcome.counted;
        }
        m_sum->finish();
        if (m_isTracing)
            endTracedPasses(batch, parts, counted, weights);
        return sum;
    }

    StepOutcome computeCanonically(const Batch& batch, const std::vector<MicroBatch>& parts,
                                   const std::vector<std::int64_t>& counted, const std::vector<LossWeight>& weights) {
        std::vector<std::int64_t> each;
        for (std::int64_t i = 0; i < batch.size(); ++i)
            each.push_back(countedTargets(m_config.train, batch.targets.narrow(0, i, 1)));
        std::vector<LossWeight> perSample;
        const bool isRight = m_config.train.lossNormalization == "batch" &&
                             (batch.size() == m_config.train.batch || m_config.train.tail != "unscaled");
        if (isRight) { // every sample a micro-batch of its own: no trace of how the batch is split
            perSample = lossWeights(m_config.train, each, true);
        } else {
            for (std::size_t i = 0; i < parts.size(); ++i)
                for (std::int64_t k = parts[i].first; k < parts[i].first + parts[i].size; ++k)
                    perSample.push_back({.factor = weights[i].factor *
                                                   static_cast<double>(each[static_cast<std::size_t>(k)]) /
                                                   static_cast<double>(counted[i]),
                                         .divisor = weights[i].divisor});
        }
        if (m_isTracing)
            m_tracer->enter(Phase::Gradient); // of this thread, which sums
        if (m_isTracing)
            if (const torch::Tensor mask = m_tracer->mask(0, batch.size()); mask.defined())
                for (std::int64_t i = 0; i < batch.size(); ++i)
                    perSample[static_cast<std::size_t>(i)].factor *= mask[i].item<double>();
        const CanonicalGradient::Result result = m_canonical->compute(batch, perSample);
        if (m_isTracing) {
            std::vector<MicroBatch> samples;
            for (std::int64_t i = 0; i < batch.size(); ++i)
                samples.push_back({i, 1});
            endTracedPasses(batch, samples, each, perSample);
        }
        return {result.loss, result.correct, result.counted};
    }

    const RunConfig& m_config;
    const TrainingOutput& m_output;
    const TrainingObserver& m_observer;
    torch::Device m_device;
    BatchSource m_source;
    Loader m_loader;
    std::shared_ptr<Network> m_network;
    std::vector<std::string> m_names;
    std::vector<torch::Tensor> m_parameters;
    std::optional<Optimizer> m_optimizer;
    std::optional<GradientSum> m_sum;             ///< of micro-batches, or
    std::optional<CanonicalGradient> m_canonical; ///< of single samples
    std::vector<std::int64_t> m_recordedSteps;
    std::optional<Recorder> m_recorder;
    std::unique_ptr<StepTracer> m_tracer; ///< where a step is to be traced
    bool m_isTracing = false;             ///< that step is under way
};

} // namespace

RunState train(const RunConfig& config, const TrainingOutput& output, const TrainingObserver& observer) {
    applyHardware(config.train);
    return Trainer(config, output, observer).run();
}

} // namespace driftscope
