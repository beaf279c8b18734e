"""Figures of linear analyses: curves and marks are the numbers of the results, and all words are in view."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@cache
def _model() -> Any:
    """ẍ + c ẋ + (k − 1) x = F and ÿ + 4 y + 0.1 ẏ = 2 F: stable for c > 0 and k > 1."""
    s = arm.System("two $ masses")
    s.parameter("k", 10.0, units="N/m")
    s.parameter("c", 0.5, units="N*s/m")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1, inertia=0)
    b = s.body("b", joint=arm.Prismatic("y"), mass=1, inertia=0)
    F, G = s.input("F", units="N"), s.input("G", units="N")
    s.force("left", "F - (k - 1)*a.q1 - c*a.u1", s.ground.x, at=a.com)
    s.force("right", 2 * F + G - 4 * b.q1 - 0.1 * b.u1, s.ground.y, at=b.com)
    s.output("x", a.q1, units="mm")
    s.output("y", b.q1, units="mm")
    return s.derive().compile()


@cache
def _linear() -> Any:
    return _model().linearize(inputs=["F", "G"], outputs=["x", "y"])


def _lines(axes: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)) for line in axes.lines]


def _has(axes: Any, x: Any, y: Any) -> bool:
    """Whether a curve, or the marks, of these numbers are among the lines."""
    x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
    return any(
        a.shape == x.shape and np.allclose(a, x, equal_nan=True) and np.allclose(b, y, equal_nan=True)
        for a, b in _lines(axes)
    )


def _in_view(figure: Any) -> None:
    """Titles, labels and legends lie inside of the figure, to two pixels."""
    figure.canvas.draw()
    whole = figure.bbox
    for axes in figure.axes:
        box = axes.get_tightbbox()
        assert box.x0 >= whole.x0 - 2 and box.x1 <= whole.x1 + 2, axes.get_title("left")
        assert box.y0 >= whole.y0 - 2 and box.y1 <= whole.y1 + 2, axes.get_title("left")


@pytest.mark.parametrize("options", [{}, {"hz": True, "decibels": True}], ids=["rad", "Hz and dB"])
def test_bode_plots_have_a_column_for_each_input(options: dict[str, bool]) -> None:
    omega = np.array([0.5, 1.0, 3.0, 5.0])
    figure = _linear().bode(omega, **options)
    response = _linear().frequency_response(omega)
    across = omega / (2 * np.pi) if options else omega
    assert len(figure.axes) == 4
    for j in range(2):
        top, bottom = figure.axes[j], figure.axes[2 + j]
        for i in range(2):
            size = np.abs(response.values[:, i, j])
            if np.all(size > 0):
                assert _has(top, across, 20 * np.log10(size) if options else size)
                wrong = _lines(bottom)[i][1] - np.angle(response.values[:, i, j], deg=True)
                assert np.remainder(wrong + 180, 360) == pytest.approx(np.full(4, 180), abs=1e-6)
        assert top.get_title("left") == "FG"[j] and top.get_xscale() == "log"
        assert top.get_yscale() == ("linear" if options else "log")
        assert [t.get_text() for t in top.get_legend().get_texts()] == ["x (mm per N)", "y (mm per N)"]
        assert bottom.get_xlabel() == ("frequency (Hz)" if options else "frequency (rad/s)")
    assert figure.axes[0].get_ylabel() == ("magnitude (dB)" if options else "magnitude")
    assert figure.axes[2].get_ylabel() == "phase (deg)"
    _in_view(figure)


def test_nyquist_and_pole_zero_plots() -> None:
    omega = np.array([0.5, 1.0, 3.0, 5.0])
    g = _linear().frequency_response(omega).values
    (axes,) = _linear().nyquist(omega).axes
    for i, j in np.ndindex(2, 2):
        assert _has(axes, g[:, i, j].real, g[:, i, j].imag) and _has(axes, g[:, i, j].real, -g[:, i, j].imag)
    assert _has(axes, [-1], [0]) and axes.get_aspect() == 1.0
    figure = _linear().pole_zero()
    (axes,) = figure.axes
    poles = _linear().poles()
    assert _has(axes, poles.real, poles.imag)
    assert axes.get_xlabel() == "real part (1/s)" and axes.get_ylabel() == "imaginary part (1/s)"
    assert _linear().discretize(0.1).pole_zero().axes[0].get_xlabel() == "real part (per step)"
    many = _model().linearize(parameters={"k": np.array([2.0, 4.0, 6.0])}, inputs=["F"], outputs=["x"])
    shades = [line.get_alpha() for line in many.pole_zero().axes[0].lines if line.get_marker() == "x"]
    assert shades == pytest.approx([0.5, 0.75, 1.0])
    alone = _model().linearize(inputs=[], outputs=["x"])  # zeros need an input and one operating point
    for lin, shown in ((_linear(), ["poles", "zeros"]), (many, ["poles"]), (alone, ["poles"])):
        legend = lin.pole_zero().axes[0].get_legend()
        assert [words.get_text() for words in legend.get_texts()] == shown
    _in_view(figure)


def test_modes_are_drawn_with_their_shares() -> None:
    modes = _linear().modes()
    figure = modes.plot()
    plane, bars = figure.axes
    assert _has(plane, modes.eigenvalues.real, modes.eigenvalues.imag)
    assert _has(plane, modes.eigenvalues.real, -modes.eigenvalues.imag)
    widths = np.array([p.get_width() for p in bars.patches]).reshape(2, 2)  # coordinates, modes
    assert widths == pytest.approx(100 * modes.participation.T, abs=1e-9)
    assert np.sum(widths, axis=0) == pytest.approx([100, 100])
    ends = np.array([p.get_x() for p in bars.patches]).reshape(2, 2)
    assert ends[1] == pytest.approx(widths[0])  # one after the other
    assert [t.get_text() for t in bars.get_yticklabels()] == [
        f"{i}: {m.damped_frequency:.3g} Hz" for i, m in enumerate(modes)
    ]
    assert bars.yaxis_inverted() and bars.get_xlabel() == "participation (%)"
    assert plane.get_title("left") == r"two \$ masses"
    assert tuple(figure.get_size_inches()) == pytest.approx((9.5, 3.2))  # more for more than 6 modes
    _in_view(figure)
    (polar,) = modes.plot(0).axes
    shape = modes[0].shape
    (name,) = [n for n in ("a.q1", "b.q1") if abs(shape[n]) > 0.5]
    assert _has(polar, [0, np.angle(shape[name])], [0, abs(shape[name])])
    assert [t.get_text() for t in polar.get_legend().get_texts()] == [f"{name} (m)"]


def test_root_loci_have_branches_and_crossings() -> None:
    """At c = 0 both eigenvalues ±3i of the first mass are on the imaginary axis."""
    values = np.array([-0.5, -0.25, 0.25, 0.5])
    locus = arm.root_locus(_model(), "c", values)
    figure = locus.plot()
    left, right = figure.axes
    for branch in (locus[i] for i in range(len(locus))):
        for sign in (1, -1):
            assert _has(left, branch.real, sign * branch.imag)
            assert _has(left, branch.real[:1], sign * branch.imag[:1])
        assert _has(right, values, branch.real) and _has(right, values, branch.imag)
    (crossing,) = locus.crossings
    assert crossing.eigenvalue.imag == pytest.approx(3.0) and abs(crossing.value) < 1e-9
    assert _has(left, [0.0], [3.0]) and _has(left, [0.0], [-3.0]) and _has(right, [crossing.value], [0.0])
    assert right.get_xlabel() == "c (N*s/m)" and left.get_ylabel() == "Im λ (rad/s)"
    _in_view(figure)


def test_campbell_diagrams_have_orders_and_critical_speeds() -> None:
    """A disc on a shaft whirls with 10 rad/s whatever its spin; orders 1 and 2 meet it at 10 and 5 rad/s."""
    s = arm.System("rotor")
    across = s.body("across", joint=arm.Joint(translate="xy"), mass=0, inertia=0)
    s.body("rotor", across, arm.Revolute("z"), mass=2.0, inertia=(0.01, 0.01, 0.02))
    s.force("shaft_x", "-200*across.q1", s.ground.x, at=across.origin)
    s.force("shaft_y", "-200*across.q2", s.ground.y, at=across.origin)
    values = np.array([2.0, 6.0, 11.0, 14.0])
    diagram = arm.campbell(s.derive().compile(), "rotor.u1", values, orders=(1, 2))
    figure = diagram.plot()
    (axes,) = figure.axes
    whirl = 10 / (2 * np.pi)
    assert _has(axes, values, np.full(4, whirl))
    for order in (1, 2):
        assert _has(axes, values, order * values / (2 * np.pi)) and _has(axes, [10.0 / order], [whirl])
    assert axes.get_ylim() == pytest.approx((0.0, 1.05 * whirl))
    marked = {t.get_text(): t.xy for t in axes.texts}
    assert marked == {
        " 1×": (6.0, pytest.approx(6 / (2 * np.pi))),
        " 2×": (2.0, pytest.approx(4 / (2 * np.pi))),
    }
    assert axes.get_xlabel() == "rotor.u1 (rad/s)" and axes.get_ylabel() == "frequency (Hz)"
    _in_view(figure)


def test_branches_are_dashed_where_they_are_unstable() -> None:
    """A bob held by T = m g l sin q is stable below a quarter of a turn."""
    s = arm.System("bob")
    s.gravity(10.0, "-ground.y")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=0)
    s.moment("motor", s.input("T", units="N*m") - 0.5 * bob.u1, s.ground.z, on=bob)
    model = s.derive().compile()
    branch = model.trace(model.equilibrium(fixed={"bob.q1": 0.0}, inputs=["T"]), "bob.q1", 0.0, 2.5)
    figure = branch.plot("T")
    (axes,) = figure.axes
    q = branch["bob.q1"]
    drawn = {line.get_label(): line.get_ydata() for line in axes.lines}
    for label, inside in (("stable", q < np.pi / 2 - 0.1), ("unstable", q > np.pi / 2 + 0.1)):
        assert np.array_equal(drawn[label][inside], branch["T"][inside])
        other = "unstable" if label == "stable" else "stable"
        assert np.all(np.isnan(drawn[other][inside]))
    assert axes.get_ylabel() == "T (N*m)" and axes.get_xlabel() == "bob.q1 (rad)"
    assert tuple(figure.get_size_inches()) == pytest.approx((8.0, 3.8))
    assert len(branch.plot().axes) == 2
    _in_view(figure)
