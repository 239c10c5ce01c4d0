# SPDX-License-Identifier: GPL-3.0-or-later
"""The same trainings in plain PyTorch, as a person would write them, held against run files bit by bit.

A process of its own, for thread counts and instruction sets are a process's. Reads JSON from stdin:
{"threads": n, "checks": [{"file": run.h5, "config": {"model", "data", "train", "record"}, "set_to_none": bool}]}
and prints a JSON list with a list of complaints per check.
"""
import contextlib
import gzip
import json
import sys
from pathlib import Path

import h5py
import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, SequentialSampler

from models import MODELS


def content(path):
    """Of a file or of its .gz."""
    if Path(path).exists():
        return Path(path).read_bytes()
    return gzip.decompress(Path(f"{path}.gz").read_bytes())


def load_text(data, ignore_index):
    """int64 tokens n × context, the tokens behind each of them, size of the vocabulary."""
    context = data.get("context", 64)
    lines = [line.removesuffix(b"\r")[:context + 1] for line in Path(data["path"]).read_bytes().split(b"\n")]
    lines = [torch.tensor(list(line)) for line in lines if len(line) >= 2][:data.get("limit")]
    tokens = torch.zeros(len(lines), context, dtype=torch.int64)
    targets = torch.full_like(tokens, ignore_index)
    for i, line in enumerate(lines):
        tokens[i, :len(line) - 1], targets[i, :len(line) - 1] = line[:-1], line[1:]
    return tokens, targets, 256


def load(data, ignore_index):
    """uint8 images n × c × h × w, int64 labels, number of classes; or what load_text gives, or an .npz holds."""
    kind = data["kind"]
    if kind == "text":
        return load_text(data, ignore_index)
    if kind == "npy":
        with np.load(data["path"]) as file:
            x, y = (torch.from_numpy(file[name]) for name in ("x", "y"))
        return x, y, y[0].numel() if y.is_floating_point() else int(y.max()) + 1
    if kind == "synthetic":
        generator = torch.Generator().manual_seed(data.get("seed", 0))
        n, classes = data.get("samples", 1024), data.get("classes", 10)
        images = torch.randint(256, (n, *data["shape"]), generator=generator).numpy().astype(np.uint8)
        labels = torch.randint(classes, (n,), generator=generator).numpy()
    elif kind == "cifar10":
        parts = [content(Path(data["path"]) / f"data_batch_{i}.bin") for i in range(1, 6)
                 if any(Path(data["path"]).glob(f"data_batch_{i}.bin*"))]
        records = np.frombuffer(b"".join(parts), np.uint8).reshape(-1, 1 + 3 * 32 * 32)
        images, labels, classes = records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].astype(np.int64), 10
    else:
        folder = Path(data.get("path", "/usr/share/datasets/fashion-mnist"))
        raw = content(folder / "train-images-idx3-ubyte")
        n, height, width = np.frombuffer(raw, ">u4", 3, 4)
        images = np.frombuffer(raw, np.uint8, offset=16).reshape(n, 1, height, width)
        labels = np.frombuffer(content(folder / "train-labels-idx1-ubyte"), np.uint8, offset=8).astype(np.int64)
        classes = max(10, int(labels.max()) + 1)
    limit = data.get("limit", len(images))
    images, labels = images[:limit], labels[:limit]
    if kind != "synthetic" and "shape" in data:
        channels, height, width = data["shape"]
        top, left = (height - images.shape[2]) // 2, (width - images.shape[3]) // 2
        images = np.pad(images, ((0, 0), (0, 0), (top, height - images.shape[2] - top),
                                 (left, width - images.shape[3] - left)))
        if channels != images.shape[1]:
            images = np.repeat(images, channels, axis=1)
    return torch.from_numpy(images.copy()), torch.from_numpy(labels.copy()), classes


class Samples(Dataset):
    """With torchvision's ToTensor, RandomCrop, RandomHorizontalFlip and Normalize, each in its own words."""

    def __init__(self, data, inputs, targets):
        self.data, self.inputs, self.targets = data, inputs, targets

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, i):
        x = self.inputs[i]
        if x.dtype == torch.uint8:
            x = x.float().div(255)
        padding = self.data.get("random_crop", 0)
        if padding > 0:
            height, width = x.shape[1:]
            x = F.pad(x, [padding] * 4)
            top = torch.randint(0, x.shape[1] - height + 1, size=(1,)).item()
            left = torch.randint(0, x.shape[2] - width + 1, size=(1,)).item()
            x = x[:, top:top + height, left:left + width]
        if self.data.get("random_flip", False) and torch.rand(1) < 0.5:
            x = x.flip(-1)
        if "mean" in self.data:
            mean, std = (torch.tensor(self.data[key]).view(-1, 1, 1) for key in ("mean", "std"))
            x = (x - mean) / std
        return i, x, self.targets[i]


class ShuffledWithinBatch(BatchSampler):
    """The batches of a sequential order, each shuffled."""

    def __init__(self, *arguments, generator):
        super().__init__(*arguments)
        self.generator = generator

    def __iter__(self):
        for ids in super().__iter__():
            yield [ids[k] for k in torch.randperm(len(ids), generator=self.generator)]


def make_sampler(train, samples):
    order = train.get("order", "sequential")
    generator = torch.Generator().manual_seed(train.get("order_seed", 0))
    rest = train["batch"], train.get("tail") == "drop"
    if order == "shuffled-within-batch":
        return ShuffledWithinBatch(SequentialSampler(samples), *rest, generator=generator)
    return BatchSampler(RandomSampler(samples, generator=generator) if order == "shuffled"
                        else SequentialSampler(samples), *rest)


def batches(config, samples):
    """Ids, inputs and targets of each update, epoch after epoch, without end."""
    sampler = make_sampler(config["train"], samples)
    if not {"random_crop", "random_flip"} & set(config["data"]):
        while True:  # a DataLoader would draw a seed for workers, that nothing uses, from the default generator
            for ids in sampler:
                parts = zip(*(samples[i] for i in ids))
                yield torch.tensor(next(parts)), torch.stack(next(parts)), torch.stack(next(parts))
    loader = DataLoader(samples, batch_sampler=sampler, num_workers=config["train"].get("loader_workers", 0))
    while True:
        yield from loader


def micro_batches(train, samples):
    """Their sizes: those of a complete batch, until the samples are used up."""
    sizes, left = [], samples
    for part in torch.tensor_split(torch.arange(train["batch"]), train.get("accumulation", 1)):
        if left > 0:
            sizes.append(min(len(part), left))
            left -= sizes[-1]
    return sizes


def make_optimizer(train, parameters):
    name, lr, decay = train["optimizer"], train["learning_rate"], train.get("weight_decay", 0)
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=lr, momentum=train.get("momentum", 0), weight_decay=decay)
    kind = torch.optim.Adam if name == "adam" else torch.optim.AdamW
    return kind(parameters, lr=lr, betas=tuple(train.get("betas", (0.9, 0.999))), eps=train.get("eps", 1e-8),
                weight_decay=decay)


def loss_of(train, output, targets):
    """Mean loss."""
    if train.get("loss", "cross_entropy") == "cross_entropy":
        return F.cross_entropy(output.flatten(0, -2), targets.flatten(), ignore_index=train.get("ignore_index", -100),
                               label_smoothing=train.get("label_smoothing", 0.0))
    if not targets.is_floating_point():
        targets = F.one_hot(targets, output.shape[1]).to(output.dtype)
    loss = F.mse_loss if train["loss"] == "mse" else F.binary_cross_entropy_with_logits
    return loss(output, targets.reshape(output.shape))


def scaled(train, loss, count, counts, is_complete):
    """A micro-batch's part of the batch's loss, where `count` of all micro-batches' `counts` targets are its own."""
    normalization = train.get("loss_normalization", "batch")
    if normalization == "none":
        return loss
    if train.get("tail") == "unscaled" and not is_complete:
        return loss / train.get("accumulation", 1)
    if normalization == "micro_batch" or len(set(counts)) == 1:
        return loss / len(counts)
    return loss * (count / sum(counts))


class Accumulator:
    """Sums gradients in another way than backward() does."""

    def __init__(self, kind):
        self.kind, self.sums, self.lost = kind, {}, {}

    def take(self, model):
        for name, p in model.named_parameters():
            gradient, p.grad = p.grad, None
            if self.kind == "float64":
                self.sums[name] = self.sums[name] + gradient.double() if name in self.sums else gradient.double()
            elif name not in self.sums:
                self.sums[name], self.lost[name] = gradient, torch.zeros_like(gradient)
            else:  # Kahan's
                y = gradient - self.lost[name]
                t = self.sums[name] + y
                self.lost[name] = (t - self.sums[name]) - y
                self.sums[name] = t

    def give(self, model):
        for name, p in model.named_parameters():
            p.grad = self.sums[name].to(p.dtype)


def counted(train, targets):
    if train.get("loss", "cross_entropy") == "cross_entropy":
        return (targets != train.get("ignore_index", -100)).sum().item()
    return len(targets)


def heard(model):
    """{module: outputs of its forward passes} from now on, and what ends the listening."""
    # a script module, and those in it, take no hooks
    modules = {name: module for name, module in model.named_modules() if not isinstance(module, torch.jit.ScriptModule)}
    outputs = {name: [] for name in modules}
    hooks = [module.register_forward_hook(lambda _, __, output, name=name: outputs[name].append(output.detach()))
             for name, module in modules.items()]
    return outputs, lambda: [hook.remove() for hook in hooks]


def relu_signs(model, inputs):
    """{module: output > 0} where the network runs for its answer, not to learn."""
    outputs, stop = heard(model.eval())
    with torch.no_grad():
        model(inputs)
    stop()
    model.train()
    return {name: (parts[0].flatten() > 0).numpy() for name, parts in outputs.items() if parts and name}


def training(config, set_to_none):
    """Yields (step, model, optimizer, what the step saw); step 0 is the state after initialisation."""
    train = config["train"]
    inputs, targets, classes = load(config["data"], train.get("ignore_index", -100))
    samples = Samples(config["data"], inputs, targets)
    torch.manual_seed(train.get("seed", 42))
    model = MODELS[config["model"]["kind"]](config["model"], inputs.shape[1:], classes)
    dtype = getattr(torch, train.get("dtype", "float32"))
    model = model.to(dtype)
    optimizer = make_optimizer(train, model.parameters())
    per_epoch = len(make_sampler(train, samples))
    steps = train["steps"] if "steps" in train else int(np.ceil(train["epochs"] * per_epoch))
    probe = config.get("record", {}).get("relu_probe", 0)

    def seen_now(more=None):
        probed = torch.stack([samples[i][1] for i in range(min(probe, len(samples)))]).to(dtype) if probe else None
        return {"relu": relu_signs(model, probed) if probe else {}, **(more or {})}

    yield 0, model, optimizer, seen_now()
    for step, (ids, inputs, targets) in zip(range(1, steps + 1), batches(config, samples)):
        inputs, targets = (x.to(dtype) if x.is_floating_point() else x for x in (inputs, targets))
        optimizer.zero_grad(set_to_none=True) if set_to_none else optimizer.zero_grad()
        sizes = micro_batches(train, len(ids))
        parts = torch.split(targets, sizes)
        counts = [counted(train, y) for y in parts]
        accumulator = Accumulator(train["accumulator"]) if train.get("accumulator", "native") != "native" else None
        total, correct = 0.0, 0
        outputs, stop = heard(model)
        for x, y, count in zip(torch.split(inputs, sizes), parts, counts):
            if count == 0 and train.get("loss_normalization", "batch") == "batch":
                continue
            with torch.autocast("cpu", torch.bfloat16) if train.get("autocast") else contextlib.nullcontext():
                output = model(x)
                loss = scaled(train, loss_of(train, output, y), count, counts, len(ids) == train["batch"])
            loss.backward()
            if accumulator:
                accumulator.take(model)
            total += loss.item()
            if train.get("loss", "cross_entropy") == "cross_entropy":
                correct += (output.flatten(0, -2).argmax(1) == y.flatten()).sum().item()
        stop()
        if accumulator:
            accumulator.give(model)
        gradients = {name: p.grad.clone() for name, p in model.named_parameters()}
        optimizer.step()
        has_classes = train.get("loss", "cross_entropy") == "cross_entropy"
        yield step, model, optimizer, seen_now({"ids": ids.tolist(), "loss": total, "gradients": gradients,
                                                "outputs": outputs,
                                                "accuracy": correct / sum(counts) if has_classes else np.nan})


def in_numpy(tensor):
    """NumPy has no bfloat16, h5py reads it as float32."""
    tensor = tensor.detach().contiguous()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def compare_states(file, row, step, model, optimizer, seen, complain):
    """What is recorded beside weights and gradients, if it is."""
    parameters = dict(model.named_parameters())
    states = {}
    if "optimizer" in file:
        file["optimizer"].visititems(lambda path, item: states.update({path: item[row]})
                                     if isinstance(item, h5py.Dataset) else None)
    for path, value in states.items():
        name, _, state = path.rpartition("/")
        ours = optimizer.state[parameters[name]]
        if step == 0 or not ours:
            if not np.isnan(value).all():
                complain(f"step {step}: {path} is there before the first update")
        elif value.tobytes() != in_numpy(ours[state]).tobytes():
            complain(f"step {step}: {path}")
    for name, signs in seen["relu"].items():
        if f"relu/{name}" in file and (np.unpackbits(file["relu"][name][row])[:signs.size] != signs).any():
            complain(f"step {step}: ReLU signs of {name}")
    for name in file.get("activations", []):
        dataset = file["activations"][name]
        steps = list(dataset.attrs["steps"])
        if step in steps:
            value, ours = dataset[steps.index(step)], in_numpy(torch.cat(seen["outputs"][name]))
            if value[:len(ours)].tobytes() != ours.tobytes() or not np.isnan(value[len(ours):]).all():
                complain(f"step {step}: activations of {name}")


def compare_step(file, row, step, model, seen, config, set_to_none, complain):
    for name, parameter in model.named_parameters():
        value = file["weights"][name][row]
        ours = in_numpy(parameter)
        if value.tobytes() != ours.tobytes():
            complain(f"step {step}: {name}: {int((value != ours).sum())} of {ours.size} differ, "
                     f"by {np.abs(value.astype(float) - ours).max():.3g} at most")
    if step == 0:
        return
    ids = np.full(config["train"]["batch"], -1)
    ids[:len(seen["ids"])] = seen["ids"]
    if file["batch/sample_ids"][row].tolist() != ids.tolist():
        complain(f"step {step}: sample ids")
    for key, want in {"loss": seen["loss"], "accuracy": seen["accuracy"],
                      "learning_rate": config["train"]["learning_rate"]}.items():
        if not np.array_equal(file["scalars"][key][row], want, equal_nan=True):
            complain(f"step {step}: {key} {file['scalars'][key][row]!r}, PyTorch {want!r}")
    squared = sum(float((g.double() ** 2).sum()) for g in seen["gradients"].values())
    if not np.isclose(file["scalars/grad_norm_sq"][row], squared, rtol=1e-12, atol=0):
        complain(f"step {step}: grad_norm_sq {file['scalars/grad_norm_sq'][row]!r}, PyTorch {squared!r}")
    if "gradients" not in file:
        return
    for name, gradient in seen["gradients"].items():
        value, ours = file["gradients"][name][row], in_numpy(gradient)
        # zeros that a gradient is added to turn its −0 into +0
        same = value.tobytes() == ours.tobytes() if set_to_none else np.array_equal(value, ours)
        if not same:
            complain(f"step {step}: gradient of {name}: {int((value != ours).sum())} differ")


def recorded_steps(record, last):
    steps = record.get("steps", range(0, last + 1, record.get("every", 1)))
    if steps == "log":
        steps = [factor * 10 ** decade for factor in (1, 2, 5) for decade in range(9)]
    return {0, last, *(step for step in steps if step <= last)}


def check(file, config, set_to_none):
    complaints = []
    with h5py.File(file, "r") as run:
        rows = {int(step): row for row, step in enumerate(run["step"][:])}
        compared, last = set(), 0
        for step, model, optimizer, seen in training(config, set_to_none):
            last = step
            if list(run["weights"]) != [name for name, _ in model.named_parameters()]:
                return [f"tensors: {list(run['weights'])}"]
            if step in rows:
                compare_step(run, rows[step], step, model, seen, config, set_to_none, complaints.append)
                compare_states(run, rows[step], step, model, optimizer, seen, complaints.append)
                compared.add(step)
        if compared != set(rows) or set(rows) != recorded_steps(config.get("record", {}), last):
            complaints.append(f"recorded steps {sorted(rows)}, trained {last}")
        if tuple(run["progress"][:]) != (len(rows), 1):
            complaints.append(f"progress {run['progress'][:]} of {len(rows)} rows")
    return complaints


def main():
    request = json.load(sys.stdin)
    torch.set_num_threads(request["threads"])
    assert torch.get_num_threads() == request["threads"]
    json.dump([check(**entry)[:10] for entry in request["checks"]], sys.stdout)


if __name__ == "__main__":
    main()
