"""Figures and sketches: what their lines, bars, areas and points are drawn at, and the words beside them."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.results.plots import distributions
from tests.kept_numbers.entries import Named, digest, entry, numbers_in
from tests.kept_prints import wagon, yard


def drawn(figure: Any) -> list[list[float]]:
    """Of each panel: its lines, its bars and areas, its points, its limits, and the letters of its texts."""
    found = []
    for axes in figure.axes:
        lines = [np.nan_to_num(np.asarray(line.get_xydata(), float)) for line in axes.lines]
        areas = [path.vertices for c in axes.collections for path in c.get_paths()]
        points = [np.nan_to_num(np.ma.filled(c.get_offsets(), 0.0).astype(float)) for c in axes.collections]
        boxes = [p.get_bbox().get_points() for p in axes.patches if hasattr(p, "get_bbox")]
        texts = [axes.get_title(), axes.get_xlabel(), axes.get_ylabel(), *(t.get_text() for t in axes.texts)]
        legend = axes.get_legend()
        texts += [t.get_text() for t in legend.get_texts()] if legend else []
        letters = [float(ord(letter)) for text in texts for letter in text]
        found.append(
            [*digest([lines, areas, points, boxes]), *axes.get_xlim(), *axes.get_ylim(), *digest(letters)]
        )
    return found


@cache
def things() -> tuple[Any, Any, Any]:
    """A model, a run and a batch of it."""
    model = wagon().derive().compile()
    run = model.simulate(0.8, sample=0.1, initial={"rod.q1": 0.5})
    batch = model.simulate_batch(
        0.4, sample=0.1, parameters={"k": [30.0, 40.0, 50.0, 70.0], "c": [1.0, 2.0, 1.5, 1.2]},
        metrics=["final(tip)", "max(rod.q1)"], progress=False,
    )  # fmt: skip
    return model, run, batch


@entry
def figures() -> Named:
    pytest.importorskip("matplotlib")
    model, run, batch = things()
    linear = model.linearize(inputs=["pull"], outputs=["tip", "rod.q1"])
    omega = np.geomspace(0.5, 20.0, 12)
    yield "run", drawn(run.plot("wagon.*", "tip"))
    yield "run over an output", drawn(run.plot("tip", x="rod.q1"))
    yield "bode", drawn(linear.frequency_response(omega).bode())
    yield "nyquist", drawn(linear.frequency_response(omega).nyquist())
    yield "step", drawn(linear.step_response(2.0).plot())
    yield "modes", drawn(linear.modes().plot())
    yield "locus", drawn(arm.root_locus(model, "k", np.linspace(10.0, 90.0, 5)).plot())
    yield "efforts", drawn(model.inverse(run).plot())
    yield "histogram", drawn(batch.histogram("final(tip)"))
    yield "scatter", drawn(batch.scatter())
    rows = np.array([[1.0, 2.0, 1.5, 4.0, 3.0], [0.5, 1.0, 3.0, 2.0, 6.0], [2.0, 2.5, 1.0, 0.0, 1.0]])
    yield "fan", drawn(distributions.fan(np.linspace(0, 1, 5), rows, name="height"))


@entry
def sketches() -> Named:
    """One sum of all, since single coordinates are rounded to a tenth of a pixel."""
    texts = [
        re.sub(r'"#\w+"', "", str(system.draw(view=view)))
        for system, views in ((wagon(), ("x", "z")), (yard(), ("y", "oblique")))
        for view in views
    ]
    count, _, _, weighted = digest([numbers_in(text) for text in texts])
    yield "all", [count, weighted]
