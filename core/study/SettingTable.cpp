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

std::vector<SettingSpec> makeSpecs() {
    return {
        bind<model, &ModelConfig::kind>({.section = "model", .key = "kind", .shortName = "model",
            .help = "Network: cifar_cnn (adapts to the data's channels and size) or lenet_300_100",
            .type = Text, .choices = {"cifar_cnn", "lenet_300_100"}}),

        bind<data, &DataConfig::kind>({.section = "data", .key = "kind", .shortName = "data",
            .help = "Where samples come from: fashion-mnist (as Debian installs it), idx (MNIST's "
                    "format, plain or .gz), cifar10 (binary batches), synthetic (seeded noise)",
            .type = Text, .choices = {"fashion-mnist", "idx", "cifar10", "synthetic"}}),
        bind<data, &DataConfig::path>({.section = "data", .key = "path", .shortName = "path",
            .help = "Folder with the data files; relative to the study file", .type = Text}),
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

        bind<train, &TrainConfig::accumulation>({.section = "train", .key = "accumulation",
            .shortName = "acc", .help = "Micro-batches per update: 1 … batch", .type = Integer,
            .minimum = 1}),
        bind<train, &TrainConfig::threads>({.section = "train", .key = "threads", .shortName = "thr",
            .help = "CPU threads inside an operator, as OMP_NUM_THREADS and at::set_num_threads",
            .type = Integer, .minimum = 1, .maximum = 1024}),
        bind<train, &TrainConfig::cpuIsa>({.section = "train", .key = "cpu_isa", .shortName = "isa",
            .help = "Instruction set that ATen, oneDNN and OpenBLAS may use: what another CPU would do; "
                    "native leaves the environment as it is",
            .type = Text, .choices = {"native", "default", "avx2", "avx512"}}),
        bind<train, &TrainConfig::device>({.section = "train", .key = "device", .shortName = "dev",
            .help = "cpu, or cuda:0, cuda:1, … where LibTorch has CUDA", .type = Text}),
        bind<train, &TrainConfig::dtype>({.section = "train", .key = "dtype", .shortName = "",
            .help = "Type of parameters and data", .type = Text, .choices = {"float32", "float64"}}),
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
            .help = "Loss, averaged over the batch", .type = Text, .choices = {"cross_entropy"}}),
        bind<train, &TrainConfig::order>({.section = "train", .key = "order", .shortName = "",
            .help = "Order of the samples: sequential, or shuffled anew each epoch", .type = Text,
            .choices = {"sequential", "shuffled"}}),
        bind<train, &TrainConfig::orderSeed>({.section = "train", .key = "order_seed",
            .shortName = "order-seed", .help = "Seed of the shuffling", .type = Integer, .minimum = 0,
            .maximum = largestSeed}),

        bind<record, &RecordConfig::weights>({.section = "record", .key = "weights",
            .shortName = "weights", .help = "full: every weight of every recorded step", .type = Text,
            .choices = {"full"}, .canBeAxis = false}),
        bind<record, &RecordConfig::gradients>({.section = "record", .key = "gradients",
            .shortName = "gradients",
            .help = "full: the gradients too; none: only their digests", .type = Text,
            .choices = {"none", "full"}, .canBeAxis = false}),
        bind<record, &RecordConfig::every>({.section = "record", .key = "every", .shortName = "every",
            .help = "A row every so many steps; step 0 and the last are always recorded",
            .type = Integer, .minimum = 1, .canBeAxis = false}),
    };
}

} // namespace

std::span<const SettingSpec> settingSpecs() {
    static const std::vector<SettingSpec> specs = makeSpecs();
    return specs;
}

} // namespace driftscope
