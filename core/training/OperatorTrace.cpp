// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/OperatorTrace.h"

#include <ATen/record_function.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string_view>

namespace driftscope {
namespace {

std::atomic<OperatorTrace*> listener = nullptr;

thread_local int nodes = 0; ///< of the backward pass that this thread is in
thread_local int depth = 0; ///< of the operators that it is in

std::string typeName(torch::ScalarType type) {
    switch (type) {
    case torch::kFloat32: return "float32";
    case torch::kFloat64: return "float64";
    case torch::kFloat16: return "float16";
    case torch::kBFloat16: return "bfloat16";
    case torch::kInt64: return "int64";
    case torch::kInt32: return "int32";
    case torch::kBool: return "bool";
    case torch::kUInt8: return "uint8";
    default: return c10::toString(type);
    }
}

bool isReadable(const torch::Tensor& tensor) {
    return tensor.defined() && tensor.layout() == torch::kStrided && tensor.has_storage() && !tensor.is_meta();
}

const void* storageOf(const torch::Tensor& tensor) { return tensor.storage().unsafeGetStorageImpl(); }

/// "add_" of "aten::add_".
std::string_view baseName(std::string_view name) {
    const std::size_t colon = name.rfind("::");
    return colon == std::string_view::npos ? name : name.substr(colon + 2);
}

template <std::size_t N>
bool isOneOf(std::string_view name, const std::string_view (&names)[N]) {
    return std::ranges::find(names, name) != std::end(names);
}

/// Their outputs hold whatever was in memory before.
bool leavesUnwritten(std::string_view base) {
    return base.find("empty") != std::string_view::npos || base == "resize_" || base == "resize_as_";
}

/// They write their first argument without reading it.
bool onlyWrites(std::string_view base) {
    static constexpr std::string_view names[] = {"copy_",      "fill_",       "zero_",        "uniform_",
                                                 "normal_",    "bernoulli_",  "random_",      "exponential_",
                                                 "geometric_", "log_normal_", "cauchy_"};
    return isOneOf(base, names);
}

/// They compute nothing: their outputs are other views of their inputs, or say where these lie.
bool isView(std::string_view base, const c10::FunctionSchema& schema) {
    static constexpr std::string_view names[] = {"as_strided_", "transpose_", "t_",      "squeeze_", "unsqueeze_",
                                                 "detach_",     "set_",       "swapdims_", "swapaxes_", "resolve_conj",
                                                 "resolve_neg", "requires_grad_"};
    const auto& returns = schema.returns();
    return isOneOf(base, names) || (!returns.empty() && std::ranges::all_of(returns, [](const c10::Argument& value) {
               return value.alias_info() && !value.alias_info()->isWrite();
           }));
}

/// Calls work(tensor) for each tensor in a value, those of lists one by one.
template <class Work>
void eachTensor(const c10::IValue& value, Work work) {
    if (value.isTensor()) {
        work(value.toTensor());
    } else if (value.isTensorList()) {
        for (const torch::Tensor& tensor : value.toTensorVector())
            work(tensor);
    } else if (value.isList()) {
        for (const c10::IValue& item : value.toListRef())
            if (item.isTensor())
                work(item.toTensor());
    }
}

/// "" where the value is no number.
std::string textOf(const c10::IValue& value) {
    if (value.isDouble())
        return fmt::to_string(value.toDouble());
    if (value.isBool())
        return value.toBool() ? "true" : "false";
    if (value.isInt())
        return fmt::to_string(value.toInt());
    if (value.isIntList())
        return fmt::format("[{}]", fmt::join(value.toIntVector(), ", "));
    if (value.isDoubleList())
        return fmt::format("[{}]", fmt::join(value.toDoubleVector(), ", "));
    return "";
}

/// Of what listens to LibTorch, LibTorch hears nothing.
struct Quietly {
    at::DisableRecordFunctionGuard noRecord;
    torch::NoGradGuard noGradient;
};

} // namespace

TracedTensor traced(std::string name, const torch::Tensor& tensor, const OperatorTrace::Keep& keep) {
    const Quietly quietly;
    const torch::Tensor plain = tensor.detach().to(torch::kCPU).contiguous();
    const std::span bytes(static_cast<const std::byte*>(plain.data_ptr()), plain.nbytes());
    TracedTensor result{std::move(name), typeName(plain.scalar_type()), {}, digestOf(bytes)};
    result.shape.assign(plain.sizes().begin(), plain.sizes().end());
    result.bytes = bytes.size();
    if (keep)
        result.offset = keep(bytes);
    return result;
}

struct OperatorTrace::Running : at::ObserverContext {
    bool isNode = false;      ///< of the backward pass: no operator, but it calls some
    bool isUnwritten = false; ///< its outputs will be
    bool isSkipped = false;   ///< it computes nothing
    std::size_t position = 0; ///< in m_operators
};

OperatorTrace::OperatorTrace(std::int64_t keptOperator, Keep keep)
    : m_keptOperator(keptOperator), m_keep(std::move(keep)) {}

OperatorTrace::~OperatorTrace() { stop(); }

void OperatorTrace::start() {
    if (m_isListening)
        return;
    m_trainer = std::this_thread::get_id();
    listener = this;
    m_callback = at::addGlobalCallback(at::RecordFunctionCallback(&onStart, &onEnd)
                                           .needsInputs(true)
                                           .needsOutputs(true)
                                           .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
    m_isListening = true;
}

void OperatorTrace::stop() {
    if (!m_isListening)
        return;
    at::removeCallback(m_callback);
    listener = nullptr;
    m_isListening = false;
}

void OperatorTrace::enter(Phase phase) {
    const std::lock_guard held(m_mutex);
    m_phase = phase;
}

void OperatorTrace::passed(const std::string& module) {
    const std::lock_guard held(m_mutex);
    for (const std::size_t position : m_sinceLastModule)
        m_operators[position].module = module;
    m_sinceLastModule.clear();
}

void OperatorTrace::reached(const std::string& module) {
    const std::lock_guard held(m_mutex);
    m_backwardModule = module;
}

/// What ran behind the last module of a forward pass was the loss.
void OperatorTrace::leaveForward() {
    for (const std::size_t position : m_sinceLastModule)
        m_operators[position].phase = Phase::Loss;
    m_sinceLastModule.clear();
    m_backwardModule.clear(); // the loss's own backward pass comes first
}

std::vector<TracedOperator> OperatorTrace::take() {
    const std::lock_guard held(m_mutex);
    return std::move(m_operators);
}

Phase OperatorTrace::phaseOfThread() const {
    if (nodes > 0)
        return Phase::Backward;
    return std::this_thread::get_id() == m_trainer ? m_phase : Phase::Forward;
}

bool OperatorTrace::isWritten(const torch::Tensor& tensor) const { return !m_unwritten.contains(storageOf(tensor)); }

std::unique_ptr<at::ObserverContext> OperatorTrace::onStart(const at::RecordFunction& function) {
    OperatorTrace* trace = listener;
    return trace ? trace->started(function) : nullptr;
}

void OperatorTrace::onEnd(const at::RecordFunction& function, at::ObserverContext* context) {
    OperatorTrace* trace = listener;
    if (trace && context)
        trace->ended(function, static_cast<const Running&>(*context));
}

std::unique_ptr<OperatorTrace::Running> OperatorTrace::started(const at::RecordFunction& function) {
    const Quietly quietly;
    const std::lock_guard held(m_mutex);
    const std::string_view name = function.name();
    auto running = std::make_unique<Running>();
    if (function.scope() == at::RecordScope::BACKWARD_FUNCTION || name.starts_with("autograd::engine::")) {
        if (nodes++ == 0)
            leaveForward();
        running->isNode = true;
        return running;
    }
    const auto schema = function.operator_schema();
    if (!schema)
        return nullptr;
    const std::string_view base = baseName(name);
    running->isUnwritten = leavesUnwritten(base);
    running->isSkipped = running->isUnwritten || isView(base, *schema);
    ++depth;
    if (running->isSkipped)
        return running;

    TracedOperator op;
    op.name = name;
    op.phase = phaseOfThread();
    op.depth = depth - 1;
    const auto inputs = function.inputs();
    for (std::size_t i = 0; i < std::min(inputs.size(), schema->arguments().size()); ++i) {
        const c10::Argument& argument = schema->arguments()[i];
        if (argument.is_out() || (i == 0 && onlyWrites(base)))
            continue;
        eachTensor(inputs[i], [&](const torch::Tensor& tensor) {
            if (isReadable(tensor))
                op.inputs.push_back(isWritten(tensor) ? traced("", tensor).digest : Digest{});
        });
        if (const std::string text = textOf(inputs[i]); !text.empty())
            op.arguments += fmt::format("{}{}={}", op.arguments.empty() ? "" : ", ", argument.name(), text);
    }
    running->position = m_operators.size();
    if (op.phase == Phase::Backward)
        op.module = m_backwardModule;
    else if (op.phase == Phase::Forward)
        m_sinceLastModule.push_back(running->position);
    m_operators.push_back(std::move(op));
    return running;
}

void OperatorTrace::ended(const at::RecordFunction& function, const Running& running) {
    const Quietly quietly;
    const std::lock_guard held(m_mutex);
    if (running.isNode) {
        --nodes;
        return;
    }
    --depth;
    if (running.isSkipped && !running.isUnwritten)
        return;
    std::vector<TracedTensor> outputs;
    for (const c10::IValue& value : function.outputs())
        eachTensor(value, [&](const torch::Tensor& tensor) {
            if (running.isUnwritten) {
                if (isReadable(tensor))
                    m_unwritten.insert(storageOf(tensor));
                return;
            }
            if (isReadable(tensor))
                m_unwritten.erase(storageOf(tensor));
            // bytes are what a kernel leaves for its own backward pass, not all of it written
            if (!isReadable(tensor) || tensor.scalar_type() == torch::kUInt8) {
                outputs.emplace_back(); // keeps its place
                return;
            }
            const bool isKept = static_cast<std::int64_t>(running.position) == m_keptOperator;
            outputs.push_back(traced("", tensor, isKept ? m_keep : Keep{}));
        });
    if (running.isSkipped || running.position >= m_operators.size())
        return;
    TracedOperator& op = m_operators[running.position];
    op.outputs = std::move(outputs);
    op.end = m_ended++;
}

} // namespace driftscope
