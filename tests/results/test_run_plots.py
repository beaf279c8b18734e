"""Plots show what was asked for, where no display is."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from armillary.errors import ArmillaryError, MissingExtraError, UnitsError
from armillary.results import Run

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
    (axes,) = example().plot("tip height", against="A.q1").axes
    assert axes.get_xlabel() == "A.q1 (rad)"
    assert axes.lines[0].get_xdata().tolist() == np.sin(TIME).tolist()


@pytest.mark.parametrize(("suffix", "magic"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_figures_are_saved_by_suffix(tmp_path, suffix, magic):
    path = tmp_path / f"plot{suffix}"
    example().plot(path=path)
    assert path.read_bytes().startswith(magic)
    assert os.listdir(tmp_path) == [path.name]


def test_saving_needs_neither_display_nor_pyplot(tmp_path):
    program = (
        "import sys; from armillary.results import Run\n"
        "Run('x', [0, 1], [[0], [1]], ('a',)).plot(path='plot.png')\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    # A backend that cannot start: if the plot looked for a window system, it would fail.
    environment = os.environ | {"MPLBACKEND": "tkagg", "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("DISPLAY", None)
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "plot.png").stat().st_size > 1000


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
        raise OSError("no space left on device")

    path = tmp_path / "plot.png"
    path.write_text("older")
    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OSError, match="no space"):
        example().plot(path=path)
    assert path.read_text() == "older" and os.listdir(tmp_path) == ["plot.png"]


def test_a_missing_matplotlib_is_one_sentence(monkeypatch):
    for module in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"^Plots need matplotlib: pip install 'armillary\[plot\]'$"):
        example().plot("A.q1")
