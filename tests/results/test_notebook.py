"""What notebooks show of runs: tables and small curves, with every name escaped."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from armillary.results import Run
from armillary.results.plots.run_plot import sparkline
from armillary.text_tables import Html, html_table

EVIL = "<script>alert('x')&</script>"


def parsed(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<div>{html}</div>")  # only well-formed markup can be parsed


def run_of(samples: np.ndarray, **more) -> Run:
    time = np.linspace(0.0, 1.0, len(samples))
    given = {"system": "s", "time": time, "values": samples[:, None], "names": ("y",)}
    return Run(**(given | more))


def points(svg: str) -> list[list[tuple[float, float]]]:
    lines = parsed(svg).findall(".//polyline")
    return [[tuple(map(float, p.split(","))) for p in line.attrib["points"].split()] for line in lines]


def test_a_table_escapes_all_cells_but_html():
    table = html_table([EVIL, "b"], [[EVIL, Html("<i>x</i>")]], "<>", caption=EVIL)
    cells = parsed(table)
    assert [cells.find(f".//{tag}").text for tag in ("caption", "th", "td")] == [EVIL] * 3
    assert cells.find(".//i").text == "x"
    assert [td.attrib.get("style") for td in cells.findall(".//td")] == [None, "text-align:right"]
    assert html_table(["a"], []) == ""


def test_a_run_shows_extremes_and_the_last_value_with_every_text_escaped():
    run = run_of(
        np.array([0.0, -2.5, 7.0, 1.25]), system=EVIL, names=(EVIL,), units={EVIL: "m"}, info={"status": EVIL}
    )
    page = parsed(run._repr_html_())
    assert [td.text for td in page.findall(".//td")] == [EVIL, None, "-2.5", "7", "1.25", "m"]
    assert page.find(".//b").text == EVIL and page.find(".//script") is None


def test_outputs_of_the_model_come_first_and_the_rest_is_counted():
    names = tuple(f"n{i}" for i in range(25))
    run = run_of(np.zeros(2), values=np.zeros((2, 25)), names=names, outputs=("n24",))
    page = run._repr_html_()
    assert [row[0].text for row in parsed(page).findall(".//tbody/tr")] == ["n24", *names[:19]]
    assert "and 5 more outputs" in page


def test_a_run_without_samples_has_no_table():
    run = run_of(np.zeros(0))
    assert "empty" in run._repr_html_() and "<table" not in run._repr_html_()


def test_a_curve_of_many_samples_keeps_its_extremes_and_stays_short():
    y = np.zeros(100_000)
    y[31_234], y[77_777] = 1.0, -1.0
    (line,) = points(sparkline(np.linspace(0, 1, len(y)), y))
    heights = [down for _, down in line]
    assert (min(heights), max(heights)) == (1.0, 23.0)  # the whole height of the picture
    assert len(line) <= 2 * 120 + 2
    assert (line[0][0], line[-1][0]) == (1.0, 119.0)  # from the first sample to the last
    slope = np.linspace(0, 1, 241)[::-1]
    (line,) = points(sparkline(slope, slope))
    assert (line[0], line[-1]) == ((1.0, 1.0), (119.0, 23.0))


def test_values_that_are_not_finite_leave_gaps():
    y = np.array([0.0, 1.0, np.nan, 3.0, 4.0, np.inf])
    assert [len(line) for line in points(sparkline(np.arange(6.0), y))] == [2, 2]
    assert sparkline(np.arange(2.0), np.full(2, np.nan)) == ""


@pytest.mark.parametrize("noise", [0.0, 1e-9])
def test_values_that_differ_by_rounding_are_a_straight_line(noise):
    (line,) = points(sparkline(np.arange(5.0), 3.0 + noise * np.array([0, 1, -1, 1, 0])))
    assert {down for _, down in line} == {12.0}
