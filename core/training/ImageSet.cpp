// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/ImageSet.h"

#include "study/DataFiles.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>

namespace driftscope {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t cifarSide = 32;
constexpr std::int64_t mostBytes = std::int64_t{1} << 36;

/// Reads a file that may be gzip-compressed; zlib passes plain files through.
class InputFile {
public:
    explicit InputFile(const fs::path& path) : m_path(path), m_file(gzopen(path.c_str(), "rb")) {
        if (!m_file)
            throw DataError(fmt::format("{}: cannot be read", path.string()));
        gzbuffer(m_file.get(), 1U << 18);
    }

    void read(std::span<std::uint8_t> out, std::string_view what) {
        while (!out.empty()) {
            const auto part = static_cast<unsigned>(std::min<std::size_t>(out.size(), 1U << 30));
            const int n = gzread(m_file.get(), out.data(), part);
            if (n <= 0)
                throw DataError(fmt::format("{}: ends too early or is damaged: expected {} more bytes of {}",
                                            m_path.string(), out.size(), what));
            out = out.subspan(static_cast<std::size_t>(n));
        }
    }

    std::uint32_t readBigEndian(std::string_view what) {
        std::array<std::uint8_t, 4> bytes{};
        read(bytes, what);
        return (std::uint32_t{bytes[0]} << 24) | (std::uint32_t{bytes[1]} << 16) |
               (std::uint32_t{bytes[2]} << 8) | bytes[3];
    }

    bool isAtEnd() {
        const int next = gzgetc(m_file.get());
        if (next >= 0) {
            gzungetc(next, m_file.get());
            return false;
        }
        int error = Z_OK;
        gzerror(m_file.get(), &error);
        if (error != Z_OK && error != Z_STREAM_END)
            throw DataError(fmt::format("{}: ends too early or is damaged", m_path.string()));
        return true;
    }

private:
    struct Close {
        void operator()(gzFile file) const { gzclose(file); }
    };
    fs::path m_path;
    std::unique_ptr<gzFile_s, Close> m_file;
};

std::int64_t limited(std::int64_t available, const DataConfig& config) {
    return config.limit ? std::min(available, *config.limit) : available;
}

std::int64_t classCount(const std::vector<std::int64_t>& labels) {
    return labels.empty() ? 0 : std::max<std::int64_t>(10, *std::ranges::max_element(labels) + 1);
}

/// Yann LeCun's IDX format: http://yann.lecun.com/exdb/mnist/
ImageSet loadIdx(const DataConfig& config, const std::string& name) {
    const fs::path folder = dataFolder(config);
    const fs::path imagePath = findIdxFile(folder, "train-images", "idx3-ubyte");
    const fs::path labelPath = findIdxFile(folder, "train-labels", "idx1-ubyte");

    ImageSet set;
    InputFile images(imagePath);
    if (const std::uint32_t magic = images.readBigEndian("header"); magic != 0x803)
        throw DataError(fmt::format("{}: not an IDX file of images: magic number {:#x}, expected 0x803",
                                    imagePath.string(), magic));
    const std::int64_t count = images.readBigEndian("header");
    set.channels = 1;
    set.height = images.readBigEndian("header");
    set.width = images.readBigEndian("header");
    if (count < 1 || set.height < 1 || set.width < 1 || set.height > 65536 || set.width > 65536)
        throw DataError(fmt::format("{}: {} images of {} × {}: expected at least one image and sides up to 65536",
                                    imagePath.string(), count, set.height, set.width));
    set.samples = limited(count, config);
    const std::int64_t imageBytes = set.height * set.width;
    if (set.samples > mostBytes / imageBytes)
        throw DataError(fmt::format("{}: more than 64 GiB of images; use [data] limit", imagePath.string()));

    InputFile labels(labelPath);
    if (const std::uint32_t magic = labels.readBigEndian("header"); magic != 0x801)
        throw DataError(fmt::format("{}: not an IDX file of labels: magic number {:#x}, expected 0x801",
                                    labelPath.string(), magic));
    if (const std::int64_t labelCount = labels.readBigEndian("header"); labelCount != count)
        throw DataError(fmt::format("{}: {} labels for {} images", labelPath.string(), labelCount, count));
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(set.samples));
    labels.read(bytes, "labels");
    set.labels.assign(bytes.begin(), bytes.end());
    set.classes = classCount(set.labels);
    set.pixels.resize(static_cast<std::size_t>(set.samples * imageBytes));
    images.read(set.pixels, "pixels");
    set.description = fmt::format("{}, {} of {} samples from {}", name, set.samples, count, folder.string());
    return set;
}

/// One file of CIFAR's binary versions: per sample a byte for each label, of which the last counts, then
/// 3 × 32 × 32 pixel bytes. `labelCounts` says how many values each label has.
void appendCifar(ImageSet& set, const fs::path& path, std::span<const int> labelCounts, std::int64_t wanted) {
    constexpr std::size_t imageBytes = 3 * cifarSide * cifarSide;
    InputFile file(path);
    while (set.samples < wanted && !file.isAtEnd()) {
        std::uint8_t label = 0;
        for (const int count : labelCounts) {
            file.read({&label, 1}, "labels");
            if (label >= count)
                throw DataError(fmt::format("{}: label {} of sample {}: allowed is 0 … {}; is it the binary version?",
                                            path.string(), label, set.samples, count - 1));
        }
        set.labels.push_back(label);
        const std::size_t start = set.pixels.size();
        set.pixels.resize(start + imageBytes);
        file.read(std::span(set.pixels).subspan(start), "pixels");
        ++set.samples;
    }
}

ImageSet loadCifar(const DataConfig& config) {
    static constexpr std::array cifar10{10};
    static constexpr std::array cifar100{20, 100}; // a coarse label before the fine one
    const bool isCifar10 = config.kind == "cifar10";
    const fs::path folder(config.path);
    ImageSet set;
    set.channels = 3;
    set.height = set.width = cifarSide;
    set.classes = isCifar10 ? 10 : 100;
    const std::int64_t wanted = config.limit.value_or(std::numeric_limits<std::int64_t>::max());
    if (!isCifar10)
        appendCifar(set, findCifar100File(folder), cifar100, wanted);
    for (int batch = 1; isCifar10 && batch <= 5 && set.samples < wanted; ++batch) {
        const fs::path path = findCifarFile(folder, batch);
        if (path.empty())
            break; // part of the data set is fine, and said in the description
        appendCifar(set, path, cifar10, wanted);
    }
    if (set.samples == 0)
        throw DataError(fmt::format("{}: {} is empty", folder.string(), isCifar10 ? "data_batch_1.bin" : "train.bin"));
    set.description = fmt::format("CIFAR-{}, {} samples from {}", set.classes, set.samples, folder.string());
    return set;
}

/// Uniform noise from integers alone, so that no instruction set changes it; the same numbers as
/// torch.randint(256, …) and then torch.randint(classes, …) with one seeded generator.
ImageSet makeSynthetic(const DataConfig& config) {
    ImageSet set;
    set.samples = limited(config.samples, config);
    set.channels = config.shape[0];
    set.height = config.shape[1];
    set.width = config.shape[2];
    set.classes = config.classes;
    if (config.samples > (std::int64_t{1} << 34) / (set.channels * set.height * set.width))
        throw DataError("synthetic data of over 16 GiB; use fewer [data] samples or a smaller shape");
    const std::int64_t total = config.samples * set.channels * set.height * set.width;
    std::mt19937 generator(static_cast<std::uint32_t>(config.seed));
    set.pixels.resize(static_cast<std::size_t>(total));
    for (std::uint8_t& pixel : set.pixels)
        pixel = static_cast<std::uint8_t>(generator() % 256);
    set.labels.resize(static_cast<std::size_t>(config.samples));
    for (std::int64_t& label : set.labels)
        label = generator() % config.classes;
    set.pixels.resize(static_cast<std::size_t>(set.samples * set.channels * set.height * set.width));
    set.labels.resize(static_cast<std::size_t>(set.samples));
    set.description = fmt::format("synthetic noise, {} samples of {}, seed {}", set.samples,
                                  toText(config.shape), config.seed);
    return set;
}

} // namespace

ImageSet fitted(ImageSet set, const std::vector<std::int64_t>& shape) {
    const std::int64_t channels = shape[0], height = shape[1], width = shape[2];
    if (channels == set.channels && height == set.height && width == set.width)
        return set;
    if (height < set.height || width < set.width || (channels != set.channels && set.channels != 1))
        throw DataError(fmt::format("[data] shape = {}: samples of {}x{}x{} can be padded to larger sides and a "
                                    "single channel repeated, nothing else",
                                    toText(shape), set.channels, set.height, set.width));
    if (channels > mostBytes / height / width / set.samples)
        throw DataError(fmt::format("[data] shape = {}: {} samples of it are more than 64 GiB; use [data] limit",
                                    toText(shape), set.samples));
    ImageSet result = set;
    result.channels = channels;
    result.height = height;
    result.width = width;
    result.pixels.assign(static_cast<std::size_t>(set.samples * channels * height * width), 0);
    const std::int64_t top = (height - set.height) / 2, left = (width - set.width) / 2;
    for (std::int64_t n = 0; n < set.samples; ++n)
        for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t y = 0; y < set.height; ++y) {
                const std::int64_t from = ((n * set.channels + c % set.channels) * set.height + y) * set.width;
                const std::int64_t to = ((n * channels + c) * height + y + top) * width + left;
                std::copy_n(set.pixels.begin() + from, set.width, result.pixels.begin() + to);
            }
    result.description += fmt::format(", zero-padded from {} × {} to {} × {}", set.height, set.width, height, width);
    if (channels != set.channels)
        result.description += fmt::format(" and repeated to {} channels", channels);
    return result;
}

ImageSet loadImages(const DataConfig& config) {
    if (config.kind == "synthetic")
        return makeSynthetic(config);
    requireDataFiles(config);
    const bool isCifar = config.kind == "cifar10" || config.kind == "cifar100";
    ImageSet set = isCifar ? loadCifar(config) : loadIdx(config, config.kind == "idx" ? "IDX" : "Fashion-MNIST");
    return config.shape.empty() ? set : fitted(std::move(set), config.shape);
}

} // namespace driftscope
