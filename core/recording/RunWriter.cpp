// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording/RunWriter.h"

#include "recording/SumOfSquares.h"
#include "recording/FileDescriptor.h"
#include "recording/RunLayout.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <fcntl.h>
#include <mutex>
#include <random>
#include <system_error>
#include <thread>

namespace driftscope {

namespace fs = std::filesystem;

namespace {

/// Rows on their way to the disk: enough to even it out, few enough to hold.
constexpr std::size_t mostRowsInFlight = 3;

std::span<const std::byte> bytesOf(const auto& range) { return std::as_bytes(std::span(range)); }

void writeOutcome(const FileDescriptor& file, const RunLayout& layout, RunState state, std::string_view message) {
    // cut at a character's start, so that the rest stays valid UTF-8
    std::size_t length = std::min(message.size(), messageBytes - 1);
    while (length > 0 && length < message.size() && (static_cast<unsigned char>(message[length]) & 0xC0) == 0x80)
        --length;
    std::string text(message.substr(0, length));
    text.resize(messageBytes, '\0');
    file.writeAt(layout.message.offset, bytesOf(text));
    const auto number = static_cast<std::int64_t>(state);
    file.writeAt(layout.progress.offset + sizeof number, bytesOf(std::span(&number, 1)));
}

} // namespace

namespace {

/// A row on its way, which borrows the values of whoever handed it over until they are copied.
struct QueuedRow {
    enum class Values { Borrowed, BeingCopied, Owned };
    explicit QueuedRow(RunRow handedOver) : row(std::move(handedOver)) {}
    RunRow row;
    Values values = Values::Borrowed;
};

/// Puts copies in the place of what may change: all but the gradients.
void takeCopies(RunRow& row) {
    const auto copy = [](TensorValues& values) {
        const std::span<const std::byte> bytes = values.arrived();
        auto owner = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
        values = {*owner, owner};
    };
    for (TensorValues& values : row.weights)
        copy(values);
    for (auto& [dataset, values] : row.extras)
        copy(values);
}

} // namespace

struct RunWriter::Implementation {
    FileDescriptor file;
    RunLayout layout;
    std::vector<TensorInfo> parameters;
    std::vector<std::vector<std::uint64_t>> sampled;          ///< weights = "sample": per parameter
    std::vector<std::vector<std::uint64_t>> sampledGradients; ///< gradients = "sample": likewise
    std::vector<std::uint64_t> extraRows;            ///< rows written of each extra dataset

    std::mutex mutex;
    std::condition_variable_any changed;
    std::deque<std::shared_ptr<QueuedRow>> queue; ///< the first one is being written
    bool isFinished = false;
    std::exception_ptr error;
    std::int64_t rows = 0;
    std::size_t batch = 0; ///< sample ids per row
    std::jthread thread;

    void work(const std::stop_token& stop);
    void own(QueuedRow& row);
    void write(RunRow& row);
    void drain(std::unique_lock<std::mutex>& held);
};

std::uint64_t valueBytes(const RunSchema& schema) {
    const RecordConfig& record = schema.config.record;
    std::uint64_t row = 0, others = 0;
    for (const TensorInfo& tensor : schema.parameters) {
        const auto addSample = [&](std::int64_t size) {
            const std::uint64_t elements = std::min(tensor.elements(), static_cast<std::uint64_t>(size));
            row += elements * sizeBytes(tensor.dtype);
            others += elements * sizeof(std::uint64_t); // their positions
        };
        if (record.weights == "full")
            row += tensor.bytes();
        if (record.weights == "sample")
            addSample(record.sampleSize);
        if (record.gradients == "full")
            row += tensor.bytes();
        if (record.gradients == "sample")
            addSample(gradientSampleSize);
        row += 2 * sizeof(Digest);
    }
    row += ScalarCount * sizeof(double) + static_cast<std::uint64_t>(schema.config.train.batch) * sizeof(std::int64_t);
    for (const ExtraDataset& extra : schema.extras) {
        const std::uint64_t bytes = TensorInfo{extra.path, extra.dtype, extra.shape}.bytes();
        (extra.steps.empty() ? row : others) += extra.steps.empty() ? bytes : bytes * extra.steps.size();
    }
    return row * schema.steps.size() + others;
}

RunWriter::RunWriter(const fs::path& path, const RunSchema& schema) : m(std::make_unique<Implementation>()) {
    std::error_code ignored;
    if (fs::exists(path, ignored))
        throw RecordingError(fmt::format("{}: exists already", path.string()));
    const fs::path temporary = path.string() + ".new";
    fs::remove(temporary, ignored);
    requireSpace(path, valueBytes(schema));
    try {
        m->layout = createRunFile(temporary, schema);
        m->file = FileDescriptor(temporary, O_RDWR);
        m->file.reserve(m->file.size());
        m->file.markInUse();
        fs::rename(temporary, path);
    } catch (const fs::filesystem_error& error) {
        fs::remove(temporary, ignored);
        throw RecordingError(fmt::format("{}: {}", path.string(), error.code().message()));
    } catch (...) {
        fs::remove(temporary, ignored);
        throw;
    }
    m->parameters = schema.parameters;
    m->extraRows.resize(schema.extras.size());
    if (schema.config.record.weights == "sample")
        for (const TensorInfo& tensor : schema.parameters)
            m->sampled.push_back(sampledElements(tensor, schema.config.record.sampleSize));
    if (schema.config.record.gradients == "sample")
        for (const TensorInfo& tensor : schema.parameters)
            m->sampledGradients.push_back(sampledElements(tensor, gradientSampleSize));
    m->batch = static_cast<std::size_t>(schema.config.train.batch);
    try {
        m->thread = std::jthread([this](const std::stop_token& stop) { m->work(stop); });
    } catch (const std::system_error& error) {
        throw RecordingError(fmt::format("{}: no thread could be started to write it: {}", path.string(),
                                         error.code().message()));
    }
}

RunWriter::~RunWriter() {
    try {
        if (!m->isFinished)
            finish(RunState::Failed, "the recording was not finished");
    } catch (const std::exception&) { // the failure itself is in the file or can't be
    }
}

void RunWriter::append(RunRow row) {
    {
        std::unique_lock held(m->mutex);
        m->changed.wait(held, [this] { return m->queue.size() < mostRowsInFlight || m->error; });
        if (m->error)
            std::rethrow_exception(m->error);
        m->queue.push_back(std::make_shared<QueuedRow>(std::move(row)));
    }
    m->changed.notify_all();
}

void RunWriter::release() {
    std::unique_lock held(m->mutex);
    const auto rows = m->queue;
    held.unlock();
    for (const std::shared_ptr<QueuedRow>& row : rows)
        m->own(*row);
    held.lock();
    if (m->error)
        std::rethrow_exception(m->error);
}

void RunWriter::waitUntilWritten() {
    std::unique_lock held(m->mutex);
    m->drain(held);
    if (m->error)
        std::rethrow_exception(m->error);
}

void RunWriter::finish(RunState state, std::string_view message) {
    std::unique_lock held(m->mutex);
    m->isFinished = true;
    m->drain(held);
    if (m->error) {
        try {
            std::rethrow_exception(m->error);
        } catch (const std::exception& error) {
            writeOutcome(m->file, m->layout, RunState::Failed, error.what());
            throw;
        }
    }
    writeOutcome(m->file, m->layout, state, message);
}

void RunWriter::Implementation::drain(std::unique_lock<std::mutex>& held) {
    changed.wait(held, [this] { return queue.empty() || error; });
}

/// Copies the row's values, or waits for the other thread to do so; on return they are the row's own.
void RunWriter::Implementation::own(QueuedRow& row) {
    std::unique_lock held(mutex);
    changed.wait(held, [&] { return row.values != QueuedRow::Values::BeingCopied; });
    if (row.values == QueuedRow::Values::Owned)
        return;
    row.values = QueuedRow::Values::BeingCopied;
    held.unlock();
    std::exception_ptr failure;
    try {
        takeCopies(row.row);
    } catch (...) { // no memory
        failure = std::current_exception();
    }
    held.lock();
    row.values = failure ? QueuedRow::Values::Borrowed : QueuedRow::Values::Owned;
    changed.notify_all();
    if (failure)
        std::rethrow_exception(failure);
}

void RunWriter::Implementation::work(const std::stop_token& stop) {
    std::unique_lock held(mutex);
    while (changed.wait(held, stop, [this] { return !queue.empty(); })) {
        const std::shared_ptr<QueuedRow> row = queue.front();
        held.unlock();
        std::exception_ptr failure;
        try {
            own(*row);
            write(row->row);
        } catch (...) {
            failure = std::current_exception();
        }
        held.lock();
        error = failure;
        queue.pop_front();
        changed.notify_all();
        if (error)
            return;
    }
}

void RunWriter::Implementation::write(RunRow& row) {
    const auto at = [this](const DatasetPlace& place) {
        return place.offset + static_cast<std::uint64_t>(rows) * place.rowBytes;
    };
    double squaredNorm = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const std::span<const std::byte> weights = row.weights.at(i).arrived();
        if (!sampled.empty())
            file.writeAt(at(layout.weights[i]), gathered(weights, sampled[i], sizeBytes(parameters[i].dtype)));
        else if (!layout.weights.empty())
            file.writeAt(at(layout.weights[i]), weights);
        file.writeAt(at(layout.weightDigests[i]), bytesOf(digestOf(weights)));

        Digest digest{};
        if (!row.gradients.empty()) {
            digest = digestOf(row.gradients[i].arrived());
            squaredNorm += sumOfSquares(row.gradients[i].bytes, parameters[i].dtype);
        }
        file.writeAt(at(layout.gradientDigests[i]), bytesOf(digest));
        if (layout.gradients.empty())
            continue;
        if (row.gradients.empty()) // all ones is a NaN in every float type
            file.writeAt(at(layout.gradients[i]), std::vector(layout.gradients[i].rowBytes, std::byte{0xFF}));
        else if (!sampledGradients.empty())
            file.writeAt(at(layout.gradients[i]),
                         gathered(row.gradients[i].bytes, sampledGradients[i], sizeBytes(parameters[i].dtype)));
        else
            file.writeAt(at(layout.gradients[i]), row.gradients[i].bytes);
    }
    if (!row.gradients.empty())
        row.scalars[GradNormSq] = squaredNorm;
    for (std::size_t i = 0; i < ScalarCount; ++i)
        file.writeAt(at(layout.scalars[i]), bytesOf(std::span(&row.scalars[i], 1)));
    row.sampleIds.resize(batch, -1);
    file.writeAt(at(layout.sampleIds), bytesOf(row.sampleIds));
    file.writeAt(at(layout.batchDigest), bytesOf(row.batchDigest));

    for (const auto& [i, values] : row.extras) {
        const DatasetPlace& place = layout.extras[i];
        if (values.bytes.size() != place.rowBytes) // more would go over what lies behind it in the file
            throw RecordingError(fmt::format("a row of {} bytes does not fit a dataset with {} per row",
                                             values.bytes.size(), place.rowBytes));
        file.writeAt(place.offset + extraRows[i]++ * place.rowBytes, values.arrived());
    }

    ++rows;
    file.writeAt(layout.progress.offset, bytesOf(std::span(&rows, 1)));
}

std::vector<std::uint64_t> sampledElements(const TensorInfo& tensor, std::int64_t sampleSize) {
    const std::uint64_t all = tensor.elements();
    const std::uint64_t count = std::min(all, static_cast<std::uint64_t>(sampleSize));
    // selection sampling: Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S
    std::mt19937_64 random(digestOf(std::as_bytes(std::span(tensor.name)))[0]);
    std::vector<std::uint64_t> chosen;
    chosen.reserve(count);
    for (std::uint64_t i = 0; chosen.size() < count; ++i)
        if (random() % (all - i) < count - chosen.size())
            chosen.push_back(i);
    return chosen;
}

std::vector<std::byte> gathered(std::span<const std::byte> values, std::span<const std::uint64_t> index,
                                std::size_t size) {
    std::vector<std::byte> chosen(index.size() * size);
    for (std::size_t i = 0; i < index.size(); ++i)
        std::memcpy(chosen.data() + i * size, values.data() + index[i] * size, size);
    return chosen;
}

void recordOutcome(const fs::path& path, const RunConfig& config, RunState state, std::string_view message) {
    if (std::error_code ignored; !fs::exists(path, ignored)) {
        RunWriter(path, {.config = config, .environment = "{}", .steps = {}, .parameters = {}})
            .finish(state, message);
        return;
    }
    const RunLayout layout = findOutcome(path);
    writeOutcome(FileDescriptor(path, O_RDWR), layout, state, message);
}

} // namespace driftscope
