# SPDX-License-Identifier: GPL-3.0-or-later
"""How `run` runs a study: trying out, choosing, limiting, interrupting and going on."""
import os
import signal
import subprocess
from pathlib import Path

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

    def test_interrupted(self):
        temporary = self.folder / "tmp"
        temporary.mkdir()
        study = self.write_study(harness.TINY, {"axes": {"repeat": 20}})
        for sent in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=sent):
                process = self.start("run", study, "--dry-run", env=harness.environment(TMPDIR=str(temporary)))
                made, = harness.wait_until(lambda: list(temporary.iterdir()))
                self.assertEqual(made.stat().st_mode & 0o777, 0o700)
                harness.wait_until(lambda: harness.descendants(process.pid))
                os.killpg(process.pid, sent)
                out, said = process.communicate(timeout=20)
                self.assertEqual((process.returncode, out), (130, ""), said)
                self.assertEqual(list(temporary.iterdir()), [])

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


@harness.needs("h5py", "numpy")
class Warnings(harness.EndToEndTest):
    """What is allowed but hardly meant is told once, before the runs and by --dry-run."""

    def warnings(self, *sections):
        study = self.write_study(harness.TINY, *sections)
        said = [self.cli("run", study, "--dry-run").stderr, self.cli("run", study, "-o", "out").stderr]
        told = [[line for line in text.splitlines() if line.startswith("warning: ")] for text in said]
        self.assertEqual(told[0], told[1])
        return told[0]

    def test_batch_larger_than_the_data(self):
        told = self.warnings({"train": {"batch": 100, "steps": 2}, "axes": {"accumulation": [1, 2]}})
        self.assertEqual(told, ["warning: batch = 100 is more than the 64 samples of the data: every update takes all 64 "
                                "of them"])
        # as PyTorch's loader: an epoch is one incomplete batch
        for run in self.runs().values():
            with h5py.File(run["file"], "r") as file:
                ids = file["batch/sample_ids"][1:]
            self.assertEqual(ids.shape, (2, 100))
            for row in ids:
                self.assertEqual(list(row), [*range(64), *[-1] * 36])

    def test_batch_larger_than_a_file(self):
        import numpy as np
        np.savez(self.folder / "few.npz", x=np.zeros((40, 1, 4, 4), "u1"), y=np.arange(40) % 10)
        told = self.warnings({"data": {"kind": "npy", "path": "few.npz"}, "train": {"batch": 64, "steps": 2}})
        self.assertIn("warning: batch = 64 is more than the 40 samples of the data: every update takes all 40 of them", told)

    def test_settings_that_change_nothing(self):
        told = self.warnings({"model": {"width": 32}, "train": {"steps": 2, "order_seed": 3}})
        self.assertEqual(told, ['warning: [model] width changes nothing here: width is only for model kind "transformer"',
                                "warning: [train] order_seed changes nothing here: order_seed is only for an order that "
                                "is shuffled"])

    def test_nothing_to_tell(self):
        self.assertEqual(self.warnings(), [])


class FewThreads(harness.EndToEndTest):
    """Stacks of 16 GB in an address space of 12 GB: no thread can be started but OpenMP's, whose stacks have a size of
    their own. A setting of threads would make LibTorch 1.13's own pool wait for ever for those it could not start."""
    LIMITS = "ulimit -s 16000000 && ulimit -v 12000000"

    def test_no_thread_for_the_runs(self):
        done = subprocess.run(["bash", "-c", f'{self.LIMITS} && exec "$@"', "limited", harness.CLI, "run",
                               self.write_study(harness.TINY), "-o", "out"], cwd=self.folder,
                              env=harness.environment(), capture_output=True, text=True, timeout=20)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("driftscope-cli: no thread could be started", done.stderr)

    def test_no_thread_to_record_with(self):
        script = self.folder / "worker.sh"
        script.write_text(f'#!/bin/bash\n{self.LIMITS}\nexec "{Path(harness.CLI).parent}/driftscope-worker" "$@"\n')
        script.chmod(0o755)
        study = {name: {k: v for k, v in keys.items() if k != "threads"} for name, keys in harness.TINY.items()}
        self.cli("run", self.write_study(study), "-o", "out", code=3, timeout=25,
                 env=harness.environment(DRIFTSCOPE_WORKER=str(script), OMP_STACKSIZE="1M"))
        run, = self.runs().values()
        self.assertEqual(run["status"], "failed")
        self.assertRegex(run["reason"], r"run\.h5: no thread could be started to write it: ")


class Signals(harness.EndToEndTest):
    def test_a_closed_pipe_still_ends_the_program(self):
        """Writing to workers leaves what SIGPIPE does to this process as it was."""
        process = self.start("run", self.write_study(harness.TINY), "-o", "out", "--json")
        process.stdout.close()
        self.assertEqual(process.wait(30), -signal.SIGPIPE)


if __name__ == "__main__":
    harness.main()
