# SPDX-License-Identifier: GPL-3.0-or-later
"""What the end-to-end tests share: a folder of its own for each test, the executables, study files, run files.

DRIFTSCOPE_CLI names the driftscope-cli under test. A script ends with harness.main(): exit 0 passed, 1 failed,
77 everything skipped.
"""
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SKIPPED = 77
CLI = os.environ.get("DRIFTSCOPE_CLI", "")

# Settings that a user's environment may hold and that would change what "inherited" means.
_PREFIXES = ("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "GOTO_", "ATEN_", "ONEDNN_", "DNNL_")

# PyTorch in this process is what its children are held against: it must not have what they lack.
for _name in [name for name in os.environ if name.startswith(_PREFIXES)]:
    del os.environ[_name]


def environment(**variables):
    """A clean environment for a child. Waiting threads sleep: spinning ones starve other tests on few cores."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith((*_PREFIXES, "DRIFTSCOPE_"))}
    return {**clean, "OMP_WAIT_POLICY": "passive", "LC_ALL": "C.UTF-8", **variables}


def has_module(name):
    return importlib.util.find_spec(name) is not None


def needs(*modules):
    """Skips a test class where Debian's Python lacks a module."""
    missing = [name for name in modules if not has_module(name)]
    return unittest.skipIf(missing, f"{sys.executable} has no {', '.join(missing)}")


def toml(sections):
    """A study file from {"train": {"steps": 5}, …}, in the order given."""

    def value(v):
        if isinstance(v, dict):
            return "{ " + ", ".join(f"{k} = {value(x)}" for k, x in v.items()) + " }"
        if isinstance(v, (list, tuple)):
            return "[" + ", ".join(map(value, v)) + "]"
        return json.dumps(v, ensure_ascii=False)

    def key(k):
        return f'"{k}"' if "." in k else k

    return "".join(f"[{name}]\n" + "".join(f"{key(k)} = {value(v)}\n" for k, v in entries.items()) + "\n"
                   for name, entries in sections.items())


def merged(*many):
    """Sections laid over each other, the last one wins key by key."""
    result = {}
    for sections in many:
        for name, entries in sections.items():
            result[name] = {**result.get(name, {}), **entries}
    return result


# Small enough to train 10 steps in a blink: 17 000 weights.
TINY = {
    "model": {"kind": "cifar_cnn"},
    "data": {"kind": "synthetic", "shape": [1, 4, 4], "samples": 64, "seed": 1},
    "train": {"steps": 10, "batch": 16, "optimizer": "adam", "learning_rate": 1e-3, "threads": 1},
}


def descendants(pid):
    """Process ids below pid, as /proc says now."""
    found = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *descendants(int(child))]
    except OSError:
        pass
    return found


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, seconds=20, interval=0.002):
    """Polls until the condition holds and returns its value; AssertionError after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"still not so after {seconds} s")
        time.sleep(interval)


class EndToEndTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="driftscope-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def cli(self, *arguments, code=0, env=None, cwd=None, timeout=55):
        """Runs driftscope-cli in the test's folder; fails the test at any other exit code."""
        done = subprocess.run([CLI, *map(str, arguments)], cwd=cwd or self.folder, env=env or environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              timeout=timeout)
        codes = code if isinstance(code, tuple) else (code,)
        self.assertIn(done.returncode, codes, f"{' '.join(map(str, arguments))}\n{done.stdout}\n{done.stderr}")
        return done

    def json(self, *arguments, code=0, **options):
        """What a command prints with --json, parsed strictly: no NaN, nothing before or behind."""

        def refuse(constant):
            raise ValueError(f"{constant} is not JSON")

        return json.loads(self.cli(*arguments, "--json", code=code, **options).stdout, parse_constant=refuse)

    def start(self, *arguments, env=None):
        """Starts driftscope-cli in a session of its own; killed at the end of the test if it still runs."""
        process = subprocess.Popen([CLI, *map(str, arguments)], cwd=self.folder, env=env or environment(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, start_new_session=True)

        def end():
            for pid in [*descendants(process.pid), process.pid]:
                if is_alive(pid):
                    os.kill(pid, 9)
            process.communicate()

        self.addCleanup(end)
        return process

    def write_study(self, *sections, name="study.toml"):
        path = self.folder / name
        path.write_text(toml(merged(*sections)))
        return path

    def run_study(self, *sections, out="out", arguments=(), code=0, env=None):
        """Writes the study, runs it, and returns report's runs with "file", by id."""
        self.cli("run", self.write_study(*sections, name=f"{out}.toml"), "-o", self.folder / out, *arguments,
                 code=code, env=env)
        return self.runs(out)

    def runs(self, out="out", twins=False):
        """What report says of each run by id, or only of the float64 twins."""
        report = self.json("report", self.folder / out)
        return {run["id"]: {**run, "file": self.folder / out / "runs" / f"{run['id']}.h5"} for run in report["runs"]
                if run["twin"] is twins}

    def only(self, runs, **settings):
        """The one run, of what runs() gave, that has these settings."""
        found = [run for run in runs.values() if settings.items() <= run["settings"].items()]
        self.assertEqual(len(found), 1, f"runs with {settings}")
        return found[0]

    def assert_same_rows(self, a, b, rows=None):
        """All that a training decides is bit-identical in both files, up to so many rows."""
        from runfile import recorded

        left, right = recorded(a, rows), recorded(b, rows)
        self.assertEqual(list(left), list(right))
        for name, value in left.items():
            self.assertEqual(value.tobytes(), right[name].tobytes(), f"{name} of {a} and {b}")


def main():
    if not CLI or not os.access(CLI, os.X_OK):
        sys.exit(f"DRIFTSCOPE_CLI={CLI!r} is no executable")
    result = unittest.main(module="__main__", verbosity=2, exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.skipped and result.testsRun <= len(result.skipped) else 0)
