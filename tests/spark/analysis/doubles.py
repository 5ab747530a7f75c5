"""Doubles that are hard for functions of numbers: the ends of the range, zeros, neighbours of special points."""

from __future__ import annotations

import math

import numpy as np

SPECIAL = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, 10.0, 100.0, 1e15, math.pi, math.pi / 2, math.pi / 4, math.e,
    math.nan, math.inf, -math.inf, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308,
    -1.7976931348623157e308, 1e-5, 2.0**-28, 2.0**-54, 0.975, 0.4375, 0.6875, 1.1875, 2.4375, 2.0**66, 22.0, 709.78,
    -745.13, 710.4758600739439, 1e22, 2.0**52 + 0.5, 2.0**53, 2.0**63, -(2.0**63), 9.223372036854775e18, 1e300, 0.1,
]  # fmt: skip


def hard_doubles(count: int, seed: int) -> np.ndarray:
    """Special values with their neighbours, then random ones of every size."""
    generator = np.random.default_rng(seed)
    special = np.array(SPECIAL)
    with np.errstate(over="ignore"):
        near = np.concatenate([special, np.nextafter(special, np.inf), np.nextafter(special, -np.inf), -special])
    multiples = np.pi / 4 * generator.integers(-1300, 1300, count)
    kinds = [
        near,
        generator.integers(0, 2**64, count, dtype=np.uint64).view(np.float64),
        generator.uniform(-7, 7, count),
        generator.uniform(-1, 1, count),
        generator.uniform(-800, 800, count),
        np.ldexp(generator.uniform(-1, 1, count), generator.integers(-80, 80, count)),
        np.nextafter(multiples, generator.choice([-np.inf, np.inf], count)),
        generator.integers(-2000, 2000, count) / 2,
        generator.integers(-(10**6), 10**6, count) / 1000,
    ]
    return np.concatenate(kinds)
