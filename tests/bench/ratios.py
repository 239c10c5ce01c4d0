#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures the ratios of DESIGN.md's speed table on this machine and prints them beside their targets.

    /usr/bin/python3 tests/bench/ratios.py [--bin build/release/bin] [--work DIR] [NAME…]

Every ratio compares two things measured in turns within one run, so that a busy machine slows both.
Exit code 0 if all targets are met, 1 if not.
"""
import argparse
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

# 1.05 M parameters, batch 16, one thread
STUDY = """
[model]
kind = "cifar_cnn"
[data]
kind = "synthetic"
shape = [3, 32, 32]
samples = 1600
[train]
steps = {steps}
batch = 16
optimizer = "adam"
threads = 1
{axes}
"""


def run(command, **options):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **options)


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


class Bench:
    def __init__(self, bin_dir, work):
        self.cli = bin_dir / "driftscope-cli"
        self.worker = bin_dir / "driftscope-worker"
        self.kernel = bin_dir / "divergence_bench"
        self.work = work

    def study(self, name, steps, axes=""):
        """Runs a study and returns its folder and the summary of run --json."""
        toml = self.work / f"{name}.toml"
        toml.write_text(STUDY.format(steps=steps, axes=axes))
        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        start = time.perf_counter()
        summary = json.loads(run([self.cli, "run", toml, "-o", folder, "--json"]).stdout)
        return folder, summary, time.perf_counter() - start

    def recording(self):
        """Training seconds with full recording / without, alternating."""
        folder, _, _ = self.study("recording", 2)
        with h5py.File(next((folder / "runs").glob("*.h5"))) as file:
            config = json.loads(file["config"][()])
        config["train"]["steps"] = 300
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

        def train(file):
            request = json.dumps({"run": config, "file": str(file) if file else ""}) + "\n"
            out = run([self.worker, "--run"], input=request, env=environment).stdout
            end = json.loads(out.splitlines()[-1])
            assert end["event"] == "finished", end
            if file:
                file.unlink()
            return end["seconds"]

        train(None)
        ratios = []
        for _ in range(7):
            with_it, without = train(self.work / "r.h5"), train(None)
            ratios.append(with_it / without)
        return [("training with full recording / without", statistics.median(ratios), "<=", 1.05)]

    def divergence(self):
        """Read bandwidth of the fused pass / that of a plain sum over the same arrays."""
        out = run([self.kernel, "--benchmark_format=json", "--benchmark_filter=^divergence"]).stdout
        return [("plain sum / fused divergence, " + entry["name"].split("/", 1)[1].split("/iterations")[0],
                 entry["ratio"], ">=", 0.7) for entry in json.loads(out)["benchmarks"]]

    def diff(self):
        """diff of two 420 MB run files, page cache warm: its text against h5diff, which also says no more than
        where files differ, and its JSON with all metrics against NumPy."""
        folder, _, _ = self.study("diff", 99, "[axes]\naccumulation = [1, 2]")
        a, b = folder / "runs/acc2.h5", folder / "runs/acc1.h5"

        def command(*words):
            return seconds(lambda: subprocess.run(words, stdout=subprocess.DEVNULL, check=False))

        ways = {"h5diff": lambda: command("h5diff", a, b), "diff": lambda: command(self.cli, "diff", a, b),
                "NumPy": lambda: seconds(lambda: numpy_metrics(a, b)),
                "diff --json": lambda: command(self.cli, "diff", a, b, "--json")}
        taken = {name: [] for name in ways}
        for _ in range(5):
            for name, way in ways.items():
                taken[name].append(way())
        median = {name: statistics.median(times) for name, times in taken.items()}
        print("   " + ", ".join(f"{name} {median[name]:.3f} s" for name in ways), file=sys.stderr)
        return [(f"{theirs} / `{ours}` of two 420 MB files", median[theirs] / median[ours], ">=", target)
                for theirs, ours, target in (("h5diff", "diff", 25), ("NumPy", "diff --json", 10))]

    def wall(self):
        """Wall time of a study / (core-seconds of its runs made alone / cores)."""
        cores = len(os.sched_getaffinity(0))
        _, alone, _ = self.study("alone", 400)
        single = alone["runs"][0]["seconds"]
        _, together, wall = self.study("together", 400, f"[axes]\nrepeat = {2 * cores}")
        count = len(together["runs"])
        return [(f"wall time of {count} runs / (their time alone / {cores} cores)", wall / (single * count / cores),
                 "<=", 1.10)]


def numpy_metrics(a_path, b_path):
    """The same metrics per tensor and row, as a careful user would write them."""
    results = []
    with h5py.File(a_path) as a_file, h5py.File(b_path) as b_file:
        for name in a_file["weights"]:
            for row in range(a_file["progress"][0]):
                a, r = a_file["weights"][name][row].ravel(), b_file["weights"][name][row].ravel()
                wide_a, wide_r = a.astype(np.float64), r.astype(np.float64)
                difference = wide_a - wide_r
                size = np.abs(difference)
                norm, norm_a = np.linalg.norm(wide_r), np.linalg.norm(wide_a)
                l2 = np.linalg.norm(difference)
                relative = l2 / norm if norm else 0.0
                maximum, mean = size.max(), size.mean()
                max_rel = (size / np.maximum(np.abs(wide_r), np.finfo(np.float32).tiny)).max()
                cosine = np.square(wide_a / norm_a - wide_r / norm).sum() / 2 if norm and norm_a else 0.0
                ordered = [np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
                           for bits in (a.view(np.int32).astype(np.int64), r.view(np.int32).astype(np.int64))]
                ulp = np.abs(ordered[0] - ordered[1])
                histogram = np.bincount(np.frexp(ulp.astype(np.float64))[1], minlength=33)
                percentiles = np.percentile(ulp, [50, 99], method="inverted_cdf")
                changed = (a.view(np.int32) != r.view(np.int32)).mean()
                flips = (np.sign(a) * np.sign(r) < 0).sum()
                nonfinite = (np.isfinite(a) != np.isfinite(r)).sum()
                results.append((l2, relative, maximum, mean, max_rel, cosine, ulp.max(), ulp.mean(), histogram,
                                percentiles, changed, flips, nonfinite))
    return results


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        model = next(line.split(":")[1].strip() for line in info if line.startswith("model name"))
    return f"{model}, {len(os.sched_getaffinity(0))} cores, {platform.freedesktop_os_release()['PRETTY_NAME']}"


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    names = ["recording", "divergence", "diff", "wall"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *names], help=", ".join(names))
    parser.add_argument("--bin", type=pathlib.Path, default=root / "build/release/bin")
    parser.add_argument("--work", type=pathlib.Path, help="folder for 3 GB of run files (default: a temporary one)")
    options = parser.parse_args()
    met = True
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        bench = Bench(options.bin.resolve(), pathlib.Path(work))
        print(f"{machine()}\n\n| what | measured | target |\n|---|---|---|")
        for name in options.names or names:
            for what, ratio, relation, target in getattr(bench, name)():
                met &= ratio <= target if relation == "<=" else ratio >= target
                print(f"| {what} | {ratio:.2f} | {'≤' if relation == '<=' else '≥'} {target} |", flush=True)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
