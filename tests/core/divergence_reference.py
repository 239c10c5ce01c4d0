#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Divergence of two raw arrays, straight from the definitions: the reference that
DivergenceReferenceTest compares with.

    divergence_reference.py float32|float64 A.bin R.bin

Prints one "name value" a line. Exit code 77 means that NumPy is missing.
"""
import decimal
import sys

try:
    import numpy as np
except ImportError:
    sys.exit(77)

WIDE = np.longdouble
decimal.getcontext().prec = 80
decimal.getcontext().Emax = decimal.MAX_EMAX
decimal.getcontext().Emin = decimal.MIN_EMIN


def ordered(x):
    """Place on the ordered integer line, as Python integers; -0 and +0 are both 0."""
    bits = x.view(f"u{x.itemsize}").astype(object)
    top = 1 << (8 * x.itemsize - 1)
    return np.array([-(b - top) if b >= top else b for b in bits], dtype=object)


def cosine_distance(a, r):
    """|a/|a| - r/|r||^2 / 2. longdouble is not enough: two float64 an ulp apart differ by 1e-16, and
    their directions would be rounded to 1e-19."""
    a = [decimal.Decimal(float(x)) for x in a]
    r = [decimal.Decimal(float(x)) for x in r]
    length_a = sum(x * x for x in a).sqrt()
    length_r = sum(x * x for x in r).sqrt()
    return WIDE(str(sum((x / length_a - y / length_r) ** 2 for x, y in zip(a, r)) / 2))


def main(dtype, file_a, file_r):
    a = np.fromfile(file_a, dtype)
    r = np.fromfile(file_r, dtype)
    unsigned = f"u{a.itemsize}"
    nan_a, nan_r = np.isnan(a), np.isnan(r)
    finite_a, finite_r = np.isfinite(a), np.isfinite(r)
    both = finite_a & finite_r
    equal = (a == r) | (nan_a & nan_r)
    unequal_special = ~both & ~equal
    infinite = bool(unequal_special.any())

    wide_a, wide_r = a[both].astype(WIDE), r[both].astype(WIDE)
    difference = wide_a - wide_r
    absolute = np.abs(difference)
    base = np.maximum(np.abs(wide_r), WIDE(np.finfo(dtype).tiny))

    ulp = np.abs(ordered(a) - ordered(r))
    ulp[equal] = 0
    ulp[unequal_special] = 2 ** (8 * a.itemsize) - 1
    bins = [0] * 33
    for distance in ulp:
        bins[min(int(distance).bit_length(), 32)] += 1

    length_a = np.sqrt(np.sum(a[finite_a].astype(WIDE) ** 2))
    length_r = np.sqrt(np.sum(r[finite_r].astype(WIDE) ** 2))
    l2 = WIDE(np.inf) if infinite else np.sqrt(np.sum(difference**2))
    if infinite:
        cosine = WIDE(np.inf)
    elif l2 == 0:
        cosine = WIDE(0)
    elif length_a == 0 or length_r == 0:
        cosine = WIDE(1)
    else:
        cosine = cosine_distance(a[both], r[both])

    def unless_infinite(value):
        return WIDE(np.inf) if infinite else value

    n = len(a)
    ordered_ulp = sorted(int(u) for u in ulp)
    result = {
        "count": n,
        "l2": l2,
        "relative_l2": WIDE(0) if l2 == 0 else l2 / length_r if length_r else WIDE(np.inf),
        "mean_absolute": unless_infinite(np.sum(absolute) / n),
        "max_absolute": unless_infinite(np.max(absolute)),
        "max_relative": unless_infinite(np.max(absolute / base)),
        "cosine_distance": cosine,
        "length_run": length_a,
        "length_reference": length_r,
        "product": np.sum(wide_a * wide_r),
        "ulp_max": ordered_ulp[-1],
        "ulp_sum": sum(ordered_ulp),
        "changed": int(np.sum(a.view(unsigned) != r.view(unsigned))),
        "sign_flips": int(
            np.sum((np.signbit(a) != np.signbit(r)) & (a != 0) & (r != 0) & ~nan_a & ~nan_r)
        ),
        "nonfinite": int(np.sum(finite_a != finite_r)),
    }
    for i, count in enumerate(bins):
        result[f"bin_{i}"] = count
    for percent in (1, 50, 90, 99, 100):
        # smallest rank k with 100 k >= percent n
        result[f"ulp_p{percent}"] = ordered_ulp[max(1, -(-percent * n // 100)) - 1]
    for name, value in result.items():
        print(name, value if isinstance(value, int) else np.format_float_scientific(value))


main(*sys.argv[1:])
