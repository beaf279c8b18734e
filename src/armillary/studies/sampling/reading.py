"""Distributions as a user or a file gives them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from armillary.algebra.arguments import checked_names
from armillary.algebra.node import plain_float
from armillary.algebra.units import is_quantity
from armillary.errors import ArmillaryError, ParameterError, nearest
from armillary.studies.sampling.distributions import (
    Choice,
    Distribution,
    LogNormal,
    Normal,
    Triangular,
    Uniform,
)
from armillary.studies.sampling.user_distributions import UserDistribution
from armillary.untyped import DataMapping, Given

_BY_WORD: dict[str, type[Distribution]] = {
    kind.word: kind for kind in (Uniform, Normal, LogNormal, Triangular, Choice)
}
_OPTIONS = {
    "normal": ("low", "high", "units"),
    "lognormal": ("low", "high", "units"),
    "choice": ("weights", "units"),
}


def as_distribution(value: Given, name: str) -> Distribution:
    """The distribution that a user means: one of ours, data, a list of values, or code of their own."""
    try:
        if isinstance(value, Distribution):
            return value
        if isinstance(value, Mapping):
            return distribution_from_data(value)
        if isinstance(value, tuple) and len(value) == 2:
            raise ParameterError(
                f"{value!r} may be bounds or two values: give Uniform{value!r}, or the list {list(value)!r}"
            )
        if isinstance(value, list | tuple | np.ndarray) or (is_quantity(value) and np.ndim(value.magnitude)):
            return Choice(value)
        if callable(getattr(value, "ppf", value)):
            return UserDistribution(value)
    except ArmillaryError as error:
        raise type(error)(f"varied '{name}': {error}") from error
    if plain_float(value) is not None or isinstance(value, str) or is_quantity(value):
        raise ParameterError(
            f"varied '{name}' is {value!r}, which does not vary: give a distribution or a list, or give it "
            "with the parameters"
        )
    raise ParameterError(
        f"varied '{name}' needs a distribution, a list of values, an object with ppf or a function of a "
        f"number between 0 and 1, not {value!r}"
    )


def distribution_from_data(data: DataMapping) -> Distribution:
    """A distribution from plain data: {"normal": [1000, 50], "low": 900}."""
    words = [word for word in data if word in _BY_WORD]
    if len(words) != 1:
        unknown = next((word for word in data if word not in _BY_WORD), "")
        close = nearest(str(unknown), _BY_WORD) if not words else ""
        raise ParameterError(f"a distribution has one of {', '.join(_BY_WORD)}; found {_keys(data)}{close}")
    word = words[0]
    kind, numbers = _BY_WORD[word], data[word]
    known = _OPTIONS.get(word, ("units",))
    given = {key: value for key, value in data.items() if key != word}
    options = checked_names(given, known, f"{word} has no option", ParameterError)
    if not isinstance(options.get("units", ""), str):
        raise ParameterError(f"the units of a {word} distribution must be text, not {options['units']!r}")
    if kind is Choice:
        return Choice(numbers, **options)
    if not isinstance(numbers, list | tuple) or len(numbers) != len(kind.main):
        raise ParameterError(f"{word} needs [{', '.join(kind.main)}], not {numbers!r}")
    return kind(*numbers, **options)


def _keys(data: Mapping[str, object]) -> str:
    return ", ".join(f"'{key}'" for key in data) or "nothing"
