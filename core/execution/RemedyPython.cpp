// SPDX-License-Identifier: GPL-3.0-or-later
#include "execution/RemedyPython.h"

#include "study/SettingJson.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace driftscope {
namespace {

constexpr std::string_view initThreads = R"py(import contextlib

@contextlib.contextmanager
def initialisation_threads(count={}):
    """with initialisation_threads(): model = Model()"""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
)py";

// The same numbers as core/training/Loader.cpp's.
constexpr std::string_view perSample = R"py(class PerSample(torch.utils.data.Dataset):
    """Draws the augmentation of each sample from a generator of its own: loader = DataLoader(PerSample(dataset, seed)).
    Set its epoch before each pass over the data; persistent_workers=True would keep the old one."""

    def __init__(self, dataset, seed):
        self.dataset, self.seed, self.epoch = dataset, seed, 0

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, i):
        x = self.seed
        for part in (self.epoch, i):  # splitmix64: neighbouring samples get unrelated seeds
            x = (x + 0x9E3779B97F4A7C15 + part) % 2 ** 64
            x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2 ** 64
            x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2 ** 64
            x ^= x >> 31
        with torch.random.fork_rng(devices=[]):
            torch.random.default_generator.manual_seed(x)
            return self.dataset[i]
)py";

// Step by step what core/training/CanonicalGradient.cpp does.
constexpr std::string_view canonical = R"py(def canonical_gradient(model, loss_of, micro_batches, counted=len):
    """Leaves the gradient of the batch's mean loss at the parameters, with the same bits for every split into
    micro-batches, order of the samples and thread count; returns that loss. Call it instead of backward(), once per
    optimizer.step(). Not with BatchNorm, which needs the other samples.

    micro_batches: [(inputs, targets, ids), …] of one update, ids numbering the samples of the data set;
    loss_of(outputs, targets): a mean; counted(targets): how many targets that mean is of (without ignored ones)."""
    samples = sorted(((int(i), x[k:k + 1], y[k:k + 1]) for x, y, ids in micro_batches for k, i in enumerate(ids)),
                     key=lambda sample: sample[0])
    counts = [int(counted(y)) for _, _, y in samples]
    parameters = [p for p in model.parameters() if p.requires_grad]
    stack = []  # (level, sums of 2 ** level samples)

    def merge():
        (level, left), (_, right) = stack[-2:]
        stack[-2:] = [(level + 1, [a + b for a, b in zip(left, right)])]

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for (_, x, y), count in zip(samples, counts):
            if count == 0:
                continue
            mean = loss_of(model(x), y)
            loss = mean / len(samples) if min(counts) == max(counts) else mean * (count / sum(counts))
            gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
            gradients = [torch.zeros_like(p) if g is None else g for p, g in zip(parameters, gradients)]
            stack.append((0, [*gradients, loss.detach()]))
            while len(stack) > 1 and stack[-2][0] == stack[-1][0]:
                merge()
        while len(stack) > 1:
            merge()
    finally:
        torch.set_num_threads(threads)
    *gradients, loss = stack[0][1]
    for p, g in zip(parameters, gradients):
        p.grad = g
    return loss
)py";

constexpr std::string_view withinBatch = R"py(class ShuffledWithinBatch(torch.utils.data.BatchSampler):
    """DataLoader(dataset, batch_sampler=ShuffledWithinBatch(torch.utils.data.SequentialSampler(dataset), 16, False))"""
    generator = torch.Generator().manual_seed({})

    def __iter__(self):
        for ids in super().__iter__():
            yield [ids[k] for k in torch.randperm(len(ids), generator=self.generator)]
)py";

std::string valueOf(const Remedy& remedy, std::string_view key) {
    const auto found = std::ranges::find(remedy.settings, key, &Assignment::key);
    return found == remedy.settings.end() ? "" : toText(found->value);
}

std::string orderPython(const std::string& order, const std::string& seed) {
    if (order == "shuffled")
        return fmt::format(
            "order = torch.Generator().manual_seed({})\n"
            "# DataLoader(dataset, batch_size=…, sampler=torch.utils.data.RandomSampler(dataset, generator=order))\n",
            seed);
    if (order == "shuffled-within-batch")
        return fmt::format(fmt::runtime(withinBatch), seed);
    return "# DataLoader(dataset, batch_size=…, shuffle=False)\n";
}

} // namespace

std::string pythonFor(const Remedy& remedy) {
    const std::string value = valueOf(remedy, remedy.key);
    if (remedy.key == "threads")
        return fmt::format("torch.set_num_threads({})\n", value);
    if (remedy.key == "interop_threads")
        return fmt::format("torch.set_num_interop_threads({})\n", value);
    if (remedy.key == "init_threads")
        return fmt::format(fmt::runtime(initThreads), value);
    if (remedy.key == "order")
        return orderPython(value, valueOf(remedy, "order_seed"));
    if (remedy.key == "worker_rng")
        return std::string(perSample);
    if (remedy.key == "cpu_isa")
        return value == "native" ? "# leave ATEN_CPU_CAPABILITY, ONEDNN_MAX_CPU_ISA and OPENBLAS_CORETYPE unset\n"
                                 : "# by the environment, above\n";
    if (remedy.key == "blas")
        return value == "system" ? "# leave the BLAS that PyTorch was linked with\n"
                                 : fmt::format("# start Python with LD_PRELOAD={}\n", value);
    if (remedy.key == "tf32")
        return "torch.backends.cuda.matmul.allow_tf32 = False\ntorch.backends.cudnn.allow_tf32 = False\n";
    if (remedy.key == "cudnn_benchmark")
        return "torch.backends.cudnn.benchmark = False\n";
    if (remedy.key == "cublas_workspace")
        return "# by the environment, above\n";
    if (remedy.key == "deterministic")
        return "torch.use_deterministic_algorithms(True)\ntorch.backends.cudnn.deterministic = True\n";
    if (remedy.key == "accumulator")
        return std::string(canonical);
    return "";
}

std::string pythonFor(std::span<const Remedy> remedies) {
    if (remedies.empty())
        return "";
    std::set<std::string> seen;
    std::string environment, lines;
    for (const Remedy& remedy : remedies) {
        for (const auto& [name, value] : remedy.environment)
            if (name != "LD_PRELOAD" && seen.insert(name).second) // which comes too late in a running process
                environment += fmt::format("os.environ[{}] = {}\n", Json(name).dump(), Json(value).dump());
        const bool hasDefinitions =
            remedy.python.find("\n\n") != std::string::npos || remedy.python.starts_with("def ");
        lines += fmt::format("\n{}# {}\n{}", hasDefinitions ? "\n" : "", remedy.name, remedy.python);
    }
    if (!environment.empty())
        environment = "import os\n" + environment + "\n";
    return environment + "import torch\n" + lines;
}

} // namespace driftscope
