# SPDX-License-Identifier: GPL-3.0-or-later
"""The same trainings in plain PyTorch, as a person would write them, held against run files bit by bit.

A process of its own, for thread counts and instruction sets are a process's. Reads JSON from stdin:
{"threads": n, "checks": [{"file": run.h5, "config": {"model", "data", "train", "record"}, "set_to_none": bool}]}
and prints a JSON list with a list of complaints per check.
"""
import gzip
import json
import sys
from pathlib import Path

import h5py
import numpy as np
import torch
import torch.nn.functional as F

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
    """uint8 images n × c × h × w, int64 labels, number of classes; or what load_text gives."""
    kind = data["kind"]
    if kind == "text":
        return load_text(data, ignore_index)
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


def batches(train, samples):
    """Sample ids of each update, epoch after epoch, without end."""
    generator = torch.Generator().manual_seed(train.get("order_seed", 0))
    while True:
        if train.get("order", "sequential") == "shuffled":
            order = torch.randperm(samples, generator=generator)
        else:
            order = torch.arange(samples)
        yield from torch.split(order, train["batch"])


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


def training(config, set_to_none):
    """Yields (step, model, what the step saw); step 0 is the state after initialisation."""
    train = config["train"]
    ignore = train.get("ignore_index", -100)
    samples, labels, classes = load(config["data"], ignore)
    torch.manual_seed(train.get("seed", 42))
    model = MODELS[config["model"]["kind"]](config["model"], samples.shape[1:], classes)
    dtype = getattr(torch, train.get("dtype", "float32"))
    if dtype == torch.float64:
        model = model.double()
    optimizer = make_optimizer(train, model.parameters())
    per_epoch = -(-len(samples) // train["batch"])
    steps = train["steps"] if "steps" in train else int(np.ceil(train["epochs"] * per_epoch))
    yield 0, model, None
    for step, ids in zip(range(1, steps + 1), batches(train, len(samples))):
        inputs, targets = samples[ids], labels[ids]
        if inputs.dtype == torch.uint8:
            inputs = (inputs.float() / 255).to(dtype)
        optimizer.zero_grad(set_to_none=True) if set_to_none else optimizer.zero_grad()
        sizes = micro_batches(train, len(ids))
        accumulation = len(sizes)
        parts = torch.split(targets, sizes)
        counts = [(y != ignore).sum().item() for y in parts]
        total, correct = 0.0, 0
        for x, y, count in zip(torch.split(inputs, sizes), parts, counts):
            output, y = model(x).flatten(0, -2), y.flatten()
            loss = F.cross_entropy(output, y, ignore_index=ignore)
            if len(set(counts)) == 1:
                loss = loss / accumulation
            else:
                loss = loss * (count / sum(counts))
            loss.backward()
            total += loss.item()
            correct += (output.argmax(1) == y).sum().item()
        gradients = {name: p.grad.clone() for name, p in model.named_parameters()}
        optimizer.step()
        yield step, model, {"ids": ids.tolist(), "loss": total, "accuracy": correct / sum(counts),
                            "gradients": gradients}


def bits(tensor):
    return tensor.detach().contiguous().numpy().tobytes()


def compare_step(file, row, step, model, seen, config, set_to_none, complain):
    for name, parameter in model.named_parameters():
        value = file["weights"][name][row]
        if value.tobytes() != bits(parameter):
            ours = parameter.detach().numpy()
            complain(f"step {step}: {name}: {int((value != ours).sum())} of {ours.size} differ, "
                     f"by {np.abs(value.astype(float) - ours).max():.3g} at most")
    if seen is None:
        return
    ids = np.full(config["train"]["batch"], -1)
    ids[:len(seen["ids"])] = seen["ids"]
    if file["batch/sample_ids"][row].tolist() != ids.tolist():
        complain(f"step {step}: sample ids")
    for key, want in {"loss": seen["loss"], "accuracy": seen["accuracy"],
                      "learning_rate": config["train"]["learning_rate"]}.items():
        if file["scalars"][key][row] != want:
            complain(f"step {step}: {key} {file['scalars'][key][row]!r}, PyTorch {want!r}")
    squared = sum(float((g.double() ** 2).sum()) for g in seen["gradients"].values())
    if not np.isclose(file["scalars/grad_norm_sq"][row], squared, rtol=1e-12, atol=0):
        complain(f"step {step}: grad_norm_sq {file['scalars/grad_norm_sq'][row]!r}, PyTorch {squared!r}")
    if "gradients" not in file:
        return
    for name, gradient in seen["gradients"].items():
        value = file["gradients"][name][row]
        # zeros that a gradient is added to turn its −0 into +0
        same = value.tobytes() == bits(gradient) if set_to_none else np.array_equal(value, gradient.numpy())
        if not same:
            complain(f"step {step}: gradient of {name}: {int((value != gradient.numpy()).sum())} differ")


def check(file, config, set_to_none):
    complaints = []
    every = config.get("record", {}).get("every", 1)
    with h5py.File(file, "r") as run:
        rows = {int(step): row for row, step in enumerate(run["step"][:])}
        compared, last = set(), 0
        for step, model, seen in training(config, set_to_none):
            last = step
            if list(run["weights"]) != [name for name, _ in model.named_parameters()]:
                return [f"tensors: {list(run['weights'])}"]
            if step in rows:
                compare_step(run, rows[step], step, model, seen, config, set_to_none, complaints.append)
                compared.add(step)
        if compared != set(rows) or set(rows) != {*range(0, last + 1, every), last}:
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
