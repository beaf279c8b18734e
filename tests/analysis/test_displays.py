"""What a notebook shows is what the terminal prints: the same words and numbers, in tables of HTML."""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Any

import pytest

import armillary as arm


def _words(text: str) -> list[str]:
    return sorted(re.findall(r"[^\s:;]+", text.replace("note:", "")))


def _words_of_page(page: str) -> list[str]:
    assert page.count("<table") == page.count("</table>") and page.count("<tr>") == page.count("</tr>")
    return _words(html.unescape(re.sub(r"<[^>]+>", " ", page)))


@cache
def _chain(count: int) -> Any:
    s = arm.System(f"chain of {count}")
    s.gravity(9.81, "-ground.y")
    parent = s.ground
    for k in range(count):
        place = (0, -1, 0) if k else (0, 0, 0)
        parent = s.body(f"b{k}", parent, arm.Revolute("z"), at=place, com=(0, -1, 0), mass=1, inertia=0)
    s.moment("motor", s.input("T", units="N*m"), s.ground.z, on=s.bodies["b0"])
    s.output("x", "b0.q1", units="deg")
    return s.derive().compile()


@cache
def _shown(what: str) -> Any:
    small, large = _chain(2), _chain(7)
    at = {"b0.q1": 0.1}
    linear = small.linearize(at, inputs=["T"], outputs=["x"])
    match what:
        case "linear model":
            return linear
        case "linear model of many points":
            return small.linearize([at, {"b0.q1": 0.2}], inputs=["T"], outputs=["x"])
        case "large linear model":
            return large.linearize(at, inputs=["T"], outputs=["x"])
        case "controllability":
            return linear.controllability()
        case "observability":
            return linear.observability()
        case "branch":
            return small.trace(small.equilibrium(inputs=["T"], fixed={"b0.q1": 0.0}), "b0.q1", 0.0, 0.5)
        case _:
            return small.equilibrium()


KINDS = [
    *("linear model", "linear model of many points", "large linear model", "controllability"),
    *("observability", "branch", "operating point"),
]


@pytest.mark.parametrize("what", KINDS)
def test_pages_show_the_words_and_numbers_of_the_text(what: str) -> None:
    shown = _shown(what)
    assert _words_of_page(shown._repr_html_()) == _words(str(shown))


def test_matrices_are_shown_for_one_point_and_few_states() -> None:
    """Tables for a small model, one line for many points and for a large model."""
    assert "<table" in _shown("linear model")._repr_html_()
    assert len(str(_shown("linear model")).splitlines()) > 8
    for what in ("linear model of many points", "large linear model"):
        assert "<table" not in _shown(what)._repr_html_()
        assert str(_shown(what)) == repr(_shown(what))
    assert repr(_shown("linear model of many points")).endswith("1 input, 1 output at 2 operating points)")
    assert "14 states" in repr(_shown("large linear model"))
