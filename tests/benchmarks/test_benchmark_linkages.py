"""Closed loops of the benchmarks: their arbiter against work and energy, Armillary against it, the report."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from benchmarks.build import NotAvailable
from benchmarks.closed import accelerations, accelerations_of, closed_pool, gaps, rates
from benchmarks.environment import Environment
from benchmarks.exchange import mjcf
from benchmarks.linkages import LINKAGES, Linkage
from benchmarks.ours import effort_parameters, system
from benchmarks.peers.exudyn_py import Worker
from benchmarks.reference import carried, equations, motions
from benchmarks.report import linkage_table, run_table
from benchmarks.targets import linkage_targets

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("key", "speeds", "freedoms"), [("fourbar", 3, 1), ("slidercrank", 3, 1), ("stewart", 24, 6)]
)
def test_pools_hold_closed_loops(key: str, speeds: int, freedoms: int) -> None:
    linkage = LINKAGES[key]
    assert (linkage.nv, linkage.freedoms) == (speeds, freedoms)
    states = closed_pool(linkage, size=3)
    for q, v in zip(states.q, states.v, strict=True):
        gap, J, _ = gaps(linkage, q, v)
        assert np.abs(gap).max() < 1e-13 and np.abs(J @ v).max() < 1e-13
        assert np.linalg.matrix_rank(J) == speeds - freedoms


def energy(linkage: Linkage, q: np.ndarray, v: np.ndarray) -> float:
    """Kinetic energy, and that of gravity and springs."""
    M, _ = equations(linkage, q, v, np.zeros(linkage.nv))
    total = 0.5 * v @ M @ v
    for i, (link, motion) in enumerate(zip(linkage.links, motions(linkage, q, v), strict=True)):
        total -= link.mass * np.array(linkage.gravity) @ carried(motion, link.com)[0]
        total += 0.5 * link.stiffness * q[linkage.place(i)[0]] ** 2
    return float(total)


@pytest.mark.parametrize("key", LINKAGES)
def test_loops_do_no_work(key: str) -> None:
    """dE/dt is the power of efforts and dampers, and the gaps' speeds stay zero.

    Rates are central differences along the motion; their error goes with step² and is up to 2e-8 here.
    """
    linkage, step = LINKAGES[key], 1e-5
    states = closed_pool(linkage, size=2)
    damping = np.zeros(linkage.nv)
    for i, link in enumerate(linkage.links):
        damping[linkage.place(i)[1]] = link.damping
    for q, v, tau in zip(states.q, states.v, states.tau, strict=True):
        a, slope = accelerations(linkage, q, v, tau), rates(linkage, q, v)
        curve = rates(linkage, q, a)  # the part of q̈ that a brings; the rest is of no first-order effect
        around = [(q + t * slope + 0.5 * t**2 * curve, v + t * a) for t in (-step, step)]
        before, after = (energy(linkage, *state) for state in around)
        power = tau @ v - damping @ v**2
        assert (after - before) / (2 * step) == pytest.approx(power, rel=1e-7, abs=1e-8)
        opening = [gaps(linkage, *state)[1] @ state[1] for state in around]
        assert np.abs(opening[1] - opening[0]).max() / (2 * step) < 1e-7 * np.abs(a).max()


@pytest.mark.parametrize("key", ["fourbar", "slidercrank"])
def test_armillary_agrees_with_the_arbiter(key: str) -> None:
    linkage = LINKAGES[key]
    states = closed_pool(linkage, size=4)
    described = system(linkage)
    model = described.derive().compile()
    everything = [str(speed) for speed in described.speeds]
    kept = [everything.index(name) for name in model.speed_names]
    expected = accelerations_of(linkage, states)
    for q, v, tau, a in zip(states.q, states.v, states.tau, expected, strict=True):
        found = model.derivatives(0.0, [*q, *v[kept]], parameters=effort_parameters(tau))
        assert found == pytest.approx([*v, *a[kept]], rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("key", LINKAGES)
def test_mujoco_connects_every_closure(key: str) -> None:
    tree = ElementTree.fromstring(mjcf(LINKAGES[key]))
    sites = {node.attrib["name"]: node.attrib["pos"] for node in tree.iter("site")}
    closures = LINKAGES[key].closures
    connects = list(tree.iter("connect"))
    assert len(connects) == len(closures)
    for connect, closure in zip(connects, closures, strict=True):
        for site, point in (("site1", closure.point), ("site2", closure.other_point)):
            assert [float(x) for x in sites[connect.attrib[site]].split()] == list(point)


def test_a_peer_that_does_not_start_is_reported() -> None:
    linkage = LINKAGES["fourbar"]
    alone = Environment("false", Path("."), {})  # a program that ends at once
    with pytest.raises(NotAvailable, match="Exudyn"):
        Worker(linkage, closed_pool(linkage, size=1), "tree", alone)


def record() -> dict:
    times = {
        "Armillary kane": 30.0,
        "MuJoCo mj_forward": 270.0,
        "Exudyn tree start": 900.0,
        "Exudyn tree Newton": 600.0,
    }
    return {
        "title": "four-bar linkage",
        "candidates": [{"name": name, "nanoseconds": ns} for name, ns in times.items()],
        "runs": [
            {"name": "Armillary", "steps": 500, "seconds": 1e-3, "start_seconds": 5e-4, "error": 2e-6},
            {"name": "MuJoCo", "steps": None, "seconds": None, "start_seconds": None, "error": 3e-4},
            {"name": "Exudyn tree", "steps": 1000, "seconds": 20e-3, "start_seconds": 0.0, "error": 4e-6},
        ],
    }


def test_linkages_are_held_to_ten_times_the_speed_of_the_quickest_rival() -> None:
    verdicts = {target.text: (target.value, target.verdict) for target in linkage_targets([record()])}
    assert verdicts == {
        "four-bar linkage: MuJoCo's time / ours": (9.0, "MISSED"),
        "four-bar linkage: Exudyn's time / ours": (20.0, "met"),
        "four-bar linkage, 1 s of motion: MuJoCo's time / ours": (None, "not measured"),
        "four-bar linkage, 1 s of motion: Exudyn's time / ours": (20.0, "met"),
    }


def test_reports_tell_ratios_and_what_was_not_reached() -> None:
    assert "270 (9.0)" in linkage_table([record()]) and "600 (20.0)" in linkage_table([record()])
    ours, mujoco, exudyn = run_table([record()]).splitlines()[-3:]
    assert ours.split()[-5:] == ["500", "1.00", "0.50", "1.0", "2e-06"]
    assert "not reached" in mujoco
    assert exudyn.split()[-5:] == ["1,000", "20.00", "0.00", "20.0", "4e-06"]


def test_ratios_of_linkages_in_the_readme_are_those_of_the_benchmark() -> None:
    results = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| ([^|]+?) \| ([\d.–]+) \| ([\d.–]+) \|$", readme, flags=re.MULTILINE)
    wanted = []
    for linkage in results["linkages"]:
        times = {c["name"]: c["nanoseconds"] for c in linkage["candidates"]}
        best = {
            peer: min((ns for name, ns in times.items() if name.startswith(peer)), default=None)
            for peer in ("Armillary", "MuJoCo", "Exudyn")
        }
        ratios = (f"{ns / best['Armillary']:.0f}" if ns else "–" for ns in (best["MuJoCo"], best["Exudyn"]))
        wanted.append((linkage["title"], *ratios))
    assert shown == wanted
