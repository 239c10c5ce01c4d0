# SPDX-License-Identifier: GPL-3.0-or-later
"""The built-in studies, as a new user runs them."""
import unittest
from pathlib import Path

import harness

has_fashion = any(Path("/usr/share/datasets/fashion-mnist").glob("train-images*"))


class Quickstart(harness.EndToEndTest):
    @unittest.skipUnless(has_fashion, "dataset-fashion-mnist is not installed")
    def test_quickstart(self):
        done = self.cli("run", "quickstart", "--set", "steps=20")
        self.assertEqual(done.stdout, "quickstart\n")
        runs = self.runs("quickstart")
        self.assertEqual({run["status"] for run in runs.values()}, {"finished"})
        grid = {key: run for key, run in runs.items() if not key.endswith("~again")}
        self.assertEqual(len(grid), 6)
        reference = self.only(grid, accumulation=1, threads=1)
        for run in grid.values():
            if run["settings"]["accumulation"] > 1:
                self.assertIs(run["identical"], False)
                self.assertEqual((run["first_divergence"]["step"], run["first_divergence"]["phase"]), (1, "gradient"))
                self.assertTrue(1e-9 < run["final"]["rel_l2"] < 1e-4, run["final"]["rel_l2"])
        control = runs[f"{reference['id']}~again"]
        self.assertIs(control["identical"], True)
        self.assertIsNone(control["first_divergence"])
        self.assertEqual(control["final"]["rel_l2"], 0)
        self.assertEqual(control["verdict"]["kind"], "identical")
        self.assertEqual({run["verdict"]["kind"] for run in grid.values() if run["identical"] is False}, {"rounding"})
        text = self.cli("report", "quickstart").stdout
        self.assertIn("Fashion-MNIST, 1600 of 60000 samples", text)
        self.assertIn("none: bit-identical", text)
        # the same command again touches nothing
        self.assertIn("exists already", self.cli("run", "quickstart", code=2).stderr)

    @unittest.skipUnless(has_fashion, "dataset-fashion-mnist is not installed")
    def test_gradient_accumulation_and_its_cure(self):
        self.cli("run", "gradient-accumulation", "--set", "steps=2", "-o", "out")
        runs = self.runs()
        self.assertEqual(len(runs), 2 * 2 * 3 + 4)
        for run in runs.values():
            cured = run["settings"]["accumulator"] == "canonical"
            if run["reference"] is None:
                self.assertEqual(run["settings"]["accumulation"], 1)
                continue
            for axis in ("optimizer", "accumulator"):
                self.assertEqual(runs[run["reference"]]["settings"][axis], run["settings"][axis])
            self.assertIs(run["identical"], cured or run["settings"]["accumulation"] == 1, run["id"])


class Others(harness.EndToEndTest):
    @unittest.skipUnless(has_fashion, "dataset-fashion-mnist is not installed")
    def test_studies_are_possible(self):
        for study, only in (("noise-floor", ("seed=2", "accumulation=2", "repeat=1")),
                            ("per-sample-gradient", ("accumulation=10", "order=sequential", "accumulator=native")),
                            ("hardware", ("threads=2", "cpu_isa=native", "tf32=off", "init_threads=1",
                                          "loader_workers=0"))):
            with self.subTest(study=study):
                plan = self.json("run", study, "--dry-run", *(word for each in only for word in ("--only", each)))
                self.assertEqual({run["status"] for run in plan["runs"]}, {"possible"})
                self.assertGreater(plan["bytes"], 0)
        self.assertEqual(list(self.folder.iterdir()), [])

    @unittest.skipUnless(has_fashion, "dataset-fashion-mnist is not installed")
    def test_mistakes_are_no_rounding(self):
        self.cli("run", "mistakes", "--set", "epochs=1", "--set", "dropout=0", "--set", "batch_norm=false", "-o", "out")
        runs = self.runs()
        right = self.only({key: run for key, run in runs.items() if not key.endswith("~again")}, accumulation=4,
                          loss_normalization="batch", tail="scaled")
        self.assertLess(right["final"]["rel_l2"], 1e-6)
        self.assertEqual(right["verdict"]["kind"], "rounding")
        for wrong in ({"loss_normalization": "none", "tail": "scaled"}, {"loss_normalization": "batch", "tail": "unscaled"},
                      {"loss_normalization": "micro_batch", "tail": "scaled"}):
            run = self.only(runs, accumulation=4, **wrong)
            self.assertGreater(run["final"]["rel_l2"], 100 * right["final"]["rel_l2"], wrong)
            self.assertEqual(run["verdict"]["kind"], "algorithmic", wrong)


if __name__ == "__main__":
    harness.main()
