# SPDX-License-Identifier: GPL-3.0-or-later
"""Data sets on the disk reach the network as they are: PyTorch on the same files gives the same weights."""
import gzip
import struct

import harness
from parity import ParityTest

if harness.has_module("numpy"):
    import numpy as np

TRAIN = {
    "model": {"kind": "cifar_cnn"},
    "train": {"steps": 6, "batch": 16, "optimizer": "sgd", "learning_rate": 0.1, "threads": 1},
}


@harness.needs("torch", "h5py", "numpy")
class Data(ParityTest):
    def write_idx(self, name, packed=False, separator="-", shape=(9, 7), classes=10):
        """40 random images."""
        folder = self.folder / name
        folder.mkdir()
        random = np.random.default_rng(7)
        images = random.integers(0, 256, (40, *shape), dtype=np.uint8)
        labels = random.integers(0, classes, 40).astype(np.uint8)
        labels[0] = classes - 1
        contents = {f"train-images{separator}idx3-ubyte": struct.pack(">4I", 0x803, 40, *shape) + images.tobytes(),
                    f"train-labels{separator}idx1-ubyte": struct.pack(">2I", 0x801, 40) + labels.tobytes()}
        for file, content in contents.items():
            if packed:
                (folder / f"{file}.gz").write_bytes(gzip.compress(content))
            else:
                (folder / file).write_bytes(content)
        return str(folder)

    def write_cifar(self, counts, packed=False):
        folder = self.folder / f"cifar{'-gz' if packed else ''}"
        folder.mkdir()
        random = np.random.default_rng(8)
        for i, count in enumerate(counts, 1):
            records = random.integers(0, 256, (count, 3073), dtype=np.uint8)
            records[:, 0] %= 10
            content = records.tobytes()
            path = folder / f"data_batch_{i}.bin{'.gz' if packed else ''}"
            path.write_bytes(gzip.compress(content) if packed else content)
        return str(folder)

    def test_idx(self):
        plain, packed = self.write_idx("plain"), self.write_idx("packed", packed=True)
        runs = self.assert_parity(TRAIN, {"data": {"kind": "idx", "path": plain}}, out="a")
        again = self.assert_parity(TRAIN, {"data": {"kind": "idx", "path": packed}}, out="b")
        self.assert_same_rows(runs["run"]["file"], again["run"]["file"])

    def test_idx_with_torchvisions_older_names_and_more_classes(self):
        dotted = self.write_idx("dotted", separator=".", classes=62)
        dashed = self.write_idx("dashed", classes=62)
        other = self.run_study(TRAIN, {"data": {"kind": "idx", "path": dotted}}, out="dots")
        runs = self.assert_parity(TRAIN, {"data": {"kind": "idx", "path": dashed}})
        self.assert_same_rows(runs["run"]["file"], other["run"]["file"])

    def test_shape(self):
        path = self.write_idx("images")
        for name, shape in (("padded", [1, 12, 13]), ("repeated", [3, 9, 7]), ("both", [4, 16, 8])):
            self.assert_parity(TRAIN, {"data": {"kind": "idx", "path": path, "shape": shape}}, out=name)

    def test_limit_and_relative_path(self):
        path = self.write_idx("images")
        runs = self.assert_parity(TRAIN, {"data": {"kind": "idx", "path": path, "limit": 20}}, out="absolute")
        relative = self.run_study(TRAIN, {"data": {"kind": "idx", "path": "images", "limit": 20}}, out="relative")
        self.assert_same_rows(runs["run"]["file"], relative["run"]["file"])

    def test_cifar10(self):
        # the second update takes its samples from two files
        path = self.write_cifar([20, 30])
        runs = self.assert_parity(TRAIN, {"data": {"kind": "cifar10", "path": path}}, out="a")
        packed = self.write_cifar([20, 30], packed=True)
        again = self.run_study(TRAIN, {"data": {"kind": "cifar10", "path": packed}}, out="b")
        self.assert_same_rows(runs["run"]["file"], again["run"]["file"])
        # --data finds out what is in the folder
        study = self.write_study(TRAIN, {"data": {"kind": "fashion-mnist"}})
        self.cli("run", study, "-o", "c", "--data", path)
        self.assert_same_rows(runs["run"]["file"], self.runs("c")["run"]["file"])


if __name__ == "__main__":
    harness.main()
