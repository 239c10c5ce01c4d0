# SPDX-License-Identifier: GPL-3.0-or-later
"""A setting that a study names is really in force, or the run says why it can't be."""
import os
import subprocess
import time
import unittest
from pathlib import Path

import harness

if harness.has_module("h5py"):
    import h5py
    import numpy as np
    import runfile

# cpu_isa: ATen's names (the first before LibTorch 2), oneDNN's dnnl_cpu_isa_t, OpenBLAS's core, the CPU flag
ISAS = {
    "default": (("NO AVX", "DEFAULT"), 0x1, "Nehalem", "sse4_1"),
    "avx2": (("AVX2",), 0x7, "Haswell", "avx2"),
    "avx512": (("AVX512",), 0x27, "SkylakeX", "avx512vl"),
}

# A matrix product and an addition large enough for every kernel to be of use.
WIDE = {
    "model": {"kind": "lenet_300_100"},
    "data": {"kind": "synthetic", "shape": [1, 14, 14], "samples": 64},
    "train": {"steps": 5, "batch": 16, "optimizer": "adam", "learning_rate": 1e-3, "threads": 1},
}


def cpu_flags():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return line.split(":")[1].split()
    return []


def same_weights(a, b):
    return all(x.tobytes() == y.tobytes() for x, y in
               zip(runfile.weights(a["file"], -1).values(), runfile.weights(b["file"], -1).values()))


@harness.needs("h5py", "numpy")
class Hardware(harness.EndToEndTest):
    def test_instruction_sets(self):
        able = [isa for isa, (*_, flag) in ISAS.items() if flag in cpu_flags()]
        runs = self.run_study(WIDE, {"axes": {"cpu_isa": ["native", *ISAS]}}, code=0 if len(able) == 3 else 3)
        for isa, (aten, onednn, core, flag) in ISAS.items():
            run = self.only(runs, cpu_isa=isa)
            if isa not in able:
                self.assertEqual(run["status"], "unavailable")
                self.assertIn(flag, run["reason"])
                continue
            self.assertEqual(run["status"], "finished", run["reason"])
            seen = runfile.environment(run["file"])
            self.assertIn(seen["libtorch"]["isa"], aten)
            self.assertIn(seen["onednn"]["isa"], (onednn, None))
            self.assertEqual(seen["blas"]["core"], core)
            self.assertEqual(seen["variables"]["OPENBLAS_CORETYPE"], core)
        native = self.only(runs, cpu_isa="native")
        variables = runfile.environment(native["file"])["variables"]
        self.assertFalse({"ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "OPENBLAS_CORETYPE"} & set(variables))
        # SSE adds four at a time, AVX2 eight, AVX-512 sixteen: other sums, other bits
        for i, isa in enumerate(able):
            for other in able[i + 1:]:
                self.assertFalse(same_weights(self.only(runs, cpu_isa=isa), self.only(runs, cpu_isa=other)),
                                 f"{isa} and {other}")
        alike = [isa for isa in able if same_weights(native, self.only(runs, cpu_isa=isa))]
        self.assertLessEqual(len(alike), 1)

    def test_inherited_variables_reach_the_worker(self):
        runs = self.run_study(WIDE, env=harness.environment(OPENBLAS_CORETYPE="Nehalem"))
        seen = runfile.environment(runs["run"]["file"])
        self.assertEqual(seen["blas"]["core"], "Nehalem")
        self.assertEqual(seen["variables"]["OPENBLAS_CORETYPE"], "Nehalem")

    def test_threads(self):
        cores = len(os.sched_getaffinity(0))
        counts = list(range(1, min(cores, 4) + 1))
        study = self.write_study(harness.TINY, {"axes": {"threads": [*counts, cores + 1]}})
        summary = self.json("run", study, "-o", self.folder / "out", code=(0, 3))
        self.assertEqual([run["threads"] for run in summary["runs"]][:-1], counts)
        runs = self.runs()
        # OpenBLAS hands out no more threads than there are cores: then the run must say so
        beyond = self.only(runs, threads=cores + 1)
        if beyond["status"] != "finished":
            self.assertEqual(beyond["status"], "unavailable")
            self.assertIn(f"threads = {cores + 1}", beyond["reason"])
            del runs[beyond["id"]]
        for run in runs.values():
            threads = run["settings"]["threads"]
            seen = runfile.environment(run["file"])
            self.assertEqual(seen["threads"]["intra_op"], threads)
            self.assertIn(seen["threads"]["openmp"], (threads, None))
            self.assertIn(seen["threads"]["openblas"], (threads, None))
            for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
                self.assertEqual(seen["variables"][variable], str(threads))

    def test_threads_inherited_where_the_study_names_none(self):
        train = {key: value for key, value in harness.TINY["train"].items() if key != "threads"}
        study = {**harness.TINY, "train": train}
        runs = self.run_study(study, env=harness.environment(OMP_NUM_THREADS="2"))
        self.assertEqual(runfile.environment(runs["run"]["file"])["threads"]["intra_op"], 2)


@harness.needs("h5py", "numpy")
class Unavailable(harness.EndToEndTest):
    def test_gpu_that_is_not_there(self):
        runs = self.run_study(harness.TINY, {"axes": {"device": ["cpu", "cuda:63"], "seed": [1, 2]}}, code=3)
        for seed in (1, 2):
            self.assertEqual(self.only(runs, device="cpu", seed=seed)["status"], "finished")
            lost = self.only(runs, device="cuda:63", seed=seed)
            self.assertEqual(lost["status"], "unavailable")
            self.assertRegex(lost["reason"], "device = cuda:63: .*(without CUDA|no usable GPU|has [0-9]+ GPU)")
            self.assertIsNone(lost["identical"])
            self.assertIsNone(lost["final"])
            self.assertEqual(runfile.progress(lost["file"]), (0, runfile.UNAVAILABLE))
            self.assertEqual(runfile.text(lost["file"], "message").rstrip("\0"), lost["reason"])
        text = self.cli("report", "out").stdout
        self.assertEqual(text.count("unavailable"), 2)
        self.assertIn("device = cuda:63", text)
        self.assertEqual(self.json("info", lost["file"])["state"], "unavailable")

    def test_more_threads_than_the_libraries_can_have(self):
        for key in ("threads", "init_threads"):
            runs = self.run_study(harness.TINY, {"axes": {key: [1, 1000]}}, out=key, code=(0, 3))
            self.assertEqual(self.only(runs, **{key: 1})["status"], "finished")
            many = self.only(runs, **{key: 1000})
            if many["status"] != "finished":
                self.assertEqual(many["status"], "unavailable", many["reason"])
                self.assertRegex(many["reason"], f"{key} = 1000: .*(at most|no more than [0-9]+|keeps to)")

    def test_reference_that_is_not_there(self):
        runs = self.run_study(harness.TINY, {"axes": {"device": ["cuda:63", "cpu"]}}, code=3)
        self.assertEqual(self.only(runs, device="cpu")["status"], "finished")
        self.assertIsNone(self.only(runs, device="cpu")["identical"])
        self.cli("report", "out")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to show another /proc/cpuinfo")
    def test_instruction_set_that_the_cpu_lacks(self):
        lesser = self.folder / "cpuinfo"
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        lesser.write_text("\n".join(" ".join(word for word in line.split(" ") if not word.startswith("avx512"))
                                    for line in lines) + "\n")
        study = self.write_study(harness.TINY, {"axes": {"cpu_isa": ["native", "avx512"]}})
        script = 'mount --bind "$1" /proc/cpuinfo || exit 77; shift; exec "$@"'
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", lesser, harness.CLI, "run", study, "-o",
                               self.folder / "out"], env=harness.environment(), capture_output=True, text=True)
        if done.returncode in (1, 77):
            self.skipTest(f"no mounts here: {done.stderr.strip()}")
        self.assertEqual(done.returncode, 3, done.stderr)
        runs = self.runs()
        self.assertEqual(self.only(runs, cpu_isa="native")["status"], "finished")
        self.assertEqual(self.only(runs, cpu_isa="avx512")["status"], "unavailable")
        self.assertIn("this CPU has no avx512vl", self.only(runs, cpu_isa="avx512")["reason"])


@harness.needs("h5py", "numpy")
class Bits(harness.EndToEndTest):
    def test_seed_repeat_and_type(self):
        runs = self.run_study(harness.TINY, {"axes": {"seed": [1, 2], "repeat": 2, "dtype": ["float32", "float64"]}})
        self.assertEqual(len(runs), 8)
        for dtype in ("float32", "float64"):
            first = {seed: self.only(runs, seed=seed, repeat=1, dtype=dtype)["file"] for seed in (1, 2)}
            for seed in (1, 2):
                self.assert_same_rows(first[seed], self.only(runs, seed=seed, repeat=2, dtype=dtype)["file"])
            a, b = (runfile.weights(first[seed], 0) for seed in (1, 2))
            self.assertEqual({x.dtype for x in a.values()}, {np.dtype(dtype)})
            for name in a:
                self.assertFalse((a[name] == b[name]).any() and a[name].size > 64, f"{name} with another seed")
        # both types start from the same draw
        narrow, wide = (runfile.weights(self.only(runs, seed=1, repeat=1, dtype=d)["file"], 0)
                        for d in ("float32", "float64"))
        for name in narrow:
            np.testing.assert_array_equal(narrow[name].astype(np.float64), wide[name])
        reference = self.only(runs, seed=1, repeat=1, dtype="float32")
        for run in runs.values():
            if run["settings"]["seed"] == 1 and run["settings"]["dtype"] == "float32" and run is not reference:
                self.assertIs(run["identical"], True)

    def test_twins_and_control(self):
        runs = self.run_study({"study": {"twin": "float64", "control": True}}, harness.TINY,
                              {"axes": {"accumulation": [1, 2]}})
        runs |= self.runs(twins=True)
        self.assertEqual(len(runs), 5)
        twins = [run for run in runs.values() if run["twin"]]
        self.assertEqual(len(twins), 2)
        for run in twins:
            with h5py.File(run["file"]) as file:
                self.assertEqual({file["weights"][name].dtype for name in file["weights"]}, {np.dtype("float64")})
        control = runs["acc1~again"]
        self.assertIs(control["identical"], True)
        self.assert_same_rows(control["file"], runs["acc1"]["file"])


@harness.needs("h5py", "numpy")
class Switches(harness.EndToEndTest):
    def test_thread_counts_beside_threads(self):
        runs = self.run_study(harness.TINY, {"axes": {"init_threads": [1, 2], "interop_threads": [1, 3]}})
        for run in runs.values():
            seen = runfile.environment(run["file"])["threads"]
            self.assertEqual(seen["inter_op"], run["settings"]["interop_threads"])
            self.assertEqual(seen["intra_op"], 1)  # of the training

    def test_initialisation_on_several_threads_is_followed_by_the_inherited_count(self):
        train = {key: value for key, value in harness.TINY["train"].items() if key != "threads"}
        runs = self.run_study({**harness.TINY, "train": {**train, "init_threads": 1}},
                              env=harness.environment(OMP_NUM_THREADS="2"))
        self.assertEqual(runfile.environment(runs["run"]["file"])["threads"]["intra_op"], 2)

    def test_another_blas(self):
        libraries = [path for path in Path("/usr/lib").glob("*/blas/libblas.so.3")]
        if not libraries:
            self.skipTest("the reference BLAS is not installed")
        library = str(libraries[0])
        runs = self.run_study(WIDE, {"axes": {"blas": ["system", library]}})
        self.assertEqual(self.only(runs, blas=library)["status"], "finished")
        seen = {blas: runfile.environment(self.only(runs, blas=blas)["file"]) for blas in ("system", library)}
        self.assertEqual(Path(seen[library]["blas"]["library"]).resolve(), libraries[0].resolve())
        self.assertNotEqual(Path(seen["system"]["blas"]["library"]).resolve(), libraries[0].resolve())
        self.assertEqual(seen[library]["variables"]["LD_PRELOAD"], library)
        # one sum after the other: other bits, from the first product on
        other = self.only(runs, blas=library)
        self.assertIs(other["identical"], False)
        self.assertLess(other["final"]["rel_l2"], 1e-3)

    def test_a_blas_that_is_none(self):
        runs = self.run_study(harness.TINY, {"axes": {"blas": ["system", "/nowhere/libblas.so.3"]}}, code=3)
        self.assertEqual(self.only(runs, blas="system")["status"], "finished")
        lost = self.only(runs, blas="/nowhere/libblas.so.3")
        self.assertEqual(lost["status"], "unavailable")
        self.assertIn("blas = /nowhere/libblas.so.3: No such file", lost["reason"])

    def test_deterministic(self):
        runs = self.run_study(harness.TINY, {"axes": {"deterministic": [True, False]}})
        for run in runs.values():
            flags = runfile.environment(run["file"])["flags"]
            self.assertIs(flags["deterministic"], run["settings"]["deterministic"])
            self.assertIs(flags["deterministic_cudnn"], run["settings"]["deterministic"])
        self.assertIs(self.only(runs, deterministic=False)["identical"], True)

    def test_settings_of_gpus_on_the_cpu(self):
        runs = self.run_study(harness.TINY, {"axes": {"tf32": ["off", "on"], "cudnn_benchmark": [False, True],
                                                      "cublas_workspace": ["", ":4096:8"]}}, code=3)
        for run in runs.values():
            settings = run["settings"]
            if (settings["tf32"], settings["cudnn_benchmark"], settings["cublas_workspace"]) == ("off", False, ""):
                self.assertEqual(run["status"], "finished")
                continue
            self.assertEqual(run["status"], "unavailable")
            self.assertRegex(run["reason"], "(tf32 = on|cudnn_benchmark = true|cublas_workspace = :4096:8): "
                                            "is a setting of GPUs, and device = cpu")

    def test_float16(self):
        runs = self.run_study(harness.TINY, {"axes": {"dtype": ["float32", "float16"]}}, code=(0, 3))
        run = self.only(runs, dtype="float16")
        if run["status"] == "unavailable":
            self.assertRegex(run["reason"], "dtype = float16: this LibTorch can't: .*not implemented for 'Half'")
            return
        self.assertEqual(run["status"], "finished", run["reason"])
        self.assertEqual({x.dtype for x in runfile.weights(run["file"], -1).values()}, {np.dtype("float16")})


@harness.needs("h5py", "numpy")
class LoaderWorkers(harness.EndToEndTest):
    def test_a_generator_for_each_sample_cures(self):
        study = {"data": {"random_crop": 2, "random_flip": True}, "train": {"steps": 13},
                 "axes": {"worker_rng": ["per-worker", "per-sample"], "loader_workers": [0, 1, 2, 4]}}
        runs = self.run_study(harness.TINY, study, {"model": {"dropout": 0.3}})
        batches = {}
        for run in runs.values():
            with h5py.File(run["file"]) as file:
                batches[run["settings"]["worker_rng"], run["settings"]["loader_workers"]] = file["batch/digest"][1:]
        self.assertFalse((batches["per-worker", 1] == batches["per-worker", 2]).all())
        for workers in (1, 2, 4):
            self.assertFalse((batches["per-worker", 0] == batches["per-worker", workers]).all(1).any())
            self.assertTrue((batches["per-sample", 0] == batches["per-sample", workers]).all())
            self.assert_same_rows(self.only(runs, worker_rng="per-sample", loader_workers=0)["file"],
                                  self.only(runs, worker_rng="per-sample", loader_workers=workers)["file"])
            first = self.only(runs, worker_rng="per-worker", loader_workers=workers)["first_divergence"]
            self.assertEqual((first["step"], first["phase"]), (1, "batch"))
        # 64 samples make 4 batches: another epoch, another crop
        self.assertFalse((batches["per-sample", 0][0] == batches["per-sample", 0][4]).all())


@harness.needs("h5py", "numpy")
class Jobs(harness.EndToEndTest):
    def test_several_at_once_give_the_bits_of_one_at_a_time(self):
        axes = {"axes": {"accumulation": [1, 2, 4]}}
        steps = {"train": {"steps": 60}}
        alone = self.run_study(harness.TINY, steps, axes, out="alone", arguments=("--jobs", "1"))
        together = self.run_study(harness.TINY, steps, axes, out="together", arguments=("--jobs", "2"))
        for run in alone:
            self.assert_same_rows(alone[run]["file"], together[run]["file"])

    def test_jobs_really_overlap(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one core")
        study = self.write_study(harness.TINY, {"train": {"steps": 4000}, "record": {"every": 500},
                                                "axes": {"repeat": 2}})
        for jobs in (1, 2):
            process = self.start("run", study, "-o", self.folder / f"out{jobs}", "--jobs", jobs)
            most = 0
            while process.poll() is None:
                most = max(most, len(harness.descendants(process.pid)))
                time.sleep(0.005)
            self.assertEqual(process.returncode, 0)
            self.assertEqual(most, jobs)


if __name__ == "__main__":
    harness.main()
