// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/Explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace driftscope {
namespace {

/// Why the operators of the two can't be held against each other one by one, or "".
std::string otherSequence(const Trace& a, const Trace& b) {
    if (a.operators.empty() || b.operators.empty())
        return "operators were not traced";
    const auto isSame = [](const TracedOperator& left, const TracedOperator& right) {
        return left.name == right.name && left.depth == right.depth;
    };
    const auto [left, right] = std::ranges::mismatch(a.operators, b.operators, isSame);
    if (left == a.operators.end() && right == b.operators.end())
        return "";
    return fmt::format("the two call other sequences of operators: {} in A, {} in B; number {} is {} in A and {} in B",
                       a.operators.size(), b.operators.size(), left - a.operators.begin() + 1,
                       left == a.operators.end() ? "none" : left->name,
                       right == b.operators.end() ? "none" : right->name);
}

/// Given the same, as far as every input is known.
bool haveEqualInputs(const TracedOperator& a, const TracedOperator& b) {
    return a.inputs == b.inputs && std::ranges::find(a.inputs, Digest{}) == a.inputs.end();
}

bool isEqualOutput(const TracedTensor& a, const TracedTensor& b) {
    return a.digest == b.digest && a.dtype == b.dtype && a.shape == b.shape;
}

std::optional<OperatorDifference> firstOperator(const Trace& a, const Trace& b) {
    // what an operator calls ends before it, and is nearer to the cause
    std::vector<std::size_t> order(a.operators.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return a.operators[i].end; });
    for (const std::size_t i : order) {
        const TracedOperator &left = a.operators[i], &right = b.operators[i];
        if (!haveEqualInputs(left, right))
            continue;
        const auto [output, other] = std::ranges::mismatch(left.outputs, right.outputs, isEqualOutput);
        if (output == left.outputs.end() || other == right.outputs.end())
            continue;
        OperatorDifference found;
        found.name = left.name;
        found.module = left.module;
        found.phase = left.phase;
        found.position = i;
        found.operators = a.operators.size();
        found.inputs = left.inputs.size();
        found.argumentsA = left.arguments;
        found.argumentsB = right.arguments;
        found.output = static_cast<std::size_t>(output - left.outputs.begin());
        found.dtype = output->dtype;
        found.shape = output->shape;
        return found;
    }
    return std::nullopt;
}

/// The operator behind the first difference, or why it is not known.
void findOperator(const Trace& a, const Trace& b, Explanation& out) {
    const auto first = std::ranges::find_if(out.phases, [](const PhaseComparison& phase) { return !phase.isIdentical(); });
    if (first == out.phases.end())
        out.whyNoOperator = "nothing differs";
    else if (first->phase == Phase::Batch)
        out.whyNoOperator = "the batches differ before any operator runs";
    else if (first->phase == Phase::Init && out.step > 0)
        out.whyNoOperator = "the weights differ before any operator runs";
    else
        out.whyNoOperator = otherSequence(a, b);
    if (!out.whyNoOperator.empty())
        return;
    out.op = firstOperator(a, b);
    if (!out.op || out.op->phase > first->phase) { // one that comes later is not the cause
        out.op.reset();
        out.whyNoOperator = "no operator was seen to be given the same and to put out something else";
    }
}

std::string shapeText(const std::vector<std::uint64_t>& shape) {
    std::string text;
    for (const std::uint64_t extent : shape)
        text += fmt::format("{}{}", text.empty() ? "" : "×", extent);
    return text.empty() ? "a number" : text;
}

std::string inModule(const OperatorDifference& op) {
    return op.module.empty() ? std::string(nameOf(op.phase)) : fmt::format("{}, {}", op.module, nameOf(op.phase));
}

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string settingsText(const Explanation& explanation) {
    if (explanation.settings.empty())
        return "no setting differs between the two";
    std::string text;
    for (const std::string& setting : explanation.settings)
        text += (text.empty() ? "" : ", ") + setting;
    return "the two differ in " + text;
}

const TensorComparison* firstDifference(const Explanation& explanation) {
    for (const PhaseComparison& phase : explanation.phases)
        if (const TensorComparison* tensor = phase.firstDifference())
            return tensor;
    return nullptr;
}

/// Of a phase's first difference, what its numbers are.
std::string sizeText(const TensorComparison& tensor) {
    if (!tensor.onlyIn.empty())
        return fmt::format("only {} has it", tensor.onlyIn);
    std::string text = tensor.hasValues ? toText(tensor.distance) : "";
    if (tensor.samples > 0)
        text = fmt::format("in {} of {} samples{}{}", tensor.differingSamples, tensor.samples,
                           text.empty() ? "" : ", ", text);
    if (tensor.factor != 1)
        text += fmt::format("{}B's are exactly {} times A's", text.empty() ? "" : ", ", tensor.factor);
    return text;
}

} // namespace

bool OperatorDifference::isRandom() const {
    static constexpr std::array<std::string_view, 9> draws{"uniform", "normal", "bernoulli", "dropout", "random",
                                                           "rand",    "multinomial", "exponential", "geometric"};
    return std::ranges::any_of(draws, [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

const PhaseComparison* Explanation::find(Phase wanted) const {
    const auto found = std::ranges::find(phases, wanted, &PhaseComparison::phase);
    return found == phases.end() ? nullptr : &*found;
}

Explanation explainTraces(const TraceReader& a, const TraceReader& b) {
    Explanation out;
    out.step = a.trace().step;
    out.isBySample = a.trace().parts != b.trace().parts || a.trace().sampleIds != b.trace().sampleIds;
    for (std::size_t i = 0; i < phaseCount; ++i) {
        out.phases.push_back(comparePhase(a, b, static_cast<Phase>(i)));
        const TensorComparison* first = out.phases.back().firstDifference();
        if (first && out.phase.empty()) {
            out.phase = nameOf(static_cast<Phase>(i));
            out.tensor = first->name;
        }
    }
    findOperator(a.trace(), b.trace(), out);
    if (a.trace().generator != b.trace().generator && out.step > 0)
        out.notes.push_back("the default random generator is in another state before the forward pass: the two have "
                            "drawn other random numbers until then");
    if (const std::uint64_t omitted = a.trace().omittedBytes + b.trace().omittedBytes; omitted > 0)
        out.notes.push_back(fmt::format("{:.0f} MB of values found no room in the traces: digests say where they "
                                        "differ, but not by how much",
                                        std::ceil(static_cast<double>(omitted) / 1e6)));
    return out;
}

bool measureOperator(OperatorDifference& op, const TraceReader& a, const TraceReader& b) {
    const auto outputOf = [&](const Trace& trace) -> const TracedTensor* {
        if (op.position >= trace.operators.size() || trace.operators[op.position].name != op.name ||
            op.output >= trace.operators[op.position].outputs.size())
            return nullptr;
        return &trace.operators[op.position].outputs[op.output];
    };
    const TracedTensor *left = outputOf(a.trace()), *right = outputOf(b.trace());
    if (!left || !right || !left->isKept() || !right->isKept() || isEqualOutput(*left, *right))
        return false;
    op.distance = distanceOf(left->dtype, a.values(*left), right->dtype, b.values(*right));
    return true;
}

std::vector<ReplayedModule> compareReplay(const TraceReader& a, const TraceReader& b, const TraceReader& replay) {
    const PhaseComparison own = comparePhase(a, replay, Phase::Forward), whole = comparePhase(a, b, Phase::Forward);
    std::vector<ReplayedModule> modules;
    for (const TensorComparison& tensor : own.tensors) {
        const auto found = std::ranges::find(whole.tensors, tensor.name, &TensorComparison::name);
        if (found != whole.tensors.end() && tensor.onlyIn.empty() && found->onlyIn.empty())
            modules.push_back({tensor.name, tensor, *found});
    }
    return modules;
}

std::string toText(const Distance& distance) {
    if (std::isnan(distance.ulpMax))
        return "by how much is not known";
    return fmt::format("{:.4g} ULP at most, {} of the elements", distance.ulpMax, percent(distance.changed));
}

std::string toText(const FlipShare& flips) {
    std::uint64_t units = 0;
    for (const FlipShare::Module& module : flips.modules)
        units += module.units;
    std::string text = fmt::format("{} of {} units flip", flips.flipped(), units);
    if (flips.flipped() > 0)
        text += fmt::format(", in {} of {} samples", flips.samples.size(), flips.comparedSamples);
    if (!std::isnan(flips.ofGradient))
        text += fmt::format(", which carry {} of the gradient's difference", percent(flips.ofGradient));
    return text;
}

std::string forwardState(const Explanation& explanation) {
    const PhaseComparison* forward = explanation.find(Phase::Forward);
    if (!forward || forward->tensors.empty())
        return "not compared";
    const TensorComparison* first = forward->firstDifference();
    std::int64_t samples = 0;
    for (const TensorComparison& tensor : forward->tensors)
        samples = std::max(samples, tensor.samples);
    if (!first)
        return fmt::format("identical in all {} samples, module by module", samples);
    return fmt::format("differs in {} of {} modules, first in {}: {}", forward->differingTensors(),
                       forward->tensors.size(), first->name, sizeText(*first));
}

std::string whatHappened(const Explanation& explanation) {
    if (explanation.isIdentical)
        return "The two runs have equal bits at every step that both have recorded.";
    const std::string place = explanation.step == 0 ? "The two runs differ from the beginning, after initialisation"
                                                    : fmt::format("The two runs part at step {}", explanation.step);
    if (explanation.phase.empty())
        return fmt::format("{}, but trained again here they do not differ in it.", place);
    std::string text =
        fmt::format("{}, phase {}{}", place, explanation.phase,
                    explanation.tensor.empty() ? "" : fmt::format(", first in {}", explanation.tensor));
    if (const TensorComparison* first = firstDifference(explanation))
        if (const std::string size = sizeText(*first); !size.empty())
            text += fmt::format(" ({})", size);
    if (explanation.op)
        text += fmt::format("; the first operator that parts them is {} ({}): given {}, its output {} ({}) differs ({})",
                            explanation.op->name, inModule(*explanation.op),
                            explanation.op->inputs == 0 ? "no tensor" : "identical inputs", explanation.op->output + 1,
                            shapeText(explanation.op->shape), toText(explanation.op->distance));
    else if (const std::string forward = forwardState(explanation);
             explanation.isBySample && forward != "not compared" && explanation.phase != "batch")
        text += fmt::format("; forward: {}", forward);
    return text + ".";
}

std::string whatItSays(const Explanation& explanation) {
    if (explanation.isIdentical)
        return "There is nothing to explain.";
    const std::string settings = settingsText(explanation);
    const std::optional<OperatorDifference>& op = explanation.op;
    const PhaseComparison* batch = explanation.find(Phase::Batch);
    const TensorComparison* first = firstDifference(explanation);
    if (explanation.phase == "batch") {
        std::string cause = "The same samples came out of the loader with other values, as augmentation with other "
                            "random numbers makes them";
        if (batch && !batch->note.empty())
            cause = batch->note.starts_with("the same") ? "They were given " + batch->note : batch->note;
        else if (first && first->name == "targets")
            cause = "The same samples have other targets";
        return fmt::format("{}, so that what follows differs too; {}.", cause, settings);
    }
    if (op && op->hasOtherArguments())
        return fmt::format("It was given other numbers, {} in A and {} in B, so that it computes something else; {}.",
                           op->argumentsA, op->argumentsB, settings);
    if (op && op->isRandom())
        return fmt::format("It draws random numbers, so that its generator was in another state or its kernel draws "
                           "otherwise; {}.",
                           settings);
    if (op)
        return fmt::format("Bit-identical inputs leave the operator itself, whose kernel computes in another order or "
                           "precision; {}.",
                           settings);
    if (explanation.phase == "forward" && explanation.tensor.ends_with("dropout"))
        return fmt::format("Dropout has drawn other units for the same samples; {}.", settings);
    if (explanation.phase == "loss" && explanation.tensor == "sample_weight")
        return fmt::format("The losses are equal sample by sample, but count otherwise in the step's loss, which is "
                           "another function and no rounding; {}.",
                           settings);
    if (explanation.phase == "gradient" && explanation.isBySample)
        return fmt::format("Every sample passes forward and backward with equal bits, so that the order in which the "
                           "samples' gradients are summed is what differs; {}.",
                           settings);
    if (first && !first->types.empty())
        return fmt::format("They are of other types there, {}, so that no bits can be equal; {}.", first->types,
                           settings);
    if (explanation.phase == "init")
        return fmt::format("Nothing comes before it; {}.", settings);
    // beyond this it is no rounding: DESIGN.md, "size"
    if (explanation.phase == "forward" && explanation.isBySample && first && first->distance.relativeL2 > 0x1p-10)
        return fmt::format("All before it has equal bits, and the difference is too large for rounding: what it puts "
                           "out for a sample depends on the others of its micro-batch, as batch statistics do; {}.",
                           settings);
    return fmt::format("All before it has equal bits, so that it is computed otherwise there; {}.", settings);
}

} // namespace driftscope
