# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a study with driftscope-cli and the same trainings in PyTorch, and demands equal bits."""
import itertools
import json
import subprocess
import sys
from pathlib import Path

import harness

# The environment that a worker with this cpu_isa gets.
ISA = {
    "native": {},
    "default": {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "OPENBLAS_CORETYPE": "Nehalem"},
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "OPENBLAS_CORETYPE": "Haswell"},
    "avx512": {"ATEN_CPU_CAPABILITY": "avx512", "ONEDNN_MAX_CPU_ISA": "AVX512_CORE",
               "OPENBLAS_CORETYPE": "SkylakeX"},
}


def combinations(axes):
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values))


def applied(sections, settings):
    """The sections with every axis's value in its place."""
    config = harness.merged({"model": {}, "data": {}, "train": {}, "record": {}}, sections)
    for key, value in settings.items():
        section, _, name = key.rpartition(".")
        config[section or "train"][name] = value
    return config


class ParityTest(harness.EndToEndTest):
    def assert_parity(self, *sections, set_to_none=True, out="out"):
        """Every run of the study has the bits of its PyTorch original. Returns the runs."""
        study = harness.merged(*sections)
        runs = self.run_study(study, out=out)
        processes = {}
        for settings in combinations(study.get("axes", {})):
            run = self.only(runs, **settings)
            config = applied(study, settings)
            key = (config["train"]["threads"], config["train"].get("cpu_isa", "native"))
            processes.setdefault(key, []).append(
                (settings, {"file": str(run["file"]), "config": config, "set_to_none": set_to_none}))
        for (threads, isa), entries in processes.items():
            answers = self.ask_reference(threads, isa, [check for _, check in entries])
            for (settings, _), complaints in zip(entries, answers):
                with self.subTest(study=out, **settings):
                    self.assertEqual(complaints, [])
        return runs

    def ask_reference(self, threads, isa, checks):
        count = str(threads)
        done = subprocess.run(
            [sys.executable, "-B", Path(__file__).with_name("reference.py")],
            input=json.dumps({"threads": threads, "checks": checks}), capture_output=True, text=True, timeout=55,
            env=harness.environment(OMP_NUM_THREADS=count, MKL_NUM_THREADS=count, OPENBLAS_NUM_THREADS=count,
                                    OMP_DYNAMIC="false", **ISA[isa]))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)
