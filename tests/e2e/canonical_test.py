# SPDX-License-Identifier: GPL-3.0-or-later
"""accumulator = "canonical": the same bits however a batch is split, ordered or shared out among threads.

Draws another network each time; a failure names the seed, which DRIFTSCOPE_SEED repeats.
"""
import os
import random
import time

import harness

if harness.has_module("h5py"):
    import h5py
    import numpy as np

STEPS = 4


def divided(batch, draw):
    """A number of micro-batches that does not divide the batch."""
    return draw.choice([k for k in range(2, batch) if batch % k] or [batch])


class RandomStudies(harness.EndToEndTest):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("DRIFTSCOPE_SEED", time.time_ns() % 10 ** 9))
        self.draw = random.Random(self.seed)

    def text(self):
        path = self.folder / "text.txt"
        path.write_text("".join("abcdefghijklmnopqrstuvwxyz"[:self.draw.randint(2, 13)] + "\n" for _ in range(50)))
        return {"kind": "text", "path": str(path), "context": 12}

    def images(self):
        return {"kind": "synthetic", "shape": [self.draw.randint(1, 3), self.draw.randint(4, 8), self.draw.randint(4, 8)],
                "samples": 50, "classes": self.draw.randint(2, 9), "seed": self.draw.randrange(10 ** 6)}

    def check(self, model, data):
        batch = self.draw.randint(5, 24)
        train = {"steps": STEPS, "batch": batch, "optimizer": self.draw.choice(["sgd", "adam"]), "threads": 1,
                 "learning_rate": 0.01, "seed": self.draw.randrange(10 ** 6), "accumulator": "canonical"}
        study = {"model": model, "data": data, "train": train, "record": {"gradients": "full"}}
        with self.subTest(DRIFTSCOPE_SEED=self.seed, **study):
            canonical = self.run_study(study, {"axes": {
                "accumulation": sorted({1, 2, divided(batch, self.draw), batch}), "threads": [1, 2],
                "order": ["sequential", "shuffled-within-batch"]}}, out="canonical")
            native = self.run_study(study, {"axes": {"accumulator": ["native"]}}, out="native")
            reference = next(iter(canonical.values()))
            with h5py.File(reference["file"]) as one:
                for run in canonical.values():
                    with h5py.File(run["file"]) as other:
                        for name in one["weights"]:
                            self.assertEqual(one["weights"][name][:].tobytes(), other["weights"][name][:].tobytes(),
                                             f"{name} of {run['id']}")
                    if run["settings"]["order"] == "sequential" and run is not reference:
                        self.assertIs(run["identical"], True, run["id"])
                with h5py.File(next(iter(native.values()))["file"]) as other:
                    for name in one["gradients"]:  # of the first step: before the weights differ
                        ours, theirs = one["gradients"][name][1], other["gradients"][name][1]
                        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5 * abs(theirs).max(), err_msg=name)


@harness.needs("h5py", "numpy")
class Canonical(RandomStudies):
    def test_mlp(self):
        self.check({"kind": "mlp", "hidden": [self.draw.randint(3, 70) for _ in range(self.draw.randint(1, 3))]},
                   self.images())

    def test_lenet(self):
        self.check({"kind": "lenet_300_100"}, self.images())


@harness.needs("h5py", "numpy")
class CanonicalNetworks(RandomStudies):
    def test_cifar_cnn(self):
        self.check({"kind": "cifar_cnn"}, self.images())

    def test_transformer(self):
        heads = self.draw.randint(1, 3)
        self.check({"kind": "transformer", "width": heads * self.draw.randint(2, 9), "depth": self.draw.randint(1, 2),
                    "heads": heads}, self.text())


if __name__ == "__main__":
    harness.main()
