// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/Loader.h"

#include "training/Hardware.h"

#include <ATen/record_function.h>
#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace driftscope {
namespace {

/// Batches that a worker may be ahead, as DataLoader's prefetch_factor.
constexpr std::size_t prefetch = 2;

at::Generator generatorWith(std::uint64_t seed) { return at::make_generator<at::CPUGeneratorImpl>(seed); }

/// A seed that depends on nothing but what it is for (the finaliser of splitmix64).
std::uint64_t mixed(std::uint64_t seed, std::uint64_t epoch, std::uint64_t id) {
    std::uint64_t x = seed;
    for (const std::uint64_t part : {epoch, id}) {
        x += 0x9E3779B97F4A7C15 + part;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
        x ^= x >> 31;
    }
    return x;
}

} // namespace

/// The worker threads of one epoch, each with the batches that are its own.
class Loader::Workers {
public:
    Workers(const Loader& loader, std::int64_t count, std::int64_t baseSeed) {
        for (std::int64_t w = 0; w < count; ++w)
            m_workers.push_back(std::make_unique<Worker>());
        std::int64_t started = 0;
        try {
            for (; started < count; ++started)
                start(loader, started, count, baseSeed);
        } catch (const std::system_error& error) {
            throw Unavailable(fmt::format("loader_workers = {}: only {} of them could be started: {}", count, started,
                                          error.code().message()));
        }
    }

    Batch take(std::int64_t position) {
        return m_workers[static_cast<std::size_t>(position) % m_workers.size()]->take();
    }

private:
    void start(const Loader& loader, std::int64_t w, std::int64_t count, std::int64_t baseSeed) {
        Worker* worker = m_workers[static_cast<std::size_t>(w)].get();
        worker->thread = std::jthread([&loader, w, count, baseSeed, worker](const std::stop_token& stop) {
            const at::DisableRecordFunctionGuard noRecord; // what they run belongs to no step
            const at::Generator generator = generatorWith(static_cast<std::uint64_t>(baseSeed + w));
            for (auto i = static_cast<std::size_t>(w); i < loader.m_batches.size(); i += static_cast<std::size_t>(count))
                if (!worker->put([&] { return loader.make(loader.m_batches[i], generator, loader.m_epoch); }, stop))
                    return;
        });
    }

    struct Worker {
        std::mutex mutex;
        std::condition_variable_any changed;
        std::deque<Batch> ready;
        std::exception_ptr failure;
        std::jthread thread; ///< last: ends before what it uses

        template <class Make>
        bool put(Make make, const std::stop_token& stop) {
            try {
                Batch batch = make();
                std::unique_lock held(mutex);
                if (!changed.wait(held, stop, [this] { return ready.size() < prefetch; }))
                    return false;
                ready.push_back(std::move(batch));
            } catch (...) {
                const std::lock_guard held(mutex);
                failure = std::current_exception();
            }
            changed.notify_all();
            return !failure;
        }
        Batch take() {
            std::unique_lock held(mutex);
            changed.wait(held, [this] { return !ready.empty() || failure; });
            if (ready.empty())
                std::rethrow_exception(failure);
            Batch batch = std::move(ready.front());
            ready.pop_front();
            changed.notify_all();
            return batch;
        }
    };
    std::vector<std::unique_ptr<Worker>> m_workers;
};

Loader::Loader(const TrainConfig& config, const BatchSource& source)
    : m_config(config), m_source(source), m_sampler(config, source.data().samples) {}

Loader::~Loader() = default;

void Loader::startEpoch() {
    m_workers.reset();
    ++m_epoch;
    m_position = 0;
    m_batches = m_sampler.nextEpoch();
    // DataLoader draws it whether it has workers or not; where nothing is random there is no loader to imitate.
    const std::int64_t baseSeed =
        m_source.isAugmented() ? torch::empty({}, torch::kInt64).random_().item<std::int64_t>() : 0;
    if (m_config.loaderWorkers > 0)
        m_workers = std::make_unique<Workers>(*this, m_config.loaderWorkers, baseSeed);
}

Batch Loader::make(std::vector<std::int64_t> ids, at::Generator generator, std::int64_t epoch) const {
    if (m_config.workerRng == "per-worker")
        return m_source.make(std::move(ids), std::move(generator));
    return m_source.makePerSample(std::move(ids), [&](std::int64_t id) {
        return mixed(static_cast<std::uint64_t>(m_config.seed), static_cast<std::uint64_t>(epoch),
                     static_cast<std::uint64_t>(id));
    });
}

Batch Loader::next() {
    if (m_position == static_cast<std::int64_t>(m_batches.size()))
        startEpoch();
    const std::int64_t position = m_position++;
    if (m_workers)
        return m_workers->take(position);
    return make(m_batches[static_cast<std::size_t>(position)], at::detail::getDefaultCPUGenerator(), m_epoch);
}

} // namespace driftscope
