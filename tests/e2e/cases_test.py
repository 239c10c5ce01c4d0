# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes that people have made, retold: the numbers that give each of them away."""
import harness

if harness.has_module("h5py"):
    import h5py
    import numpy as np
    import runfile


def gradients(run, step):
    """{tensor: float64 values} of one step."""
    with h5py.File(run["file"]) as file:
        row = file["step"][:].tolist().index(step)
        return {name: file["gradients"][name][row].astype(np.float64) for name in file["gradients"]}


class Case(harness.EndToEndTest):
    def assert_factor(self, factor, run, reference, step):
        """Every element is that many times the reference's; powers of two lose nothing."""
        theirs = gradients(reference, step)
        for name, gradient in gradients(run, step).items():
            np.testing.assert_array_equal(gradient, factor * theirs[name], err_msg=f"{name} at step {step}")
            self.assertTrue(gradient.any())


@harness.needs("h5py", "numpy")
class TailGroup(Case):
    def test_last_update_of_each_epoch(self):
        # 100 samples in micro-batches of 4, 8 to an update: 25 micro-batches, the last update of 1
        study = {"model": {"kind": "mlp", "hidden": [24]},
                 "data": {"kind": "synthetic", "shape": [1, 6, 6], "samples": 100, "seed": 2},
                 "train": {"epochs": 2.0, "batch": 32, "accumulation": 8, "optimizer": "sgd", "threads": 1},
                 "record": {"gradients": "full"}, "axes": {"tail": ["scaled", "unscaled"]}}
        # a learning rate of 0 keeps the weights equal, so that each update's gradient can be compared
        still = self.run_study(study, {"train": {"learning_rate": 0.0}}, out="still")
        scaled, unscaled = (self.only(still, tail=tail) for tail in ("scaled", "unscaled"))
        for step in range(1, 9):
            self.assert_factor(1 / 8 if step in (4, 8) else 1, unscaled, scaled, step)
        with h5py.File(scaled["file"]) as file:
            self.assertEqual((file["batch/sample_ids"][4] >= 0).sum(), 4)

        moving = self.run_study(study, {"train": {"learning_rate": 0.1}}, out="moving")
        unscaled = self.only(moving, tail="unscaled")
        self.assertEqual(unscaled["first_divergence"]["step"], 4)
        self.assertEqual(unscaled["first_divergence"]["phase"], "gradient")
        for row in range(4):
            self.assertEqual(*[[x.tobytes() for x in runfile.weights(run["file"], row).values()]
                               for run in moving.values()])
        self.assert_factor(1 / 8, unscaled, self.only(moving, tail="scaled"), 4)


@harness.needs("h5py", "numpy")
class UnscaledSum(Case):
    def test_factor(self):
        runs = self.run_study(
            {"model": {"kind": "cifar_cnn"}, "data": {"kind": "synthetic", "shape": [2, 6, 6], "samples": 64, "seed": 2},
             "train": {"steps": 5, "batch": 16, "accumulation": 4, "optimizer": "sgd", "learning_rate": 0.0, "threads": 1},
             "record": {"gradients": "full"}, "axes": {"loss_normalization": ["batch", "none"]}})
        for step in range(1, 6):
            self.assert_factor(4, self.only(runs, loss_normalization="none"),
                               self.only(runs, loss_normalization="batch"), step)

    def test_adam_hides_it(self):
        """All but the eps of Adam divides the factor out again."""
        runs = self.run_study(harness.TINY, {"train": {"accumulation": 4}, "record": {"gradients": "full"},
                                             "axes": {"loss_normalization": ["batch", "none"],
                                                      "optimizer": ["adam", "sgd"]}})
        for optimizer in ("adam", "sgd"):
            self.assert_factor(4, self.only(runs, loss_normalization="none", optimizer=optimizer),
                               self.only(runs, loss_normalization="batch", optimizer=optimizer), 1)
        moved = {}
        for optimizer in ("adam", "sgd"):
            before, after = zip(*[[np.concatenate([x.ravel().astype(np.float64) for x in
                                                   runfile.weights(self.only(runs, loss_normalization=loss,
                                                                             optimizer=optimizer)["file"], row).values()])
                                   for row in (0, 1)] for loss in ("batch", "none")])
            steps = [b - a for a, b in zip(before, after)]
            moved[optimizer] = np.linalg.norm(steps[1]) / np.linalg.norm(steps[0])
        self.assertAlmostEqual(moved["sgd"], 4, delta=0.01)
        self.assertAlmostEqual(moved["adam"], 1, delta=0.05)


@harness.needs("h5py", "numpy")
class Twins(Case):
    def test_the_same_again(self):
        for kind, out in (("adam", "a"), ("sgd", "b")):
            runs = self.run_study(harness.TINY, {"model": {"dropout": 0.2}, "data": {"random_crop": 1},
                                                 "train": {"optimizer": kind, "accumulation": 3, "threads": 2},
                                                 "axes": {"repeat": 2, "loader_workers": [0, 2]}}, out=out)
            for workers in (0, 2):
                first, again = (self.only(runs, repeat=k, loader_workers=workers) for k in (1, 2))
                self.assert_same_rows(first["file"], again["file"])
            self.assertIs(self.only(runs, repeat=2, loader_workers=0)["identical"], True)


if __name__ == "__main__":
    harness.main()
