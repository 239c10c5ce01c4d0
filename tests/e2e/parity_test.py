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


if __name__ == "__main__":
    harness.main()
