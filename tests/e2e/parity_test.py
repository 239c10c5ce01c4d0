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


SMALL = {
    "model": {"kind": "cifar_cnn"},
    "data": {"kind": "synthetic", "shape": [2, 6, 4], "samples": 40, "classes": 5, "seed": 3},
    "train": {"steps": 7, "batch": 12, "optimizer": "sgd", "learning_rate": 0.1, "threads": 1},
    "record": {"gradients": "full"},
}


def write_text(path):
    """Lines of very different lengths, so that micro-batches count very different numbers of targets."""
    path.write_text("".join(f"{'abcdefgh' * (1 + i * i % 5)}{i}\n" for i in range(20)))
    return {"kind": "text", "path": str(path), "context": 24}


@needs_torch
class Normalization(ParityTest):
    """20 lines or 40 images in batches of 12: the last one of an epoch is incomplete."""
    transformer = {"model": {"kind": "transformer", "width": 12, "depth": 1, "heads": 2},
                   "train": {"steps": 5, "batch": 12, "optimizer": "sgd", "learning_rate": 0.1, "threads": 1},
                   "record": {"gradients": "full"}}
    axes = {"loss_normalization": ["batch", "micro_batch", "none"], "accumulation": [1, 3, 5]}

    def test_of_a_variable_number_of_targets(self):
        data = write_text(self.folder / "text.txt")
        runs = self.assert_parity(self.transformer, {"data": data, "axes": self.axes})
        for accumulation in (3, 5):
            right = self.only(runs, loss_normalization="batch", accumulation=accumulation)
            for other in ("micro_batch", "none"):
                wrong = self.only(runs, loss_normalization=other, accumulation=accumulation)
                self.assertGreater(wrong["final"]["rel_l2"], 100 * right["final"]["rel_l2"])

    def test_incomplete_batches(self):
        self.assert_parity(SMALL, {"axes": {"tail": ["scaled", "unscaled", "drop"], **self.axes}})


@needs_torch
class Losses(ParityTest):
    def test_label_smoothing(self):
        self.assert_parity(SMALL, {"train": {"label_smoothing": 0.1}, "axes": {"accumulation": [1, 5]}}, out="images")
        self.assert_parity(Normalization.transformer, {"data": write_text(self.folder / "text.txt"),
                                                       "train": {"label_smoothing": 0.3},
                                                       "axes": {"accumulation": [1, 5]}}, out="text")

    def test_of_classes(self):
        self.assert_parity(SMALL, {"axes": {"loss": ["mse", "bce"], "accumulation": [1, 5]}})

    def test_of_real_targets(self):
        import numpy as np

        random = np.random.default_rng(5)
        for name, shape in {"numbers": (), "vectors": (3,), "pictures": (2, 3)}.items():
            path = str(self.folder / f"{name}.npz")
            np.savez(path, x=random.normal(size=(40, 2, 5)).astype(np.float32),
                     y=random.uniform(size=(40, *shape)).astype(np.float32))
            self.assert_parity({**SMALL, "model": {"kind": "mlp", "hidden": [9]}, "data": {"kind": "npy", "path": path}},
                               {"axes": {"loss": ["mse", "bce"], "accumulation": [1, 5]}}, out=name)


@needs_torch
class Sums(ParityTest):
    def test_accumulators(self):
        runs = self.assert_parity(SMALL, {"axes": {"accumulator": ["native", "float64", "kahan"],
                                                   "accumulation": [1, 4, 12]}})
        one = self.only(runs, accumulator="native", accumulation=1)
        for accumulator in ("float64", "kahan"):
            self.assert_same_rows(one["file"], self.only(runs, accumulator=accumulator, accumulation=1)["file"])
            self.assertIs(self.only(runs, accumulator=accumulator, accumulation=12)["identical"], False)

    def test_accumulators_in_another_type(self):
        self.assert_parity(SMALL, {"axes": {"accumulator": ["float64", "kahan"], "dtype": ["float64", "bfloat16"],
                                            "accumulation": [4]}})


@needs_torch
class Narrow(ParityTest):
    def test_autocast(self):
        axes = {"autocast": [True, False], "accumulation": [1, 5]}
        self.assert_parity(SMALL, {"axes": axes}, out="images")
        self.assert_parity(SMALL, {"train": {"loss": "mse"}, "axes": axes}, out="mse")
        self.assert_parity(Normalization.transformer, {"data": write_text(self.folder / "text.txt"), "axes": axes},
                           out="text")

    def test_bfloat16(self):
        axes = {"dtype": ["bfloat16"], "optimizer": ["sgd", "adam"], "accumulation": [1, 5]}
        self.assert_parity(SMALL, {"axes": axes}, out="images")
        self.assert_parity(Normalization.transformer, {"data": write_text(self.folder / "text.txt"), "axes": axes},
                           out="text")


@needs_torch
class Order(ParityTest):
    def test_over_epochs(self):
        runs = self.assert_parity(SMALL, {"train": {"steps": 10}, "model": {"dropout": 0.25},
                                          "axes": {"order": ["sequential", "shuffled-within-batch", "shuffled"],
                                                   "order_seed": [0, 12], "accumulation": [1, 3]}})
        import h5py

        for seed in (0, 12):
            ids = []
            for order in ("sequential", "shuffled-within-batch"):
                with h5py.File(self.only(runs, order=order, order_seed=seed, accumulation=3)["file"]) as file:
                    ids.append(file["batch/sample_ids"][:].tolist())
            self.assertNotEqual(*ids)
            self.assertEqual(*[[sorted(row) for row in rows] for rows in ids])


@needs_torch
class Augmentation(ParityTest):
    """Against a real DataLoader with worker processes; 40 samples make 4 batches an epoch, 10 steps 2.5 epochs."""
    images = {"random_crop": 2, "random_flip": True, "mean": [0.4, 0.5], "std": [0.25, 0.3]}

    def test_workers(self):
        self.assert_parity(SMALL, {"data": self.images, "train": {"steps": 10}, "model": {"dropout": 0.25},
                                   "axes": {"loader_workers": [0, 1, 2], "order": ["sequential", "shuffled"]}})

    def test_each_alone(self):
        for i, key in enumerate(("random_crop", "random_flip")):
            self.assert_parity(SMALL, {"data": {key: self.images[key]}, "axes": {"loader_workers": [0, 3],
                                                                                  "accumulation": [3]}}, out=key)
        self.assert_parity(SMALL, {"data": {key: self.images[key] for key in ("mean", "std")}}, out="neither")


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
