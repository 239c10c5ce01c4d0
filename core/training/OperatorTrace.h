// SPDX-License-Identifier: GPL-3.0-or-later
// Listens to the ATen operators of this process: what each was given and what it put out, as digests. One at a
// time; threads that don't belong to the training opt out by at::DisableRecordFunctionGuard. For core/training
// only.
#pragma once

#include "recording/Trace.h"

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

namespace at {
struct RecordFunction;
struct ObserverContext;
} // namespace at

namespace driftscope {

/// The tensor's bytes on the CPU, in the order of its elements; without its values if `keep` is empty or says −1.
TracedTensor traced(std::string name, const torch::Tensor& tensor,
                    const std::function<std::int64_t(std::span<const std::byte>)>& keep = {});

class OperatorTrace {
public:
    using Keep = std::function<std::int64_t(std::span<const std::byte>)>;

    /// keep: takes the values of the outputs of the operator at the position `keptOperator`, −1 for none.
    OperatorTrace(std::int64_t keptOperator, Keep keep);
    ~OperatorTrace();
    OperatorTrace(const OperatorTrace&) = delete;
    OperatorTrace& operator=(const OperatorTrace&) = delete;

    void start();
    void stop();

    /// What the calling thread does from now on, which is the thread that trains; others run forward and backward
    /// passes for it.
    void enter(Phase phase);
    /// The forward pass has come to the output of this module: what ran since the last one was its work.
    void passed(const std::string& module);
    /// The backward pass has come to the gradient of this module's output: what runs from now on is its work.
    void reached(const std::string& module);

    std::vector<TracedOperator> take();

private:
    struct Running;
    static std::unique_ptr<at::ObserverContext> onStart(const at::RecordFunction& function);
    static void onEnd(const at::RecordFunction& function, at::ObserverContext* context);
    std::unique_ptr<Running> started(const at::RecordFunction& function);
    void ended(const at::RecordFunction& function, const Running& running);
    [[nodiscard]] bool isWritten(const torch::Tensor& tensor) const;
    [[nodiscard]] Phase phaseOfThread() const;
    void leaveForward();

    std::int64_t m_keptOperator;
    Keep m_keep;
    std::mutex m_mutex;
    std::uint64_t m_callback = 0;
    bool m_isListening = false;
    std::thread::id m_trainer;
    Phase m_phase = Phase::Forward; ///< of the thread that trains, outside of its backward passes
    std::string m_backwardModule;
    std::vector<TracedOperator> m_operators;
    std::vector<std::size_t> m_sinceLastModule; ///< positions in m_operators
    std::int64_t m_ended = 0;
    std::unordered_set<const void*> m_unwritten; ///< storages that hold whatever was in memory before
};

} // namespace driftscope
