// SPDX-License-Identifier: GPL-3.0-or-later
// Everything one training needs to know, as plain data: what a worker process receives and records.
#pragma once

#include "study/Setting.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace driftscope {

struct ModelConfig {
    std::string kind = "cifar_cnn";
};

struct DataConfig {
    std::string kind = "fashion-mnist";
    std::string path;                  ///< file or folder; absolute once a study has been read
    std::optional<std::int64_t> limit; ///< first samples only
    std::vector<std::int64_t> shape;   ///< channels, height, width: synthetic's own, or what images are padded to
    std::int64_t samples = 1024;       ///< synthetic only
    std::int64_t classes = 10;         ///< synthetic only
    std::int64_t seed = 0;             ///< synthetic only
};

struct TrainConfig {
    std::optional<std::int64_t> steps;
    std::optional<double> epochs;
    std::int64_t batch = 16; ///< samples per update, whatever the accumulation
    std::int64_t accumulation = 1;
    std::string optimizer = "sgd";
    double learningRate = 1e-3;
    double momentum = 0;
    double weightDecay = 0;
    std::vector<double> betas{0.9, 0.999};
    double eps = 1e-8;
    std::string loss = "cross_entropy";
    std::string order = "sequential";
    std::int64_t orderSeed = 0;
    std::int64_t seed = 42;
    std::string dtype = "float32";
    std::string device = "cpu";
    std::optional<std::int64_t> threads; ///< unset: inherited from the environment
    std::string cpuIsa = "native";
    std::int64_t repeat = 1; ///< changes nothing: the same run once more
};

struct RecordConfig {
    std::string weights = "full";
    std::string gradients = "none";
    std::int64_t every = 1; ///< a row every so many steps, and always steps 0 and last
};

struct RunConfig {
    std::string id;                   ///< file name without .h5, unique in the study
    std::string study;                ///< name of the study
    std::vector<Assignment> settings; ///< the value of every axis
    bool isReference = false;
    bool isTwin = false;              ///< the float64 twin of the run with the same settings
    bool isControl = false;           ///< the reference once more: equal settings must give equal bits
    ModelConfig model;
    DataConfig data;
    TrainConfig train;
    RecordConfig record;
};

/// Short name for legends: "acc 4 · thr 2"; only what the axes say. "run" where there is no axis.
std::string label(const RunConfig& run);

/// JSON object with id, study, settings and one object per section, every key present.
std::string toJson(const RunConfig& run);

/// Inverse of toJson. Throws StudyError that names the key.
RunConfig runConfigFromJson(std::string_view json);

/// Throws StudyError if values that are each allowed contradict each other (accumulation > batch, …).
void validate(const RunConfig& run);

} // namespace driftscope
