# SPDX-License-Identifier: GPL-3.0-or-later
"""How `run` runs a study: trying out, choosing, limiting, interrupting and going on."""
import os
import signal

import harness

if harness.has_module("h5py"):
    import h5py
    import runfile

AXES = {"axes": {"accumulation": [1, 2, 4], "seed": [1, 2]}}


@harness.needs("h5py", "numpy")
class DryRun(harness.EndToEndTest):
    def plan(self, study, *arguments, code=0):
        """What --dry-run --json says, having left nothing behind."""
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        before = sorted(self.folder.rglob("*"))
        plan = self.json("run", study, "--dry-run", "-o", self.folder / "out", *arguments, code=code,
                         env=harness.environment(TMPDIR=str(temporary)))
        self.assertEqual(sorted(self.folder.rglob("*")), before)
        return plan

    def test_runs_and_their_sizes(self):
        study = {"model": {"kind": "mlp", "hidden": [200]}, "train": {"steps": 12}}
        axes = {"axes": {"accumulation": [1, 2], "dtype": ["float32", "float64"], "steps": [3, 12]}}
        path = self.write_study(harness.TINY, study, axes)
        plan = self.plan(path)
        runs = self.run_study(harness.TINY, study, axes)
        self.assertEqual([run["id"] for run in plan["runs"]], list(runs))
        for run in plan["runs"]:
            self.assertEqual(run["status"], "possible")
            self.assertEqual(run["steps"], runs[run["id"]]["settings"]["steps"])
            self.assertGreater(run["seconds"], 0)
            size = runs[run["id"]]["file"].stat().st_size
            self.assertLess(abs(run["bytes"] - size), 0.2 * size, run["id"])
        self.assertEqual(plan["bytes"], sum(run["bytes"] for run in plan["runs"]))

    def test_sizes_of_every_kind_of_recording(self):
        everything = {"model": {"hidden": [200], "kind": "mlp"},
                      "record": {"gradients": "full", "optimizer": "full", "activations": [1, 2], "relu_probe": 64}}
        for out, record in {"all": {}, "metrics": {"weights": "metrics"}, "sample": {"weights": "sample"},
                            "digest": {"weights": "digest"}}.items():
            axes = {"record": record, "axes": {"accumulation": [1, 2]}}
            plan = self.plan(self.write_study(harness.TINY, everything, axes))
            runs = self.run_study(harness.TINY, everything, axes, out=out)
            for run in plan["runs"]:
                size = runs[run["id"]]["file"].stat().st_size
                self.assertLess(abs(run["bytes"] - size), 0.2 * size, f"{run['id']} {out}")

    def test_as_a_table(self):
        path = self.write_study(harness.TINY, {"axes": {"accumulation": [1, 2], "device": ["cpu", "cuda:63"]}})
        out = self.cli("run", path, "--dry-run", code=3).stdout
        self.assertEqual(out.count("unavailable: device = cuda:63"), 2)
        self.assertRegex(out, r"acc 1 · dev cpu +acc1_devcpu +reference +10 +1 s +[0-9.]+ kB")
        self.assertRegex(out, r"\n4 runs, about [0-9]+ s on [0-9]+ cores, [0-9.]+ MB on the disk\n")
        plan = self.plan(path, code=3)
        self.assertEqual([run["status"] for run in plan["runs"]], ["possible", "unavailable"] * 2)

    def test_into_a_folder_that_exists(self):
        self.run_study(harness.TINY)
        self.plan(self.write_study(harness.TINY, {"train": {"steps": 11}}))


@harness.needs("h5py", "numpy")
class Only(harness.EndToEndTest):
    def chosen(self, *only):
        arguments = [x for text in only for x in ("--only", text)]
        plan = self.json("run", self.write_study(harness.TINY, AXES), "--dry-run", *arguments)
        return [run["id"] for run in plan["runs"]]

    def test_choices(self):
        reference = "acc1_seed1"
        self.assertEqual(self.chosen("accumulation=4"), [reference, "acc4_seed1", "acc4_seed2"])
        self.assertEqual(self.chosen("accumulation=4", "seed=2"), [reference, "acc4_seed2"])
        self.assertEqual(self.chosen("acc2_seed1"), [reference, "acc2_seed1"])
        for only, says in {"accumulation=3": "no run but the reference", "acc9": "no run but the reference",
                           "acumulation=2": 'did you mean "accumulation"?', "seed=x": "expected an integer"}.items():
            done = self.cli("run", self.write_study(harness.TINY, AXES), "--only", only, "-o", self.folder / "out", code=2)
            self.assertIn(says, done.stderr)
            self.assertFalse((self.folder / "out").exists())

    def test_the_others_can_follow(self):
        study = self.write_study(harness.TINY, AXES)
        self.cli("run", study, "-o", self.folder / "out", "--only", "accumulation=2")
        states = {name: run["status"] for name, run in self.runs().items()}
        self.assertEqual([name for name, state in states.items() if state == "finished"],
                         ["acc1_seed1", "acc2_seed1", "acc2_seed2"])
        self.assertEqual(set(states.values()), {"finished", "not run"})
        self.assertEqual(len(list((self.folder / "out/runs").glob("*.h5"))), 3)
        kept = (self.folder / "out/runs/acc2_seed2.h5").stat().st_ino
        self.cli("run", study, "-o", self.folder / "out", "--resume")
        self.assertEqual({run["status"] for run in self.runs().values()}, {"finished"})
        self.assertEqual((self.folder / "out/runs/acc2_seed2.h5").stat().st_ino, kept)


@harness.needs("h5py", "numpy")
class TimeLimit(harness.EndToEndTest):
    def test_only_the_run_that_takes_too_long_fails(self):
        study = self.write_study(harness.TINY, {"axes": {"steps": [5, 10 ** 6, 6]}, "record": {"every": 1000}})
        summary = self.json("run", study, "-o", self.folder / "out", "--time-limit", 8, "--jobs", 2, code=3)
        seconds = {run["id"]: run["seconds"] for run in summary["runs"]}
        self.assertTrue(8 <= seconds["steps1000000"] < 30, seconds)
        runs = self.runs()
        self.assertEqual([run["status"] for run in runs.values()], ["finished", "failed", "finished"])
        run = runs["steps1000000"]
        self.assertEqual(run["reason"], "took longer than the time limit of 8 s")
        self.assertEqual(runfile.text(run["file"], "message").rstrip("\0"), run["reason"])
        rows, state = runfile.progress(run["file"])
        self.assertEqual(state, runfile.FAILED)
        self.assertGreater(rows, 0)


@harness.needs("h5py", "numpy")
class Resumed(harness.EndToEndTest):
    def test_what_differs_is_shown(self):
        self.run_study(harness.TINY, AXES)
        before = {path: path.stat().st_mtime_ns for path in (self.folder / "out").rglob("*")}
        other = self.write_study(harness.TINY, {"train": {"steps": 12}},
                                 {"axes": {"accumulation": [1, 2, 8], "seed": [1, 2]}}, name="out.toml")
        refused = self.cli("run", other, "-o", self.folder / "out", "--resume", code=2).stderr
        for recorded, asked in (("steps = 10", "steps = 12"), ("accumulation = [1, 2, 4]", "accumulation = [1, 2, 8]")):
            self.assertIn(f"recorded: {recorded}\n  asked:    {asked}", refused)
        for same in ("seed = [", "optimizer", "samples"):
            self.assertNotIn(same, refused)
        self.assertEqual({path: path.stat().st_mtime_ns for path in (self.folder / "out").rglob("*")}, before)


@harness.needs("h5py", "numpy")
class Interrupted(harness.EndToEndTest):
    def test_interrupt_and_resume(self):
        long = {"train": {"steps": 1500}, "record": {"every": 20}, "axes": {"accumulation": [1, 2, 4]}}
        whole = self.run_study(harness.TINY, long, out="whole")
        study = self.write_study(harness.TINY, long)
        process = self.start("run", study, "-o", self.folder / "out", "--jobs", 2)
        files = [self.folder / f"out/runs/acc{k}.h5" for k in (1, 2, 4)]
        harness.wait_until(lambda: sum(f.exists() and runfile.progress(f)[0] > 5 for f in files) == 2)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130, said)
        self.assertEqual({run["status"] for run in self.runs().values()}, {"cancelled"})
        for file in files:
            with h5py.File(file, "r") as run:
                self.assertEqual(int(run["progress"][1]), runfile.CANCELLED)
        self.cli("run", study, "-o", self.folder / "out", "--resume", "--jobs", 1)
        for name, run in self.runs().items():
            self.assertEqual(run["status"], "finished")
            self.assert_same_rows(run["file"], whole[name]["file"])


if __name__ == "__main__":
    harness.main()
