# SPDX-License-Identifier: GPL-3.0-or-later
"""Bad input: one message that says what is wrong and where, exit 2, and nothing created or changed."""
import gzip
import hashlib
import os
import shutil
import struct
import subprocess
import unittest

import harness

if harness.has_module("h5py"):
    import h5py
if harness.has_module("numpy"):
    import numpy as np


def contents(folder):
    """{path: what it is, bytes and time of change} of everything below."""
    return {str(path.relative_to(folder)): (path.lstat().st_mtime_ns, path.lstat().st_mode,
                                            hashlib.blake2b(path.read_bytes()).hexdigest() if path.is_file() else "")
            for path in folder.rglob("*")}


class BadInputTest(harness.EndToEndTest):
    def refused(self, *arguments, says, timeout=10):
        """Exit 2 with one message on stderr that has these texts; nothing on the disk changes."""
        before = contents(self.folder)
        with self.subTest(arguments=arguments):
            done = self.cli(*arguments, code=2, timeout=timeout)
            self.assertEqual(done.stdout, "")
            for text in (says if isinstance(says, tuple) else (says,)):
                self.assertIn(text, done.stderr)
            lines = done.stderr.strip().splitlines()
            self.assertTrue(lines and lines[0].startswith("driftscope-cli: "), done.stderr)
            self.assertLessEqual(len(lines), 2, done.stderr)
            self.assertEqual(contents(self.folder), before)


class Arguments(BadInputTest):
    def test_commands(self):
        self.refused(says="subcommand")
        self.refused("rnu", says="")
        for command in ("run", "report", "diff", "cure", "info", "export"):
            self.refused(command, says="required")
        self.refused("run", "quickstart", "--jbs", "3", says="--jbs")
        for jobs in ("0", "-1", "x", "1.5", "99999"):
            self.refused("run", "quickstart", "-o", "out", "--jobs", jobs, says="--jobs")

    def test_no_such_study(self):
        self.refused("run", "quikstart", says=('did you mean "quickstart"?', "gradient-accumulation"))
        self.refused("run", "missing.toml", says="missing.toml")
        self.refused("run", "", "-o", "out", says="")
        self.refused("run", self.folder, says="study.toml")

    def test_overrides(self):
        study = self.write_study(harness.TINY)
        for override, says in {
            "stps=3": 'did you mean "steps"?', "steps": "key=value", "steps=": "key=value", "=3": "key=value",
            "steps=0": "allowed is", "steps=three": "expected an integer", "steps=1.5": "expected an integer",
            "steps=2,2": "twice", "accumulation=17": "allowed is 1 … 16", "accumulation=1,17": "allowed is 1 … 16",
            "learning_rate=fast": "expected a number", "learning_rate=nan": "allowed is a finite number", "learning_rate=-1": "",
            "learning_rate=inf": "allowed is a finite number, ≥ 0", "optimizer=adm": 'did you mean "adam"?', "device=gpu": "cuda:0",
            "threads=0": "allowed is", "threads=99999": "allowed is", "seed=-1": "allowed is",
            "seed=99999999999999999999": "expected an integer", "momentum=0.9": 'optimizer = "sgd"',
            "betas=0.9": "two numbers", "betas=0.9x1": "beta < 1", "shape=3x32": "three numbers",
            "data.kind=idx": "path", "epochs=0": "allowed is", "steps=1,,2": "expected an integer",
            "steps=[1, 2": "--set:1:", "steps=[1, 0]": "--set:1:11: steps = 0: allowed is", "steps=[]": "no values",
            "record.steps=1,2": "record.steps=[1,2]", "record.steps=[1, true]": "wrong type",
        }.items():
            self.refused("run", study, "-o", "out", "--set", override, says=says)


class StudyFiles(BadInputTest):
    def check(self, text, says, line=None, column=None):
        study = self.folder / "bad.toml"
        study.write_bytes(text if isinstance(text, bytes) else text.encode())
        where = "bad.toml" if line is None else f"bad.toml:{line}:{column}: "
        for extra in ((), ("--dry-run",)):
            self.refused("run", study, "-o", "out", *extra, says=(where, *(says if isinstance(says, tuple) else (says,))))

    def test_syntax(self):
        self.check("[train\nsteps = 3\n", "", 1, 7)
        self.check("[train]\nsteps = = 3\n", "", 2, 9)
        self.check('[train]\nsteps = 3\noptimizer = "sgd\n', "", 3, 17)
        self.check("[train]\nsteps = 3\nsteps = 4\n", "steps")
        self.check(b"\x89HDF\r\n\x1a\n" + bytes(range(256)), "")
        self.check(b"\x7fELF\x02\x01\x01\0\0\0", "")
        self.check("", "steps")
        self.check("[" * 100_000, "")

    def test_sections_and_keys(self):
        self.check("[trian]\nsteps = 3\n", 'did you mean "train"?', 1, 2)
        self.check("steps = 3\n", "unknown section", 1, 1)
        self.check("train = 3\n", "must be a section")
        self.check("[train]\nsteps = 3\n  optimiser = 'sgd'\n", 'did you mean "optimizer"?', 3, 3)
        self.check("[study]\nnames = 'x'\n[train]\nsteps = 3\n", 'did you mean "name"?', 2, 1)
        self.check("[axes]\nacumulation = [1]\n[train]\nsteps = 3\n", 'did you mean "accumulation"?', 2, 1)
        self.check("[axes]\ngradients = ['none', 'full']\n[train]\nsteps = 3\n", "axis", 2, 1)

    def test_values(self):
        self.check("[train]\nsteps = 'three'\n", "steps", 2, 9)
        self.check("[train]\nsteps = 3.5\n", "steps", 2, 9)
        self.check("[train]\nsteps = 0\n", "allowed is", 2, 9)
        self.check("[train]\nsteps = 3\nbatch = -4\n", "allowed is", 3, 9)
        self.check("[train]\nsteps = 3\noptimizer = 'lion'\n", "allowed: sgd, adam, adamw", 3, 13)
        self.check("[train]\nsteps = 3\nlearning_rate = nan\n", "learning_rate", 3, 17)
        self.check("[train]\nsteps = 3\nbetas = [0.9, 0.999, 1]\n", "betas")
        self.check("[train]\nsteps = 3\nseed = 18446744073709551616\n", "")
        self.check("[train]\nsteps = 3\nepochs = 1\n", "both steps and epochs")
        self.check("[train]\nbatch = 4\n", "needs steps or epochs")
        self.check("[train]\nsteps = 3\nbatch = 4\naccumulation = 5\n", ("accumulation = 5", "1 … 4"))
        self.check("[train]\nsteps = 3\n[axes]\naccumulation = [1, 32]\n", ("accumulation = 32", "1 … 16"))
        self.check("[train]\nsteps = 3\n[axes]\naccumulation = []\n", "no values", 4, 16)
        self.check("[train]\nsteps = 3\n[axes]\naccumulation = [1, 1]\n", "twice", 4, 16)
        self.check("[train]\nsteps = 3\n[axes]\naccumulation = [1, 'x']\n", "accumulation", 4, 20)
        self.check("[train]\nsteps = 3\n[study]\nreference = { accumulation = 2 }\n[axes]\naccumulation = [1, 4]\n",
                   "not one of the axis's values", 4, 30)
        self.check("[train]\nsteps = 3\n[study]\nreference = { threads = 2 }\n[axes]\naccumulation = [1, 4]\n",
                   "no axis of this study", 4, 15)
        self.check("[train]\nsteps = 3\n[study]\ntwin = 'float128'\n", "allowed: none, float64", 4, 8)
        self.check("[train]\nsteps = 3\n[study]\nname = ''\n", "name", 4, 8)
        self.check("[train]\nsteps = 3\n[data]\nkind = 'synthetic'\n", "needs a shape")
        self.check("[train]\nsteps = 3\n[data]\nkind = 'cifar10'\n", "needs a path")

    def test_very_many_runs(self):
        values = list(range(1, 1001))
        self.check(f"[train]\nsteps = 3\n[axes]\nseed = {values}\norder_seed = {values}\nrepeat = {values}\n", "runs")


@harness.needs("h5py", "numpy")
class Folders(BadInputTest):
    def test_what_exists_is_left_as_it_is(self):
        self.run_study(harness.TINY)
        study = self.write_study(harness.TINY)
        self.refused("run", study, "-o", "out", says="out: exists already")
        self.refused("run", study, "-o", "out/runs/run.h5", says="exists already")
        self.refused("run", study, "-o", "study.toml", says="exists already")
        (self.folder / "full").mkdir()
        (self.folder / "full/thing").write_text("mine")
        self.refused("run", study, "-o", "full", says="exists already")
        self.refused("run", study, "-o", "full", "--resume", says="full")
        self.refused("run", study, "-o", "study.toml/below", says="study.toml/below")
        (self.folder / "empty").mkdir()
        self.cli("run", study, "-o", "empty")

    def test_what_exists_is_said_before_data_are_read(self):
        worker = self.folder / "worker.sh"
        worker.write_text(f'#!/bin/sh\necho called >> "{self.folder}/calls"\nexit 1\n')
        worker.chmod(0o755)
        (self.folder / "lines.txt").write_text("one\ntwo\n")
        (self.folder / "full").mkdir()
        (self.folder / "full/thing").write_text("mine")
        study = self.write_study({"model": {"kind": "transformer"}, "data": {"kind": "text", "path": "lines.txt"},
                                  "train": {"steps": 1, "batch": 2}})
        done = self.cli("run", study, "-o", "full", code=2, env=harness.environment(DRIFTSCOPE_WORKER=str(worker)))
        self.assertIn("full: exists already", done.stderr)
        self.assertFalse((self.folder / "calls").exists())

    def test_folder_that_cannot_be_written(self):
        study = self.write_study(harness.TINY)
        self.refused("run", study, "-o", "/proc/driftscope", says="/proc/driftscope")
        self.run_study(harness.TINY)
        self.refused("export", "out/runs/run.h5", "-o", "nowhere/x.csv", says="nowhere/x.csv")
        self.refused("export", "out/runs/run.h5", "-o", "out", says="out")
        self.refused("export", "out/runs/run.h5", "-o", "/proc/x.csv", says="/proc/x.csv")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_folder_of_somebody_else(self):
        study = self.write_study(harness.TINY)
        (self.folder / "theirs").mkdir(mode=0o755)
        self.folder.chmod(0o755)
        program = shutil.copy(harness.CLI, self.folder)  # the build folder may be closed to other users
        before = contents(self.folder)
        done = subprocess.run([program, "run", study, "-o", "theirs/out"], cwd=self.folder, user=65534, group=65534,
                              env=harness.environment(HOME="/nonexistent", DRIFTSCOPE_WORKER="/bin/false"),
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("theirs/out", done.stderr)
        self.assertEqual(contents(self.folder), before)


@harness.needs("h5py", "numpy")
class Files(BadInputTest):
    def setUp(self):
        super().setUp()
        self.good = self.run_study(harness.TINY)["run"]["file"]

    def check(self, name, says=""):
        for command in (("info", name), ("diff", name, self.good), ("diff", self.good, name),
                        ("export", name, "-o", "x.csv"), ("info", name, "--json")):
            self.refused(*command, says=(str(name), *([says] if says else [])))

    def test_no_run_file(self):
        self.check("missing.h5")
        (self.folder / "empty.h5").write_bytes(b"")
        self.check("empty.h5")
        (self.folder / "garbage.h5").write_bytes(os.urandom(5000))
        self.check("garbage.h5", "not an HDF5 file")
        self.check("out.toml")
        os.mkfifo(self.folder / "fifo.h5")
        self.check("fifo.h5")
        self.check("/dev/null")
        self.refused("report", "missing", says="missing")
        self.refused("report", self.good, says="no such study folder")
        (self.folder / "plain").mkdir()
        self.refused("report", "plain", says="study.toml")
        self.refused("info", "plain", says="study.toml")
        self.refused("diff", "out", self.good, says="out")
        self.refused("export", "out", "-o", "x.csv", "--tensor", "fc1.weight", says="--tensor")

    def test_damaged_run_files(self):
        content = self.good.read_bytes()
        for share in (0.01, 0.3, 0.999):
            (self.folder / "cut.h5").write_bytes(content[:int(len(content) * share)])
            self.check("cut.h5")
        for n in range(40):
            damaged = bytearray(content)
            place = (n * 7919) % 6000  # where the metadata begins
            damaged[place:place + 16] = hashlib.blake2b(bytes([n])).digest()[:16]
            (self.folder / "hit.h5").write_bytes(damaged)
            done = self.cli("info", "hit.h5", code=(0, 2))
            if done.returncode == 2:
                self.assertIn("hit.h5", done.stderr)

    def test_other_hdf5_files(self):
        def write(name, fill):
            with h5py.File(self.folder / name, "w") as file:
                fill(file)
            return name

        values = np.zeros((3, 4), "f4")
        self.check(write("none.h5", lambda file: None))
        write("group.h5", lambda file: file.create_group("weights"))
        self.refused("diff", "group.h5", self.good, says="group.h5")
        self.check(write("other.h5", lambda file: file.attrs.update(format="somebody.else")), "somebody.else")
        self.check(write("text.h5", lambda file: file.create_dataset("weights/a", data=[b"x", b"y"])))

        def uneven(file):
            file["weights/a"], file["step"] = values, np.arange(2)
        self.check(write("uneven.h5", uneven))

        def outside(file):
            file["step"] = np.arange(3)
            file["weights/a"] = h5py.ExternalLink(str(self.good), "/weights/fc1.weight")
        write("link.h5", outside)
        self.assertEqual(self.json("info", "link.h5")["tensors"], [], "a link out of the file was followed")
        self.refused("diff", "link.h5", self.good, says="link.h5")

        def claims(file):
            file["weights/a"], file["step"], file["progress"] = values, np.arange(3), np.array([10 ** 12, 1])
        self.cli("info", write("claims.h5", claims), code=(0, 2))
        self.cli("diff", "claims.h5", "claims.h5", code=(0, 2))


class DataTest(BadInputTest):
    """Data is read before the study's folder is made: one message for all of its runs."""
    def fails(self, data, *says, **sections):
        study = self.write_study({"model": {"kind": "lenet_300_100"}, "data": data, "train": {"steps": 2, "batch": 4}},
                                 sections)
        self.refused("run", study, "-o", "out", says=says, timeout=20)
        return study


class DataFiles(DataTest):
    images = struct.pack(">4I", 0x803, 20, 4, 4) + bytes(range(256)) + bytes(64)
    labels = struct.pack(">2I", 0x801, 20) + bytes(i % 10 for i in range(20))

    def idx(self, images=None, labels=None, ending=""):
        folder = self.folder / f"idx{len(list(self.folder.glob('idx*')))}"
        folder.mkdir()
        for name, content in (("train-images-idx3-ubyte", images), ("train-labels-idx1-ubyte", labels)):
            if content is not None:
                (folder / (name + ending)).write_bytes(content)
        return {"kind": "idx", "path": str(folder)}

    def test_missing(self):
        self.fails({"kind": "idx", "path": "nowhere"}, "nowhere", "train-images-idx3-ubyte")
        self.fails({"kind": "cifar10", "path": "nowhere"}, "nowhere", "data_batch_1.bin")
        self.fails({"kind": "fashion-mnist", "path": "nowhere"}, "nowhere", "apt install dataset-fashion-mnist")
        self.fails(self.idx(self.images), "no labels")
        study = self.write_study(harness.TINY)
        self.refused("run", study, "-o", "new", "--data", "nowhere", says="nowhere")

    def test_damaged_idx(self):
        good = self.idx(self.images, self.labels)
        study = self.write_study({"model": {"kind": "lenet_300_100"}, "data": good, "train": {"steps": 2, "batch": 4}})
        self.cli("run", study, "-o", "good")
        self.fails(self.idx(self.images[:-1], self.labels), "train-images-idx3-ubyte", "ends too early")
        self.fails(self.idx(self.images[:7], self.labels), "train-images-idx3-ubyte")
        self.fails(self.idx(b"", self.labels), "train-images-idx3-ubyte")
        self.fails(self.idx(self.images, self.labels[:-1]), "train-labels-idx1-ubyte", "ends too early")
        self.fails(self.idx(self.labels, self.images), "magic number 0x801, expected 0x803")
        self.fails(self.idx(struct.pack(">4I", 0x803, 0, 4, 4), struct.pack(">2I", 0x801, 0)), "at least one image")
        self.fails(self.idx(struct.pack(">4I", 0x803, 2 ** 32 - 1, 60000, 60000), self.labels), "train-images")
        self.fails(self.idx(self.images, struct.pack(">2I", 0x801, 19) + bytes(19)), "19 labels for 20 images")

    def test_damaged_gzip(self):
        images, labels = gzip.compress(self.images), gzip.compress(self.labels)
        hit = bytearray(images)
        hit[len(hit) // 2] ^= 0x55
        self.fails(self.idx(images[:-20], labels, ".gz"), "train-images-idx3-ubyte.gz")
        self.fails(self.idx(bytes(hit), labels, ".gz"), "train-images-idx3-ubyte.gz")
        wrong = bytearray(images)
        wrong[-6] ^= 1  # of the check sum
        self.fails(self.idx(bytes(wrong), labels, ".gz"), "train-images-idx3-ubyte.gz")

    def test_damaged_cifar(self):
        record = bytes([3]) + bytes(3072)
        for name, content, says in (("short", record * 3 + record[:100], "ends too early"),
                                    ("empty", b"", "empty"), ("label", record + bytes([10]) + bytes(3072), "label 10")):
            folder = self.folder / name
            folder.mkdir()
            (folder / "data_batch_1.bin").write_bytes(content)
            self.fails({"kind": "cifar10", "path": str(folder)}, says)

    def test_shape_that_does_not_fit(self):
        data = self.idx(self.images, self.labels)
        self.fails({**data, "shape": [1, 3, 4]}, "shape", "1x4x4")
        (self.folder / "cifar").mkdir()
        (self.folder / "cifar/data_batch_1.bin").write_bytes(bytes(3073 * 4))
        self.fails({"kind": "cifar10", "path": str(self.folder / "cifar"), "shape": [1, 32, 32]}, "shape")


@harness.needs("h5py", "numpy")
class DataLabels(DataTest):
    def arrays(self, name, labels, count=8):
        np.savez(self.folder / name, x=np.zeros((count, 3), "f4"), y=labels)
        return {"kind": "npy", "path": name}

    def test_labels(self):
        labels = np.arange(8)
        self.fails(self.arrays("minus.npz", np.where(labels == 5, -1, labels)), "minus.npz", "label -1 of sample 5",
                   "allowed are 0 … ", "ignore_index = -100")
        study = self.fails(self.arrays("again.npz", labels - 1), "again.npz", "label -1 of sample 0")
        self.refused("run", study, "--dry-run", says=("again.npz", "label -1 of sample 0"), timeout=20)
        self.fails(self.arrays("few.npz", labels[:7]), "few.npz", "7 targets for the 8 inputs")
        self.fails(self.arrays("real.npz", labels / 8), "real.npz", "real numbers", "mse or bce")
        ignored = self.arrays("ignored.npz", np.where(labels == 5, -100, labels))
        self.fails(ignored, "ignored.npz", "target -100", 'loss = "cross_entropy"', train={"loss": "mse"})
        study = self.write_study({"model": {"kind": "mlp"}, "data": ignored, "train": {"steps": 2, "batch": 4}})
        self.cli("run", study, "-o", "good")

    def test_one_data_set_of_an_axis(self):
        for name in ("a", "b"):
            self.arrays(f"{name}.npz", np.arange(8) - (name == "b"))
        self.fails({"kind": "npy", "path": "a.npz"}, "b.npz", "label -1", axes={"path": ["a.npz", "b.npz"]})

    @unittest.skipUnless(harness.has_module("torch"), "needs torch")
    def test_labels_that_a_module_has_no_output_for(self):
        import torch

        torch.jit.script(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3, 4))).save(str(self.folder / "m.pt"))
        model = {"kind": "torchscript", "path": "m.pt"}
        self.fails(self.arrays("five.npz", np.arange(8) % 5), "five.npz", "label 4", "m.pt puts out 4 classes",
                   "allowed are 0 … 3", model=model)
        study = self.write_study({"model": model, "data": self.arrays("four.npz", np.arange(8) % 4),
                                  "train": {"steps": 2, "batch": 4}})
        self.cli("run", study, "-o", "good")

    def test_a_batch_that_is_never_complete(self):
        self.fails(self.arrays("eight.npz", np.arange(8)), 'tail = "drop"', "8 samples make no complete batch of 9",
                   train={"batch": 9, "tail": "drop"})


if __name__ == "__main__":
    harness.main()
