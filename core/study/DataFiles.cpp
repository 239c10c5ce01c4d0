// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/DataFiles.h"

#include "study/Setting.h"

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

std::string detectDataKind(const fs::path& folder) {
    if (!findIdxFile(folder, "train-images", "idx3-ubyte").empty())
        return "idx";
    if (!findCifarFile(folder, 1).empty())
        return "cifar10";
    throw StudyError(fmt::format("{}: no data set that Driftscope knows: expected train-images-idx3-ubyte (MNIST's "
                                 "format) or data_batch_1.bin (CIFAR-10's binary version)",
                                 folder.string()));
}

} // namespace driftscope
