// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording/RunReader.h"

#include "recording/FileDescriptor.h"
#include "recording/Hdf5.h"
#include "recording/RowDataset.h"
#include "recording/RunWriter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <numeric>

namespace driftscope {

namespace fs = std::filesystem;
using hdf5::Handle;

TensorRow::TensorRow(DType type, std::vector<std::byte> read)
    : m_type(type), m_owned(std::make_shared<const std::vector<std::byte>>(std::move(read))), m_bytes(*m_owned) {}

TensorRow TensorRow::part(std::size_t first, std::size_t count, std::vector<std::byte>& buffer) const {
    const std::size_t size = sizeBytes(m_type);
    if (!m_file)
        return {m_type, m_bytes.subspan(first * size, count * size)};
    buffer.resize(count * size);
    m_file->readAt(m_offset + first * size, buffer);
    return {m_type, buffer};
}

struct RunReader::Implementation {
    fs::path path;
    FileDescriptor descriptor;
    std::unique_ptr<Mapping> mapping;
    Handle file;
    std::string runId, created, generator, environment, comparedWith;
    WeightsLevel level = WeightsLevel::Full;
    std::optional<RunConfig> config;
    std::vector<std::int64_t> steps;
    std::vector<TensorInfo> parameters;
    std::optional<RowDataset> progress, sampleIds, batchDigest;
    std::vector<RowDataset> weights, gradients, gradientSamples, weightDigests, gradientDigests;
    std::vector<RowDataset> randomStates; ///< before the forward pass and after the backward one, or empty
    std::vector<std::pair<std::string, RowDataset>> comparison;
    std::vector<ReluProbe> reluProbes;
    std::vector<RowDataset> reluSigns; ///< per probe

    ~Implementation() { // HDF5 identifiers are closed under its lock
        const auto held = hdf5::lock();
        for (auto* datasets :
             {&weights, &gradients, &gradientSamples, &weightDigests, &gradientDigests, &randomStates})
            datasets->clear();
        comparison.clear();
        reluSigns.clear();
        progress.reset();
        sampleIds.reset();
        batchDigest.reset();
        file.reset();
    }

    [[noreturn]] void fail(const std::string& what) const {
        throw RecordingError(fmt::format("{}: {}", path.string(), what));
    }

    std::optional<RowDataset> open(const std::string& name, hid_t memoryType) const {
        return openRows(file.id(), *mapping, path, name, memoryType);
    }

    void readMetadata();
    void readParameters();
    void readParameter(const std::string& group, const std::string& name, std::uint64_t& rows);
    void readComparison();
    void readReluProbes();
    Digest digest(const RowDataset& digests, std::size_t row) const;
    TensorRow tensor(const std::vector<RowDataset>& datasets, std::size_t parameter, std::size_t row) const;
};

RunReader::RunReader(const fs::path& path) : m(std::make_unique<Implementation>()) {
    const auto held = hdf5::lock();
    m->path = path;
    m->file = hdf5::openReadOnly(path);
    m->descriptor = FileDescriptor(path, O_RDONLY);
    m->mapping = std::make_unique<Mapping>(m->descriptor);
    m->readMetadata();
    m->readParameters();
    m->readComparison();
    m->readReluProbes();
}

RunReader::~RunReader() = default;
RunReader::RunReader(RunReader&&) noexcept = default;
RunReader& RunReader::operator=(RunReader&&) noexcept = default;

void RunReader::Implementation::readMetadata() {
    const std::string format = hdf5::readTextAttribute(file.id(), "format");
    if (!format.empty() && format != runFormat)
        fail(fmt::format("is a \"{}\" file, not a \"{}\" file", format, runFormat));
    runId = hdf5::readTextAttribute(file.id(), "run_id");
    created = hdf5::readTextAttribute(file.id(), "created");
    generator = hdf5::readTextAttribute(file.id(), "generator");
    environment = hdf5::readText(file.id(), "/environment");
    if (environment.empty())
        environment = "{}";
    if (const std::string text = hdf5::readText(file.id(), "/config"); !text.empty() && format == runFormat) {
        try {
            config = runConfigFromJson(text);
        } catch (const StudyError& error) {
            fail(fmt::format("/config: {}", error.what()));
        }
    }
    progress = open("/progress", H5T_NATIVE_INT64);
    if (progress && (progress->rows != 2 || progress->rowBytes != sizeof(std::int64_t)))
        fail("/progress must be two integers: rows and state");
    sampleIds = open("/batch/sample_ids", H5T_NATIVE_INT64);
    batchDigest = open("/batch/digest", H5T_NATIVE_UINT64);
    if (batchDigest && batchDigest->rowBytes != sizeof(Digest))
        fail("/batch/digest must have two integers per row");
    if (const auto step = open("/step", H5T_NATIVE_INT64)) {
        if (step->rowBytes != sizeof(std::int64_t))
            fail("/step must have one integer per row");
        try {
            steps = hdf5::readAll<std::int64_t>(file.id(), "/step");
        } catch (const RecordingError& error) {
            fail(error.what());
        }
    }
}

void RunReader::Implementation::readParameters() {
    std::string group = "/weights";
    if (!hdf5::hasLocal(file.id(), group)) {
        level = hdf5::hasLocal(file.id(), "/sample") ? WeightsLevel::Sample : WeightsLevel::DigestOnly;
        group = level == WeightsLevel::Sample ? "/sample" : "/digest/weights";
    }
    if (!hdf5::hasLocal(file.id(), group))
        fail("has no /weights: not a run file");
    if (!Handle(H5Gopen2(file.id(), group.c_str(), H5P_DEFAULT), H5Gclose))
        fail(fmt::format("{} is not a group: not a run file", group));
    std::uint64_t rows = steps.size();
    for (const std::string& name : hdf5::childrenOf(file.id(), group))
        readParameter(group, name, rows);
    for (const auto* digests : {&weightDigests, &gradientDigests})
        if (!digests->empty() && digests->size() != parameters.size())
            fail("/digest does not name every tensor of /weights");

    // a few bytes can claim any number; compression makes at most a thousandth of it
    if (rows > (std::uint64_t{1} << 20) && rows / 1024 > descriptor.size())
        fail(fmt::format("{} rows are implausibly many", rows));
    if (steps.empty() && rows > 0) {
        steps.resize(rows);
        std::iota(steps.begin(), steps.end(), std::int64_t{0});
    }
    if (steps.size() != rows)
        fail(fmt::format("/step has {} rows, /weights has {}", steps.size(), rows));
    if (!std::ranges::is_sorted(steps, std::less_equal<>{}))
        fail("/step must rise from row to row");
    for (const auto* dataset : {&sampleIds, &batchDigest})
        if (*dataset && (*dataset)->rows != rows)
            fail(fmt::format("/batch has {} rows, /weights has {}", (*dataset)->rows, rows));
    for (const char* moment : {"before_forward", "after_backward"})
        if (auto found = open(fmt::format("/digest/random/{}", moment), H5T_NATIVE_UINT64)) {
            if (found->rows != rows || found->rowBytes != sizeof(Digest))
                fail(fmt::format("{} must have two integers per recorded step", found->name));
            randomStates.push_back(std::move(*found));
        }
    if (randomStates.size() == 1)
        fail("/digest/random lacks before_forward or after_backward");
}

/// Opens what the file has of one tensor. rows: those of the tensors before, or of /step.
void RunReader::Implementation::readParameter(const std::string& group, const std::string& name,
                                              std::uint64_t& rows) {
    const std::string dataset = group + "/" + name;
    // a name may hold a slash and then lead through a link
    const Handle opened = hdf5::hasLocal(file.id(), dataset)
                              ? Handle(H5Dopen2(file.id(), dataset.c_str(), H5P_DEFAULT), H5Dclose)
                              : Handle();
    if (!opened)
        fail(fmt::format("{} is not a dataset", dataset));
    TensorInfo tensor{name, DType::Float32, {}};
    if (level == WeightsLevel::Full) {
        const std::vector<hsize_t> shape = hdf5::shapeOf(opened.id());
        if (shape.empty())
            fail(fmt::format("{} is not a dataset with a row per recorded step", dataset));
        tensor.shape.assign(shape.begin() + 1, shape.end());
    } else {
        const std::string digest = "/digest/weights/" + name;
        const Handle described = hdf5::hasLocal(file.id(), digest)
                                     ? Handle(H5Dopen2(file.id(), digest.c_str(), H5P_DEFAULT), H5Dclose)
                                     : Handle();
        if (!described)
            fail(fmt::format("{} is missing", digest));
        tensor.shape = hdf5::readNumbersAttribute(described.id(), "shape");
        const std::string dtype = hdf5::readTextAttribute(described.id(), "dtype");
        for (const DType known : {DType::Float64, DType::Float16, DType::BFloat16})
            if (dtype == nameOf(known))
                tensor.dtype = known;
    }
    if (level != WeightsLevel::DigestOnly) {
        const Handle type(H5Dget_type(opened.id()), H5Tclose);
        const std::optional<DType> dtype = hdf5::dtypeOf(type.id());
        if (!dtype)
            fail(fmt::format("{}: its type is not known; allowed: float32, float64, float16, bfloat16", dataset));
        tensor.dtype = *dtype;
        weights.push_back(*open(dataset, hdf5::memoryType(*dtype)));
        if (parameters.empty())
            rows = weights.back().rows;
        if (weights.back().rows != rows)
            fail(fmt::format("{} has {} rows, others have {}", dataset, weights.back().rows, rows));
    }
    parameters.push_back(tensor);

    const auto matching = [&](const std::string& other, hid_t memoryType, std::uint64_t rowBytes) {
        std::optional<RowDataset> found = open(other, memoryType);
        if (found && (found->rows != rows || found->rowBytes != rowBytes))
            fail(fmt::format("{} has another shape than {}", other, dataset));
        return found;
    };
    if (hdf5::hasLocal(file.id(), "/gradients")) {
        auto found = matching("/gradients/" + name, hdf5::memoryType(tensor.dtype), tensor.bytes());
        if (!found)
            fail(fmt::format("/gradients has no {}", name));
        gradients.push_back(std::move(*found));
    }
    if (hdf5::hasLocal(file.id(), "/gradient_sample")) {
        const std::uint64_t elements =
            std::min(tensor.elements(), static_cast<std::uint64_t>(gradientSampleSize));
        auto found = matching("/gradient_sample/" + name, hdf5::memoryType(tensor.dtype),
                              elements * sizeBytes(tensor.dtype));
        if (!found)
            fail(fmt::format("/gradient_sample has no {}", name));
        gradientSamples.push_back(std::move(*found));
    }
    for (auto [digests, into] :
         {std::pair("/digest/weights/", &weightDigests), std::pair("/digest/gradient/", &gradientDigests)})
        if (auto found = matching(digests + name, H5T_NATIVE_UINT64, sizeof(Digest)))
            into->push_back(std::move(*found));
}

void RunReader::Implementation::readComparison() {
    if (!hdf5::hasLocal(file.id(), "/comparison"))
        return;
    const Handle group(H5Gopen2(file.id(), "/comparison", H5P_DEFAULT), H5Gclose);
    if (!group)
        fail("/comparison is not a group");
    comparedWith = hdf5::readTextAttribute(group.id(), "reference");
    for (const std::string& name : hdf5::childrenOf(file.id(), "/comparison")) {
        auto found = open("/comparison/" + name, name == "ulp_histogram" ? H5T_NATIVE_UINT64 : H5T_NATIVE_DOUBLE);
        if (!found || found->rows != steps.size())
            fail(fmt::format("/comparison/{} has another number of rows than /step", name));
        comparison.emplace_back(name, std::move(*found));
    }
}

void RunReader::Implementation::readReluProbes() {
    if (!hdf5::hasLocal(file.id(), "/relu"))
        return;
    if (!Handle(H5Gopen2(file.id(), "/relu", H5P_DEFAULT), H5Gclose))
        fail("/relu is not a group");
    for (const std::string& name : hdf5::childrenOf(file.id(), "/relu")) {
        auto found = open("/relu/" + name, H5T_NATIVE_UINT8);
        if (!found || found->rows != steps.size())
            fail(fmt::format("/relu/{} has another number of rows than /step", name));
        const std::vector<std::uint64_t> units = hdf5::readNumbersAttribute(found->dataset.id(), "units");
        if (!units.empty() && (units.size() != 1 || units[0] > 8 * found->rowBytes))
            fail(fmt::format("/relu/{}: units must be one number, at most a bit each", name));
        reluProbes.push_back({name, units.empty() ? 8 * found->rowBytes : units[0]});
        reluSigns.push_back(std::move(*found));
    }
}

std::span<const RunReader::ReluProbe> RunReader::reluProbes() const { return m->reluProbes; }

std::vector<std::uint8_t> RunReader::reluSigns(std::size_t probe, std::size_t row) const {
    const RowDataset& signs = m->reluSigns.at(probe);
    if (row >= signs.rows)
        throw std::out_of_range("RunReader: row");
    const std::vector<std::byte> bytes = signs.read(row);
    std::vector<std::uint8_t> bits(bytes.size());
    std::memcpy(bits.data(), bytes.data(), bytes.size());
    return bits;
}

const fs::path& RunReader::file() const { return m->path; }
const std::string& RunReader::runId() const { return m->runId; }
const std::string& RunReader::created() const { return m->created; }
const std::string& RunReader::generator() const { return m->generator; }
const std::optional<RunConfig>& RunReader::config() const { return m->config; }
const std::string& RunReader::environment() const { return m->environment; }
std::span<const std::int64_t> RunReader::steps() const { return m->steps; }
std::span<const TensorInfo> RunReader::parameters() const { return m->parameters; }
WeightsLevel RunReader::weightsLevel() const { return m->level; }
const std::string& RunReader::comparedWith() const { return m->comparedWith; }
bool RunReader::hasGradients() const { return !m->gradients.empty(); }
bool RunReader::hasDigests() const { return !m->weightDigests.empty(); }

RunProgress RunReader::progress() const {
    if (!m->progress)
        return {static_cast<std::int64_t>(m->steps.size()), RunState::Finished};
    std::int64_t numbers[2];
    if (m->progress->mapped)
        m->descriptor.readAt(
            static_cast<std::uint64_t>(m->progress->mapped->data() - m->mapping->bytes().data()),
            std::as_writable_bytes(std::span(numbers)));
    else {
        std::memcpy(&numbers[0], m->progress->read(0).data(), sizeof numbers[0]);
        std::memcpy(&numbers[1], m->progress->read(1).data(), sizeof numbers[1]);
    }
    RunProgress progress{std::clamp<std::int64_t>(numbers[0], 0, static_cast<std::int64_t>(m->steps.size())),
                         static_cast<RunState>(numbers[1])};
    if (numbers[1] < 0 || numbers[1] > 4)
        progress.state = RunState::Failed;
    if (progress.state == RunState::Running && !m->descriptor.isInUse())
        progress.state = RunState::Failed;
    return progress;
}

std::string RunReader::message() const {
    const auto held = hdf5::lock();
    // /message changes behind HDF5's back: a handle of its own sees it as it is
    std::string text;
    try {
        text = hdf5::readText(hdf5::openReadOnly(m->path).id(), "/message");
    } catch (const RecordingError&) { // the file may have been moved meanwhile
        text = hdf5::readText(m->file.id(), "/message");
    }
    if (text.empty() && progress().state == RunState::Failed)
        return "the process that recorded this run ended without a word";
    return text;
}

TensorRow RunReader::Implementation::tensor(const std::vector<RowDataset>& datasets, std::size_t parameter,
                                            std::size_t row) const {
    const RowDataset& dataset = datasets.at(parameter);
    if (row >= dataset.rows)
        throw std::out_of_range("RunReader: row");
    const DType type = parameters[parameter].dtype;
    if (dataset.mapped && reinterpret_cast<std::uintptr_t>(dataset.mapped->data()) % sizeBytes(type) == 0) {
        const auto bytes = dataset.mapped->subspan(row * dataset.rowBytes, dataset.rowBytes);
        return {type, bytes, descriptor, static_cast<std::uint64_t>(bytes.data() - mapping->bytes().data())};
    }
    return {type, dataset.read(row)};
}

TensorRow RunReader::weights(std::size_t parameter, std::size_t row) const {
    if (m->level == WeightsLevel::DigestOnly)
        m->fail("keeps only digests of the weights, not their values");
    return m->tensor(m->weights, parameter, row);
}

TensorRow RunReader::gradients(std::size_t parameter, std::size_t row) const {
    return m->tensor(m->gradients, parameter, row);
}

std::optional<TensorRow> RunReader::gradientSample(std::size_t parameter, std::size_t row) const {
    if (!m->gradientSamples.empty())
        return m->tensor(m->gradientSamples, parameter, row);
    if (m->gradients.empty())
        return std::nullopt;
    const TensorInfo& tensor = m->parameters[parameter];
    const TensorRow whole = gradients(parameter, row);
    return TensorRow(tensor.dtype, gathered(whole.bytes(), sampledElements(tensor, gradientSampleSize),
                                            sizeBytes(tensor.dtype)));
}

std::optional<RandomState> RunReader::randomState(std::size_t row) const {
    if (m->randomStates.empty())
        return std::nullopt;
    return RandomState{m->digest(m->randomStates[0], row), m->digest(m->randomStates[1], row)};
}

Digest RunReader::Implementation::digest(const RowDataset& digests, std::size_t row) const {
    Digest digest;
    if (digests.mapped)
        std::memcpy(digest.data(), digests.mapped->data() + row * sizeof digest, sizeof digest);
    else
        std::memcpy(digest.data(), digests.read(row).data(), sizeof digest);
    return digest;
}

Digest RunReader::weightDigest(std::size_t parameter, std::size_t row) const {
    if (m->weightDigests.empty()) // whole tensors, or there would be digests
        return digestOf(weights(parameter, row).bytes());
    return m->digest(m->weightDigests.at(parameter), row);
}

std::optional<Digest> RunReader::gradientDigest(std::size_t parameter, std::size_t row) const {
    if (!m->gradientDigests.empty())
        return m->digest(m->gradientDigests.at(parameter), row);
    if (!m->gradients.empty())
        return digestOf(gradients(parameter, row).bytes());
    return std::nullopt;
}

std::optional<Digest> RunReader::batchDigest(std::size_t row) const {
    if (!m->batchDigest)
        return std::nullopt;
    return m->digest(*m->batchDigest, row);
}

namespace {

template <class T>
std::vector<T> numbersOf(const std::vector<std::byte>& bytes) {
    std::vector<T> numbers(bytes.size() / sizeof(T));
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
    return numbers;
}

} // namespace

std::vector<double> RunReader::recordedMetric(std::string_view name, std::size_t row) const {
    const auto found = std::ranges::find(m->comparison, name, &std::pair<std::string, RowDataset>::first);
    if (found == m->comparison.end())
        m->fail(fmt::format("/comparison has no {}", name));
    return numbersOf<double>(found->second.read(row));
}

std::vector<std::uint64_t> RunReader::recordedHistogram(std::size_t row) const {
    const auto found = std::ranges::find(m->comparison, "ulp_histogram", &std::pair<std::string, RowDataset>::first);
    return found == m->comparison.end() ? std::vector<std::uint64_t>() : numbersOf<std::uint64_t>(found->second.read(row));
}

std::vector<double> RunReader::scalar(Scalar scalar) const {
    const auto rows = static_cast<std::size_t>(progress().rows);
    const auto held = hdf5::lock();
    const std::string dataset = fmt::format("/scalars/{}", scalarNames[scalar]);
    // a handle of its own: HDF5 would go on showing rows as they were when it read them first
    const Handle opened = hdf5::openReadOnly(m->path);
    try {
        std::vector<double> values = hdf5::readAll<double>(opened.id(), dataset);
        values.resize(std::min(values.size(), rows));
        return values;
    } catch (const RecordingError& error) {
        m->fail(error.what());
    }
}

std::vector<std::int64_t> RunReader::sampleIds(std::size_t row) const {
    if (!m->sampleIds)
        return {};
    std::vector<std::byte> bytes;
    std::span<const std::byte> view;
    if (m->sampleIds->mapped)
        view = m->sampleIds->mapped->subspan(row * m->sampleIds->rowBytes, m->sampleIds->rowBytes);
    else
        view = bytes = m->sampleIds->read(row);
    std::vector<std::int64_t> ids(view.size() / sizeof(std::int64_t));
    std::memcpy(ids.data(), view.data(), view.size());
    return ids;
}

} // namespace driftscope
