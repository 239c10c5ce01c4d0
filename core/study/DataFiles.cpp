// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/DataFiles.h"

#include <fmt/format.h>

namespace driftscope {

namespace fs = std::filesystem;

namespace {

bool isFile(const fs::path& path) {
    std::error_code ignored; // what cannot be looked at is not there
    return fs::is_regular_file(path, ignored);
}

/// The file, plain or .gz; empty if none.
fs::path plainOrCompressed(const fs::path& file) {
    for (const char* compression : {"", ".gz"})
        if (fs::path path = file.string() + compression; isFile(path))
            return path;
    return {};
}

void requireFile(const std::string& path, const char* expected) {
    if (!isFile(path))
        throw DataError(fmt::format("{}: no such file: expected {}", path, expected));
}

void requireCifar(const fs::path& file, const fs::path& folder, const char* name, const char* archive) {
    if (file.empty())
        throw DataError(fmt::format("{}: no {}: expected the folder {} binary version, "
                                    "https://www.cs.toronto.edu/~kriz/cifar.html",
                                    folder.string(), name, archive));
}

void requireNpy(const DataConfig& config) {
    const bool isArchive = config.path.ends_with(".npz");
    if (!isArchive && !config.path.ends_with(".npy"))
        throw DataError(fmt::format("{}: expected a file .npz with the arrays x and y, or .npy with targets naming "
                                    "another .npy; np.savez(file, x=…, y=…) writes the first",
                                    config.path));
    requireFile(config.path, isArchive ? "a file that np.savez(file, x=…, y=…) writes"
                                       : "a file that np.save(file, inputs) writes");
    if (isArchive && !config.targets.empty())
        throw DataError(fmt::format("{}: targets is for a path to an .npy; an .npz has the targets in it, as the "
                                    "array y",
                                    config.path));
    if (!isArchive && config.targets.empty())
        throw DataError(fmt::format("{}: needs targets: the .npy that np.save(file, targets) writes; or give an .npz "
                                    "with both, from np.savez(file, x=…, y=…)",
                                    config.path));
    if (!isArchive)
        requireFile(config.targets, "a file that np.save(file, targets) writes");
}

} // namespace

fs::path findIdxFile(const fs::path& folder, const std::string& stem, const std::string& ending) {
    for (const char* separator : {"-", "."})
        if (fs::path path = plainOrCompressed(folder / (stem + separator + ending)); !path.empty())
            return path;
    return {};
}

fs::path findCifarFile(const fs::path& folder, int batch) {
    return plainOrCompressed(folder / fmt::format("data_batch_{}.bin", batch));
}

fs::path findCifar100File(const fs::path& folder) { return plainOrCompressed(folder / "train.bin"); }

fs::path dataFolder(const DataConfig& config) {
    return config.kind == "fashion-mnist" && config.path.empty() ? "/usr/share/datasets/fashion-mnist" : config.path;
}

void requireModelFile(const ModelConfig& config) {
    std::error_code error;
    if (config.kind == "torchscript" && !fs::is_regular_file(config.path, error))
        throw DataError(fmt::format("{}: no such file: expected a module that torch.jit.script(model).save(path) wrote",
                                    config.path));
}

void requireDataFiles(const DataConfig& config) {
    const fs::path folder = dataFolder(config);
    if (config.kind == "cifar10")
        requireCifar(findCifarFile(folder, 1), folder, "data_batch_1.bin", "cifar-10-batches-bin of CIFAR-10's");
    if (config.kind == "cifar100")
        requireCifar(findCifar100File(folder), folder, "train.bin", "cifar-100-binary of CIFAR-100's");
    if (config.kind == "npy")
        requireNpy(config);
    if (config.kind == "safetensors")
        requireFile(config.path, "a file that safetensors.torch.save_file({\"x\": …, \"y\": …}, file) writes");
    if (config.kind == "text")
        requireFile(config.path, "a text file with a sample on each line");
    if (config.kind != "idx" && config.kind != "fashion-mnist")
        return;
    const bool hasImages = !findIdxFile(folder, "train-images", "idx3-ubyte").empty();
    if (!hasImages || findIdxFile(folder, "train-labels", "idx1-ubyte").empty())
        throw DataError(fmt::format("{}: no {}: expected MNIST's files train-images-idx3-ubyte and "
                                    "train-labels-idx1-ubyte, plain or .gz; for Fashion-MNIST: apt install "
                                    "dataset-fashion-mnist",
                                    folder.string(), hasImages ? "labels" : "images"));
}

std::string detectDataKind(const fs::path& path) {
    const std::string ending = path.extension().string();
    if (ending == ".npz" || ending == ".npy")
        return "npy";
    if (ending == ".safetensors")
        return "safetensors";
    if (ending == ".txt")
        return "text";
    if (!findIdxFile(path, "train-images", "idx3-ubyte").empty())
        return "idx";
    if (!findCifarFile(path, 1).empty())
        return "cifar10";
    if (!findCifar100File(path).empty())
        return "cifar100";
    throw DataError(fmt::format("{}: no data set that Driftscope knows: expected a folder with train-images-idx3-ubyte "
                                "(MNIST's format), data_batch_1.bin (CIFAR-10's binary version) or train.bin "
                                "(CIFAR-100's), or a file .npz, .npy, .safetensors or .txt",
                                path.string()));
}

} // namespace driftscope
