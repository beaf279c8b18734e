"""Plots show what was requested, where no display is."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError, MissingExtraError, UnitsError
from armillary.results import Run
from armillary.results.plots.run_plot import chart_of, page_of, run_labels

TIME = np.linspace(0.0, 2.0, 21)
UNITS = {"A.q1": "rad", "B.q1": "rad", "tip height": "m", "_cost in $": "", "switch": ""}


def example():
    columns = [np.sin(TIME), np.cos(TIME), TIME**2, TIME, np.sign(TIME - 1)]
    return Run("arm of $5 and $6", TIME, np.column_stack(columns), tuple(UNITS), UNITS)


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_outputs_of_equal_units_share_a_panel():
    figure = example().plot("A.q1", "tip height", "B.q1")
    first, second = figure.axes
    assert [line.get_label() for line in first.lines] == ["A.q1", "B.q1"]
    assert [text.get_text() for text in first.get_legend().get_texts()] == ["A.q1", "B.q1"]
    assert first.get_ylabel() == "rad" and second.get_ylabel() == "tip height (m)"
    assert second.get_xlabel() == "time (s)" and second.get_legend() is None
    assert first.get_shared_x_axes().joined(first, second)
    assert second.lines[0].get_ydata().tolist() == (TIME**2).tolist()


def test_without_names_everything_is_plotted():
    figure = example().plot()
    assert [axes.get_ylabel() for axes in figure.axes] == ["rad", "tip height (m)", "dimensionless"]
    legend = figure.axes[2].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == [r" _cost in \$", "switch"]


def test_one_output_against_another():
    (axes,) = example().plot("tip height", x="A.q1").axes
    assert axes.get_xlabel() == "A.q1 (rad)"
    assert axes.lines[0].get_xdata().tolist() == np.sin(TIME).tolist()


@pytest.mark.parametrize(("suffix", "magic"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_figures_are_saved_by_suffix(tmp_path, suffix, magic):
    path = tmp_path / f"plot{suffix}"
    example().plot(path=path)
    assert path.read_bytes().startswith(magic)
    assert os.listdir(tmp_path) == [path.name]


# A notebook's backend makes matplotlib interactive as pyplot is imported, which may be by the first plot.
SAVED_THEN_SHOWN = """
import sys, numpy
from armillary.results import Run
from armillary.results.plots.distributions import fan
Run("x", [0, 1], [[0], [1]], ("a",)).plot(path="plot.png")
fan([0, 1], numpy.eye(2), name="x", path="fan.png")
assert "matplotlib.pyplot" not in sys.modules

import matplotlib
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "matplotlib.pyplot":
            matplotlib.rcParams["interactive"] = True
sys.meta_path.insert(0, Finder())
matplotlib.use("agg")
from armillary.results.plots.run_plot import use_style
assert not matplotlib.rcParams["interactive"]
with use_style({"font.size": 9.0}, interactive=True):
    assert matplotlib.rcParams["font.size"] == 9.0
assert matplotlib.rcParams["interactive"]
"""


def test_saving_needs_neither_display_nor_pyplot_and_what_importing_it_sets_is_not_taken_back(tmp_path):
    # A backend that cannot start: if the plot looked for a window system, it would fail.
    environment = os.environ | {"MPLBACKEND": "tkagg", "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("DISPLAY", None)
    subprocess.run([sys.executable, "-c", SAVED_THEN_SHOWN], cwd=tmp_path, env=environment, check=True)
    assert all((tmp_path / name).stat().st_size > 1000 for name in ("plot.png", "fan.png"))


def test_a_window_opens_only_on_request(monkeypatch):
    import matplotlib.pyplot as plt

    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(True))
    example().plot("A.q1")
    assert not shown
    example().plot("A.q1", show=True)
    assert shown == [True]


def test_given_axes_are_used_for_one_unit():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    assert example().plot("A.q1", "B.q1", ax=axes) is figure
    assert len(axes.lines) == 2
    with pytest.raises(UnitsError, match=r"several units: 'A\.q1' in rad; 'tip height' in m"):
        example().plot("A.q1", "tip height", ax=axes)


def test_values_equal_but_for_rounding_are_drawn_as_constant():
    noise = 1e-13 * np.sin(50 * TIME)
    values = np.column_stack([4.0 + noise, -2e9 * (1 + noise), 4.0 + 1e-4 * TIME, noise])
    run = Run("x", TIME, values, ("energy", "moment", "drift", "error"), {"energy": "J", "moment": "N*m"})
    energy, moment, rest = run.plot().axes
    assert energy.get_ylim() == pytest.approx((3.8, 4.2))
    assert moment.get_ylim() == pytest.approx((-2.1e9, -1.9e9))
    (drift,), (error,) = (run.plot(name).axes for name in ("drift", "error"))
    assert drift.get_ylim() == pytest.approx((4.0 - 1e-5, 4.0002 + 1e-5))  # what can be seen is shown
    assert np.ptp(error.get_ylim()) < 1e-12
    assert rest.get_ylim()[0] < 0 and rest.get_ylim()[1] > 4


def test_rounding_beside_values_in_the_same_units_is_drawn_as_zero(tmp_path):
    noise = 1e-13 * np.sin(50 * TIME)
    values = np.column_stack([1 + 99 * TIME, noise, noise, 1e-5 * noise])
    units = {"ahead": "m", "aside": "m", "mass": "kg", "turn": "rad"}
    run = Run("x", TIME, values, tuple(units), units)
    aside, mass, turn = (run.plot(name).axes[0].get_ylim() for name in ("aside", "mass", "turn"))
    assert aside == turn == (-1, 1) and 0 < mass[1] < 1e-12  # the only mass may be as small as it is
    run.plot("aside", path=tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert float(re.findall(r'"noise": ?([-+.e\d]+)', page)[0]) == 1e-12 * (1 + 99 * TIME[-1])


def test_limits_of_given_axes_are_kept_and_later_lines_seen():
    import matplotlib.pyplot as plt

    run = Run("x", TIME, 4.0 + 1e-13 * np.sin(50 * TIME)[:, None], ("energy",))
    _, (free, fixed) = plt.subplots(2)
    fixed.set_ylim(0, 10)
    for axes in (free, fixed):
        run.plot("energy", ax=axes)
        axes.plot(TIME, 7 + TIME)
    assert free.get_ylim()[1] > 9 and fixed.get_ylim() == (0, 10)


@pytest.mark.parametrize("units", ["", "1", "-"])
def test_no_units_are_shown_where_there_are_none(units):
    (axes,) = Run("x", TIME, TIME[:, None], ("ratio",), {"ratio": units}).plot().axes
    assert axes.get_ylabel() == "ratio"


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(ArmillaryError, match=r"save '.*x\.png': there is no folder '.*nodir'; make it"):
        example().plot(path=tmp_path / "nodir" / "x.png")
    assert os.listdir(tmp_path) == []


def test_bad_requests_leave_no_file(tmp_path):
    with pytest.raises(ArmillaryError, match=r"cannot be saved as 'plot.bmp': use \.png, \.svg, \.pdf"):
        example().plot(path=tmp_path / "plot.bmp")
    with pytest.raises(ArmillaryError, match=r"no output 'A\.q2'; did you mean 'A\.q1'"):
        example().plot("A.q2", path=tmp_path / "plot.png")
    with pytest.raises(ArmillaryError, match="no outputs to plot"):
        Run("x", [0.0], np.empty((1, 0)), ()).plot(path=tmp_path / "plot.png")
    assert os.listdir(tmp_path) == []


def test_a_failed_save_leaves_the_older_figure(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    def fail(self, path, **options):
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "plot.png"
    path.write_text("older")
    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(ArmillaryError, match=r"plot\.png': no space left on device; make room"):
        example().plot(path=path)
    assert path.read_text() == "older" and os.listdir(tmp_path) == ["plot.png"]


def test_a_missing_matplotlib_is_one_sentence(monkeypatch):
    for module in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"^Plots need matplotlib: pip install 'armillary\[plot\]'$"):
        example().plot("A.q1")


def steered(speed: float, units: str = "rad") -> Run:
    values = np.column_stack([speed * np.sin(TIME), TIME**2, TIME])
    names = ("A.q1", "tip height", "x")
    return Run(
        "arm", TIME, values, names, {"A.q1": units, "tip height": "m"}, parameters={"SPEED": speed, "k": 1}
    )


def test_several_runs_have_a_panel_per_output_and_a_colour_each():
    figure = arm.plot([steered(1.0), steered(2.0)], "A.q1", "tip *")
    first, second = figure.axes
    assert first.get_ylabel() == "A.q1 (rad)" and second.get_ylabel() == "tip height (m)"
    assert [text.get_text() for text in first.get_legend().get_texts()] == ["SPEED = 1", "SPEED = 2"]
    assert second.get_legend() is None  # one legend tells the runs
    colours = [[line.get_color() for line in axes.lines] for axes in (first, second)]
    assert colours[0] == colours[1] and len(set(colours[0])) == 2


def test_labels_tell_runs_apart():
    assert run_labels([steered(1.0), steered(1.0)]) == ["run 1", "run 2"]
    other = Run("other", TIME, TIME[:, None], ("A.q1",), {"A.q1": "rad"})
    assert run_labels([steered(1.0), other]) == ["arm", "other"]
    figure = arm.plot([steered(1.0), other], "A.q1", "tip height", labels=["before", "after"], title="T")
    assert [line.get_label() for line in figure.axes[0].lines] == ["before", "after"]
    assert [line.get_label() for line in figure.axes[1].lines] == ["before"]  # the other has no such output
    assert figure.axes[0].get_title(loc="left") == "T"
    with pytest.raises(ArmillaryError, match="2 runs need as many labels, not 1"):
        arm.plot([steered(1.0), other], "A.q1", labels=["before"])
    with pytest.raises(ArmillaryError, match="no run to plot"):
        arm.plot([])


def test_runs_in_other_units_are_drawn_in_those_of_the_first():
    (axes,) = arm.plot([steered(1.0), steered(180 / np.pi, units="deg")], "A.q1", x="x").axes
    assert np.allclose(axes.lines[0].get_ydata(), axes.lines[1].get_ydata(), rtol=1e-14)


def test_a_notebook_shows_a_plot_once(monkeypatch):
    """As the value of its cell; a figure of pyplot would be shown at the end of the cell once more."""
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    figure = example().plot("A.q1")
    assert plt.get_fignums() == []
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_panels_of_a_page_are_lower_the_more_there_are() -> None:
    t = np.linspace(0.0, 1.0, 5)
    units = {name: name for name in ("m", "s", "kg", "A", "K")}
    run = Run("s", t, np.outer(t, np.arange(1, 6)), tuple(units), units)
    pages = [page_of(chart_of([run], list(units)[:n])) for n in range(1, 6)]
    assert [int(re.search(r'"height":(\d+)', page)[1]) for page in pages] == [420, 280, 220, 190, 190]
