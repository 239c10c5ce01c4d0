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
        text = self.cli("report", "quickstart").stdout
        self.assertIn("Fashion-MNIST, 1600 of 60000 samples", text)
        self.assertIn("none: bit-identical", text)
        # the same command again touches nothing
        self.assertIn("exists already", self.cli("run", "quickstart", code=2).stderr)

    def test_gradient_accumulation_parses(self):
        done = self.cli("run", "gradient-accumulation", "--dry-run")
        self.assertEqual(len(done.stdout.splitlines()), 1 + 4)
        self.assertEqual(done.stdout.count("reference"), 1)
        self.assertEqual(list(self.folder.iterdir()), [])

    @unittest.skipUnless(has_fashion, "dataset-fashion-mnist is not installed")
    def test_gradient_accumulation_with_few_steps(self):
        self.cli("run", "gradient-accumulation", "--set", "steps=2", "--set", "optimizer=adam", "-o", "out")
        runs = self.runs()
        self.assertIs(runs["acc1~again"]["identical"], True)
        for run in runs.values():
            if run["settings"]["accumulation"] > 1:
                self.assertIs(run["identical"], False)


if __name__ == "__main__":
    harness.main()
