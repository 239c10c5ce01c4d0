// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/CanonicalGradient.h"

#include "training/ActivationCapture.h"
#include "training/Autocast.h"
#include "training/Hardware.h"

#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>
#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <exception>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>

namespace driftscope {

/// Threads that LibTorch gives one thread each inside an operator.
class CanonicalGradient::Threads {
public:
    explicit Threads(int count) : m_count(count), m_gate(count + 1) {
        // a thread takes over the process's count when it first runs an operator, and keeps it
        const int before = at::get_num_threads();
        at::set_num_threads(1);
        start();
        m_gate.arrive_and_wait(); // each has taken it over
        at::set_num_threads(before);
        if (m_failure) {
            m_isEnding = true;
            m_gate.arrive_and_wait(); // they end
            std::rethrow_exception(m_failure);
        }
    }
    ~Threads() {
        m_isEnding = true;
        m_gate.arrive_and_wait();
    }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

    [[nodiscard]] int count() const { return m_count; }

    /// Calls work(0) … work(n − 1), shared out among the threads. Throws what one of them throws.
    void run(std::int64_t n, const std::function<void(std::int64_t)>& work) {
        m_work = &work;
        m_next = 0;
        m_end = n;
        m_state = at::ThreadLocalState();
        m_failure = nullptr;
        m_gate.arrive_and_wait(); // begin
        m_gate.arrive_and_wait(); // all have ended
        if (m_failure)
            std::rethrow_exception(m_failure);
    }

private:
    /// Where the system has fewer threads than are wanted, those there are wait at the gate for the others: they are
    /// counted out, and all end.
    void start() {
        try {
            for (int i = 0; i < m_count; ++i)
                m_threads.emplace_back([this] { serve(); });
        } catch (const std::system_error& error) {
            const std::lock_guard held(m_mutex);
            m_failure = std::make_exception_ptr(Unavailable(
                fmt::format("accumulator = canonical: only {} of {} threads could be started: {}; choose fewer with threads",
                            m_threads.size(), m_count, error.code().message())));
            for (auto missing = static_cast<std::size_t>(m_count) - m_threads.size(); missing > 0; --missing)
                m_gate.arrive_and_drop();
        }
    }

    void serve() {
        if (at::get_num_threads() != 1) { // asking is what makes a thread take it over
            const std::lock_guard held(m_mutex);
            m_failure = std::make_exception_ptr(
                SettingMismatch("accumulator = canonical: a thread of its own has several threads inside an operator"));
        }
        m_gate.arrive_and_wait();
        while (true) {
            m_gate.arrive_and_wait();
            if (m_isEnding)
                return;
            try {
                const at::ThreadLocalStateGuard asTheCaller(m_state);
                for (std::int64_t i = m_next++; i < m_end; i = m_next++)
                    (*m_work)(i);
            } catch (...) {
                const std::lock_guard held(m_mutex);
                m_failure = std::current_exception();
            }
            m_gate.arrive_and_wait();
        }
    }

    int m_count;
    std::barrier<> m_gate;
    const std::function<void(std::int64_t)>* m_work = nullptr;
    std::atomic<std::int64_t> m_next = 0;
    std::int64_t m_end = 0;
    at::ThreadLocalState m_state;
    std::mutex m_mutex;
    std::exception_ptr m_failure;
    std::atomic<bool> m_isEnding = false;
    std::vector<std::jthread> m_threads; ///< last: ends before what it uses
};

namespace {

/// A sum of 2^level leaves, or of what is left of them at the end.
struct Node {
    int level = 0;
    std::vector<torch::Tensor> sums;
};

void mergeLastTwo(std::vector<Node>& stack) {
    const Node right = std::move(stack.back());
    stack.pop_back();
    Node& left = stack.back();
    for (std::size_t i = 0; i < left.sums.size(); ++i)
        left.sums[i] = left.sums[i] + right.sums[i];
    ++left.level;
}

} // namespace

CanonicalGradient::CanonicalGradient(const TrainConfig& config, Network& network,
                                     std::vector<torch::Tensor> parameters, int threads)
    : m_config(config), m_network(network), m_parameters(std::move(parameters)),
      m_threads(std::make_unique<Threads>(threads)) {}

CanonicalGradient::~CanonicalGradient() = default;

CanonicalGradient::Leaf CanonicalGradient::leafOf(const Batch& batch, std::int64_t position,
                                                  const LossWeight& weight) {
    const at::AutoGradMode withGradient(true);
    ActivationCapture::beginAt(position);
    std::optional<Autocast> autocast;
    if (m_config.autocast)
        autocast.emplace(batch.inputs.device().type());
    const torch::Tensor output = m_network.forward(batch.inputs.narrow(0, position, 1));
    const Outcome outcome = lossOf(m_config, output, batch.targets.narrow(0, position, 1));
    const torch::Tensor loss = weight.of(outcome.mean);
    autocast.reset();
    Leaf leaf{loss.detach(), {}, outcome.correct, outcome.counted};
    leaf.gradients = torch::autograd::grad({loss}, m_parameters, /*grad_outputs=*/{}, /*retain_graph=*/false,
                                           /*create_graph=*/false, /*allow_unused=*/true);
    for (std::size_t i = 0; i < m_parameters.size(); ++i)
        if (!leaf.gradients[i].defined())
            leaf.gradients[i] = torch::zeros_like(m_parameters[i]);
    return leaf;
}

CanonicalGradient::Result CanonicalGradient::compute(const Batch& batch, const std::vector<LossWeight>& weights) {
    std::vector<std::int64_t> order(batch.ids.size());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::ranges::sort(order, {}, [&](std::int64_t i) { return batch.ids[static_cast<std::size_t>(i)]; });

    const torch::NoGradGuard noGradient;
    Result result;
    std::vector<Node> stack;
    const auto atOnce = static_cast<std::int64_t>(m_threads->count());
    for (std::int64_t first = 0; first < batch.size(); first += atOnce) {
        std::vector<Leaf> leaves(static_cast<std::size_t>(std::min(atOnce, batch.size() - first)));
        m_threads->run(static_cast<std::int64_t>(leaves.size()), [&](std::int64_t i) {
            const std::int64_t position = order[static_cast<std::size_t>(first + i)];
            leaves[static_cast<std::size_t>(i)] = leafOf(batch, position, weights[static_cast<std::size_t>(position)]);
        });
        for (Leaf& leaf : leaves) {
            result.correct += leaf.correct;
            result.counted += leaf.counted;
            if (leaf.counted == 0)
                continue; // its mean is 0 / 0
            leaf.gradients.push_back(std::move(leaf.loss));
            stack.push_back({0, std::move(leaf.gradients)});
            while (stack.size() > 1 && stack[stack.size() - 2].level == stack.back().level)
                mergeLastTwo(stack);
        }
    }
    while (stack.size() > 1)
        mergeLastTwo(stack);
    if (stack.empty())
        return result;
    result.loss = stack.front().sums.back().item<double>();
    for (std::size_t i = 0; i < m_parameters.size(); ++i)
        m_parameters[i].mutable_grad() = stack.front().sums[i];
    return result;
}

} // namespace driftscope
