// SPDX-License-Identifier: GPL-3.0-or-later
// The table itself: each row binds a key to its field of RunConfig.
#include "study/RunConfig.h"
#include "study/Setting.h"

#include <limits>

namespace driftscope {
namespace {

template <class T>
struct Unwrapped {
    using type = T;
};
template <class T>
struct Unwrapped<std::optional<T>> {
    using type = T;
};

/// Getter and setter of RunConfig::*Section.*Field; an empty optional reads as "not set".
template <auto Section, auto Field>
SettingSpec bind(SettingSpec spec) {
    spec.get = [](const RunConfig& run) -> SettingValue {
        const auto& field = (run.*Section).*Field;
        if constexpr (requires { field.has_value(); })
            return field ? SettingValue(*field) : SettingValue();
        else
            return field;
    };
    spec.set = [](RunConfig& run, const SettingValue& value) {
        auto& field = (run.*Section).*Field;
        using Value = typename Unwrapped<std::remove_reference_t<decltype(field)>>::type;
        if (std::holds_alternative<std::monostate>(value))
            field = {};
        else
            field = std::get<Value>(value);
    };
    return spec;
}

constexpr auto model = &RunConfig::model;
constexpr auto data = &RunConfig::data;
constexpr auto train = &RunConfig::train;
constexpr auto record = &RunConfig::record;
using enum SettingType;

// Seeds travel through torch's manual_seed and JSON: what both hold without a sign or rounding.
constexpr double largestSeed = 9007199254740992.0; // 2^53

/// A list of steps, or the word for one.
SettingSpec recordedSteps() {
    SettingSpec spec{.section = "record", .key = "steps", .shortName = "recorded-steps",
                     .help = "Rows at these steps only, or \"log\": 1, 2, 5, 10, 20, …; step 0 and the last are "
                             "always recorded",
                     .type = IntegerList, .choices = {"log"}, .minimum = 0, .canBeAxis = false};
    spec.get = [](const RunConfig& run) -> SettingValue {
        return run.record.isLogarithmic ? SettingValue(std::string("log")) : SettingValue(run.record.steps);
    };
    spec.set = [](RunConfig& run, const SettingValue& value) {
        run.record.isLogarithmic = std::holds_alternative<std::string>(value);
        run.record.steps = run.record.isLogarithmic ? std::vector<std::int64_t>()
                                                    : std::get<std::vector<std::int64_t>>(value);
    };
    return spec;
}

std::vector<SettingSpec> makeSpecs() {
    return {
        bind<model, &ModelConfig::kind>({.section = "model", .key = "kind", .shortName = "model",
            .help = "Network; mlp, cifar_cnn and the transformer adapt to the data's shape; torchscript is "
                    "any module saved from Python",
            .type = Text,
            .choices = {"mlp", "lenet_300_100", "cifar_cnn", "resnet18", "resnet50", "vit_tiny", "deit_small",
                        "transformer", "torchscript"}}),
        bind<model, &ModelConfig::path>({.section = "model", .key = "path", .shortName = "module",
            .help = "torchscript: file written by torch.jit.save; relative to the study file", .type = Text, .isPath = true}),
        bind<model, &ModelConfig::hidden>({.section = "model", .key = "hidden", .shortName = "hidden",
            .help = "mlp: units of each hidden layer", .type = IntegerList, .minimum = 1, .maximum = 1e6}),
        bind<model, &ModelConfig::width>({.section = "model", .key = "width", .shortName = "width",
            .help = "transformer: size of a token's vector, a multiple of heads", .type = Integer,
            .minimum = 1, .maximum = 16384}),
        bind<model, &ModelConfig::depth>({.section = "model", .key = "depth", .shortName = "depth",
            .help = "transformer: number of blocks", .type = Integer, .minimum = 1, .maximum = 256}),
        bind<model, &ModelConfig::heads>({.section = "model", .key = "heads", .shortName = "heads",
            .help = "transformer: attention heads of a block", .type = Integer, .minimum = 1, .maximum = 256}),
        bind<model, &ModelConfig::batchNorm>({.section = "model", .key = "batch_norm", .shortName = "bn",
            .help = "mlp and cifar_cnn: BatchNorm behind each layer but the last", .type = Boolean}),
        bind<model, &ModelConfig::dropout>({.section = "model", .key = "dropout", .shortName = "dropout",
            .help = "Share of units that dropout sets to zero; not in the resnets", .type = Real, .minimum = 0,
            .maximum = 0.95}),
        bind<model, &ModelConfig::projection>({.section = "model", .key = "projection",
            .shortName = "projection",
            .help = "Units of a projection head (linear, last layer; truncated-normal weights); 0: none",
            .type = Integer, .minimum = 0, .maximum = 65536}),
        bind<model, &ModelConfig::projectionNorm>({.section = "model", .key = "projection_norm",
            .shortName = "projection-norm",
            .help = "The projection head begins with a LayerNorm without affine parameters", .type = Boolean}),
        bind<model, &ModelConfig::headSeed>({.section = "model", .key = "head_seed", .shortName = "head-seed",
            .help = "Seeds the generator anew before the projection head is initialised", .type = Integer,
            .minimum = 0, .maximum = largestSeed}),

        bind<data, &DataConfig::kind>({.section = "data", .key = "kind", .shortName = "data",
            .help = "Where samples come from: fashion-mnist (as Debian installs it), idx (MNIST's "
                    "format, plain or .gz), cifar10 and cifar100 (binary version), npy (one .npz, or an .npy "
                    "with targets), safetensors, text (a line a sample, bytes as tokens), synthetic (seeded "
                    "noise)",
            .type = Text,
            .choices = {"fashion-mnist", "idx", "cifar10", "cifar100", "npy", "safetensors", "text",
                        "synthetic"}}),
        bind<data, &DataConfig::path>({.section = "data", .key = "path", .shortName = "path",
            .help = "File, or folder with the data files; relative to the study file", .type = Text, .isPath = true}),
        bind<data, &DataConfig::targets>({.section = "data", .key = "targets", .shortName = "targets",
            .help = "npy: the .npy file with the targets of path's samples", .type = Text, .isPath = true}),
        bind<data, &DataConfig::limit>({.section = "data", .key = "limit", .shortName = "limit",
            .help = "Use only so many samples, the first ones", .type = Integer, .minimum = 1}),
        bind<data, &DataConfig::shape>({.section = "data", .key = "shape", .shortName = "shape",
            .help = "Channels, height and width: of synthetic samples, or what images are zero-padded "
                    "and their channel repeated to",
            .type = IntegerList, .minimum = 1, .maximum = 65536}),
        bind<data, &DataConfig::samples>({.section = "data", .key = "samples", .shortName = "samples",
            .help = "Number of synthetic samples", .type = Integer, .minimum = 1, .maximum = 1e8}),
        bind<data, &DataConfig::classes>({.section = "data", .key = "classes", .shortName = "classes",
            .help = "Number of synthetic classes", .type = Integer, .minimum = 2, .maximum = 1e6}),
        bind<data, &DataConfig::seed>({.section = "data", .key = "seed", .shortName = "data-seed",
            .help = "Seed of the synthetic samples", .type = Integer, .minimum = 0,
            .maximum = largestSeed}),
        bind<data, &DataConfig::context>({.section = "data", .key = "context", .shortName = "context",
            .help = "text: tokens of a sample; longer lines are cut, shorter ones padded with targets that do "
                    "not count",
            .type = Integer, .minimum = 2, .maximum = 65536}),
        bind<data, &DataConfig::randomCrop>({.section = "data", .key = "random_crop", .shortName = "crop",
            .help = "Augmentation: zeros around an image, in pixels, before a random crop of its own size",
            .type = Integer, .minimum = 0, .maximum = 1024}),
        bind<data, &DataConfig::randomFlip>({.section = "data", .key = "random_flip", .shortName = "flip",
            .help = "Augmentation: mirrors an image, every second one at random", .type = Boolean}),
        bind<data, &DataConfig::mean>({.section = "data", .key = "mean", .shortName = "mean",
            .help = "Per channel: subtracted from the pixels, which are 0 … 1", .type = RealList}),
        bind<data, &DataConfig::std>({.section = "data", .key = "std", .shortName = "std",
            .help = "Per channel: what the pixels are divided by after that", .type = RealList,
            .minimum = 0, .minimumIsAllowed = false}),

        bind<train, &TrainConfig::accumulation>({.section = "train", .key = "accumulation",
            .shortName = "acc", .help = "Micro-batches per update: 1 … batch", .type = Integer,
            .minimum = 1}),
        bind<train, &TrainConfig::accumulator>({.section = "train", .key = "accumulator", .shortName = "sum",
            .help = "How gradients are summed: native (in their own type, one micro-batch after the other), "
                    "float64, kahan (compensated), canonical (per sample in a fixed binary tree: the same "
                    "bits for every accumulation and thread count)",
            .type = Text, .choices = {"native", "float64", "kahan", "canonical"}}),
        bind<train, &TrainConfig::lossNormalization>({.section = "train", .key = "loss_normalization",
            .shortName = "norm",
            .help = "A micro-batch's loss is divided by what counts in the batch (right), or is the mean of "
                    "micro-batch means (wrong where they count differently), or is not scaled (none: wrong)",
            .type = Text, .choices = {"batch", "micro_batch", "none"}}),
        bind<train, &TrainConfig::tail>({.section = "train", .key = "tail", .shortName = "tail",
            .help = "An epoch's incomplete last group of micro-batches: scaled by what it holds (right), "
                    "unscaled as if it were complete (wrong), or dropped",
            .type = Text, .choices = {"scaled", "unscaled", "drop"}}),
        bind<train, &TrainConfig::threads>({.section = "train", .key = "threads", .shortName = "thr",
            .help = "CPU threads inside an operator, as OMP_NUM_THREADS and at::set_num_threads",
            .type = Integer, .minimum = 1, .maximum = 1024}),
        bind<train, &TrainConfig::interopThreads>({.section = "train", .key = "interop_threads",
            .shortName = "interop", .help = "CPU threads that run operators beside each other", .type = Integer,
            .minimum = 1, .maximum = 1024}),
        bind<train, &TrainConfig::initThreads>({.section = "train", .key = "init_threads",
            .shortName = "init-thr",
            .help = "CPU threads inside an operator while the network is initialised", .type = Integer,
            .minimum = 1, .maximum = 1024}),
        bind<train, &TrainConfig::cpuIsa>({.section = "train", .key = "cpu_isa", .shortName = "isa",
            .help = "Instruction set that ATen, oneDNN and OpenBLAS may use: what another CPU would do; "
                    "native leaves the environment as it is",
            .type = Text, .choices = {"native", "default", "avx2", "avx512"}}),
        bind<train, &TrainConfig::device>({.section = "train", .key = "device", .shortName = "dev",
            .help = "cpu, or cuda:0, cuda:1, … where LibTorch has CUDA", .type = Text}),
        bind<train, &TrainConfig::blas>({.section = "train", .key = "blas", .shortName = "blas",
            .help = "BLAS that the worker loads: system, or a library file", .type = Text, .isPath = true}),
        bind<train, &TrainConfig::tf32>({.section = "train", .key = "tf32", .shortName = "tf32",
            .help = "TensorFloat-32: off, on (a GPU's, of matrix products and convolutions), or emulated: "
                    "their inputs rounded to 10 mantissa bits on the CPU",
            .type = Text, .choices = {"off", "on", "emulated"}}),
        bind<train, &TrainConfig::deterministic>({.section = "train", .key = "deterministic",
            .shortName = "deterministic",
            .help = "LibTorch's deterministic algorithms, also cuDNN's; an operator that has none fails",
            .type = Boolean}),
        bind<train, &TrainConfig::cudnnBenchmark>({.section = "train", .key = "cudnn_benchmark",
            .shortName = "cudnn-bench", .help = "cuDNN chooses algorithms by timing them; GPU only",
            .type = Boolean}),
        bind<train, &TrainConfig::cublasWorkspace>({.section = "train", .key = "cublas_workspace",
            .shortName = "cublas",
            .help = "CUBLAS_WORKSPACE_CONFIG, such as :4096:8; GPU only", .type = Text}),
        bind<train, &TrainConfig::dtype>({.section = "train", .key = "dtype", .shortName = "",
            .help = "Type of parameters and data", .type = Text,
            .choices = {"float32", "float64", "bfloat16", "float16"}}),
        bind<train, &TrainConfig::autocast>({.section = "train", .key = "autocast", .shortName = "autocast",
            .help = "Matrix products and convolutions in 16 bits, as torch.autocast: bfloat16 on the CPU, "
                    "float16 on a GPU",
            .type = Boolean}),
        bind<train, &TrainConfig::seed>({.section = "train", .key = "seed", .shortName = "seed",
            .help = "Seed of the initialisation", .type = Integer, .minimum = 0,
            .maximum = largestSeed}),
        bind<train, &TrainConfig::repeat>({.section = "train", .key = "repeat", .shortName = "repeat",
            .help = "The same run again; repeat = n as an axis means 1 … n", .type = Integer,
            .minimum = 1, .maximum = 10000}),
        bind<train, &TrainConfig::steps>({.section = "train", .key = "steps", .shortName = "steps",
            .help = "Number of updates", .type = Integer, .minimum = 1, .maximum = 1e9}),
        bind<train, &TrainConfig::epochs>({.section = "train", .key = "epochs", .shortName = "epochs",
            .help = "Passes over the data, instead of steps", .type = Real, .minimum = 0,
            .minimumIsAllowed = false}),
        bind<train, &TrainConfig::batch>({.section = "train", .key = "batch", .shortName = "batch",
            .help = "Samples per update, whatever the accumulation", .type = Integer, .minimum = 1,
            .maximum = 1e7}),
        bind<train, &TrainConfig::optimizer>({.section = "train", .key = "optimizer", .shortName = "",
            .help = "sgd (with momentum), adam or adamw", .type = Text,
            .choices = {"sgd", "adam", "adamw"}}),
        bind<train, &TrainConfig::learningRate>({.section = "train", .key = "learning_rate",
            .shortName = "lr", .help = "Step size of the optimizer", .type = Real, .minimum = 0}),
        bind<train, &TrainConfig::momentum>({.section = "train", .key = "momentum",
            .shortName = "momentum", .help = "Momentum of sgd", .type = Real, .minimum = 0}),
        bind<train, &TrainConfig::weightDecay>({.section = "train", .key = "weight_decay",
            .shortName = "decay", .help = "L2 penalty (sgd, adam) or decoupled decay (adamw)",
            .type = Real, .minimum = 0}),
        bind<train, &TrainConfig::betas>({.section = "train", .key = "betas", .shortName = "betas",
            .help = "Decay rates of adam's two moments", .type = RealList, .minimum = 0, .maximum = 1}),
        bind<train, &TrainConfig::eps>({.section = "train", .key = "eps", .shortName = "eps",
            .help = "What adam adds to the denominator", .type = Real, .minimum = 0}),
        bind<train, &TrainConfig::loss>({.section = "train", .key = "loss", .shortName = "loss",
            .help = "Loss, averaged over the batch: cross_entropy, mse, or bce (of logits)", .type = Text,
            .choices = {"cross_entropy", "mse", "bce"}}),
        bind<train, &TrainConfig::labelSmoothing>({.section = "train", .key = "label_smoothing",
            .shortName = "smoothing", .help = "cross_entropy: share of the target given to all classes alike",
            .type = Real, .minimum = 0, .maximum = 1}),
        bind<train, &TrainConfig::ignoreIndex>({.section = "train", .key = "ignore_index",
            .shortName = "ignore", .help = "cross_entropy: the target that does not count", .type = Integer}),
        bind<train, &TrainConfig::order>({.section = "train", .key = "order", .shortName = "",
            .help = "Order of the samples: sequential, shuffled anew each epoch, or shuffled-within-batch: "
                    "each update sees the samples of sequential in another order",
            .type = Text, .choices = {"sequential", "shuffled", "shuffled-within-batch"}}),
        bind<train, &TrainConfig::orderSeed>({.section = "train", .key = "order_seed",
            .shortName = "order-seed", .help = "Seed of the shuffling", .type = Integer, .minimum = 0,
            .maximum = largestSeed}),
        bind<train, &TrainConfig::loaderWorkers>({.section = "train", .key = "loader_workers",
            .shortName = "workers",
            .help = "Threads that prepare batches, batch i on worker i mod n; 0: the trainer itself",
            .type = Integer, .minimum = 0, .maximum = 256}),
        bind<train, &TrainConfig::workerRng>({.section = "train", .key = "worker_rng", .shortName = "rng",
            .help = "Where augmentation draws from: a generator per worker, as PyTorch does, or one per sample, "
                    "whose draws no worker count changes",
            .type = Text, .choices = {"per-worker", "per-sample"}}),

        bind<record, &RecordConfig::weights>({.section = "record", .key = "weights",
            .shortName = "weights",
            .help = "full: every weight of every recorded step; metrics: the divergence from the reference "
                    "only; sample: a fixed random subset of each tensor; digest: only whether bits are equal",
            .type = Text, .choices = {"full", "metrics", "sample", "digest"}, .canBeAxis = false}),
        bind<record, &RecordConfig::sampleSize>({.section = "record", .key = "sample_size",
            .shortName = "sample-size", .help = "weights = \"sample\": elements kept of each tensor",
            .type = Integer, .minimum = 1, .maximum = 1e9, .canBeAxis = false}),
        bind<record, &RecordConfig::gradients>({.section = "record", .key = "gradients",
            .shortName = "gradients",
            .help = "sample: 256 elements of each gradient, which tell its size, direction and factor; full: the "
                    "whole gradients; none: only their digests",
            .type = Text, .choices = {"none", "sample", "full"}, .canBeAxis = false}),
        bind<record, &RecordConfig::optimizer>({.section = "record", .key = "optimizer",
            .shortName = "optimizer-state",
            .help = "full: the optimizer's state too (momentum, or both moments)", .type = Text,
            .choices = {"none", "full"}, .canBeAxis = false}),
        bind<record, &RecordConfig::activations>({.section = "record", .key = "activations",
            .shortName = "activations",
            .help = "Steps whose activations, of the whole batch, are kept", .type = IntegerList, .minimum = 1,
            .canBeAxis = false}),
        bind<record, &RecordConfig::reluProbe>({.section = "record", .key = "relu_probe",
            .shortName = "relu-probe",
            .help = "First samples of the data whose ReLU signs are kept in every row; 0: none",
            .type = Integer, .minimum = 0, .maximum = 65536, .canBeAxis = false}),
        bind<record, &RecordConfig::every>({.section = "record", .key = "every", .shortName = "every",
            .help = "A row every so many steps; step 0 and the last are always recorded",
            .type = Integer, .minimum = 1, .canBeAxis = false}),
        recordedSteps(),
    };
}

} // namespace

std::span<const SettingSpec> settingSpecs() {
    static const std::vector<SettingSpec> specs = makeSpecs();
    return specs;
}

} // namespace driftscope
