"""The predicates of the paper: images alike pixel by pixel, and pairs that match with a chosen probability."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

PIXELS = {"small": 5_000, "middle": 10_000, "large": 20_000}
CHANNELS = 3
NEAR = 16  # of 256 levels of red, green or blue
ALIKE = 0.9  # of the values of an image
NOISE = 6
# As many images are compared at once as leave what is computed of them in the cache of a core.
CACHED_BYTES = 1 << 17
Mask = NDArray[np.bool_]
Predicate = Callable[[Any, Any], Mask]


def random_images(count: int, pixels: int, scenes: int, chance: np.random.Generator) -> pa.Array:
    """Images of a few scenes, each with noise of its own: two are alike where they show the same scene."""
    base = np.random.default_rng(pixels).integers(NOISE, 256 - NOISE, (scenes, CHANNELS * pixels), np.uint8)
    noise = chance.integers(-NOISE, NOISE, (count, CHANNELS * pixels), np.int8)
    shown = base[chance.integers(0, scenes, count)].astype(np.int16) + noise
    return pa.array([row.tobytes() for row in shown.astype(np.uint8)], pa.binary())


def alike(one: pa.Array, other: pa.Array) -> Mask:
    """Whether most values of two images are near each other; the work grows with the pixels."""
    left, right = _values(one), _values(other)
    at_once = max(1, CACHED_BYTES // left.shape[1])
    near = [_near(left[n : n + at_once], right[n : n + at_once]) for n in range(0, len(left), at_once)]
    return np.asarray(np.concatenate(near) >= ALIKE * left.shape[1])


def _near(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How many values of each two images are near each other."""
    apart = np.maximum(left, right) - np.minimum(left, right)
    return np.asarray(np.count_nonzero(apart <= NEAR, axis=1))


def _values(images: pa.Array) -> NDArray[np.uint8]:
    """The values of equally large images, a row each, without a copy."""
    offsets = np.frombuffer(images.buffers()[1], np.int32)[images.offset : images.offset + len(images) + 1]
    values = np.frombuffer(images.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    return values.reshape(len(images), -1)


@cache
def with_probability(selectivity: float) -> Predicate:
    """Pairs of numbers that match with a probability, decided by their hash: the same pair always alike."""
    limit = np.uint64(int(selectivity * 2**32))

    def matches(one: pa.Array, other: pa.Array) -> Mask:
        left, right = (array.to_numpy(zero_copy_only=False).astype(np.uint64) for array in (one, other))
        mixed = (left * np.uint64(0x9E3779B97F4A7C15)) ^ (right * np.uint64(0xC2B2AE3D27D4EB4F))
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        return np.asarray((mixed >> np.uint64(32)) < limit)

    return matches
