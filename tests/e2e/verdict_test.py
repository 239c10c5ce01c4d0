# SPDX-License-Identifier: GPL-3.0-or-later
"""The cases of people who do this job, and pairs with a known cause drawn anew each time: does the verdict name it?"""
import os
import random
import time

import harness

if harness.has_module("numpy"):
    import numpy as np

SYNTHETIC = {"kind": "synthetic", "shape": [2, 8, 8], "samples": 64, "seed": 1}
RECIPE = {"steps": 6, "batch": 16, "optimizer": "sgd", "learning_rate": 0.01, "threads": 1}
TWINS = {"study": {"twin": "float64"}}


class Case(harness.EndToEndTest):
    def verdict(self, *sections, **settings):
        """Of the one run with these settings, and that run."""
        runs = self.run_study({"data": SYNTHETIC, "train": RECIPE}, *sections)
        run = self.only(runs, **settings)
        return run["verdict"], run

    def evidence(self, verdict, name):
        found = [each for each in verdict["evidence"] if each["name"] == name]
        self.assertTrue(found, f"no evidence {name} in {verdict}")
        return found[0]


class BatchNorm(Case):
    def test_batch_statistics_are_named(self):
        verdict, _ = self.verdict(TWINS, {"model": {"kind": "cifar_cnn", "batch_norm": True},
                                          "axes": {"accumulation": [1, 4]}}, accumulation=4)
        self.assertEqual(verdict["kind"], "algorithmic")
        self.assertIn("batch statistics", self.evidence(verdict, "modules")["text"])
        self.assertGreater(self.evidence(verdict, "twins")["value"], 2**-8)
        self.assertIn("No arithmetic cures", verdict["summary"])

    def test_without_twins(self):
        verdict, _ = self.verdict({"model": {"kind": "cifar_cnn", "batch_norm": True},
                                   "axes": {"accumulation": [1, 4]}}, accumulation=4)
        self.assertEqual(verdict["kind"], "algorithmic")


class TailGroup(Case):
    STUDY = {"model": {"kind": "mlp", "hidden": [24]}, "data": {**SYNTHETIC, "samples": 100},
             "train": {"epochs": 2.0, "batch": 32, "accumulation": 8, "learning_rate": 0.01, "threads": 1},
             "axes": {"tail": ["scaled", "unscaled"]}}

    def test_exact_factor_in_the_last_update_only(self):
        for optimizer in ("sgd", "adam"):
            with self.subTest(optimizer):
                runs = self.run_study(TWINS, self.STUDY, {"train": {"optimizer": optimizer}}, out=optimizer)
                run = self.only(runs, tail="unscaled")
                self.assertEqual(run["verdict"]["kind"], "algorithmic")
                factor = self.evidence(run["verdict"], "factor")
                self.assertAlmostEqual(factor["value"], 1 / 8, places=6)
                self.assertIn("incomplete update of an epoch", factor["text"])
                self.assertIn("1/8", factor["text"])
                self.assertEqual(run["first_divergence"]["step"], 4)

    def test_behind_rounding(self):
        """The reference does not split its batch: rounding from step 1 on must not hide step 4."""
        runs = self.run_study(TWINS, {key: self.STUDY[key] for key in ("model", "data")},
                              {"train": {**self.STUDY["train"], "tail": "unscaled"}, "axes": {"accumulation": [1, 8]}})
        run = self.only(runs, accumulation=8)
        self.assertEqual(run["first_divergence"]["step"], 1)
        self.assertEqual(run["verdict"]["kind"], "algorithmic", run["verdict"])
        self.assertIn("incomplete", run["verdict"]["summary"])


@harness.needs("numpy")
class TokenMean(Case):
    def test_ignored_positions(self):
        lines = ["x" * length for length in (3, 40, 7, 25, 12, 30, 5, 18) * 8]
        text = self.folder / "text.txt"
        text.write_text("\n".join(lines) + "\n")
        runs = self.run_study(TWINS, {"model": {"kind": "transformer", "width": 16, "depth": 1, "heads": 2},
                                      "data": {"kind": "text", "path": str(text), "context": 32},
                                      "train": {**RECIPE, "batch": 16, "accumulation": 4},
                                      "axes": {"loss_normalization": ["batch", "micro_batch"]}})
        run = self.only(runs, loss_normalization="micro_batch")
        self.assertEqual(run["verdict"]["kind"], "algorithmic")
        self.assertEqual(run["first_divergence"]["step"], 1)


class UnscaledSum(Case):
    def test_factor_of_the_accumulation(self):
        for optimizer in ("sgd", "adam"):
            with self.subTest(optimizer):
                runs = self.run_study(TWINS, {"model": {"kind": "cifar_cnn"}, "data": SYNTHETIC,
                                              "train": {**RECIPE, "optimizer": optimizer, "accumulation": 4},
                                              "axes": {"loss_normalization": ["batch", "none"]}}, out=optimizer)
                run = self.only(runs, loss_normalization="none")
                self.assertEqual(run["verdict"]["kind"], "algorithmic")
                self.assertAlmostEqual(self.evidence(run["verdict"], "factor")["value"], 4, places=4)

    def test_without_twins_and_settings(self):
        """Two files of others: the gradients alone give the factor away."""
        if not harness.has_module("h5py"):
            self.skipTest("no h5py")
        import h5py
        runs = self.run_study({"model": {"kind": "cifar_cnn"}, "data": SYNTHETIC,
                               "train": {**RECIPE, "accumulation": 4}, "record": {"gradients": "full"},
                               "axes": {"loss_normalization": ["batch", "none"]}})
        files = []
        for run in runs.values():
            files.append(self.folder / f"foreign-{len(files)}.h5")
            with h5py.File(run["file"]) as ours, h5py.File(files[-1], "w") as theirs:
                theirs["step"] = ours["step"][:]
                for group in ("weights", "gradients"):
                    for name in ours[group]:
                        theirs[f"{group}/{name}"] = ours[group][name][:]
        verdict = self.json("diff", files[1], files[0], code=1)["verdict"]
        self.assertEqual(verdict["kind"], "algorithmic")
        self.assertAlmostEqual(self.evidence(verdict, "factor")["value"], 4, places=4)


class LoaderWorkers(Case):
    def test_data_and_its_cure(self):
        study = {"model": {"kind": "lenet_300_100"}, "data": {**SYNTHETIC, "random_crop": 2, "random_flip": True},
                 "train": RECIPE, "axes": {"loader_workers": [0, 2, 4]}}
        runs = self.run_study(TWINS, study)
        for workers in (2, 4):
            run = self.only(runs, loader_workers=workers)
            self.assertEqual(run["verdict"]["kind"], "data")
            self.assertEqual(run["first_divergence"]["phase"], "batch")
            self.assertIn("per-sample", run["verdict"]["summary"])
        cured = self.run_study(study, {"train": {"worker_rng": "per-sample"}}, out="cured")
        self.assertEqual({run["verdict"]["kind"] for run in cured.values()}, {"", "identical"})


class Dropout(Case):
    def test_other_masks(self):
        verdict, _ = self.verdict(TWINS, {"model": {"kind": "lenet_300_100", "dropout": 0.5},
                                          "axes": {"accumulation": [1, 2]}}, accumulation=2)
        self.assertEqual(verdict["kind"], "random")


class InitThreads(Case):
    def test_first_divergence_is_the_initialisation(self):
        verdict, run = self.verdict(TWINS, {"model": {"kind": "vit_tiny", "projection": 16},
                                            "data": {"shape": [3, 16, 16]}, "train": {"steps": 2, "batch": 4},
                                            "axes": {"cpu_isa": ["native", "default"]}}, cpu_isa="default")
        if run["status"] == "unavailable":
            self.skipTest(run["reason"])
        self.assertEqual(run["first_divergence"]["step"], 0)
        self.assertEqual(run["first_divergence"]["phase"], "init")
        self.assertEqual(verdict["kind"], "rounding", verdict)


class ChunkBoundaries(Case):
    def test_element_wise_functions_over_threads(self):
        # GELU's tanh and exp over sizes that three threads cut within a vector
        verdict, run = self.verdict(TWINS, {"model": {"kind": "vit_tiny"}, "data": {"shape": [3, 24, 24], "samples": 16},
                                            "train": {"steps": 2, "batch": 7}, "axes": {"threads": [1, 3]}}, threads=3)
        self.assertIn(verdict["kind"], ("rounding", "identical"), verdict)
        if verdict["kind"] == "rounding":
            self.assertTrue(run["first_divergence"]["tensor"])


class SameTwice(Case):
    def test_identical(self):
        verdict, _ = self.verdict({"model": {"kind": "cifar_cnn", "dropout": 0.2}, "axes": {"repeat": 2}}, repeat=2)
        self.assertEqual(verdict["kind"], "identical")


class AdamAmplifies(Case):
    def test_beside_sgd(self):
        runs = self.run_study(TWINS, {"study": {"groups": ["optimizer"]}, "model": {"kind": "cifar_cnn"},
                                      "data": {"kind": "fashion-mnist", "limit": 64} if os.path.isdir("/usr/share/datasets/fashion-mnist")
                                      else SYNTHETIC,
                                      "train": RECIPE,
                                      "axes": {"optimizer": ["sgd", "adam"], "accumulation": [1, 2]}})
        runs = runs
        adam, sgd = (self.only(runs, optimizer=o, accumulation=2) for o in ("adam", "sgd"))
        for run in (adam, sgd):
            self.assertEqual(run["verdict"]["kind"], "rounding", run["verdict"])
        self.assertGreater(self.evidence(adam["verdict"], "amplification")["value"],
                           100 * self.evidence(adam["verdict"], "amplification")["threshold"])
        self.assertNotIn("amplification", [each["name"] for each in sgd["verdict"]["evidence"]])


class Precision(Case):
    def test_fewer_bits(self):
        for axes, settings in (({"dtype": ["float32", "float64", "bfloat16"]}, {"dtype": "bfloat16"}),
                               ({"dtype": ["float32", "float64"]}, {"dtype": "float64"}),
                               ({"tf32": ["off", "emulated"]}, {"tf32": "emulated"}),
                               ({"autocast": [False, True]}, {"autocast": True})):
            with self.subTest(settings):
                runs = self.run_study(TWINS, {"model": {"kind": "lenet_300_100"}, "data": SYNTHETIC, "train": RECIPE,
                                              "axes": axes}, out="p" + "-".join(map(str, settings.values())))
                run = self.only(runs, **settings)
                self.assertEqual(run["verdict"]["kind"], "precision", run["verdict"])

    def test_fewer_bits_hide_no_bug(self):
        runs = self.run_study(TWINS, {"study": {"reference": {"dtype": "float32", "loss_normalization": "batch"}},
                                      "model": {"kind": "lenet_300_100"}, "data": SYNTHETIC,
                                      "train": {**RECIPE, "accumulation": 4},
                                      "axes": {"dtype": ["float32", "bfloat16"], "loss_normalization": ["batch", "none"]}})
        run = self.only(runs, dtype="bfloat16", loss_normalization="none")
        self.assertEqual(run["verdict"]["kind"], "algorithmic", run["verdict"])


class TwinsLater(Case):
    def test_added_to_a_study(self):
        study = {"model": {"kind": "lenet_300_100"}, "data": SYNTHETIC, "train": RECIPE,
                 "axes": {"accumulation": [1, 2], "optimizer": ["sgd", "adam"]}}
        before = self.run_study(study)
        self.cli("run", self.folder / "out.toml", "-o", self.folder / "out", "--resume", "--twins")
        after = self.runs()
        self.assertEqual(len(self.runs(twins=True)), len(before))
        for key, run in before.items():
            self.assertEqual(after[key]["final"], run["final"])
        run = self.only(after, accumulation=2, optimizer="sgd")
        self.assertEqual(run["verdict"]["kind"], "rounding")
        self.assertLess(self.evidence(run["verdict"], "twins")["value"], 2**-20)


class Matrix:
    """Pairs with a known cause for one model and optimizer, seeds drawn anew each time."""
    CAUSES = [
        ("accumulation", {"accumulation": [1, 4]}, {}, {"rounding"}),
        ("odd accumulation", {"accumulation": [1, 3]}, {}, {"rounding"}),
        ("threads", {"threads": [1, 2]}, {}, {"rounding", "identical"}),
        ("order", {"order": ["sequential", "shuffled-within-batch"]}, {}, {"rounding"}),
        ("accumulator", {"accumulator": ["native", "canonical"]}, {}, {"rounding"}),
        ("unscaled sum", {"loss_normalization": ["batch", "none"]}, {"train": {"accumulation": 4}}, {"algorithmic"}),
        ("micro-batch mean", {"loss_normalization": ["batch", "micro_batch"]}, {"train": {"accumulation": 3}},
         {"algorithmic"}),
        ("batch norm", {"accumulation": [1, 2]}, {"model": {"batch_norm": True}}, {"algorithmic"}),
        ("learning rate", {"learning_rate": [0.01, 0.0100001]}, {}, {"algorithmic"}),
        ("weight decay", {"weight_decay": [0.0, 1e-6]}, {}, {"algorithmic"}),
        ("label smoothing", {"label_smoothing": [0.0, 1e-5]}, {}, {"algorithmic"}),
        ("dropout", {"accumulation": [1, 2]}, {"model": {"dropout": 0.3}}, {"random"}),
        ("seed", {"seed": [1, 2]}, {}, {"random"}),
        ("other samples", {"order": ["sequential", "shuffled"]}, {}, {"data"}),
        ("augmentation", {"loader_workers": [0, 2]}, {"data": {"random_crop": 2}}, {"data"}),
        ("bfloat16", {"dtype": ["float32", "bfloat16"]}, {}, {"precision"}),
    ]

    def test_confusion(self):
        seed = int(os.environ.get("DRIFTSCOPE_SEED", time.time_ns() % 2**31))
        draw = random.Random(seed)
        confusion, wrong = {}, []
        for cause, axes, changes, allowed in self.CAUSES:
            train = {**RECIPE, "optimizer": self.OPTIMIZER, "seed": draw.randrange(2**31),
                     "order_seed": draw.randrange(2**31)}
            sections = harness.merged({"study": {"twin": "float64"}, "model": self.MODEL,
                                       "data": {**SYNTHETIC, "seed": draw.randrange(2**31)},
                                       "train": {key: value for key, value in train.items() if key not in axes}},
                                      changes, {"axes": axes})
            runs = self.run_study(sections, out=cause.replace(" ", "-"))
            kinds = [run["verdict"]["kind"] for run in runs.values() if run["verdict"]["kind"]]
            self.assertEqual(len(kinds), 1)
            confusion[cause] = kinds[0]
            if kinds[0] not in allowed:
                wrong.append((cause, kinds[0]))
        print(f"{self.MODEL['kind']}, {self.OPTIMIZER}, seed {seed}")
        for cause, kind in confusion.items():
            print(f"{cause:20} {kind}")
        self.assertEqual(wrong, [])


class MatrixMlpAdam(Matrix, Case):
    MODEL, OPTIMIZER = {"kind": "mlp", "hidden": [32, 16]}, "adam"


class MatrixCnnSgd(Matrix, Case):
    MODEL, OPTIMIZER = {"kind": "cifar_cnn"}, "sgd"


class MatrixCnnAdam(Matrix, Case):
    MODEL, OPTIMIZER = {"kind": "cifar_cnn"}, "adam"


if __name__ == "__main__":
    harness.main()
