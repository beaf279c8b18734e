"""How numbers are kept: entries by name, and the text of what each makes.

``python -m tests.kept_numbers [name …]`` writes them anew.

Each entry runs a part of the package whose results depend on many formulas and constants and compares
all of them to seven digits with those that were read and kept. They are no proof that the numbers are right,
which tests of the packages give: they notice that one has changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
KEPT = Path(__file__).with_name("kept.txt")
MAKERS: dict[str, Callable[[], Iterator[tuple[str, Any]]]] = {}
Named = Iterator[tuple[str, Any]]


def entry(make: Callable[[], Named]) -> Callable[[], Named]:
    MAKERS[make.__name__] = make
    return make


def flat(value: Any) -> list[float]:
    """All numbers of a value, complex ones as two."""
    if isinstance(value, Mapping):
        return [x for one in value.values() for x in flat(one)]
    if isinstance(value, Iterable) and not isinstance(value, np.ndarray):
        return [x for one in value for x in flat(one)]
    array = np.asarray(value)
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag], axis=-1)
    return [float(x) for x in array.astype(float).ravel()]


def digest(value: Any) -> list[float]:
    """How many numbers there are, the largest, and two sums in which each has a weight of its own."""
    numbers = np.array(flat(value))
    i = np.arange(len(numbers))
    largest = np.abs(numbers).max(initial=0.0)
    return [len(numbers), largest, numbers @ np.cos(i), numbers @ (1 + np.sin(7 * i))]


def numbers_in(text: str) -> list[float]:
    """All numbers of a text."""
    return [float(x) for x in NUMBER.findall(text.replace("−", "-"))]


def lines_of(name: str) -> list[str]:
    return [f"{name}: {what}: {' '.join(f'{x:.10g}' for x in flat(value))}" for what, value in MAKERS[name]()]
