# SPDX-License-Identifier: GPL-3.0-or-later
"""What driftscope-cli prints: documented keys, numbers as NumPy computes them from the same files, exit codes."""
import csv
import itertools
import json
import math
import os
import shutil
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

import harness

if harness.has_module("h5py"):
    import h5py
    import numpy as np
    import runfile

METRICS = ["l2", "rel_l2", "max_abs", "mean_abs", "max_rel", "cosine_distance", "ulp_max", "ulp_mean", "ulp_p50",
           "ulp_p99", "changed", "sign_flips", "nonfinite"]
SUBCOMMANDS = ["run", "report", "diff", "explain", "cure", "info", "export", "doctor"]


def first_difference(a, r):
    """Where two files with gradients and the same steps part, in the order in which a step computes."""
    with h5py.File(a) as x, h5py.File(r) as y:
        for row, step in enumerate(x["step"][:]):
            after = int(x["step"][row - 1]) if row else None
            if (x["batch/sample_ids"][row] != y["batch/sample_ids"][row]).any():
                return {"step": int(step), "phase": "batch", "tensor": "", "after_step": after}
            for group, phase in (("gradients", "gradient"), ("weights", "weights" if step else "init")):
                for name in x["weights"] if step or group == "weights" else ():
                    if x[group][name][row].tobytes() != y[group][name][row].tobytes():
                        return {"step": int(step), "phase": phase, "tensor": name, "after_step": after}
    return None


class CliTest(harness.EndToEndTest):
    """Each test has a copy of one study: out."""
    study = ({"train": {"steps": 8}, "record": {"gradients": "full"}},
             {"axes": {"accumulation": [1, 2, 4], "cpu_isa": ["native", "default"]}})

    @classmethod
    def setUpClass(cls):
        cls.made = Path(tempfile.mkdtemp(prefix="driftscope-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.made, ignore_errors=True)
        (cls.made / "study.toml").write_text(harness.toml(harness.merged(harness.TINY, *cls.study)))
        subprocess.run([harness.CLI, "run", "study.toml", "-o", "out"], cwd=cls.made, check=True,
                       capture_output=True, env=harness.environment())

    def setUp(self):
        super().setUp()
        shutil.copytree(self.made / "out", self.folder / "out")

    def assert_metrics(self, found, a, r, where):
        """A JSON object of metrics against those of two lists of tensors taken as one."""
        self.assertEqual(list(found), METRICS, where)
        want = runfile.metrics(*(np.concatenate([tensor.ravel() for tensor in side]) for side in (a, r)))
        for key in METRICS:
            got = float(found[key])
            if key.startswith("ulp_max") or key in ("ulp_p50", "ulp_p99", "sign_flips", "nonfinite", "changed"):
                self.assertEqual(got, want[key], f"{key} {where}")
            else:
                # ‖â − r̂‖² of vectors ε apart is known to ε only
                tolerance = 1e-6 if key == "cosine_distance" else 1e-12
                self.assertTrue(math.isclose(got, want[key], rel_tol=tolerance, abs_tol=1e-30),
                                f"{key} {where}: {got!r}, NumPy {want[key]!r}")


@harness.needs("h5py", "numpy")
class Report(CliTest):
    def test_numbers_and_keys(self):
        runs = self.runs()
        report = self.json("report", "out")
        self.assertEqual(report["reference"], "acc1_isanative")
        self.assertEqual(report["study"], "study")
        self.assertIn("synthetic noise, 64 samples", report["data"])
        self.assertEqual([run["settings"] for run in report["runs"]],
                         [{"accumulation": a, "cpu_isa": i} for a, i in itertools.product([1, 2, 4],
                                                                                        ["native", "default"])])
        reference = runs["acc1_isanative"]["file"]
        r = runfile.weights(reference, -1)
        kinds = set()
        for run in report["runs"]:
            self.assertLessEqual({"id", "settings", "status", "reason", "identical", "first_divergence", "final",
                                  "layers", "verdict"}, set(run))
            self.assertEqual((run["status"], run["reason"]), ("finished", ""))
            self.assertEqual(set(run["verdict"]), {"kind", "summary", "evidence"})
            if run["id"] == report["reference"]:
                self.assertEqual((run["identical"], run["first_divergence"], run["final"], run["layers"]),
                                 (None, None, None, {}))
                continue
            file = runs[run["id"]]["file"]
            self.assertEqual(run["first_divergence"], first_difference(file, reference), run["id"])
            self.assertEqual(run["identical"], run["first_divergence"] is None)
            kinds.add(run["identical"])
            a = runfile.weights(file, -1)
            self.assert_metrics(run["final"], list(a.values()), list(r.values()), run["id"])
            self.assertEqual(list(run["layers"]), ["conv1", "fc1", "fc2"])
            for layer, values in run["layers"].items():
                self.assert_metrics(values, *([side[f"{layer}.{kind}"] for kind in ("weight", "bias")]
                                              for side in (a, r)), f"{run['id']} {layer}")
        self.assertIn(False, kinds)

    def test_text(self):
        text = self.cli("report", "out").stdout
        lines = text.splitlines()
        header = next(i for i, line in enumerate(lines) if line.split()[:2] == ["run", "verdict"])
        self.assertEqual(lines[header:].index(""), 1 + 6)
        self.assertIn("the reference", text)
        self.assertRegex(text, r"(?m)^[1-5] of 5 runs differs? from acc 1 · isa native; .*\.$")
        self.assertIn("step 1, phase gradient", text)
        self.assertGreater(len(self.cli("report", "out", "--evidence").stdout), len(text))

    def test_without_its_cache_and_elsewhere(self):
        before = self.json("report", "out")
        (self.folder / "out").rename(self.folder / "moved")
        self.assertEqual(self.json("report", "moved"), before)
        (self.folder / "moved/study.h5").unlink()
        self.assertEqual(self.json("report", "moved"), before)
        (self.folder / "moved/study.h5").write_bytes(b"garbage")
        self.assertEqual(self.json("report", "moved"), before)

    def test_study_file_links_to_the_runs(self):
        (self.folder / "out").rename(self.folder / "moved")
        with h5py.File(self.folder / "moved/study.h5") as file:
            links = [name for name in file["runs"]
                     if isinstance(file["runs"].get(name, getlink=True), h5py.ExternalLink)]
            self.assertEqual(len(links), 6)
            for name in links:
                self.assertEqual(list(file["runs"][name]["progress"][:]), [9, 1])

    def test_results_that_cannot_be_saved(self):
        (self.folder / "out/study.h5.new/in the way").mkdir(parents=True)
        done = self.cli("run", "out/study.toml", "-o", "out", "--resume", code=3)
        self.assertIn("out/study.h5: the results cannot be saved", done.stderr)
        self.json("report", "out")

    def test_runs_that_are_missing_or_damaged(self):
        runs = self.runs()
        runs["acc2_isanative"]["file"].unlink()
        damaged = runs["acc4_isanative"]["file"]
        damaged.write_bytes(damaged.read_bytes()[:5000])
        done = self.cli("report", "out", code=(0, 2))
        if done.returncode == 0:
            self.assertEqual(self.runs()["acc2_isanative"]["status"], "not run")
        else:
            self.assertIn("acc4_isanative.h5", done.stderr)


@harness.needs("h5py", "numpy")
class Diff(CliTest):
    def setUp(self):
        super().setUp()
        runs = self.runs()
        self.a, self.r = (runs[name]["file"] for name in ("acc2_isanative", "acc1_isanative"))
        self.isa = runs["acc1_isadefault"]["file"]

    def test_identical(self):
        self.assertIn("identical", self.cli("diff", self.a, self.a).stdout)
        shutil.copy(self.a, self.folder / "copy.h5")
        found = self.json("diff", self.a, "copy.h5")
        self.assertIs(found["identical"], True)
        self.assertIsNone(found["first_divergence"])
        for values in found["tensors"].values():
            for key, rows in values.items():
                self.assertEqual(set(rows), {0.0}, key)

    def test_numbers_and_keys(self):
        found = self.json("diff", self.a, self.r, code=1)
        self.assertLessEqual({"identical", "first_divergence", "rows", "tensors", "environment_differences"},
                             set(found))
        self.assertIs(found["identical"], False)
        self.assertEqual(found["first_divergence"], first_difference(self.a, self.r))
        self.assertEqual(found["rows"], list(range(9)))
        self.assertEqual(found["environment_differences"], [])
        for row in range(9):
            a, r = runfile.weights(self.a, row), runfile.weights(self.r, row)
            self.assertEqual(list(found["tensors"]), list(a))
            for name, values in found["tensors"].items():
                self.assert_metrics({key: values[key][row] for key in values}, [a[name]], [r[name]],
                                    f"{name} row {row}")

    def test_environment(self):
        found = self.json("diff", self.isa, self.r, code=1)
        self.assertTrue(any("Nehalem" in text for text in found["environment_differences"]))
        self.assertIn("Nehalem", self.cli("diff", self.isa, self.r, code=1).stdout)

    def test_tolerance(self):
        rows = self.json("diff", self.a, self.r, code=1)["tensors"]
        for metric in ("rel_l2", "max_abs", "ulp_max"):
            largest = max(max(values[metric]) for values in rows.values())
            self.assertGreater(largest, 0)
            self.cli("diff", self.a, self.r, "--metric", metric, "--tolerance", repr(largest))
            below = repr(largest * (1 - 1e-9))
            over = self.cli("diff", self.a, self.r, "--metric", metric, "--tolerance", below, code=1)
            self.assertIn("over tolerance", over.stdout)
        self.cli("diff", self.a, self.r, "--tolerance", "0", code=1)
        self.cli("diff", self.a, self.a, "--tolerance", "0")
        self.assertIn("did you mean \"rel_l2\"", self.cli("diff", self.a, self.r, "--metric", "rel_l3", code=2).stderr)
        self.cli("diff", self.a, self.r, "--tolerance", "-1", code=2)
        self.cli("diff", self.a, self.r, "--tolerance", "small", code=2)

    def test_two_models(self):
        lenet = self.run_study(harness.TINY, {"model": {"kind": "lenet_300_100"}}, out="lenet")["run"]["file"]
        for pair in ((self.a, lenet), (lenet, self.a)):
            done = self.cli("diff", *pair, code=2)
            self.assertIn("not two runs of one model", done.stderr)
            self.assertEqual(done.stdout, "")
        wider = self.run_study(harness.TINY, {"data": {"shape": [1, 6, 6]}}, out="wider")["run"]["file"]
        self.assertIn("not two runs of one model", self.cli("diff", self.a, wider, code=2).stderr)

    def test_one_damaged_bit_is_found(self):
        with h5py.File(self.a) as file:
            place = file["weights/fc1.weight"].id.get_offset() + file["weights/fc1.weight"][0].nbytes * 4 + 40
        content = bytearray(self.a.read_bytes())
        content[place] ^= 1
        (self.folder / "bad.h5").write_bytes(content)
        done = self.cli("diff", "bad.h5", self.a, code=(1, 2))
        self.assertIn("fc1.weight", done.stdout + done.stderr)

    def test_a_file_of_h5py(self):
        """Only /weights and /step, chunked and compressed, by somebody else."""
        with h5py.File(self.a) as source, h5py.File(self.folder / "foreign.h5", "w") as file:
            file["step"] = source["step"][:]
            for name in source["weights"]:
                file.create_dataset(f"weights/{name}", data=source["weights"][name][:], compression="gzip")
        self.assertIs(self.json("diff", "foreign.h5", self.a)["identical"], True)
        found = self.json("diff", "foreign.h5", self.r, code=1)
        own = self.json("diff", self.a, self.r, code=1)
        for name, values in own["tensors"].items():
            self.assertEqual(found["tensors"][name], values)


def read_csv(path, reader=csv.reader):
    with open(path, newline="") as file:
        return list(reader(file))


@harness.needs("h5py", "numpy")
class Others(CliTest):
    def test_info(self):
        run = self.runs()["acc1_isanative"]
        info = self.json("info", run["file"])
        with h5py.File(run["file"]) as file:
            self.assertEqual(info["run_id"], file.attrs["run_id"].decode()
                             if isinstance(file.attrs["run_id"], bytes) else file.attrs["run_id"])
            self.assertEqual(info["tensors"], [{"name": name, "dtype": "float32", "shape": list(item.shape[1:])}
                                               for name, item in file["weights"].items()])
        self.assertEqual(info["config"], json.loads(runfile.text(run["file"], "config")))
        self.assertEqual(info["environment"], runfile.environment(run["file"]))
        self.assertEqual((info["state"], info["rows"], info["total_rows"], info["last_step"], info["gradients"]),
                         ("finished", 9, 9, 8, True))
        self.assertEqual(info["config"]["train"]["optimizer"], "adam")
        text = self.cli("info", run["file"]).stdout
        self.assertIn("finished, 9 of 9 rows", text)
        self.assertIn("fc1.weight", text)
        study = self.json("info", "out")
        self.assertEqual({(entry["state"], entry["rows"]) for entry in study["runs"]}, {("finished", 9)})
        self.assertEqual([entry["id"] for entry in study["runs"]], list(self.runs()))
        self.cli("info", "out")

    def test_the_recorded_study_runs_again(self):
        self.cli("run", "out/study.toml", "-o", "again")
        for name, run in self.runs("again").items():
            self.assert_same_rows(self.folder / f"out/runs/{name}.h5", run["file"])

    def test_export_gives_the_bits_back(self):
        run = self.run_study(harness.TINY, {"train": {"steps": 3}, "axes": {"dtype": ["float32", "float64"]}},
                             out="types")
        for dtype in ("float32", "float64"):
            file = run[dtype]["file"]
            with h5py.File(file) as h5:
                for name in h5["weights"]:
                    self.cli("export", file, "-o", "w.csv", "--tensor", name)
                    rows = read_csv(self.folder / "w.csv")
                    self.assertEqual(rows[0], ["step", *map(str, range(h5["weights"][name][0].size))])
                    self.assertEqual([int(row[0]) for row in rows[1:]], h5["step"][:].tolist())
                    values = np.array([row[1:] for row in rows[1:]], dtype=dtype)
                    self.assertEqual(values.tobytes(), h5["weights"][name][:].tobytes(), name)
                self.cli("export", file, "-o", "s.csv")
                rows = read_csv(self.folder / "s.csv", csv.DictReader)
                for name in h5["scalars"]:
                    values = np.array([float(row[name] or "nan") for row in rows])
                    np.testing.assert_array_equal(values, h5["scalars"][name][:], name)
        self.assertIn("did you mean", self.cli("export", file, "-o", "x.csv", "--tensor", "fc1.wight", code=2).stderr)
        self.assertFalse((self.folder / "x.csv").exists())

    def test_export_of_a_study(self):
        self.cli("export", "out", "-o", "study.csv")
        rows = read_csv(self.folder / "study.csv", csv.DictReader)
        self.assertEqual(len(rows), 5 * (1 + 3 + 6) * 9)
        for run in self.runs().values():
            if run["final"] is None:
                continue
            for scope, name, want in (("model", "", run["final"]), ("layer", "fc1", run["layers"]["fc1"])):
                row, = [row for row in rows if row["run"] == run["id"] and row["step"] == "8" and
                        (row["scope"], row["name"]) == (scope, name)]
                self.assertEqual({key: float(row[key]) for key in METRICS}, {key: float(want[key]) for key in METRICS})

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_output_that_cannot_be_written(self):
        a, b = (self.runs()[name]["file"] for name in ("acc2_isanative", "acc1_isanative"))
        for arguments in (("report", "out"), ("report", "out", "--json"), ("diff", a, b), ("diff", a, b, "--json"),
                          ("diff", a, a), ("info", a), ("info", "out", "--json"), ("doctor",), ("--help",),
                          ("--version",), ("run", "out/study.toml", "-o", "out", "--resume", "--json")):
            with self.subTest(arguments=arguments), open("/dev/full", "w") as full:
                done = subprocess.run([harness.CLI, *arguments], cwd=self.folder, env=harness.environment(),
                                      stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True,
                                      timeout=30)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("standard output cannot be written: No space left on device", done.stderr)

    def test_export_to_what_is_no_file(self):
        file = self.runs()["acc1_isanative"]["file"]
        self.cli("export", file, "-o", "whole.csv")
        whole = (self.folder / "whole.csv").read_text()
        (self.folder / "link.csv").symlink_to("whole.csv")
        (self.folder / "full").symlink_to("/dev/full")
        (self.folder / "out.csv").symlink_to("/dev/stdout")
        self.cli("export", file, "-o", "link.csv")
        self.assertTrue((self.folder / "link.csv").is_symlink())
        self.assertTrue(self.cli("export", file, "-o", "out.csv").stdout.startswith(whole))
        if os.path.exists("/dev/full"):
            self.assertIn("full: cannot be written", self.cli("export", file, "-o", "full", code=2).stderr)
            self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))
        self.assertEqual(list(self.folder.glob("*.new")), [])

    def test_doctor(self):
        found = self.json("doctor")
        self.assertEqual(set(found), {"ok", "checks", "environment"})
        self.assertIs(found["ok"], True)
        for check in found["checks"]:
            self.assertEqual(set(check), {"name", "status", "detail"})
            self.assertIn(check["status"], ("good", "note", "bad"))
        text = self.cli("doctor").stdout
        for check in found["checks"]:
            self.assertIn(check["name"], text)

    def test_doctor_without_a_worker(self):
        env = harness.environment(DRIFTSCOPE_WORKER="/nonexistent/worker")
        found = self.json("doctor", code=3, env=env)
        self.assertIs(found["ok"], False)
        self.cli("run", self.write_study(harness.TINY), "-o", "new", env=env, code=(2, 3))

    def test_help_and_version(self):
        self.assertRegex(self.cli("--version").stdout, r"^Driftscope [0-9]+\.[0-9]+\.[0-9]+\n$")
        text = self.cli("--help").stdout
        for command in SUBCOMMANDS:
            self.assertIn(command, text)
            self.assertIn("--help", self.cli(command, "--help").stdout)
        for option in ("--set", "--jobs", "--resume", "--dry-run", "--json", "--output"):
            self.assertIn(option, self.cli("run", "--help").stdout)
        self.assertIn("130", text)

    def test_dry_run(self):
        done = self.cli("run", self.write_study(harness.TINY, {"axes": {"accumulation": [1, 2], "seed": [1, 2, 3]}}),
                        "--dry-run", "--set", "seed=7,8")
        self.assertEqual(len(done.stdout.splitlines()), 1 + 4 + 2)
        self.assertRegex(done.stdout.splitlines()[-1], r"^4 runs, about [0-9]+ s on [0-9]+ cores, [0-9.]+ [kMG]?B on the disk$")
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"study.toml", "out"})

    def test_summary_of_a_run(self):
        study = self.write_study(harness.TINY, {"axes": {"device": ["cpu", "cuda:99"]}})
        summary = self.json("run", study, "-o", "new", code=3)
        self.assertEqual([run["status"] for run in summary["runs"]], ["finished", "unavailable"])
        self.assertIn("cuda:99", summary["runs"][1]["reason"])
        self.assertGreater(summary["runs"][0]["peak_memory_bytes"], 10 ** 7)

    def test_results_on_stdout_and_progress_on_stderr(self):
        done = self.cli("run", self.write_study(harness.TINY), "-o", "new")
        self.assertEqual(done.stdout, "new\n")
        self.assertIn("finished", done.stderr)
        self.assertNotIn("\r", done.stderr)

    def test_a_reader_that_goes_away(self):
        done = subprocess.run(["sh", "-c", f'"{harness.CLI}" report out --json | head -c 10'], cwd=self.folder,
                              capture_output=True, text=True, env=harness.environment())
        self.assertEqual(len(done.stdout), 10)
        self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    harness.main()
