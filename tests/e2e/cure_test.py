# SPDX-License-Identifier: GPL-3.0-or-later
"""cure: the smallest set of remedies, proved by running the study again with what it says to paste."""
import os
import signal
import tomllib

import harness

if harness.has_module("h5py"):
    import h5py

if harness.has_module("torch") and harness.has_module("h5py"):
    import torch
    import torch.nn.functional as F
    import reference
    from models import MODELS

SIX = {"train": {"steps": 6}}
# large enough for two threads to share a convolution's sums out otherwise
LARGER = {"data": {"shape": [1, 12, 12]}}
KEYS = ["study", "identical", "verified", "verified_steps", "remedies", "cured", "unharmed", "uncured", "left_out",
        "refused", "slowdown", "trainings", "set", "toml", "environment", "python", "notes"]


def all_weights(path):
    with h5py.File(path) as file:
        return {name: file["weights"][name][:].tobytes() for name in file["weights"]}


class CureTest(harness.EndToEndTest):
    def cure(self, *sections, code=0, run_code=0):
        """Runs the study and cures it; nothing may be left behind."""
        self.study = harness.merged(harness.TINY, SIX, *sections)
        self.recorded = self.run_study(self.study, code=run_code)
        before = sorted(self.folder.rglob("*"))
        result = self.json("cure", self.folder / "out", code=code)
        self.assertEqual(sorted(self.folder.rglob("*")), before)
        self.assertEqual(list(result), KEYS)
        return result

    def assert_remedies(self, result, *keys):
        self.assertEqual([remedy["key"] for remedy in result["remedies"]], list(keys))
        self.assertIs(result["verified"], True)
        self.assertEqual(result["verified_steps"], self.study["train"]["steps"])
        self.assertGreater(result["slowdown"]["factor"], 0)

    def assert_pasted(self, result, *alike):
        """With the overrides, and with the TOML in the study, runs with the settings in each list have equal bits.
        Returns the last list's weights."""
        overrides = [x for text in result["set"] for x in ("--set", text)]
        self.cli("run", self.folder / "out.toml", "-o", self.folder / "set", *overrides)
        pasted = tomllib.loads(result["toml"])
        study = harness.merged(self.study, pasted)
        study["axes"] = {key: values for key, values in study["axes"].items() if key not in pasted["train"]}
        if "study" in study:
            study["study"]["groups"] = [key for key in study["study"]["groups"] if key in study["axes"]]
        self.run_study(study, out="pasted")
        for out in ("set", "pasted"):
            runs = self.runs(out)
            for group in alike:
                left = [{key: value for key, value in settings.items() if key in study["axes"]} for settings in group]
                weights = [all_weights(self.only(runs, **settings)["file"]) for settings in left]
                for others in weights[1:]:
                    self.assertEqual(others, weights[0], f"{out}: {left}")
        return weights[0]


@harness.needs("h5py", "numpy")
class Accumulation(CureTest):
    def test_the_canonical_accumulator(self):
        axes = {"accumulation": [1, 2, 3]}
        result = self.cure({"axes": axes})
        self.assert_remedies(result, "accumulator")
        self.assertEqual(result["cured"], ["acc2", "acc3"])
        self.assertEqual((result["uncured"], result["left_out"], result["notes"]), ([], [], []))
        self.assertEqual(result["set"], ["accumulator=canonical"])
        self.assert_pasted(result, [{"accumulation": k} for k in axes["accumulation"]])
        text = self.cli("cure", "out").stdout
        for line in ("cure: canonical accumulator\n", "cures 2 of 2 runs: acc2, acc3\n",
                     "bit-identical at every step to 6\n", "slowdown of the reference: ",
                     '  accumulator = "canonical"\n', "def canonical_gradient("):
            self.assertIn(line, text)


@harness.needs("h5py", "numpy")
class AccumulationAndThreads(CureTest):
    def test_the_canonical_accumulator_alone(self):
        result = self.cure(LARGER, {"axes": {"accumulation": [1, 2], "threads": [1, 2]}})
        self.assertEqual([run["identical"] for run in self.recorded.values()], [None, False, False, False])
        self.assert_remedies(result, "accumulator")
        self.assertEqual(result["cured"], ["acc1_thr2", "acc2_thr1", "acc2_thr2"])
        self.assert_pasted(result, [{"accumulation": a, "threads": t} for a in (1, 2) for t in (1, 2)])


@harness.needs("h5py", "numpy")
class Threads(CureTest):
    def test_fixed(self):
        result = self.cure(LARGER, {"axes": {"threads": [1, 2]}})
        self.assert_remedies(result, "threads")
        self.assertEqual(result["set"], ["threads=1"])
        self.assertIn("OMP_NUM_THREADS=1", result["environment"])
        self.assertIn("torch.set_num_threads(1)", result["python"])
        weights = self.assert_pasted(result, [{"threads": 1}])
        self.assertEqual(weights, all_weights(self.recorded["thr1"]["file"]))


@harness.needs("h5py", "numpy")
class LoaderWorkers(CureTest):
    def test_a_generator_for_each_sample(self):
        result = self.cure({"data": {"random_crop": 2}, "axes": {"loader_workers": [0, 2]}})
        self.assert_remedies(result, "worker_rng")
        self.assertEqual(result["cured"], ["workers2"])
        self.assertIn("class PerSample", result["python"])
        self.assert_pasted(result, [{"loader_workers": k} for k in (0, 2)])


@harness.needs("h5py", "numpy")
class Groups(CureTest):
    def test_each_group_has_its_own_reference(self):
        result = self.cure({"study": {"groups": ["optimizer", "accumulator"]}},
                           {"axes": {"optimizer": ["adam", "sgd"], "accumulator": ["native", "canonical"],
                                     "accumulation": [1, 2]}})
        self.assert_remedies(result, "accumulator")
        self.assertEqual(result["cured"], ["adam_sumnative_acc2", "sgd_sumnative_acc2"])
        self.assertEqual(result["unharmed"], ["adam_sumcanonical_acc2", "sgd_sumcanonical_acc2"])
        self.assert_pasted(result, *([{"optimizer": optimizer, "accumulation": k} for k in (1, 2)]
                                     for optimizer in ("adam", "sgd")))


@harness.needs("h5py", "numpy")
class Uncured(CureTest):
    def test_batch_statistics(self):
        result = self.cure({"model": {"batch_norm": True}, "axes": {"accumulation": [1, 2]}}, code=3)
        self.assertEqual((result["remedies"], result["cured"], result["slowdown"]), ([], [], None))
        self.assertIs(result["verified"], False)
        run, = result["uncured"]
        self.assertEqual((run["id"], run["axes"]), ("acc2", ["accumulation"]))
        self.assertIn("no cure by arithmetic: batch statistics", run["reason"])
        self.assertEqual([remedy["key"] for remedy in result["refused"]], ["accumulator"])
        self.assertIn("no cure: none of the 1 runs", self.cli("cure", "out", code=3).stdout)

    def test_another_seed(self):
        result = self.cure({"axes": {"seed": [1, 2]}}, code=3)
        self.assertEqual((result["remedies"], result["cured"], result["toml"]), ([], [], ""))
        run, = result["uncured"]
        self.assertEqual((run["id"], run["axes"]), ("seed2", ["seed"]))
        self.assertIn("another seed", run["reason"])


@harness.needs("h5py", "numpy")
class Partly(CureTest):
    def test_those_that_can_be_are_cured(self):
        result = self.cure({"axes": {"seed": [1, 2], "accumulation": [1, 2]}}, code=3)
        self.assert_remedies(result, "accumulator")
        self.assertEqual(result["cured"], ["seed1_acc2"])
        self.assertEqual([(run["id"], run["axes"]) for run in result["uncured"]],
                         [("seed2_acc1", ["seed"]), ("seed2_acc2", ["seed"])])

    def test_runs_that_have_not_finished(self):
        result = self.cure({"axes": {"device": ["cpu", "cuda:63"], "accumulation": [1, 2]}}, run_code=3)
        self.assert_remedies(result, "accumulator")
        self.assertEqual(result["cured"], ["devcpu_acc2"])
        self.assertEqual([run["id"] for run in result["left_out"]], ["devcuda-63_acc1", "devcuda-63_acc2"])
        for run in result["left_out"]:
            self.assertIn("unavailable: device = cuda:63", run["reason"])


@harness.needs("h5py", "numpy")
class Behaviour(CureTest):
    def test_nothing_to_cure(self):
        result = self.cure({"axes": {"repeat": 2}})
        self.assertIs(result["identical"], True)
        self.assertEqual((result["remedies"], result["trainings"], result["unharmed"]), ([], 0, ["repeat2"]))
        self.assertIn("nothing to cure", self.cli("cure", "out").stdout)

    def test_bad_input(self):
        self.assertIn("no such study folder", self.cli("cure", "missing", code=2).stderr)
        self.run_study(harness.TINY, SIX)
        self.assertIn("has no finished run to compare", self.cli("cure", "out", code=2).stderr)
        env = harness.environment(DRIFTSCOPE_WORKER="/nonexistent/worker")
        self.run_study(harness.TINY, SIX, {"axes": {"accumulation": [1, 2]}}, out="two")
        self.cli("cure", "two", env=env, code=(2, 3))

    def test_interrupted(self):
        self.run_study(harness.TINY, {"train": {"steps": 3000}, "record": {"every": 1000},
                                      "axes": {"accumulation": [1, 2]}})
        before = sorted(self.folder.rglob("*"))
        process = self.start("cure", "out")
        harness.wait_until(lambda: list(self.folder.glob(".driftscope-cure-*/runs/*.h5")))
        os.killpg(process.pid, signal.SIGINT)
        out, said = process.communicate(timeout=20)
        self.assertEqual((process.returncode, out), (130, ""), said)
        self.assertEqual(sorted(self.folder.rglob("*")), before)


@harness.needs("torch", "h5py", "numpy")
class PastedPython(CureTest):
    def train(self, canonical_gradient, parts, threads):
        """Gradients, losses and final weights of the study's training with the pasted function."""
        images, targets, classes = reference.load(self.study["data"], -100)
        images = images.float().div(255)
        train = self.study["train"]
        torch.set_num_threads(threads)
        torch.manual_seed(train.get("seed", 42))
        model = MODELS["cifar_cnn"]({}, images.shape[1:], classes)
        optimizer = torch.optim.Adam(model.parameters(), lr=train["learning_rate"])
        seen = []
        for first in range(0, train["steps"] * train["batch"], train["batch"]):
            ids = torch.arange(first, first + train["batch"])
            optimizer.zero_grad()
            F.cross_entropy(model(images[ids]), targets[ids]).backward()
            plain = [p.grad.clone() for p in model.parameters()]
            optimizer.zero_grad()
            loss = canonical_gradient(model, F.cross_entropy,
                                      [(images[part], targets[part], part) for part in torch.tensor_split(ids, parts)])
            for parameter, gradient in zip(model.parameters(), plain):
                torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-6)
            seen.append([*(p.grad.numpy().tobytes() for p in model.parameters()), loss.item()])
            optimizer.step()
        self.assertEqual(torch.get_num_threads(), threads)
        return seen, {name: p.detach().numpy().tobytes() for name, p in model.named_parameters()}

    def check_ignored_targets(self, canonical_gradient):
        torch.manual_seed(1)
        model, x, y = torch.nn.Linear(5, 3), torch.randn(7, 4, 5), torch.randint(3, (7, 4))
        y[torch.rand(7, 4) < 0.4] = -100
        y[2] = -100
        loss_of = lambda output, targets: F.cross_entropy(output.flatten(0, -2), targets.flatten())
        loss_of(model(x), y).backward()
        plain = [p.grad.clone() for p in model.parameters()]
        found = []
        for parts in (1, 3):
            micro = [(x[i], y[i], i) for i in torch.tensor_split(torch.arange(7), parts)]
            canonical_gradient(model, loss_of, micro, counted=lambda targets: (targets != -100).sum())
            for parameter, gradient in zip(model.parameters(), plain):
                torch.testing.assert_close(parameter.grad, gradient)
            found.append([p.grad.numpy().tobytes() for p in model.parameters()])
        self.assertEqual(found[0], found[1])

    def test_canonical_gradient(self):
        steps = {"train": {"steps": 4}}
        result = self.cure(LARGER, steps, {"axes": {"accumulation": [1, 2]}})
        pasted = {}
        exec(result["python"], pasted)
        function = pasted["canonical_gradient"]
        self.check_ignored_targets(function)
        whole = self.train(function, 1, 1)
        for parts, threads in ((2, 1), (5, 1), (16, 1), (1, 2), (2, 2)):
            self.assertEqual(self.train(function, parts, threads), whole, f"{parts} parts, {threads} threads")
        # and it is what the study computes with the remedy
        self.cli("run", self.folder / "out.toml", "-o", self.folder / "set", "--set", "accumulator=canonical")
        for run in self.runs("set").values():
            with h5py.File(run["file"]) as file:
                self.assertEqual({name: file["weights"][name][-1].tobytes() for name in whole[1]}, whole[1])
                self.assertEqual(file["scalars/loss"][1:].tolist(), [step[-1] for step in whole[0]])

    def test_per_sample_generator(self):
        pasted = {}
        exec(self.cure({"data": {"random_flip": True}, "axes": {"loader_workers": [0, 2]}})["python"], pasted)

        class Noise(torch.utils.data.Dataset):
            def __len__(self):
                return 20

            def __getitem__(self, i):
                return torch.rand(3)

        def drawn(workers, epoch):
            samples = pasted["PerSample"](Noise(), 7)
            samples.epoch = epoch
            return torch.cat(list(torch.utils.data.DataLoader(samples, batch_size=4, num_workers=workers)))

        self.assertTrue(torch.equal(drawn(0, 1), drawn(2, 1)))
        self.assertFalse((drawn(0, 1) == drawn(0, 2)).any())
        self.assertEqual(len(set(drawn(0, 1)[:, 0].tolist())), 20)


if __name__ == "__main__":
    harness.main()
