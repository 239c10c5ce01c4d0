# SPDX-License-Identifier: GPL-3.0-or-later
"""Run files are valid HDF5 at every moment: while they are written, and after whatever ends the writer."""
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import harness

if harness.has_module("h5py"):
    import h5py
    import runfile

# About a second of training and 60 MB of rows.
BUSY = {
    "model": {"kind": "cifar_cnn"},
    "data": {"kind": "synthetic", "shape": [1, 6, 6], "samples": 256},
    "train": {"steps": 400, "batch": 16, "optimizer": "adam", "learning_rate": 1e-3, "threads": 1},
    "record": {"gradients": "full"},
}


def row_hashes(path, first=0):
    """(rows that /progress claims, state, a hash of everything in each of them from `first` on)"""
    with h5py.File(path, "r") as file:
        rows, state = (int(x) for x in file["progress"][:])
        total = file["step"].shape[0]
        hashes = [hashlib.blake2b() for _ in range(first, rows)]
        for name in runfile.datasets(file):
            if file[name].shape[:1] != (total,) or name in ("progress", "scalars/step_seconds"):
                continue
            values = file[name][first:rows]
            for i, digest in enumerate(hashes):
                digest.update(name.encode() + values[i].tobytes())
        return rows, state, [digest.hexdigest() for digest in hashes]


def has_open(pid, ending):
    """True if the process has a file with this ending open."""
    try:
        return any(os.readlink(fd).endswith(ending) for fd in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


@harness.needs("h5py", "numpy")
class Live(harness.EndToEndTest):
    def test_h5py_reads_while_the_run_goes_on(self):
        study = self.write_study(BUSY, {"train": {"steps": 4000}, "record": {"every": 4, "gradients": "none"}})
        process = self.start("run", study, "-o", self.folder / "out")
        file = self.folder / "out/runs/run.h5"
        harness.wait_until(file.exists)
        seen, states, counts = [], set(), []
        while process.poll() is None:
            rows, state, hashes = row_hashes(file, len(seen))
            seen += hashes
            states.add(state)
            counts.append(rows)
        self.assertEqual(process.returncode, 0)
        self.assertGreaterEqual(len(set(counts)), 5, "read at several moments")
        self.assertEqual(counts, sorted(counts))
        self.assertIn(runfile.RUNNING, states)
        rows, state, final = row_hashes(file)
        self.assertEqual((rows, state), (1001, runfile.FINISHED))
        self.assertEqual(final[:len(seen)], seen, "a row that /progress claimed changed later")

    def test_commands_read_while_the_run_goes_on(self):
        process = self.start("run", self.write_study(BUSY, {"train": {"steps": 1500}, "record": {"gradients": "none"},
                                                            "axes": {"accumulation": [1, 2]}}),
                             "-o", self.folder / "out", "--jobs", "1")
        file = self.folder / "out/runs/acc1.h5"
        harness.wait_until(lambda: file.exists() and runfile.progress(file)[0] > 5)
        info = self.json("info", file)
        self.assertEqual(info["state"], "running")
        self.assertEqual(info["total_rows"], 1501)
        self.assertEqual(info["last_step"], info["rows"] - 1)
        self.assertEqual({run["status"] for run in self.runs().values()} - {"running", "not run", "finished"}, set())
        self.assertEqual(process.wait(50), 0)
        self.assertEqual(self.json("info", file)["state"], "finished")


class Killing(harness.EndToEndTest):
    def setUp(self):
        super().setUp()
        seed = random.randrange(10 ** 6)
        print(f"random.seed({seed})", flush=True)
        random.seed(seed)
        summary = self.json("run", self.write_study(BUSY), "-o", self.folder / "whole")
        self.duration = summary["runs"][0]["training_seconds"]
        rows, _, self.truth = row_hashes(self.folder / "whole/runs/run.h5")
        self.assertEqual(rows, 401)

    def check(self, file):
        """The file opens and every claimed row is right. Returns their number."""
        rows, state, hashes = row_hashes(file)
        self.assertEqual(hashes, self.truth[:rows], f"{file}: a claimed row is wrong")
        info = self.json("info", file)
        self.assertEqual(info["rows"], rows)
        if rows == len(self.truth) and state == runfile.FINISHED:
            self.assertEqual(info["state"], "finished")
        else:
            self.assertEqual(info["state"], "failed")
        return rows


@harness.needs("h5py", "numpy")
class KilledWorker(Killing):
    def test_worker_killed_at_random_moments(self):
        study = self.write_study(BUSY, {"axes": {"repeat": 12}})
        process = self.start("run", study, "-o", self.folder / "out", "--jobs", "2")
        deadlines = {}
        while process.poll() is None:
            for pid in harness.descendants(process.pid):
                if pid not in deadlines and has_open(pid, ".h5"):
                    deadlines[pid] = time.monotonic() + random.uniform(0, 1.2) * self.duration
                if time.monotonic() > deadlines.get(pid, float("inf")):
                    kill(pid)
            time.sleep(0.002)
        self.assertEqual(process.returncode, 3)
        runs = self.runs()
        self.assertEqual(len(runs), 12)
        rows = [self.check(run["file"]) for run in runs.values()]
        self.assertEqual(len(deadlines), 12)
        killed = [run for run in runs.values() if run["status"] == "failed"]
        print("rows when killed:", rows)
        self.assertGreaterEqual(len(killed), 6)
        self.assertGreaterEqual(sum(0 < n < 401 for n in rows), 3)
        for run in killed:
            self.assertIn("killed by signal 9", run["reason"])
        self.assertEqual(list((self.folder / "out/runs").glob("*.new")), [])


@harness.needs("h5py", "numpy")
class KilledAll(Killing):
    def test_everything_killed_at_random_moments(self):
        study = self.write_study(BUSY)
        partial = 0
        for i in range(8):
            folder = self.folder / f"out{i}"
            file = folder / "runs/run.h5"
            process = self.start("run", study, "-o", folder)
            harness.wait_until(file.exists)
            time.sleep(random.uniform(0, 0.9) * self.duration)
            workers = harness.descendants(process.pid)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            harness.wait_until(lambda: not any(map(harness.is_alive, workers)))
            partial += 0 < self.check(file) < 401
            self.cli("report", folder)
        self.assertGreaterEqual(partial, 1)

    def test_worker_ends_with_driftscope_cli(self):
        process = self.start("run", self.write_study(BUSY, {"train": {"steps": 20000}, "record": {"every": 10}}),
                             "-o", self.folder / "out")
        file = self.folder / "out/runs/run.h5"
        harness.wait_until(lambda: file.exists() and runfile.progress(file)[0] > 3)
        workers = harness.descendants(process.pid)
        self.assertEqual(len(workers), 1)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        harness.wait_until(lambda: not any(map(harness.is_alive, workers)), seconds=5)
        rows, state = runfile.progress(file)
        self.assertLess(rows, 2001)
        self.assertEqual(state, runfile.CANCELLED)
        self.assertEqual(self.json("info", file)["state"], "cancelled")
        self.cli("report", "out")

    def test_worker_that_is_still_loading_ends_too(self):
        process = self.start("run", self.write_study(BUSY, {"train": {"steps": 20000}, "record": {"every": 10}}),
                             "-o", self.folder / "out")
        workers = harness.wait_until(lambda: harness.descendants(process.pid))
        time.sleep(0.1)  # it has its request, and its libraries take longer than that
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        try:
            harness.wait_until(lambda: not any(map(harness.is_alive, workers)), seconds=5)
        finally:
            for pid in workers:
                kill(pid)


@harness.needs("h5py", "numpy")
class DeadWorker(harness.EndToEndTest):
    """A worker that ends before it has read what to do, as one whose libraries are missing."""

    def check(self, *sections):
        study = self.write_study(*sections, harness.TINY, {"axes": {"repeat": 2}})
        done = self.cli("run", study, "-o", "out", code=3, env=harness.environment(DRIFTSCOPE_WORKER="/bin/true"))
        self.assertEqual(done.stderr.count("failed"), 2)
        for run in self.runs().values():
            self.assertEqual(run["status"], "failed")
            self.assertEqual(runfile.progress(run["file"]), (0, runfile.FAILED))
            self.assertEqual(self.json("info", run["file"])["state"], "failed")

    def test_small_request(self):
        self.check()

    def test_request_that_does_not_fit_into_a_pipe(self):
        self.check({"study": {"name": "x" * 200_000}})


@harness.needs("h5py", "numpy")
class Interrupted(harness.EndToEndTest):
    long = ({"train": {"steps": 100000}, "record": {"every": 200, "gradients": "none"}},
            {"axes": {"accumulation": [1, 2, 4]}})

    def start_and_wait(self):
        process = self.start("run", self.write_study(BUSY, *self.long), "-o", self.folder / "out", "--jobs", "1",
                             "--json")
        file = self.folder / "out/runs/acc1.h5"
        harness.wait_until(lambda: file.exists() and runfile.progress(file)[0] > 3)
        return process

    def check(self, process):
        out, err = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130, err)
        self.assertEqual({run["status"] for run in json.loads(out)["runs"]}, {"cancelled"})
        runs = self.runs()
        self.assertEqual({run["status"] for run in runs.values()}, {"cancelled"})
        first = runs["acc1"]
        rows, state = runfile.progress(first["file"])
        self.assertGreater(rows, 3)
        self.assertEqual(state, runfile.CANCELLED)
        self.assertEqual(self.json("info", first["file"])["state"], "cancelled")
        self.assertEqual(runfile.progress(runs["acc2"]["file"]), (0, runfile.CANCELLED))
        self.assertIn("cancelled", self.cli("report", "out").stdout)

    def test_interrupt(self):
        process = self.start_and_wait()
        os.kill(process.pid, signal.SIGINT)
        self.check(process)

    def test_interrupt_from_the_terminal_reaches_the_whole_group(self):
        process = self.start_and_wait()
        os.killpg(process.pid, signal.SIGINT)
        self.check(process)

    def test_interrupt_from_the_terminal_while_the_worker_loads(self):
        process = self.start("run", self.write_study(BUSY, *self.long), "-o", self.folder / "out", "--jobs", "1")
        # the data is checked first, by a process of its own and before there is a folder
        harness.wait_until(lambda: (self.folder / "out").exists() and harness.descendants(process.pid))
        time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130)
        self.assertEqual({run["status"] for run in self.runs().values()}, {"cancelled"})

    def test_terminate(self):
        process = self.start_and_wait()
        os.kill(process.pid, signal.SIGTERM)
        self.check(process)


@harness.needs("h5py", "numpy")
class Resumed(harness.EndToEndTest):
    def test_finished_runs_stay_and_the_others_run_again(self):
        study = self.write_study(BUSY, {"axes": {"accumulation": [1, 2, 4]}})
        whole = {name: row_hashes(run["file"]) for name, run in self.run_study(
            BUSY, {"axes": {"accumulation": [1, 2, 4]}}, out="whole").items()}
        process = self.start("run", study, "-o", self.folder / "out", "--jobs", "1")
        ended = self.folder / "out/runs/acc1.h5"
        other = self.folder / "out/runs/acc4.h5"
        harness.wait_until(lambda: other.exists() and runfile.progress(other)[0] > 3)
        workers = harness.descendants(process.pid)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        harness.wait_until(lambda: not any(map(harness.is_alive, workers)))
        before = runfile.text(ended, "config"), ended.stat().st_mtime_ns, ended.stat().st_ino
        self.cli("run", study, "-o", self.folder / "out", "--resume")
        self.assertEqual((runfile.text(ended, "config"), ended.stat().st_mtime_ns, ended.stat().st_ino), before)
        for name, run in self.runs().items():
            self.assertEqual(run["status"], "finished")
            self.assertEqual(row_hashes(run["file"]), whole[name])
        # nothing is left to do
        inode = other.stat().st_ino
        self.cli("run", study, "-o", self.folder / "out", "--resume")
        self.assertEqual(other.stat().st_ino, inode)

    def test_another_study_is_refused(self):
        self.run_study(harness.TINY)
        files = {path: path.stat().st_mtime_ns for path in (self.folder / "out").rglob("*")}
        refused = self.cli("run", self.write_study(harness.TINY), "--set", "steps=11", "-o", self.folder / "out",
                           "--resume", code=2)
        self.assertIn("steps = 11", refused.stderr)
        self.assertEqual({path: path.stat().st_mtime_ns for path in (self.folder / "out").rglob("*")}, files)

    def test_a_study_that_is_running_is_left_alone(self):
        study = self.write_study(BUSY, {"train": {"steps": 3000}, "record": {"every": 10}})
        process = self.start("run", study, "-o", self.folder / "out")
        file = self.folder / "out/runs/run.h5"
        harness.wait_until(lambda: file.exists() and runfile.progress(file)[0] > 3)
        inode = file.stat().st_ino
        self.cli("run", study, "-o", self.folder / "out", "--resume", code=2)
        self.assertEqual(file.stat().st_ino, inode)
        self.assertEqual(process.wait(20), 0)


@harness.needs("h5py", "numpy")
class FullDisk(harness.EndToEndTest):
    """Needs root, for a file system of its own."""

    def disk(self, size):
        mounted = self.folder / "disk"
        mounted.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", mounted], capture_output=True,
                              text=True)
        if done.returncode != 0:
            self.skipTest(f"no tmpfs here: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", mounted], check=True)
        return mounted

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("needs root")

    def sizes(self, text):
        """MB needed and free, as a message says."""
        found = re.search(r"needs? (?:at least )?([0-9.]+) MB, ([0-9.]+) MB are free", text)
        self.assertTrue(found, text)
        return float(found[1]), float(found[2])

    def test_a_run_that_does_not_fit_is_refused_before_its_first_step(self):
        # how large another network is, its own worker counts
        study = self.write_study(harness.TINY, {"train": {"steps": 150},
                                                "axes": {"model.kind": ["cifar_cnn", "lenet_300_100", "mlp"]}})
        self.cli("run", study, "-o", "plenty", "--only", "model.kind=lenet_300_100")
        whole = self.only(self.runs("plenty"), **{"model.kind": "lenet_300_100"})["file"].stat().st_size
        disk = self.disk("20m")
        started = time.monotonic()
        done = self.cli("run", study, "-o", disk / "out", code=3)
        self.assertLess(time.monotonic() - started, 20)
        runs = self.runs(disk / "out")
        self.assertEqual([run["status"] for run in runs.values()], ["finished", "failed", "finished"])
        refused = self.only(runs, **{"model.kind": "lenet_300_100"})
        self.assertIn("not enough disk space", refused["reason"])
        needs, free = self.sizes(refused["reason"])
        self.assertAlmostEqual(needs, whole / 1e6, delta=0.05 * needs)
        self.assertTrue(4 < free < 20 * 1.048576 + 0.1, free)
        self.assertIn("not enough disk space", done.stderr)
        self.assertEqual(runfile.progress(refused["file"]), (0, runfile.FAILED))
        self.assertLess(refused["file"].stat().st_blocks * 512, 200_000)
        self.assertEqual(list(disk.rglob("*.new")), [])

    def test_a_study_that_does_not_fit_is_refused_before_its_first_run(self):
        study = {"train": {"steps": 150}, "axes": {"repeat": 3}}
        one = self.run_study(harness.TINY, study, {"axes": {"repeat": 1}}, out="one")
        size = next(iter(one.values()))["file"].stat().st_size / 1e6
        disk = self.disk("20m")
        self.assertTrue(size < 20 < 3 * size, size)
        done = self.cli("run", self.write_study(harness.TINY, study), "-o", disk / "out", code=2)
        self.assertIn("3 runs need at least", done.stderr)
        needs, free = self.sizes(done.stderr)
        self.assertAlmostEqual(needs, 3 * size, delta=0.05 * needs)
        self.assertTrue(19 < free < 20 * 1.048576 + 0.1, free)
        self.assertEqual(list(disk.iterdir()), [])
        # one of them is much longer than the reference
        longer = self.write_study(harness.TINY, {"axes": {"steps": [5, 1000, 6]}})
        done = self.cli("run", longer, "-o", disk / "out", code=2)
        self.assertAlmostEqual(self.sizes(done.stderr)[0], size * (6 + 1001 + 7) / 151, delta=0.05 * 7 * size)
        self.assertEqual(list(disk.iterdir()), [])
        self.cli("run", longer, "-o", disk / "out", "--only", "steps=6")

    def test_a_full_disk_keeps_the_results_of_before(self):
        disk = self.disk("20m")
        study = self.write_study(harness.TINY, {"axes": {"accumulation": [1, 2]}})
        self.cli("run", study, "-o", disk / "out")
        before = (disk / "out/study.h5").read_bytes()
        with open(disk / "filler", "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(b"x" * 4096)
            except OSError:
                pass
        done = self.cli("run", study, "-o", disk / "out", "--resume", code=3)
        self.assertRegex(done.stderr, "study.h5: the results cannot be saved: .*No space left")
        self.assertEqual((disk / "out/study.h5").read_bytes(), before)
        self.assertEqual(list(disk.rglob("*.new")), [])
        self.assertEqual({run["status"] for run in self.runs(disk / "out").values()}, {"finished"})

    def test_no_space_even_for_the_reason(self):
        disk = self.disk("2m")
        (disk / "filler").write_bytes(b"x" * (2 * 1024 * 1024 - 16384))
        study = self.write_study(harness.TINY)
        # a worker that can't say how much it will record is let begin
        for i, worker in enumerate(({}, {"DRIFTSCOPE_WORKER": "/bin/true"})):
            done = self.cli("run", study, "-o", disk / f"out{i}", code=(2, 3), env=harness.environment(**worker))
            self.assertRegex(done.stderr, "[Ss]pace|written|created")
            self.assertEqual(list(disk.rglob("*.new")), [])


if __name__ == "__main__":
    harness.main()
