# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads run files with plain h5py: nothing of Driftscope's own code."""
import json

import h5py
import numpy as np

RUNNING, FINISHED, FAILED, CANCELLED, UNAVAILABLE = range(5)


def datasets(file):
    """Full names of all datasets of an open h5py file, in their order of creation or name."""
    names = []
    file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    return names


def recorded(path, rows=None):
    """{name: values} of everything with a row per recorded step, but not the time that steps took."""
    with h5py.File(path, "r") as file:
        total = file["step"].shape[0]
        rows = int(file["progress"][0]) if rows is None else rows
        return {name: file[name][:rows] for name in datasets(file)
                if name not in ("progress", "message", "config", "environment", "scalars/step_seconds")
                and file[name].shape[:1] == (total,)}


def progress(path):
    """(rows, state)"""
    with h5py.File(path, "r") as file:
        return tuple(int(x) for x in file["progress"][:])


def text(path, name):
    with h5py.File(path, "r") as file:
        value = file[name][()]
        return value.decode() if isinstance(value, bytes) else str(value)


def environment(path):
    return json.loads(text(path, "environment"))


def weights(path, row):
    """{name: array} of one row, in the order of the model."""
    with h5py.File(path, "r") as file:
        group = file["weights"]
        return {name: group[name][row] for name in group}


# The metrics of DESIGN.md, written down again in NumPy.

def ordered(values):
    """Position on the ordered integer line of the type; −0 and +0 are both 0."""
    bits = values.view(np.int32 if values.dtype == np.float32 else np.int64).astype(object)
    lowest = -(2 ** (8 * values.dtype.itemsize - 1))
    return np.array([b if b >= 0 else lowest - b for b in bits.ravel()], dtype=object)


def metrics(a, r):
    """All scalar metrics of a against r, 1-D arrays of one dtype, finite."""
    ulps = np.sort(np.abs(ordered(a) - ordered(r)))
    tiny = np.finfo(a.dtype).tiny
    int_type = np.int32 if a.dtype == np.float32 else np.int64
    changed = np.mean(a.view(int_type) != r.view(int_type))
    flips = np.sum((np.sign(a) * np.sign(r)) < 0)
    a, r = a.astype(np.longdouble), r.astype(np.longdouble)
    d = np.abs(a - r)
    norm_a, norm_r, norm_d = (np.sqrt(np.sum(x * x)) for x in (a, r, d))
    if norm_r > 0:
        rel_l2 = norm_d / norm_r
    else:
        rel_l2 = np.inf if norm_d > 0 else 0.0
    cosine = np.sum((a / norm_a - r / norm_r) ** 2) / 2 if norm_a > 0 and norm_r > 0 else np.nan

    def percentile(p):  # the smallest value that p % are at most
        return ulps[max(0, -(-len(ulps) * p // 100) - 1)]

    return {"l2": float(norm_d), "rel_l2": float(rel_l2), "max_abs": float(d.max()), "mean_abs": float(d.mean()),
            "max_rel": float((d / np.maximum(np.abs(r), tiny)).max()), "cosine_distance": float(cosine),
            "ulp_max": float(ulps[-1]), "ulp_mean": float(sum(ulps) / len(ulps)), "ulp_p50": float(percentile(50)),
            "ulp_p99": float(percentile(99)), "changed": float(changed), "sign_flips": float(flips),
            "nonfinite": 0.0}
