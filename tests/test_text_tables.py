"""Tables and lists as text and as TOML: columns, counts, and lines that stay short."""

from __future__ import annotations

import math
import tomllib

import pytest

from armillary.text_tables import aligned, counted, html_table, listed, toml_key, toml_text, toml_value


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    """Columns without a side are to the left; no line ends in spaces."""
    assert aligned([["a", "1", ""], ["long", "12.5", "x"]], "<>") == ["a        1", "long  12.5  x"]
    assert aligned([["ab", "c"], ["d", "e"]]) == ["ab  c", "d   e"]
    assert aligned([["<b>a</b>", "c"], ["dd", "e"]], width=lambda s: len(s.strip("<b>/"))) == [
        "<b>a</b>   c",
        "dd  e",
    ]
    assert aligned([]) == [] == aligned([], "<>")


@pytest.mark.parametrize(
    ("names", "few", "text"),
    [
        ("", 6, "none"),
        ("a", 6, "a"),
        ("abcdef", 6, "a, b, c, d, e, f"),
        ("abcdefg", 6, "a, b, c, d, e, f and 1 more"),
        ("abcde", 2, "a, b and 3 more"),
    ],
)
def test_lists_of_more_than_a_few_names_give_the_number_of_the_others(
    names: str, few: int, text: str
) -> None:
    assert listed([*names], few) == text
    assert few != 6 or listed([*names]) == text
    assert [counted(n, "event") for n in (0, 1, 2)] == ["0 events", "1 event", "2 events"]


def test_tables_of_pages_align_and_escape_their_cells() -> None:
    table = html_table(["a", "b"], [["1", "x<y"]], ">", caption="p & q")
    right = ' style="text-align:right"'
    assert table == (
        f"<table><caption>p &amp; q</caption><thead><tr><th{right}>a</th><th>b</th></tr></thead>"
        f"<tbody><tr><td{right}>1</td><td>x&lt;y</td></tr></tbody></table>"
    )
    assert html_table(["", ""], [["1", "2"]]).startswith("<table><tbody><tr><td>1</td>")  # no empty heading
    assert html_table(["a"], []) == ""


@pytest.mark.parametrize(
    "value",
    [
        True,
        3,
        0.1,
        -math.inf,
        math.inf,
        'é "q" \\ \x7f\n',
        {},
        {"a b": [1, 2.5], "c": {"d": False}},
        [[1], []],
    ],
)
def test_values_read_back_as_they_were(value: object) -> None:
    found = tomllib.loads(f"x = {toml_value(value)}")["x"]
    assert found == value and type(found) is type(value)
    assert math.isnan(tomllib.loads(f"x = {toml_value(math.nan)}")["x"])


def test_only_plain_keys_have_no_quotes() -> None:
    assert [toml_key(key) for key in ("a-B_1", "a.b", "", "é")] == ["a-B_1", '"a.b"', '""', '"é"']


def test_long_lists_are_written_over_lines_that_are_short_and_full() -> None:
    """Numbers fill each line up to the width; rows of a matrix have a line each; a list that fits has one."""
    numbers, matrix = [float(i) for i in range(100)], [[float(i), 1e-300 * i] for i in range(20)]
    short = {"x": [0.5] * 21}  # 108 characters
    text = toml_text({"numbers": numbers, "matrix": matrix, **short, "empty": []}, {})
    assert tomllib.loads(text) == {"numbers": numbers, "matrix": matrix, **short, "empty": []}
    lines = text.splitlines()
    assert max(map(len, lines)) <= 110 and sum(line.startswith("    [") for line in lines) == len(matrix)
    full = lines[1 : lines.index("]")]
    assert all(len(line) > 95 for line in full[:-1]) and len(full) == 6
    assert lines[-2:] == [f"x = {short['x']}", "empty = []"]
    assert toml_text({"s": "x" * 200, "y": ["x" * 200]}, {}).splitlines()[0] == f's = "{"x" * 200}"'


def test_tables_have_headers_of_their_depth_after_all_plain_keys() -> None:
    data = {
        "bodies": {"A": {"mass": 1.0}, "b c": {}},
        "gravity": {"x": 0.0},
        "loads": [{"on": "A"}, {"on": "B"}],
        "inline": {"a": 1},
        "few": [1],
    }
    text = toml_text(data, {"bodies": 2, "gravity": 1, "loads": 1, "few": 1})
    assert tomllib.loads(text) == data
    headers = [line for line in text.splitlines() if line.startswith("[")]
    assert headers == ["[bodies.A]", '[bodies."b c"]', "[gravity]", "[[loads]]", "[[loads]]"]
    assert text.startswith("inline = { a = 1 }\nfew = [1]\n\n[bodies.A]\nmass = 1.0\n") and text.endswith(
        '"\n'
    )
