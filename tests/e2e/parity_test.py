# SPDX-License-Identifier: GPL-3.0-or-later
"""Driftscope trains exactly as PyTorch does: every weight after every step has the same bits."""
import unittest
from pathlib import Path

import harness
from parity import ParityTest

FASHION = {
    "model": {"kind": "cifar_cnn"},
    "data": {"kind": "fashion-mnist"},
    "train": {"batch": 16, "optimizer": "adam", "learning_rate": 1e-3, "threads": 1},
}
has_fashion = any(Path("/usr/share/datasets/fashion-mnist").glob("train-images*"))
needs_fashion = unittest.skipUnless(has_fashion, "dataset-fashion-mnist is not installed")
needs_torch = harness.needs("torch", "h5py")


class Required(ParityTest):
    """One batch or two micro-batches on one thread or two, for 50 steps, as most people write it."""
    threads = 1
    train = {}

    def check(self):
        self.assert_parity(FASHION, {"train": {"steps": 50, **self.train},
                                     "axes": {"accumulation": [1, 2], "threads": [self.threads]}}, set_to_none=False)


@needs_torch
@needs_fashion
class Sgd(Required):
    train = {"optimizer": "sgd", "momentum": 0.9, "learning_rate": 0.01}
    test_sgd_with_momentum = Required.check


@needs_torch
@needs_fashion
class SgdTwoThreads(Sgd):
    threads = 2


@needs_torch
@needs_fashion
class Adam(Required):
    test_adam = Required.check


@needs_torch
@needs_fashion
class AdamTwoThreads(Adam):
    threads = 2


@needs_torch
@needs_fashion
class Accumulation(ParityTest):
    def test_every_split_with_gradients(self):
        self.assert_parity(FASHION, {"train": {"steps": 5}, "record": {"gradients": "full"},
                                     "axes": {"accumulation": [1, 2, 3, 4, 16]}})


@needs_torch
@needs_fashion
class IncompleteBatch(ParityTest):
    def test_incomplete_last_batch(self):
        # 38 samples: batches of 16, 16 and 6; 4 does not divide 6, and 16 is more than 6
        self.assert_parity(FASHION, {"data": {"limit": 38}, "train": {"epochs": 2.0, "optimizer": "sgd"},
                                     "record": {"gradients": "full"}, "axes": {"accumulation": [1, 2, 4, 16]}})


@needs_torch
class Optimizers(ParityTest):
    lenet = {"model": {"kind": "lenet_300_100"},
             "data": {"kind": "synthetic", "shape": [1, 14, 14], "samples": 100, "classes": 7, "seed": 5},
             "train": {"steps": 20, "batch": 16, "learning_rate": 1e-2, "threads": 1},
             "axes": {"accumulation": [1, 2]}}

    def check(self, name, **train):
        self.assert_parity(self.lenet, {"train": train}, out=name)

    def test_sgd(self):
        self.check("plain", optimizer="sgd")
        self.check("all", optimizer="sgd", momentum=0.9, weight_decay=0.01)

    def test_adam(self):
        self.check("adam", optimizer="adam", weight_decay=0.01, betas=[0.8, 0.99], eps=1e-6)

    def test_adamw(self):
        self.check("decay", optimizer="adamw", weight_decay=0.01)
        self.check("none", optimizer="adamw")


@needs_torch
class Recipes(ParityTest):
    def test_float64(self):
        self.assert_parity({"model": {"kind": "cifar_cnn"},
                            "data": {"kind": "synthetic", "shape": [3, 8, 8], "samples": 64},
                            "train": {"steps": 10, "batch": 16, "optimizer": "adam", "learning_rate": 1e-3,
                                      "threads": 1},
                            "axes": {"dtype": ["float64", "float32"], "accumulation": [1, 3]}})

    def test_shuffled_order_over_epochs(self):
        self.assert_parity(harness.TINY, {"data": {"samples": 70},
                                          "train": {"steps": 17, "order": "shuffled", "order_seed": 11},
                                          "axes": {"order": ["shuffled", "sequential"], "seed": [3, 9007199254740991]}})

    def test_few_recorded_steps(self):
        self.assert_parity(harness.TINY, {"train": {"steps": 11}, "record": {"every": 4, "gradients": "full"}})

    def test_two_threads_and_instruction_sets(self):
        flags = Path("/proc/cpuinfo").read_text().split()
        isas = ["native", "default", *(["avx2"] if "avx2" in flags else []),
                *(["avx512"] if "avx512vl" in flags else [])]
        self.assert_parity({"model": {"kind": "cifar_cnn"},
                            "data": {"kind": "synthetic", "shape": [3, 32, 32], "samples": 64},
                            "train": {"steps": 4, "batch": 16, "optimizer": "adam", "learning_rate": 1e-3,
                                      "threads": 2},
                            "axes": {"cpu_isa": isas}})


class Networks(ParityTest):
    """Initial weights, and those after 5 steps."""

    def check(self, kind, out=None, shape=(3, 32, 32), data=None, accumulation=(1,), **model):
        data = data or {"kind": "synthetic", "shape": list(shape), "samples": 32, "classes": 7, "seed": 4}
        self.assert_parity({"model": {"kind": kind, **model}, "data": data,
                            "train": {"steps": 5, "batch": 8, "optimizer": "sgd", "learning_rate": 0.05, "threads": 1},
                            "record": {"every": 5}, "axes": {"accumulation": list(accumulation)}}, out=out or kind)


HEAD = {"projection": 12, "projection_norm": True, "head_seed": 5}


@needs_torch
class Mlps(Networks):
    def test_mlp(self):
        self.check("mlp", shape=(3, 6, 5))
        self.check("mlp", "all", (3, 6, 5), accumulation=(1, 2), hidden=[50, 30, 20], batch_norm=True, dropout=0.3)
        self.check("mlp", "head", (3, 6, 5), hidden=[40], **HEAD)

    def test_lenet(self):
        self.check("lenet_300_100", shape=(1, 28, 28), accumulation=(1, 4), dropout=0.5)
        self.check("lenet_300_100", "head", (1, 14, 14), projection=12)


@needs_torch
class CifarCnns(Networks):
    def test_cifar_cnn(self):
        self.check("cifar_cnn", "dropout", (3, 9, 11), accumulation=(1, 3), dropout=0.25)
        self.check("cifar_cnn", "all", (3, 8, 8), batch_norm=True, dropout=0.25, **HEAD)


@needs_torch
class ResNet18(Networks):
    def test_resnet18(self):
        self.check("resnet18", accumulation=(1, 2))
        self.check("resnet18", "head", (1, 40, 36), projection=32, head_seed=5)


@needs_torch
class ResNet50(Networks):
    def test_resnet50(self):
        self.check("resnet50")


@needs_torch
class VitTiny(Networks):
    def test_vit_tiny(self):
        self.check("vit_tiny", shape=(3, 16, 24), accumulation=(1, 2), dropout=0.1)


@needs_torch
class DeitSmall(Networks):
    def test_deit_small(self):
        self.check("deit_small", shape=(3, 64, 64), **HEAD)


@needs_torch
class LanguageModel(Networks):
    def test_transformer(self):
        path = self.folder / "text.txt"
        path.write_text("".join(f"line {i} has {i * i} reasons, {'and more ' * (i % 4)}\n\n" for i in range(40)))
        data = {"kind": "text", "path": str(path), "context": 32}
        self.check("transformer", data=data, accumulation=(1, 2))
        self.check("transformer", "small", data=data, width=24, depth=3, heads=3, dropout=0.2)


@needs_torch
class TorchScript(Networks):
    def test_module_saved_from_python(self):
        import torch
        from torch import nn

        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(6, 6)
                self.gain = nn.Parameter(torch.ones(6))

            def forward(self, x):
                return self.linear(x) * self.gain

        path = self.folder / "model.pt"
        torch.manual_seed(3)
        torch.jit.script(nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.AdaptiveAvgPool2d((1, 1)),
                                       nn.Flatten(), Scaled(), nn.Dropout(0.2), nn.Linear(6, 7))).save(str(path))
        self.check("torchscript", path=str(path), accumulation=(1, 2))


if __name__ == "__main__":
    harness.main()
