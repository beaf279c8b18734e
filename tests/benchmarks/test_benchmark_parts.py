"""Parts of the benchmarks: models as data, exchange formats, cache, stopwatch, verdicts; none of it timed."""

from __future__ import annotations

import ctypes
import runpy
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from benchmarks import build
from benchmarks.exchange import mjcf, model_text
from benchmarks.fresh import import_seconds
from benchmarks.models import MODELS, TIMED, pool
from benchmarks.report import target_table
from benchmarks.targets import Target, all_targets, growth_exponent
from benchmarks.text import table

ROOT = Path(__file__).resolve().parents[2]


def test_help_names_the_options(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    script = str(ROOT / "benchmarks" / "run.py")
    monkeypatch.setattr(sys, "argv", [script, "--help"])
    monkeypatch.syspath_prepend(ROOT / "benchmarks")  # as Python does for a script
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(script, run_name="__main__")
    said = capsys.readouterr().out
    assert not ended.value.code
    for option in ("--quick", "--only", "--peers-python", "spacecraft2", "slidercrank", "exudyn", "batches"):
        assert option in said


@pytest.mark.parametrize(
    ("key", "links", "nq", "nv"),
    [
        ("arm", 6, 6, 6),
        ("spacecraft2", 5, 11, 10),
        ("chain8", 8, 8, 8),
        ("chain64", 64, 64, 64),
        ("tree31", 32, 38, 37),
    ],
)
def test_models_have_their_size(key: str, links: int, nq: int, nv: int) -> None:
    model = MODELS[key]
    assert (len(model.links), model.nq, model.nv) == (links, nq, nv)
    assert model.place(len(model.links) - 1) == (nq - 1, nv - 1)


def test_parents_come_first_and_the_tree_is_full() -> None:
    assert set(TIMED) <= set(MODELS)
    for model in MODELS.values():
        assert all(link.parent < i for i, link in enumerate(model.links))
    children = np.bincount([link.parent for link in MODELS["tree31"].links[1:]], minlength=32)
    assert sorted(children) == [0] * 16 + [1] + [2] * 15


def test_pool_is_reproducible_and_its_quaternions_are_unit() -> None:
    states = pool(MODELS["spacecraft2"])
    assert len(states) == 16
    assert np.array_equal(states.q, pool(MODELS["spacecraft2"]).q)
    assert np.linalg.norm(states.q[:, 3:7], axis=1) == pytest.approx(np.ones(16), rel=1e-15)


@pytest.mark.parametrize("key", ["arm", "spacecraft2", "tree31"])
def test_exchange_formats_hold_every_link(key: str) -> None:
    model = MODELS[key]
    lines = model_text(model).splitlines()
    assert len(lines) == 1 + len(model.links)
    assert {len(line.split()) for line in lines[1:]} == {17}
    masses = [float(node.attrib["mass"]) for node in ElementTree.fromstring(mjcf(model)).iter("inertial")]
    assert sorted(masses) == sorted(link.mass for link in model.links)


def test_cache_makes_once_and_keeps_nothing_unfinished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "FOLDER", tmp_path / "build")
    made: list[str] = []

    def make(path: Path) -> dict:
        made.append(path.name)
        path.write_text("content")
        return {"cpu_seconds": 1.5}

    def fail(path: Path) -> dict:
        path.write_text("half")
        raise build.NotAvailable("no compiler")

    first, again = (build.cached("a.txt", ["same"], make) for _ in range(2))
    assert first == again and made == ["a.txt"] and again.path.read_text() == "content"
    assert build.cached("a.txt", ["other"], make).path != first.path
    before = sorted((tmp_path / "build").iterdir())
    with pytest.raises(build.NotAvailable):
        build.cached("b.txt", ["same"], fail)
    assert sorted((tmp_path / "build").iterdir()) == before


def test_failing_commands_say_why() -> None:
    with pytest.raises(build.NotAvailable, match="ZeroDivisionError"):
        build.run([sys.executable, "-c", "1/0"])
    with pytest.raises(build.NotAvailable, match="does not run"):
        build.run(["no-such-program-anywhere"])


def test_stopwatch_walks_the_pool_of_a_generated_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for `derivatives` sees each state with its own constants; accelerations follow the rates."""
    from benchmarks import candidate

    monkeypatch.setattr(build, "FOLDER", tmp_path / "build")
    candidate.timer.cache_clear()
    try:
        candidate.timer()
    except build.NotAvailable as reason:
        pytest.skip(str(reason))
    doubles = ctypes.POINTER(ctypes.c_double)

    @ctypes.CFUNCTYPE(None, ctypes.c_double, doubles, doubles, doubles, doubles)
    def derivatives(t, state, constants, memory, rate):
        rate[0], rate[1] = state[1], constants[0] - state[0]

    state, constants = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[10.0, 0.0], [20.0, 0.0]])
    memory, rate = np.zeros(1), np.zeros(2)
    arrays = (candidate.pointer(x) for x in (state, constants, memory, rate))
    record = candidate.DerivativesRecord(candidate.address(derivatives), 2, 1, 1, 2, *arrays)
    made = candidate.generated("derivatives", "stand-in", record, (derivatives, state, constants),
        operations=candidate.Operations(1, 0, 0, 0), derive_seconds=0.0, compile_seconds=0.0)  # fmt: skip
    assert [made.at(k, 1)[0] for k in range(2)] == [9.0, 17.0]
    assert candidate.LOOP(made.loop)(made.self, 5) == 9 + 17 + 9 + 17 + 9
    assert candidate.error_of(made, np.array([[9.0], [16.0]])) == pytest.approx(1 / 16)
    candidate.timer.cache_clear()


def test_growth_exponent_of_known_laws() -> None:
    linear = {f"chain{n}": {"links": n, "together_seconds": 0.01 * n} for n in (16, 64)}
    square = {f"chain{n}": {"links": n, "together_seconds": 0.01 * n**2} for n in (16, 64)}
    assert growth_exponent(linear, "chain16", "chain64") == pytest.approx(1.0)
    assert growth_exponent(square, "chain16", "chain64") == pytest.approx(2.0)
    assert growth_exponent({}, "chain16", "chain64") is None


def test_targets_compare_with_the_better_rival_and_admit_what_is_missing() -> None:
    def timed(name: str, ns: float) -> dict:
        return {"name": name, "nanoseconds": ns}

    ours = timed("Armillary kane", 90.0) | {"operations": {"additions": 151, "multiplications": 240}}
    arm = [ours, timed("CasADi C ABA", 300.0), timed("CasADi C CRBA", 240.0)]
    results = {
        "models": [{"key": "arm", "title": "Stanford arm", "candidates": arm, "simulation": {"ratio": 1.05}}],
        "search": {"arm": (149, 227)},
        "branches": {"tree31": {"model": "tree", "lanes_ns": 80.0, "single_ns": 100.0}},
        "gpu": {
            "models": [{"model": "Stanford arm", "precision": "double", "evaluations_per_second": 3e10}],
            "user": {"double": {"seconds": 0.027}},
        },
        "linkages": [],
        "panels": [
            {"title": "on its orbit", "microseconds": 1.5, "basilisk_microseconds": 60.0},
            {"title": "without gravity", "microseconds": 1.5, "missing": "bsk not installed"},
        ],
        "flexible": [
            {"title": "two plates", "together_seconds": 2.0, "nanoseconds": 9e4, "cholesky_nanoseconds": 3e4},
            {
                "title": "two bars",
                "together_seconds": 11.0,
                "nanoseconds": 9e4,
                "cholesky_nanoseconds": 3e4,
                "wrong": "off by 1e-03",
            },
        ],
        "formalisms": [
            {
                "title": "top",
                "auto": "kane",
                "median_nanoseconds": {"kane": 10.0, "recursive": 10.5, "momentum": 5.0},
            },
            {"title": "arm", "auto": "kane", "median_nanoseconds": {"kane": 12.0, "recursive": 10.0}},
            {"title": "failed", "missing": "no such file"},
        ],
        "derivation": [{"model": "anymal", "together_seconds": 0.4, "first_seconds": 0.6}],
        "import_seconds": import_seconds(repeats=1),
        "sympy_chain8": {"missing": "left out"},
        "published": [{"title": "Stanford arm", "published": [240, 353], "ours": [179, 271]}],
    }
    verdicts = {target.text: (target.value, target.verdict) for target in all_targets(results)}
    assert verdicts["Stanford arm: time / better CasADi C"] == (0.375, "met")
    assert verdicts["Stanford arm: time / Pinocchio C++"] == (None, "not measured")
    assert verdicts["Stanford arm example: additions, our own goal of"] == (179, "met")
    assert verdicts["Stanford arm example: multiplications, our own goal of"] == (271, "MISSED")
    panels = "hub with 4 + 3 panels {}: Basilisk's time per step / ours"
    assert verdicts[panels.format("on its orbit")] == (40.0, "met")
    assert verdicts[panels.format("without gravity")] == (None, "not measured")
    assert verdicts["two plates each: derive and compile, CPU s"] == (2.0, "met")
    assert verdicts["two plates each: time / LAPACK's Cholesky solution"] == (3.0, "met")
    assert verdicts["two bars each: derive and compile, CPU s"] == (11.0, "MISSED")
    assert verdicts["two bars each: time / LAPACK's Cholesky solution"] == (None, "not measured")
    assert verdicts["import armillary, beyond NumPy, CPU s"][1] in ("met", "MISSED")
    auto = "auto's choice: time / quickest of what it tries, worst example (arm)"
    assert verdicts[auto] == (1.2, "MISSED")
    assert verdicts["arm, 10 s of RK4 at 1 ms: simulation / chained evaluations"] == (1.05, "met")
    assert verdicts["Stanford arm: additions"] == (151, "met")
    assert verdicts["Stanford arm: multiplications"] == (240, "MISSED")
    assert verdicts['arm, effort="high": multiplications'] == (227, "met")
    assert verdicts["tree: time with lanes / without"] == (0.8, "MISSED")
    assert verdicts["ANYmal: derived, compiled and run once, CPU s"] == (0.6, "MISSED")
    assert verdicts["GPU: evaluations of the arm per second, double"] == (3e10, "MISSED")
    assert verdicts["GPU: evaluations of the arm per second, single"] == (None, "not measured")
    assert verdicts["GPU: 1,000,000 cars with transfers, s"] == (0.027, "met")
    assert verdicts["arm: ns per stored sample"] == (None, "not measured")
    assert Target("faster", 100.0, 99.0, at_least=True).verdict == "MISSED"


def test_tables_are_aligned() -> None:
    assert table(["a", "bb"], [["x", "1"]]).splitlines() == ["a  bb", "-  --", "x   1"]
    assert "met" in target_table([Target("t", 1.0, 0.5)])
