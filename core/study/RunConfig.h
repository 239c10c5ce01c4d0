// SPDX-License-Identifier: GPL-3.0-or-later
// Everything one training needs to know, as plain data: what a worker process receives and records.
#pragma once

#include "study/Setting.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace driftscope {

struct ModelConfig {
    std::string kind = "cifar_cnn";
    std::string path;                         ///< torchscript: the module saved from Python
    std::vector<std::int64_t> hidden{64, 64}; ///< mlp: units of each hidden layer
    std::int64_t width = 64, depth = 2, heads = 4; ///< transformer
    bool batchNorm = false;                   ///< mlp and cifar_cnn: behind each layer but the last
    double dropout = 0;                       ///< share of units dropped, where the network has a place for it
    std::int64_t projection = 0;              ///< units of a projection head before the last layer; 0: none
    bool projectionNorm = false;              ///< the head begins with a LayerNorm without affine parameters
    std::optional<std::int64_t> headSeed;     ///< seeds the generator anew before the head's initialisation
};

struct DataConfig {
    std::string kind = "fashion-mnist";
    std::string path;                  ///< file or folder; absolute once a study has been read
    std::string targets;               ///< npy: the file with the targets; absolute once a study has been read
    std::optional<std::int64_t> limit; ///< first samples only
    std::vector<std::int64_t> shape;   ///< channels, height, width: synthetic's own, or what images are padded to
    std::int64_t samples = 1024;       ///< synthetic only
    std::int64_t classes = 10;         ///< synthetic only
    std::int64_t seed = 0;             ///< synthetic only
    std::int64_t context = 64;         ///< text: tokens of a sample; longer lines are cut
    std::int64_t randomCrop = 0;       ///< pixels of zeros around an image before a crop of its own size
    bool randomFlip = false;           ///< mirror every second image, drawn at random
    std::vector<double> mean, std;     ///< per channel: (x − mean) / std
};

struct TrainConfig {
    std::optional<std::int64_t> steps;
    std::optional<double> epochs;
    std::int64_t batch = 16; ///< samples per update, whatever the accumulation
    std::int64_t accumulation = 1;
    std::string accumulator = "native";
    std::string lossNormalization = "batch";
    std::string tail = "scaled";
    std::string optimizer = "sgd";
    double learningRate = 1e-3;
    double momentum = 0;
    double weightDecay = 0;
    std::vector<double> betas{0.9, 0.999};
    double eps = 1e-8;
    std::string loss = "cross_entropy";
    double labelSmoothing = 0;
    std::int64_t ignoreIndex = -100; ///< targets that do not count
    std::string order = "sequential";
    std::int64_t orderSeed = 0;
    std::int64_t loaderWorkers = 0;
    std::string workerRng = "per-worker";
    std::int64_t seed = 42;
    std::string dtype = "float32";
    bool autocast = false;
    std::string device = "cpu";
    std::optional<std::int64_t> threads;        ///< unset: inherited from the environment
    std::optional<std::int64_t> interopThreads; ///< unset: LibTorch's own choice
    std::optional<std::int64_t> initThreads;    ///< unset: as threads
    std::string cpuIsa = "native";
    std::string blas = "system";
    std::string tf32 = "off";
    bool deterministic = false;
    bool cudnnBenchmark = false;
    std::string cublasWorkspace; ///< CUBLAS_WORKSPACE_CONFIG; "": inherited
    std::int64_t repeat = 1;     ///< changes nothing: the same run once more
};

struct RecordConfig {
    std::string weights = "full";
    std::int64_t sampleSize = 1024; ///< weights = "sample": elements kept of each tensor
    std::string gradients = "sample";
    std::string optimizer = "none";
    std::vector<std::int64_t> activations; ///< steps whose activations are kept
    std::int64_t reluProbe = 0;            ///< first samples whose ReLU signs are kept in every row
    std::int64_t every = 1;                ///< a row every so many steps, and always steps 0 and last
    std::vector<std::int64_t> steps;       ///< rows at these steps instead, and always at 0 and last
    bool isLogarithmic = false;            ///< rows at 1, 2, 5, 10, 20, … instead
};

struct RunConfig {
    std::string id;                   ///< file name without .h5, unique in the study
    std::string study;                ///< name of the study
    std::vector<Assignment> settings; ///< the value of every axis
    /// Short for the value of an axis, by its key: of a file only what tells it from the axis's others.
    std::map<std::string, std::string> shortValues;
    bool isReference = false;
    bool isTwin = false;              ///< the float64 twin of the run with the same settings
    bool isControl = false;           ///< the reference once more: equal settings must give equal bits
    ModelConfig model;
    DataConfig data;
    TrainConfig train;
    RecordConfig record;
};

/// A setting of the run as views show it: short for files, else toText.
std::string valueText(const RunConfig& run, const Assignment& setting);

/// Short name for legends: "acc 4 · thr 2"; only what the axes say. "run" where there is no axis.
std::string label(const RunConfig& run);

/// JSON object with id, study, settings and one object per section, every key present.
std::string toJson(const RunConfig& run);

/// Inverse of toJson. Throws StudyError that names the key.
RunConfig runConfigFromJson(std::string_view json);

/// Why a setting changes nothing in a run like this, or "".
std::string whyUnused(const RunConfig& run, const SettingSpec& spec);

/// Throws StudyError if values that are each allowed contradict each other (accumulation > batch, …).
void validate(const RunConfig& run);

} // namespace driftscope
