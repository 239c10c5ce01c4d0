# SPDX-License-Identifier: GPL-3.0-or-later
"""explain: two recorded runs are trained again and part where the arithmetic says they must."""
import os
import signal

import harness

if harness.has_module("h5py"):
    import h5py
    import numpy as np
    import runfile
if harness.has_module("torch") and harness.has_module("h5py"):
    import reference
    import torch
    import torch.nn.functional as F

PHASES = ["init", "batch", "forward", "loss", "backward", "gradient", "update", "weights"]
KEYS = {"identical", "first_divergence", "what", "why", "settings", "aligned", "forward_identical", "operator",
        "no_operator", "phases", "replay", "no_replay", "reproduced", "notes"}

# The gradient of this convolution is summed over threads; that of harness.TINY's is not.
CNN = harness.merged(harness.TINY, {"data": {"shape": [3, 16, 16]}, "train": {"steps": 3},
                                    "record": {"gradients": "full"}})


class ExplainTest(harness.EndToEndTest):
    def setUp(self):
        super().setUp()
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.environment = harness.environment(TMPDIR=str(self.temporary))

    def explain(self, a, b, code=0):
        found = self.json("explain", a, b, env=self.environment, code=code)
        self.assertLessEqual(KEYS, set(found))
        self.assertEqual(list(self.temporary.iterdir()), [])
        if found["phases"]:
            self.assertEqual([phase["phase"] for phase in found["phases"]], PHASES)
        return found

    def pair(self, axis, *sections):
        """Run files of a study with two values of one axis."""
        runs = self.run_study(*sections, {"axes": axis})
        self.assertEqual({run["status"] for run in runs.values()}, {"finished"})
        return [run["file"] for run in runs.values()]

    def states(self, found):
        return {phase["phase"]: phase["state"] for phase in found["phases"]}

    def tensors(self, found, phase):
        return {tensor["name"]: tensor for tensor in found["phases"][PHASES.index(phase)]["tensors"]}

    def assert_first(self, found, step, phase, tensor):
        self.assertIs(found["identical"], False)
        self.assertEqual(found["first_divergence"], {"step": step, "phase": phase, "tensor": tensor}, found)
        for other in PHASES[:PHASES.index(phase)]:
            self.assertIn(self.states(found)[other], ("identical", "not compared"), found)

    def assert_reproduced(self, found):
        for side in ("a", "b"):
            self.assertEqual(found["reproduced"][side], {"checked": True, "reproduced": True, "first_step": None})


@harness.needs("h5py", "numpy")
class Operators(ExplainTest):
    def test_threads_part_in_the_convolutions_backward_pass(self):
        a, b = self.pair({"threads": [1, 2]}, CNN)
        found = self.explain(a, b)
        self.assert_first(found, 1, "gradient", "conv1.weight")
        self.assert_reproduced(found)
        self.assertEqual(found["settings"], ["train.threads: 1 → 2"])
        self.assertEqual(found["aligned"], "as a whole")
        self.assertIs(found["forward_identical"], True)
        self.assertEqual(found["replay"], [])
        op = found["operator"]
        self.assertEqual((op["name"], op["module"], op["phase"]), ("aten::convolution_backward", "conv1", "backward"))
        self.assertIs(op["inputs_identical"], True)
        self.assertEqual(op["inputs"], 3)  # gradient, input, weight
        # the first layer's input has no gradient; the weight's goes into the file as it is
        self.assertEqual((op["output"], op["shape"], op["dtype"]), (2, [32, 3, 3, 3], "float32"))
        with h5py.File(a) as left, h5py.File(b) as right:
            gradients = [file["gradients/conv1.weight"][1].ravel() for file in (right, left)]
        want = runfile.metrics(*gradients)
        self.assertGreater(op["ulp_max"], 0)
        self.assertEqual((op["ulp_max"], op["changed"], op["max_abs"]),
                         (want["ulp_max"], want["changed"], want["max_abs"]))
        self.assertAlmostEqual(op["rel_l2"] / want["rel_l2"], 1, places=12)
        gradient = self.tensors(found, "gradient")["conv1.weight"]
        self.assertEqual((gradient["ulp_max"], gradient["changed"]), (want["ulp_max"], want["changed"]))

        text = self.cli("explain", a, b, env=self.environment).stdout
        for part in ("step 1, phase gradient, first in conv1.weight", "aten::convolution_backward",
                     "identical inputs", "train.threads: 1 → 2", "forward: identical in all 16 samples"):
            self.assertIn(part, text)

    def test_initialisation_under_another_instruction_set(self):
        runs = self.run_study(harness.TINY, {"model": {"kind": "lenet_300_100", "projection": 64},
                                             "data": {"shape": [1, 8, 8]}, "train": {"steps": 2}},
                              {"axes": {"cpu_isa": ["native", "default"]}}, code=(0, 3))
        if {run["status"] for run in runs.values()} != {"finished"}:
            self.skipTest("this machine can't vary cpu_isa")
        a, b = [run["file"] for run in runs.values()]
        left, right = runfile.weights(a, 0), runfile.weights(b, 0)
        differing = [name for name in left if left[name].tobytes() != right[name].tobytes()]
        if not differing:
            self.skipTest("this machine's instruction sets give the same initial weights")
        found = self.explain(a, b)
        self.assert_first(found, 0, "init", differing[0])
        self.assert_reproduced(found)
        tensors = self.tensors(found, "init")
        self.assertEqual([name for name, tensor in tensors.items() if not tensor["identical"]], differing)
        for name in differing:
            want = runfile.metrics(right[name].ravel(), left[name].ravel())
            self.assertEqual((tensors[name]["ulp_max"], tensors[name]["changed"]), (want["ulp_max"], want["changed"]))
        self.assertEqual(found["operator"]["phase"], "init")
        self.assertGreater(found["operator"]["ulp_max"], 0)
        self.assertIsNone(found["forward_identical"])


@harness.needs("torch", "h5py", "numpy")
class Accumulation(ExplainTest):
    def test_samples_are_aligned(self):
        a, b = self.pair({"accumulation": [1, 2]}, CNN)
        found = self.explain(a, b)
        self.assertEqual(found["aligned"], "by sample")
        self.assertIsNone(found["operator"])
        self.assertIn("other sequences of operators", found["no_operator"])
        # PyTorch itself says whether the forward passes of 16 and of twice 8 samples have equal bits
        torch.set_num_threads(1)
        weights = {name: torch.from_numpy(value) for name, value in runfile.weights(a, 0).items()}
        with h5py.File(a) as run:
            inputs = reference.load(CNN["data"], -100)[0][run["batch/sample_ids"][1]].float().div(255)

        def forward(x):
            conv1 = F.conv2d(x, weights["conv1.weight"], weights["conv1.bias"], padding=1)
            fc1 = F.linear(F.max_pool2d(F.relu(conv1), 2).flatten(1), weights["fc1.weight"], weights["fc1.bias"])
            return conv1, fc1, F.linear(F.relu(fc1), weights["fc2.weight"], weights["fc2.bias"])

        halves = zip(*(forward(inputs[i:i + 8]) for i in (0, 8)))
        for name, whole, parts in zip(("conv1", "fc1", "fc2"), forward(inputs), halves):
            differing = sum(not torch.equal(x, y) for x, y in zip(whole, torch.cat(parts)))
            tensor = self.tensors(found, "forward")[name]
            self.assertEqual((tensor["samples"], tensor["samples_differing"]), (16, differing), name)
        if found["forward_identical"] and self.states(found)["backward"] == "identical":
            self.assertEqual(found["first_divergence"]["phase"], "gradient")
            self.assertIn("summed", found["why"])
        self.assertIn("forward: " + ("identical in all 16 samples" if found["forward_identical"] else "differs"),
                      self.cli("explain", a, b, env=self.environment).stdout)
        with h5py.File(a) as left, h5py.File(b) as right:
            for name, tensor in self.tensors(found, "gradient").items():
                gradients = [file["gradients"][name][1].ravel() for file in (right, left)]
                want = runfile.metrics(*gradients)
                self.assertEqual((tensor["ulp_max"], tensor["changed"]), (want["ulp_max"], want["changed"]), name)

    def test_an_unscaled_sum_is_in_the_loss(self):
        a, b = self.pair({"loss_normalization": ["batch", "none"]}, CNN, {"train": {"accumulation": 2}})
        found = self.explain(a, b)
        self.assert_first(found, 1, "loss", "sample_weight")
        weight = self.tensors(found, "loss")["sample_weight"]
        self.assertAlmostEqual(weight["factor"], 2, places=9)
        self.assertIs(self.tensors(found, "loss")["sample_loss"]["identical"], True)
        self.assertEqual(self.states(found)["backward"], "scaled")
        self.assertEqual(found["phases"][PHASES.index("backward")]["factor"], 2)
        self.assertIn("no rounding", found["why"])

    def test_batch_statistics_are_no_rounding(self):
        a, b = self.pair({"accumulation": [1, 2]}, harness.TINY, {"model": {"batch_norm": True}, "train": {"steps": 1}})
        found = self.explain(a, b)
        self.assert_first(found, 1, "forward", "bn1")
        self.assertIn("too large for rounding", found["why"])

    def test_dropout_draws_other_units(self):
        a, b = self.pair({"accumulation": [1, 2]}, harness.TINY, {"model": {"dropout": 0.25}, "train": {"steps": 2}})
        found = self.explain(a, b)
        self.assert_first(found, 1, "forward", "conv1.dropout")
        self.assertIs(found["forward_identical"], False)
        self.assertIn("Dropout has drawn other units", found["why"])
        replay = {module["module"]: module for module in found["replay"]}
        self.assertEqual(list(replay), ["conv1", "conv1.dropout", "fc1", "fc1.dropout", "fc2"])
        self.assertIs(replay["conv1"]["own"]["identical"], True)
        self.assertIs(replay["conv1.dropout"]["own"]["identical"], False)
        # fed the same units, the layers behind differ by rounding at most
        for name in ("fc1", "fc2"):
            self.assertLess(replay[name]["own"]["rel_l2"], 1e-6, name)
            self.assertGreater(replay[name]["with_inherited"]["rel_l2"], 1e-2, name)

    def test_a_canonical_accumulator_is_traced_sample_by_sample(self):
        a, b = self.pair({"learning_rate": [1e-3, 2e-3]}, harness.TINY,
                         {"train": {"steps": 2, "accumulator": "canonical", "optimizer": "sgd"}})
        found = self.explain(a, b)
        self.assert_first(found, 1, "weights", "conv1.weight")
        self.assert_reproduced(found)
        self.assertIs(found["forward_identical"], True)
        self.assertNotEqual(found["operator"]["arguments"]["a"], found["operator"]["arguments"]["b"])
        self.assertIn("given other numbers", found["why"])


@harness.needs("h5py", "numpy")
class Flips(ExplainTest):
    def test_units_that_flip_and_what_they_carry(self):
        """Ten mantissa bits flip ReLUs; where every sample has one, they carry the whole difference."""
        runs = self.run_study({"model": {"kind": "mlp", "hidden": [512]},
                               "data": {"kind": "synthetic", "shape": [1, 12, 12], "samples": 32, "seed": 3},
                               "train": {"steps": 1, "batch": 32, "threads": 1}, "record": {"relu_probe": 32},
                               "axes": {"tf32": ["off", "emulated"]}})
        exact, rounded = (self.only(runs, tf32=value) for value in ("off", "emulated"))
        flips = self.json("explain", exact["file"], rounded["file"])["relu_flips"]
        module, = flips["modules"].values()
        self.assertEqual(module["units"], 32 * 512)
        self.assertGreater(module["flipped"], 0)
        self.assertEqual(flips["compared_samples"], 32)
        # the recorded probe is the same batch, from the same initial weights
        with h5py.File(exact["file"]) as a, h5py.File(rounded["file"]) as b:
            (name,) = a["relu"]
            bits = [np.unpackbits(file["relu"][name][0])[: 32 * 512].reshape(32, 512) for file in (a, b)]
        self.assertEqual(module["flipped"], int((bits[0] != bits[1]).sum()))
        with_flips = np.flatnonzero((bits[0] != bits[1]).any(axis=1))
        self.assertEqual(flips["samples"], with_flips.tolist())
        share = flips["share_of_gradient_difference"]
        self.assertGreater(share, 0)
        if len(with_flips) == 32:
            self.assertEqual(share, 1)
        probed = [run for run in self.json("report", self.folder / "out")["runs"] if run["id"] == rounded["id"]][0]
        self.assertAlmostEqual(probed["relu_flips"]["share"][0], module["flipped"] / (32 * 512), places=12)


class Steps(ExplainTest):
    def test_batches_that_the_loaders_workers_augment(self):
        a, b = self.pair({"loader_workers": [0, 2]}, harness.TINY,
                         {"data": {"shape": [1, 8, 8], "random_crop": 2}, "train": {"steps": 2}})
        found = self.explain(a, b)
        self.assert_first(found, 1, "batch", "inputs")
        self.assertIs(self.tensors(found, "batch")["sample_ids"]["identical"], True)
        self.assertIs(self.tensors(found, "batch")["targets"]["identical"], True)
        self.assertIn("augmentation", found["why"])
        self.assertIsNone(found["operator"])

    def test_steps_that_were_not_recorded_are_found(self):
        a, b = self.pair({"threads": [1, 2]}, CNN, {"train": {"steps": 8}, "record": {"every": 4}})
        self.assertEqual(self.json("diff", b, a, code=1)["first_divergence"]["step"], 4)
        found = self.explain(a, b)
        self.assert_first(found, 1, "gradient", "conv1.weight")
        self.assert_reproduced(found)

    def test_repeats_are_identical(self):
        a, b = self.pair({"repeat": [1, 2]}, harness.TINY, {"train": {"steps": 2}})
        found = self.explain(a, b)
        self.assertIs(found["identical"], True)
        self.assertIsNone(found["first_divergence"])
        self.assertEqual((found["phases"], found["replay"], found["operator"]), ([], [], None))
        self.assertIn("equal bits", self.cli("explain", a, b, env=self.environment).stdout)


@harness.needs("h5py", "numpy")
class Unusual(ExplainTest):
    def test_a_run_that_is_not_reproduced_is_said(self):
        a, b = self.pair({"accumulation": [1, 2]}, harness.TINY, {"train": {"steps": 2}})
        with h5py.File(b, "r+") as file:  # as a machine that initialises otherwise would
            config = file["config"][()]
            config = config if isinstance(config, bytes) else config.encode()
            changed = config.replace(b'"seed":42', b'"seed":43')
            self.assertNotEqual(changed, config)
            file["config"][()] = np.bytes_(changed)
        found = self.explain(a, b)
        self.assertEqual(found["reproduced"]["a"]["reproduced"], True)
        self.assertEqual(found["reproduced"]["b"], {"checked": True, "reproduced": False, "first_step": 0})
        self.assertTrue(any("re-run of B on this machine does not give the recorded bits from step 0" in note
                            for note in found["notes"]), found["notes"])
        self.assertEqual(found["first_divergence"]["phase"], "init")  # of the runs as they are trained here

    def test_files_that_cannot_be_trained_again(self):
        a, _ = self.pair({"repeat": [1, 2]}, harness.TINY, {"train": {"steps": 1}})
        foreign = self.folder / "foreign.h5"
        with h5py.File(a) as source, h5py.File(foreign, "w") as file:
            for name in source["weights"]:
                file.create_dataset(f"weights/{name}", data=source["weights"][name][:] + 1)
        done = self.cli("explain", a, foreign, code=2, env=self.environment)
        self.assertIn("foreign.h5: holds no configuration", done.stderr)
        self.assertEqual(done.stdout, "")
        self.cli("explain", a, self.folder / "none.h5", code=2, env=self.environment)

    def test_interrupt_leaves_nothing(self):
        a, b = self.pair({"threads": [1, 2]}, CNN, {"train": {"steps": 1500}, "record": {"every": 1500,
                                                                                         "gradients": "none"}})
        process = self.start("explain", a, b, env=self.environment)
        harness.wait_until(lambda: any(self.temporary.glob("*/*.h5")))
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=20)
        self.assertEqual((process.returncode, out), (130, ""), err)
        self.assertEqual(list(self.temporary.iterdir()), [])


if __name__ == "__main__":
    harness.main()
