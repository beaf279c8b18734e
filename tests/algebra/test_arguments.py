"""Readers of arguments: what each takes and refuses at its edges, and the error that names the argument."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armillary.algebra import arguments as read
from armillary.algebra.expression import symbol
from armillary.errors import ArmillaryError, ParameterError

TAKEN: list[tuple[Any, tuple[Any, ...], Any]] = [
    (read.real, (-np.inf, "x"), -np.inf),
    (read.real, (np.float32(0.5), "x"), 0.5),
    (read.from_zero, (0, "x"), 0.0),
    (read.from_zero, (np.inf, "x"), np.inf),
    (read.from_zero, (2, "x", 2.0), 2.0),
    (read.whole_number, (np.int64(0), "x"), 0),
    (read.positive_number, (5e-324, "x"), 5e-324),
    (read.count, (1, "x"), 1),
    (read.index, (0, 3, "run"), 0),
    (read.index, (2, 3, "run"), 2),
    (read.index, (-1, 3, "run"), 2),
    (read.index, (-3, 3, "run"), 0),
    (read.text, ("", "x"), ""),
    (read.text, ("q̇ 𝄞", "x"), "q̇ 𝄞"),
    (read.flag, (np.False_, "x"), False),
    (read.one_of, ("b", ["a", "b"], "no "), "b"),
    (read.index_of_name, ("b", ["a", "b"], "no"), 1),
    (read.checked_names, ({"a": 5}, ["a", "b"], "no"), {"a": 5}),
    (read.checked_names, ([symbol("a")], ["a", "b"], "no"), {"a": symbol("a")}),
    (read.table, (None, "x"), {}),
    (read.table, ({symbol("a"): 1}, "x"), {"a": 1}),
    (read.item_count, ("text",), -1),
    (read.item_count, (np.array(3.0),), -1),
    (read.item_count, ([],), 0),
    (read.item_count, ((1, 2),), 2),
    (read.several, ("name", "x"), ["name"]),
    (read.several, (("a", 3), "x"), ["a", 3]),
    (read.pair, (("a", "b"), "x"), ("a", "b")),
    (read.file_path, ("run.csv", "x"), Path("run.csv")),
    (read.file_path, (255 * "a", "x"), Path(255 * "a")),
    (read.file_path, (Path(), "x"), Path()),
]
REFUSED: list[tuple[Any, tuple[Any, ...], str]] = [
    (read.real, ("1 m", "x"), "x must be a number, not '1 m'"),
    (read.real, (None, "x"), "x must be a number, not None"),
    (read.reals, (None, "x"), "x must be a number or an array of numbers, not None"),
    (read.reals, (1j, "x"), "x must be a number or an array of numbers, not 1j"),
    (read.reals, ([1, "a"], "x"), "x must be a number or an array of numbers, not"),
    (read.from_zero, (-1e-300, "x"), "x must be a number, zero or more, not -1e-300"),
    (read.from_zero, (np.nan, "x"), "x must be a number, zero or more, not nan"),
    (read.from_zero, (2.1, "x", 2.0), "x must be a number from 0 to 2, not 2.1"),
    (read.positive_number, (0, "x"), "x must be a positive number, not 0"),
    (read.positive_number, (np.nan, "x"), "x must be a positive number, not nan"),
    (read.positive_number, (np.inf, "x"), "x must be a positive number, not inf"),
    (read.positive_number, ("1", "x"), "x must be a positive number, not '1'"),
    (read.whole_number, (1.5, "x"), "x must be a whole number of 0 or more, not 1.5"),
    (read.whole_number, (-1, "x"), "x must be a whole number of 0 or more, not -1"),
    (read.whole_number, (np.inf, "x"), "x must be a whole number of 0 or more, not inf"),
    (read.whole_number, (True, "x"), "x must be a whole number of 0 or more, not True"),
    (read.count, (0, "x"), "x must be a positive whole number, not 0"),
    (read.count, (True, "x"), "x must be a positive whole number, not True"),
    (read.index, (3, 3, "run"), "there is no run 3; they are numbered 0 to 2"),
    (read.index, (-4, 3, "run"), "there is no run -4; they are numbered 0 to 2"),
    (read.index, (True, 3, "run"), "there is no run True; they are numbered 0 to 2"),
    (read.index, (0, 0, "run"), "there is no run 0"),
    (read.text, (3, "x"), "x must be a text, not 3"),
    (read.text, ("\ud800", "x"), "x has a single surrogate character"),
    (read.text, ("\udfff", "x"), "x has a single surrogate character"),
    (read.flag, (1, "x"), "x must be True or False, not 1"),
    (read.function, (3, "x"), "x must be a function, not 3"),
    (read.one_of, ("kan", ["kane", "recursive"], "there is no "), "there is no 'kan'; did you mean 'kane'?"),
    (read.one_of, (3, ["kane"], "there is no "), "there is no 3; "),
    (read.index_of_name, ("c", ["a", "b"], "no"), "no 'c'; there are a, b"),
    (read.checked_names, (["mas"], ["mass", "q"], "there is no"), "there is no 'mas'; did you mean 'mass'?"),
    (read.table, ([1], "x"), "x must hold values by name, {'name': value, …}, not [1]"),
    (read.names_by_number, ([1],), "a mapping of numbers to names, {0: 'weave'}, is needed, not [1]"),
    (read.several, (3, "x"), "x must be a list, not 3"),
    (read.pair, (("a",), "entries"), "entries are given by two names, ['of', 'by'], not by"),
    (read.pair, (["a", "b"], "entries"), "entries are given by two names, ['of', 'by'], not by"),
    (read.instance, (3, str, "a text"), "a text is needed, not 3"),
    (read.file_path, (3, "x"), "x must be the path of a file or folder, not 3"),
    (read.file_path, ("a\0b", "x"), "x must be the path of a file or folder, not 'a"),
    (read.file_path, (256 * "a", "x"), "has a name of more than 255 bytes, too long for a file"),
    (read.file_path, ("folder/" + 128 * "ä", "x"), "has a name of more than 255 bytes, too long for a file"),
]


@pytest.mark.parametrize(("reader", "given", "found"), TAKEN)
def test_values_are_taken_up_to_their_edges(reader: Any, given: tuple[Any, ...], found: Any) -> None:
    value = reader(*given)
    assert value == found and type(value) is type(found)


@pytest.mark.parametrize(("reader", "given", "words"), REFUSED)
def test_others_are_refused_by_name(reader: Any, given: tuple[Any, ...], words: str) -> None:
    with pytest.raises(ArmillaryError) as caught:
        reader(*given)
    assert words in str(caught.value)


def test_a_dozen_known_names_are_listed_and_more_are_not() -> None:
    names = [f"a{i}" for i in range(13)]
    assert str(read.unknown_name("zz", names, "no")) == "no 'zz'"
    assert str(read.unknown_name("zz", names[:12], "no")) == f"no 'zz'; there are {', '.join(names[:12])}"


def test_errors_are_of_the_kind_that_is_asked_for() -> None:
    for reader in (read.real, read.reals, read.count, read.text, read.flag, read.function, read.several):
        with pytest.raises(ParameterError):
            reader(None, "x", ParameterError)  # type: ignore[operator]


def test_copies_share_nothing_that_changes() -> None:
    inner, values = [1, 2], np.array([1.0, -0.0])
    copied = read.independent_copy({"a": [inner, (values,)], "b": "text"})
    inner.append(3)
    values[0] = 7.0
    assert copied["a"][0] == [1, 2] and copied["a"][1][0].tolist() == [1.0, -0.0] and copied["b"] == "text"
    kept = read.read_only(values)
    values[0] = 8.0
    assert kept[0] == 7.0 and not kept.flags.writeable


def test_zeros_have_no_sign_where_users_see_them() -> None:
    values = np.array([-0.0, 1.0])
    assert read.unsigned_zeros(values) is values and not np.signbit(values).any()
    fixed = read.read_only([-0.0, 1.0])
    assert not np.signbit(read.unsigned_zeros(fixed)).any() and np.signbit(fixed[0])
    whole = np.array([0, 1])
    assert read.unsigned_zeros(whole) is whole
