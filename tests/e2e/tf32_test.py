# SPDX-License-Identifier: GPL-3.0-or-later
"""tf32 = "emulated" is TensorFloat-32: inputs of products rounded to 10 bits, sums exact; held against NumPy."""
import statistics

import harness

if harness.has_module("h5py"):
    import h5py
    import numpy as np

SEEDS = [1, 2, 3, 4, 5]


def to_tf32(x):
    """float64 values of x rounded to float32, and then to 10 mantissa bits, to the nearest even."""
    mantissa, exponent = np.frexp(x.astype(np.float32).astype(np.float64))
    return np.ldexp(np.rint(mantissa * 2 ** 11), exponent - 11)


def exact(x):
    return x


def linear(rounded, x, weight, bias):
    return rounded(x) @ rounded(weight).T + bias


def linear_gradients(rounded, x, weight, above):
    """Of weight, bias and x."""
    return rounded(above).T @ rounded(x), above.sum(0), rounded(above) @ rounded(weight)


def patches(x):
    """n × c × h × w × 3 × 3: what a 3×3 convolution with padding 1 sees."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))


def loss_gradient(logits, labels):
    """Of the mean cross-entropy."""
    e = np.exp(logits - logits.max(1, keepdims=True))
    softmax = e / e.sum(1, keepdims=True)
    softmax[np.arange(len(labels)), labels] -= 1
    return softmax / len(labels)


def mlp_gradients(rounded, w, images, labels):
    x = images.reshape(len(images), -1)
    hidden = linear(rounded, x, w["fc1.weight"], w["fc1.bias"])
    relu = np.maximum(hidden, 0)
    logits = linear(rounded, relu, w["fc2.weight"], w["fc2.bias"])
    g = {}
    g["fc2.weight"], g["fc2.bias"], above = linear_gradients(rounded, relu, w["fc2.weight"],
                                                             loss_gradient(logits, labels))
    g["fc1.weight"], g["fc1.bias"], _ = linear_gradients(rounded, x, w["fc1.weight"], above * (hidden > 0))
    return g


def cifar_cnn_gradients(rounded, w, images, labels):
    n, _, height, width = images.shape
    conv = np.einsum("nchwyx,ocyx->nohw", rounded(patches(images)), rounded(w["conv1.weight"]))
    conv += w["conv1.bias"][:, None, None]
    relu = np.maximum(conv, 0)
    tiles = relu.reshape(n, -1, height // 2, 2, width // 2, 2).transpose(0, 1, 2, 4, 3, 5)
    tiles = tiles.reshape(*tiles.shape[:4], 4)
    winner = np.eye(4)[tiles.argmax(-1)]
    x = tiles.max(-1).reshape(n, -1)
    hidden = linear(rounded, x, w["fc1.weight"], w["fc1.bias"])
    relu2 = np.maximum(hidden, 0)
    logits = linear(rounded, relu2, w["fc2.weight"], w["fc2.bias"])
    g = {}
    g["fc2.weight"], g["fc2.bias"], above = linear_gradients(rounded, relu2, w["fc2.weight"],
                                                             loss_gradient(logits, labels))
    g["fc1.weight"], g["fc1.bias"], above = linear_gradients(rounded, x, w["fc1.weight"], above * (hidden > 0))
    above = above.reshape(winner.shape[:4])[..., None] * winner
    above = above.reshape(*above.shape[:4], 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(conv.shape) * (conv > 0)
    g["conv1.weight"] = np.einsum("nohw,nchwyx->ocyx", rounded(above), rounded(patches(images)))
    g["conv1.bias"] = above.sum((0, 2, 3))
    return g


def error(a, b):
    return max(np.linalg.norm(a[name] - b[name]) / np.linalg.norm(b[name]) for name in b)


@harness.needs("h5py", "numpy")
class Tf32(harness.EndToEndTest):
    def check(self, gradients, kind, shape, **model):
        random = np.random.default_rng(9)
        images = random.integers(0, 256, (4, *shape), dtype=np.uint8)
        labels = np.array([2, 0, 1, 2])
        path = self.folder / f"{kind}.npz"
        np.savez(path, x=images, y=labels)
        images = (images.astype(np.float32) / np.float32(255)).astype(np.float64)
        runs = self.run_study(
            {"model": {"kind": kind, **model}, "data": {"kind": "npy", "path": str(path)},
             "train": {"steps": 1, "batch": 4, "optimizer": "sgd", "learning_rate": 0.1, "threads": 1},
             "record": {"gradients": "full"}, "axes": {"tf32": ["off", "emulated"], "seed": SEEDS}}, out=kind)
        errors, differences = [], []
        for seed in SEEDS:
            for tf32, rounded in (("off", exact), ("emulated", to_tf32)):
                with h5py.File(self.only(runs, tf32=tf32, seed=seed)["file"]) as file:
                    weights = {name: file["weights"][name][0].astype(np.float64) for name in file["weights"]}
                    recorded = {name: file["gradients"][name][1].astype(np.float64) for name in file["gradients"]}
                ours = gradients(rounded, weights, images, labels)
                self.assertEqual(set(ours), set(recorded))
                if tf32 == "off":
                    self.assertLess(error(recorded, ours), 1e-6)
                else:
                    errors.append(error(recorded, ours))
                    differences.append(error(recorded, gradients(exact, weights, images, labels)))
        # where a float32 sum falls beside the middle of two TF32 numbers, its last bit decides the rounding
        self.assertLess(statistics.median(errors), 1e-6, errors)
        self.assertLess(max(errors), 2 ** -11, errors)
        self.assertGreater(min(differences), 1e-5, differences)

    def test_mlp(self):
        self.check(mlp_gradients, "mlp", (2, 3, 3), hidden=[7])

    def test_cifar_cnn(self):
        self.check(cifar_cnn_gradients, "cifar_cnn", (2, 4, 4))


if __name__ == "__main__":
    harness.main()
