# SPDX-License-Identifier: GPL-3.0-or-later
"""What [record] keeps: levels of weights, chosen steps, optimizer states, activations, ReLU signs."""
import harness
from parity import ParityTest

if harness.has_module("h5py"):
    import h5py
    import numpy as np
    import runfile

SMALL = {
    "model": {"kind": "cifar_cnn"},
    "data": {"kind": "synthetic", "shape": [2, 6, 4], "samples": 40, "classes": 5, "seed": 3},
    "train": {"steps": 7, "batch": 12, "optimizer": "sgd", "learning_rate": 0.1, "threads": 1},
}


@harness.needs("h5py", "numpy")
class Levels(harness.EndToEndTest):
    axes = {"axes": {"accumulation": [1, 4], "dtype": ["float32", "float64"]}}

    def level(self, level, **record):
        return self.run_study(SMALL, self.axes, {"record": {"weights": level, **record}}, out=level)

    def test_metrics_are_those_of_full_files(self):
        full = self.level("full")
        measured = self.level("metrics")
        for name, run in full.items():
            for key in ("identical", "first_divergence", "final", "layers", "steps_compared"):
                self.assertEqual(measured[name][key], run[key], f"{key} of {name}")
        for name in ("acc4_float32", "acc4_float64"):
            self.assertGreater(measured[name]["final"]["l2"], 0)
            with h5py.File(measured[name]["file"]) as file:
                self.assertNotIn("weights", file)
                with h5py.File(measured["acc1_float32"]["file"]) as reference:
                    self.assertEqual(file["comparison"].attrs["reference"], reference.attrs["run_id"])

    def test_metrics_of_twins(self):
        study = {"study": {"twin": "float64", "control": True}, "axes": {"accumulation": [1, 4]}}
        full = {**self.run_study(SMALL, study, out="twins"), **self.runs("twins", twins=True)}
        measured = self.run_study(SMALL, study, {"record": {"weights": "metrics"}}, out="measured")
        measured |= self.runs("measured", twins=True)
        self.assertEqual(list(full), list(measured))
        self.assertEqual(len(full), 5)
        for name, run in full.items():
            for key in ("reference", "identical", "first_divergence", "final", "layers"):
                self.assertEqual(measured[name][key], run[key], f"{key} of {name}")

    def test_sample(self):
        full = self.level("full")
        sampled = self.level("sample", sample_size=20)
        for name, run in full.items():
            self.assertEqual(sampled[name]["identical"], run["identical"])
            self.assertEqual(sampled[name]["first_divergence"], run["first_divergence"])
            with h5py.File(run["file"]) as all_of_it, h5py.File(sampled[name]["file"]) as part:
                for tensor in all_of_it["weights"]:
                    weights = all_of_it["weights"][tensor]
                    index = part["sample_index"][tensor][:]
                    self.assertEqual(len(index), min(20, weights[0].size))
                    self.assertTrue((np.diff(index.astype(int)) > 0).all())
                    kept = weights[:].reshape(len(weights), -1)[:, index]
                    self.assertEqual(part["sample"][tensor][:].tobytes(), kept.tobytes(), tensor)

    def test_digest(self):
        full = self.level("full")
        digests = self.level("digest")
        for name, run in full.items():
            self.assertEqual(digests[name]["identical"], run["identical"])
            self.assertEqual(digests[name]["first_divergence"], run["first_divergence"])
            with h5py.File(run["file"]) as a, h5py.File(digests[name]["file"]) as b:
                self.assertFalse({"weights", "sample"} & set(b))
                for phase in ("weights", "gradient"):
                    for tensor in a["digest"][phase]:
                        self.assertEqual(a["digest"][phase][tensor][:].tolist(), b["digest"][phase][tensor][:].tolist())
            self.assertLess(digests[name]["file"].stat().st_size, run["file"].stat().st_size / 3)


    def test_first_divergence_between_recorded_steps(self):
        self.assertEqual(self.level("full")["acc4_float32"]["first_divergence"]["step"], 1)
        # as computed, and again from study.h5
        first = self.run_study(SMALL, self.axes, {"record": {"every": 4}}, out="every")["acc4_float32"]
        for run in (first, self.runs("every")["acc4_float32"]):
            self.assertEqual((run["first_divergence"]["step"], run["first_divergence"]["after_step"]), (4, 0))
        self.assertIn("step 4 (1 to 3 are not recorded), phase", self.cli("report", "every").stdout)
        reference = self.runs("every")["acc1_float32"]["file"]
        self.assertIn("step 4 (1 to 3 are not recorded), phase", self.cli("diff", first["file"], reference, code=1).stdout)


@harness.needs("h5py", "numpy")
class Unrepeatable(harness.EndToEndTest):
    """weights = "metrics" trains the reference again; that must be the one that was recorded."""

    def test_reference_with_other_bits(self):
        study = self.write_study(SMALL, {"axes": {"accumulation": [1, 4]}, "record": {"weights": "metrics"}})
        self.cli("run", study, "-o", self.folder / "out", "--only", "accumulation=4")
        runs = self.runs()
        (runs["acc4"]["file"]).unlink()
        with h5py.File(runs["acc1"]["file"], "r+") as file:
            file["digest/weights/fc1.weight"][3] = [1, 2]
        done = self.cli("run", study, "-o", self.folder / "out", "--resume", code=3)
        self.assertIn("step 3: the reference", done.stderr)
        run = self.runs()["acc4"]
        self.assertEqual(run["status"], "failed")
        self.assertRegex(run["reason"], "other bits in fc1.weight.*can't be repeated")
        self.assertEqual(runfile.progress(run["file"]), (3, runfile.FAILED))


@harness.needs("torch", "h5py")
class Extras(ParityTest):
    def test_steps(self):
        for out, steps, expected in (("log", "log", [0, 1, 2, 5, 10, 20, 23]), ("list", [3, 4, 17], [0, 3, 4, 17, 23])):
            runs = self.assert_parity(SMALL, {"train": {"steps": 23}, "record": {"steps": steps, "gradients": "full"}},
                                      out=out)
            with h5py.File(runs["run"]["file"]) as file:
                self.assertEqual(file["step"][:].tolist(), expected)

    def test_optimizer_states(self):
        for out, states, train in (("momentum", {"momentum_buffer"}, {"momentum": 0.9, "weight_decay": 0.1}),
                                   ("adam", {"exp_avg", "exp_avg_sq"}, {"optimizer": "adam"})):
            runs = self.assert_parity(SMALL, {"train": train, "record": {"optimizer": "full", "every": 2},
                                              "axes": {"accumulation": [1, 3], "dtype": ["float32", "bfloat16"]}}, out=out)
            for run in runs.values():
                with h5py.File(run["file"]) as file:
                    self.assertEqual({name: set(file["optimizer"][name]) for name in file["optimizer"]},
                                     {name: states for name in file["weights"]})

    def test_activations(self):
        path = self.folder / "text.txt"
        path.write_text("".join(f"{'abcdefgh' * (1 + i * i % 5)}{i}\n" for i in range(40)))
        for out, sections in {
            "cnn": {"model": {"dropout": 0.25, "batch_norm": True}},
            "mlp": {"model": {"kind": "mlp", "hidden": [9, 7]}, "train": {"accumulator": "kahan"}},
            "transformer": {"model": {"kind": "transformer", "width": 8, "depth": 1, "heads": 2},
                            "data": {"kind": "text", "path": str(path), "context": 9}},
        }.items():
            study = harness.merged(SMALL, sections) if out != "transformer" else {**SMALL, **sections}
            runs = self.assert_parity(study, {"record": {"activations": [1, 4], "steps": [1, 4, 5]},
                                              "axes": {"accumulation": [1, 2]}}, out=out)
            for run in runs.values():
                with h5py.File(run["file"]) as file:
                    # positions are embedded once for all samples
                    layers = {name.rpartition(".")[0] for name in file["weights"]} - {"position_embedding"}
                    self.assertLessEqual(layers, set(file["activations"]))
                    for name in file["activations"]:  # 4 is the epoch's incomplete batch
                        self.assertEqual(file["activations"][name].attrs["steps"].tolist(), [1, 4])

    def test_activations_of_steps_without_a_row(self):
        self.cli("run", self.write_study(SMALL, {"record": {"activations": [1, 6], "steps": [1, 4]}}), "-o", "out", code=3)
        self.assertIn("step 6 is not one of the recorded steps", next(iter(self.runs().values()))["reason"])

    def test_activations_of_canonical_gradients(self):
        runs = self.run_study(SMALL, {"record": {"activations": [1], "steps": [1]},
                                      "axes": {"accumulator": ["canonical"], "threads": [1, 2],
                                               "order": ["sequential", "shuffled-within-batch"]}})
        outputs = {}
        for run in runs.values():
            with h5py.File(run["file"]) as file:
                ids = file["batch/sample_ids"][1].argsort()
                outputs[run["id"]] = [file["activations"][name][0][ids].tobytes() for name in file["activations"]]
        first, *others = outputs.values()
        for other in others:
            self.assertEqual(other, first)

    def test_relu_signs(self):
        for out, model in (("cnn", {"dropout": 0.25}), ("mlp", {"kind": "mlp", "hidden": [9, 7], "batch_norm": True})):
            runs = self.assert_parity(SMALL, {"model": model, "record": {"relu_probe": 13}, "axes": {"accumulation": [1, 2]}},
                                      out=out)
            with h5py.File(next(iter(runs.values()))["file"]) as file:
                self.assertEqual(set(file["relu"]), {"conv1", "fc1"} if out == "cnn" else {"bn1", "bn2"})


if __name__ == "__main__":
    harness.main()
