// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/DataFiles.h"

#include <fmt/format.h>

namespace driftscope {

namespace fs = std::filesystem;

fs::path findIdxFile(const fs::path& folder, const std::string& stem, const std::string& ending) {
    for (const char* separator : {"-", "."})
        for (const char* compression : {"", ".gz"})
            if (fs::path path = folder / (stem + separator + ending + compression); fs::is_regular_file(path))
                return path;
    return {};
}

fs::path findCifarFile(const fs::path& folder, int batch) {
    for (const char* compression : {"", ".gz"})
        if (fs::path path = folder / fmt::format("data_batch_{}.bin{}", batch, compression); fs::is_regular_file(path))
            return path;
    return {};
}

fs::path dataFolder(const DataConfig& config) {
    return config.kind == "fashion-mnist" && config.path.empty() ? "/usr/share/datasets/fashion-mnist" : config.path;
}

void requireDataFiles(const DataConfig& config) {
    const fs::path folder = dataFolder(config);
    if (config.kind == "cifar10" && findCifarFile(folder, 1).empty())
        throw DataError(fmt::format("{}: no data_batch_1.bin: expected the folder cifar-10-batches-bin of CIFAR-10's "
                                    "binary version, https://www.cs.toronto.edu/~kriz/cifar.html",
                                    folder.string()));
    if (config.kind != "idx" && config.kind != "fashion-mnist")
        return;
    const bool hasImages = !findIdxFile(folder, "train-images", "idx3-ubyte").empty();
    if (!hasImages || findIdxFile(folder, "train-labels", "idx1-ubyte").empty())
        throw DataError(fmt::format("{}: no {}: expected MNIST's files train-images-idx3-ubyte and "
                                    "train-labels-idx1-ubyte, plain or .gz; for Fashion-MNIST: apt install "
                                    "dataset-fashion-mnist",
                                    folder.string(), hasImages ? "labels" : "images"));
}

std::string detectDataKind(const fs::path& folder) {
    if (!findIdxFile(folder, "train-images", "idx3-ubyte").empty())
        return "idx";
    if (!findCifarFile(folder, 1).empty())
        return "cifar10";
    throw DataError(fmt::format("{}: no data set that Driftscope knows: expected train-images-idx3-ubyte (MNIST's "
                                 "format) or data_batch_1.bin (CIFAR-10's binary version)",
                                 folder.string()));
}

} // namespace driftscope
