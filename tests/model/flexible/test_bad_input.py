"""Every wrong description of a flexible part is told what, where and what would be right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from armillary.errors import ModelError
from armillary.model.flexible.beam import Beam, Section
from armillary.model.flexible.modal_data import flexible_part
from armillary.model.flexible.plate import Plate
from tests.model.flexible.structures import beam_elements, chain

PLACES = {"root": (0, 0, 0), "middle": (1, 0, 0), "tip": (2, 0, 0)}
SHAPES = np.zeros((3, 3, 2))
SHAPES[1:, 1, 0], SHAPES[1:, 1, 1] = [0.3, 1.0], [1.0, -0.3]
NODES: dict[str, Any] = {"nodes": PLACES, "masses": 1.0, "shapes": SHAPES, "frequencies": [2.0, 9.0]}

CHAIN_PLACES, CHAIN_MASS, CHAIN_STIFFNESS = chain(3)
CHAIN: dict[str, Any] = {
    "mass_matrix": CHAIN_MASS,
    "stiffness_matrix": CHAIN_STIFFNESS,
    "positions": CHAIN_PLACES,
}
FREE_PLACES, FREE_MASS, FREE_STIFFNESS = beam_elements(3, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
FREE: dict[str, Any] = {
    "mass_matrix": FREE_MASS,
    "stiffness_matrix": FREE_STIFFNESS,
    "positions": dict(zip("abcd", FREE_PLACES, strict=True)),
}
INTEGRALS: dict[str, Any] = {
    "m": 1.0, "c": [0, 0, 0], "J": np.eye(3), "P": np.zeros((3, 2)), "H": np.zeros((3, 2)), "M": np.eye(2),
    "K": np.eye(2),
}  # fmt: skip


def changed(matrix: np.ndarray, *entries: tuple[int, int, float]) -> np.ndarray:
    """A copy with other entries."""
    copy = matrix.copy()
    for i, j, value in entries:
        copy[i, j] = value
    return copy


# In the axes of node 2 all three planes are possible, the whole is not: eigenvalues -0.8, 1.9, 1.9 times 2.
INDEFINITE = CHAIN_MASS.copy()
INDEFINITE[3:6, 3:6] = 2 * np.array([[1, 0.9, 0.9], [0.9, 1, -0.9], [0.9, -0.9, 1]])


MISTAKES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing": ({}, ["the flexible part is not described", "nodes="]),
    "unknown option": ({**NODES, "frequency": 1}, ["no option frequency", "did you mean 'frequencies'"]),
    "unknown option alone": ({"node": PLACES}, ["no option node", "did you mean 'nodes'"]),
    "two ways": ({**NODES, **CHAIN}, ["does not go with matrices", "one way only"]),
    "mixed with coupling": ({**NODES, "coupling": 1}, ["masses= does not go with rigid-elastic coupling"]),
    "incomplete": ({"nodes": PLACES}, ["masses= must be given too"]),
    "integrals incomplete": ({"P": np.zeros((3, 2))}, ["m=", "H=", "M="]),
    "matrices do not stiffen": (
        {**CHAIN, "stiffening": True},
        ["stiffening= does not go with matrices; possible are mass_matrix=, stiffness_matrix="],
    ),
    "no beam": ({"source": 3}, ["3 is not a Beam or Plate"]),
    # nodes
    "shapes of other nodes": (
        {**NODES, "shapes": SHAPES[:2]},
        ["3 nodes must be 3 × 3 × N", "not 2 × 3 × 2"],
    ),
    "shapes by wrong name": (
        {**NODES, "shapes": {"root": SHAPES[0], "midle": SHAPES[1], "tip": SHAPES[2]}},
        ["shapes names node 'midle'", "did you mean 'middle'"],
    ),
    "shapes lack a node": (
        {**NODES, "shapes": {"root": SHAPES[0], "tip": SHAPES[2]}},
        ["shapes has no value for node 'middle'"],
    ),
    "rotations twice": (
        {**NODES, "shapes": np.zeros((18, 2)), "rotations": SHAPES},
        ["shapes include rotations already"],
    ),
    "nan": ({**NODES, "shapes": changed(SHAPES, (2, 1, np.nan))}, ["shapes holds nan at (3, 2, 1)"]),
    "text": ({**NODES, "masses": "heavy"}, ["masses must be numbers", "'heavy'"]),
    "negative mass": ({**NODES, "masses": [1, 1, -2]}, ["mass -2 of node 'tip' is negative"]),
    "too few masses": ({**NODES, "masses": [1, 1]}, ["3 nodes need 3 masses, not 2"]),
    "place": ({**NODES, "nodes": {**PLACES, "tip": (2, 0)}}, ["position of node 'tip'", "not 2"]),
    "inertia": (
        {**NODES, "inertias": [0, 0, (1, 1, -1)]},
        ["inertia of node 'tip' is not positive", "eigenvalue -1"],
    ),
    "inertia elements": ({**NODES, "inertias": [0, 0, (1, 1)]}, ["inertia of node 'tip'", "six elements"]),
    "no stiffness": ({**NODES, "frequencies": None}, ["frequencies (rad/s) and stiffness are missing"]),
    "stiffness twice": ({**NODES, "stiffness": np.eye(2)}, ["both given"]),
    "few frequencies": ({**NODES, "frequencies": [2.0]}, ["2 modes need 2 frequencies, not 1"]),
    "zero frequency": ({**NODES, "frequencies": [2.0, 0.0]}, ["frequency 0 of mode 2", "rigid motion"]),
    "not orthogonal": (
        {**NODES, "masses": [1, 1, 2]},
        ["modes 1 and 2 are not orthogonal", "coherence 0.191", "modal stiffness="],
    ),
    "same shape twice": (
        {**NODES, "shapes": SHAPES[:, :, [0, 0]], "frequencies": None, "stiffness": np.eye(2)},
        ["modal mass matrix is singular", "modes 1 and 2"],
    ),
    "moves nothing": ({**NODES, "masses": [1, 0, 0]}, ["mode 1 moves no mass"]),
    "negative damping": ({**NODES, "damping": [0.1, -0.1]}, ["ratio -0.1 of mode 2 is negative"]),
    "dampings": ({**NODES, "damping": [0.1] * 3}, ["one ratio or 2"]),
    "damping twice": ({**NODES, "damping": 0.1, "damping_matrix": np.eye(2)}, ["both given"]),
    "modal stiffness": (
        {**NODES, "frequencies": None, "stiffness": [[1, 2], [0, 1]]},
        ["modal stiffness is not symmetric", "(mode 1, mode 2) is 2"],
    ),
    "modal stiffness sign": (
        {**NODES, "frequencies": None, "stiffness": [[1, 0], [0, -1]]},
        ["modal stiffness is not positive", "along mode 2"],
    ),
    "stiffness size": (
        {**NODES, "frequencies": None, "stiffness": np.eye(5)},
        ["modal (2 × 2)", "(18 × 18)", "not 5 × 5"],
    ),
    "stiffness of either kind": (
        {"nodes": [(1, 0, 0)], "masses": 1, "shapes": 2 * np.eye(3)[None], "stiffness": np.eye(3)},
        ["may be modal or between the nodes"],
    ),
    "stiffening": ({**NODES, "stiffening": True}, ["stiffening needs shortening=", "3 × 3 × 2 × 2"]),
    "half a mode": ({**NODES, "modes": 1.0}, ["modes=1.0 must be a whole number"]),
    "modes as text": ({**NODES, "modes": "1"}, ["modes='1' must be a whole number"]),
    "no nodes": ({**NODES, "nodes": None}, ["nodes=None must be positions"]),
    "no masses": ({**NODES, "masses": None}, ["masses is missing"]),
    "complex shapes": ({**NODES, "shapes": SHAPES * (1 + 0.1j)}, ["shapes holds complex numbers"]),
    "no vehicle": ({**NODES, "total_mass": 0}, ["total_mass = 0 must be positive"]),
    "light vehicle": ({**NODES, "total_mass": 0.1}, ["total_mass = 0.1 is too small", "mode 1", "16.9"]),
    "coupled ratios": (
        {**NODES, "frequencies": None, "stiffness": [[1, 0.3], [0.3, 1]], "damping": [0.1, 0.2]},
        ["modes 1 and 2 are coupled (coherence 0.3", "one ratio for all"],
    ),
    "modes of nodes": ({**NODES, "modes": 3}, ["modes=3 requested, but there are shapes of 2"]),
    "spin": ({**NODES, "spin": 3.0}, ["spin must have shape 3"]),
    "second order off": (
        {**NODES, "stiffening": True, "shortening": np.zeros((3, 3, 2, 2)), "second_order": False},
        ["stiffening", "second_order"],
    ),
    # matrices
    "not square": ({**CHAIN, "mass_matrix": np.zeros((9, 8))}, ["mass_matrix must be square, not 9 × 8"]),
    "sizes": ({**CHAIN, "stiffness_matrix": np.eye(6)}, ["has 9 rows, stiffness_matrix 6"]),
    "nodes and rows": ({**CHAIN, "positions": CHAIN_PLACES[:2]}, ["9 rows do not fit 2 nodes", "6 or 12"]),
    "asymmetric": (
        {**CHAIN, "stiffness_matrix": changed(CHAIN_STIFFNESS, (0, 3, 7.0))},
        ["stiffness_matrix is not symmetric", "node '1' x", "node '2' x", "is 7"],
    ),
    "asymmetric sparse": (
        {**CHAIN, "stiffness_matrix": scipy.sparse.csr_matrix(np.triu(CHAIN_STIFFNESS))},
        ["stiffness_matrix is not symmetric", "one triangle only"],
    ),
    "negative diagonal": (
        {**CHAIN, "mass_matrix": changed(CHAIN_MASS, (4, 4, -1.0))},
        ["mass_matrix is not positive", "-1 on its diagonal at node '2' y"],
    ),
    "indefinite mass": (
        {**CHAIN, "mass_matrix": changed(CHAIN_MASS, (0, 3, 5.0), (3, 0, 5.0))},
        ["mass_matrix is not positive", "node '1' x and node '2' x"],
    ),
    "indefinite block": (
        {**CHAIN, "mass_matrix": INDEFINITE},
        ["mass_matrix is not positive", "large at node '2' ", "negative kinetic energy"],
    ),
    "indefinite sparse block": (
        {**CHAIN, "mass_matrix": scipy.sparse.csr_matrix(INDEFINITE)},
        ["mass_matrix is not positive", "large at node '2' ", "negative kinetic energy"],
    ),
    "singular mass": (
        {**CHAIN, "mass_matrix": np.kron(np.ones((3, 3)), np.eye(3)), "modes": 4},
        ["4 modes requested, but one of them moves no mass, most at node '"],
    ),
    "exchanged matrices": (
        {**FREE, "mass_matrix": FREE_STIFFNESS, "stiffness_matrix": FREE_MASS},
        ["mass_matrix moves no mass along x, y or z", "exchanged?"],
    ),
    "complex matrix": ({**CHAIN, "stiffness_matrix": CHAIN_STIFFNESS * (1 + 0.02j)}, ["complex numbers"]),
    "complex sparse matrix": (
        {**CHAIN, "mass_matrix": scipy.sparse.csr_matrix(CHAIN_MASS * (1 + 0.02j))},
        ["mass_matrix holds complex numbers"],
    ),
    "fixed by a number": ({**CHAIN, "fixed": 0.5}, ["fixed=0.5 must be names of nodes"]),
    "indefinite stiffness": (
        {**CHAIN, "stiffness_matrix": changed(CHAIN_STIFFNESS, (0, 3, 200.0), (3, 0, 200.0))},
        ["singular at node", "not positive"],
    ),
    "three masses": (
        {**CHAIN, "mass_matrix": np.diag([1.0, 2, 3] * 3)},
        ["3, 6, 9 of mass along x, y, z", "rows have the order of positions="],
    ),
    "nan in sparse": (
        {**CHAIN, "mass_matrix": scipy.sparse.csr_matrix(changed(CHAIN_MASS, (4, 4, np.nan)))},
        ["mass_matrix holds nan at (5, 5)"],
    ),
    "too many modes": (
        {**CHAIN, "modes": 10},
        ["10 modes requested, but there are 9", "9 freedoms with mass"],
    ),
    "too many free modes": (
        {**FREE, "basis": "free", "modes": 19},
        ["19 modes requested, but there are 18: 24 freedoms with mass, of which rigid motion takes 6"],
    ),
    "no modes": ({**CHAIN, "modes": 0}, ["modes=0 must be a whole number, 1 or more"]),
    "basis": ({**CHAIN, "basis": "fixd"}, ["no basis 'fixd'", "did you mean 'fixed'"]),
    "not held": ({**FREE, "modes": 3}, ["zero frequency", "node '", "fixed= nodes", "basis='free'"]),
    "held in part": (
        {**FREE, "fixed": ["a.x", "a.y", "a.z"], "modes": 4},
        ["zero frequency", "fixed= nodes"],
    ),
    "unknown fixed node": ({**FREE, "fixed": "e"}, ["fixed names node 'e'"]),
    "unknown freedom": ({**FREE, "fixed": "a.rw"}, ["'a.rw'", "x, y, z, rx, ry, rz"]),
    "all fixed": ({**FREE, "fixed": "abcd"}, ["fixed names node 'abcd'"]),
    "everything fixed": ({**FREE, "fixed": list("abcd")}, ["every freedom is fixed"]),
    "free but fixed": ({**FREE, "basis": "free", "fixed": "a"}, ["basis 'free' holds nothing"]),
    "free but tied": ({**CHAIN, "basis": "free"}, ["resists rigid motion", "node '1'"]),
    "no interface": ({**FREE, "basis": "craig-bampton"}, ["needs interface="]),
    "needless interface": ({**FREE, "fixed": "a", "interface": "d"}, ["use basis='craig-bampton'"]),
    "nothing there": (
        {
            **CHAIN,
            "mass_matrix": np.diag([2.0] * 8 + [0.0]),
            "stiffness_matrix": changed(CHAIN_STIFFNESS, (8, 8, 0.0), (5, 8, 0.0), (8, 5, 0.0)),
        },
        ["of mass along x, y, z"],
    ),
    "massless turn without stiffness": (
        {
            "mass_matrix": np.diag([2.0, 2, 2, 0, 0, 0]),
            "stiffness_matrix": np.diag([1.0, 1, 1, 1, 0, 1]),
            "positions": {"tip": (1, 0, 0)},
        },
        ["singular at node 'tip' ry"],
    ),
    "redundant interface": (
        {
            "mass_matrix": np.diag([2.0, 2, 2, 0, 0, 0]),
            "stiffness_matrix": np.eye(6),
            "positions": {"tip": (1, 0, 0)},
            "basis": "craig-bampton",
            "interface": "tip",
        },
        ["interface is redundant", "node 'tip' r"],
    ),
    "interface holds too little": (
        {**FREE, "basis": "craig-bampton", "interface": ["a.x", "d.y"]},
        ["singular at node"],
    ),
    "limit too low": ({**CHAIN, "frequency_limit": 0.01}, ["no mode lies below", "the lowest is at 1.11"]),
    "missing file": ({**CHAIN, "mass_matrix": "nowhere.mtx"}, ["there is no file 'nowhere.mtx'"]),
    "file type": ({**CHAIN, "mass_matrix": "mass.xlsx"}, ["mass.xlsx", ".npy, .npz, .mtx"]),
    # integrals
    "P": ({**INTEGRALS, "P": np.zeros((2, 3))}, ["P must have shape 3 × 2, not 2 × 3"]),
    "M": ({**INTEGRALS, "M": [[1, 0.5], [0, 1]]}, ["M is not symmetric"]),
    "M singular": ({**INTEGRALS, "M": np.ones((2, 2))}, ["modal mass matrix is singular"]),
    "M empty": ({**INTEGRALS, "M": 3.0}, ["M must be N × N"]),
    "J": ({**INTEGRALS, "J": -np.eye(3)}, ["J is not positive"]),
    "nodes without shapes": ({**INTEGRALS, "nodes": PLACES}, ["need shapes="]),
    "shapes without nodes": ({**INTEGRALS, "shapes": SHAPES}, ["without nodes="]),
    "shapes of other modes": (
        {**INTEGRALS, "nodes": PLACES, "shapes": SHAPES[:, :, :1]},
        ["shapes of 1 modes, but there are 2"],
    ),
    "coupling": ({"coupling": np.zeros((6, 2)), "frequencies": [1, 2]}, ["the pair (P, Delta)"]),
    "coupling sizes": (
        {"coupling": (np.zeros((3, 2)), np.zeros((3, 1))), "frequencies": [1, 2]},
        ["Delta of the coupling must have shape 3 × 2"],
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_is_explained(name: str) -> None:
    options, words = MISTAKES[name]
    with pytest.raises(ModelError) as caught:
        flexible_part("body 'boom'", **options)
    message = str(caught.value)
    assert message.startswith("body 'boom'"), message
    assert all(word in message for word in words), message


READY: dict[str, tuple[Any, list[str]]] = {
    "length": (lambda: Beam(-1, EI=1, mass_per_length=1), ["length = -1 must be positive"]),
    "no rigidity": (lambda: Beam(1, mass_per_length=1), ["no rigidity"]),
    "no mass": (lambda: Beam(1, EI=1), ["mass_per_length"]),
    "polar": (lambda: Beam(1, GJ=1, mass_per_length=1), ["torsion (GJ) needs polar="]),
    "end": (lambda: Beam(1, EI=1, mass_per_length=1, tip="fre"), ["tip='fre'", "did you mean 'free'"]),
    "tip body": (lambda: Beam(1, EI=1, mass_per_length=1, tip="pinned", tip_mass=1), ["needs tip='free'"]),
    "motion": (lambda: Beam(1, EI=1, mass_per_length=1, motions="axial"), ["no motion 'axial'", "y, z"]),
    "station": (lambda: Beam(1, EI=1, mass_per_length=1, stations={"a": 2}), ["station 'a': 2 lies outside"]),
    "twice": (
        lambda: Beam(1, EI=1, E=1, density=1, section=Section.circle(1)),
        ["EI= is given and follows from the section"],
    ),
    "no section": (lambda: Beam(1, E=1, density=1), ["E= needs a section="]),
    "axis": (lambda: Beam(1, EI=1, mass_per_length=1, along="w"), ["along='w' is not an axis"]),
    "axes": (lambda: Beam(1, EI=1, mass_per_length=1, across="x"), ["parallel to along"]),
    "wall": (lambda: Section.tube(1, 2), ["thicker than the radius"]),
    "edge": (lambda: Plate(1, 1, 1, E=1, nu=0.3, density=1, root="x"), ["root='x'"]),
    "nu": (lambda: Plate(1, 1, 1, E=1, nu=0.7, density=1), ["nu=0.7"]),
    "EI": (lambda: Beam(1, EI=(1, 2, 3), mass_per_length=1), ["EI must be one number or 2, not 3"]),
    "tip inertia": (
        lambda: Beam(1, EI=1, mass_per_length=1, tip_inertia=(1, 2)),
        ["tip_inertia must be one number or 3, not 2"],
    ),
    "nu of a beam": (lambda: Beam(1, E=1, nu=-1, density=1, section=Section.circle(1)), ["nu=-1"]),
    "G and nu": (lambda: Beam(1, E=1, nu=0, G=1, density=1, section=Section.circle(1)), ["G= is given"]),
    "no E": (lambda: Beam(1, density=1, section=Section.circle(1)), ["Beam: E is missing"]),
    "section": (lambda: Beam(1, E=1, density=1, section="circle"), ["section='circle' is not a Section"]),
    "stations": (lambda: Beam(1, EI=1, mass_per_length=1, stations=0.5), ["stations=0.5 must be places"]),
    "no motions": (lambda: Beam(1, EI=1, mass_per_length=1, motions=()), ["motions is empty"]),
    "motions": (lambda: Beam(1, EI=1, mass_per_length=1, motions=3), ["no motion 3"]),
    "two signs": (lambda: Beam(1, EI=1, mass_per_length=1, along="--x"), ["along='--x' is not an axis"]),
    "nan": (lambda: Beam(np.nan, EI=1, mass_per_length=1), ["length holds nan; every value"]),
    "stations of a plate": (lambda: Plate(1, 1, 1, E=1, nu=0, density=1, stations=2), ["stations=2"]),
    "off the plate": (lambda: Plate(1, 1, 1, E=1, nu=0, density=1, stations=[(2, 0)]), ["outside the plate"]),
}


@pytest.mark.parametrize("name", READY)
def test_ready_part_is_checked_when_made(name: str) -> None:
    make, words = READY[name]
    with pytest.raises(ModelError) as caught:
        make()
    assert all(word in str(caught.value) for word in words), str(caught.value)


BEAM = Beam(1.0, EI=1.0, mass_per_length=1.0)
PLATE = Plate(1.0, 1.0, 0.01, E=1.0, nu=0.3, density=1.0)
USES: dict[str, tuple[Any, dict[str, Any], list[str]]] = {
    "how many": (BEAM, {}, ["give modes=, the number"]),
    "not a number": (BEAM, {"modes": 2.5}, ["modes=2.5 must be a whole number"]),
    "masses of a beam": (BEAM, {"modes": 2, "masses": 1}, ["masses= does not go with a Beam"]),
    "misspelt": (BEAM, {"mode": 2}, ["no option mode", "did you mean 'modes'"]),
    "plate needs modes": (PLATE, {}, ["modes= must be given too"]),
    "plate does not stiffen": (
        PLATE,
        {"modes": 2, "stiffening": True},
        ["stiffening= does not go with a Plate; possible are modes=, damping=, damping_matrix=, second"],
    ),
    "too many of a plate": (PLATE, {"modes": 500}, ["500 modes requested", "96"]),
    "held tip": (
        Beam(1.0, EI=1.0, mass_per_length=1.0, tip="pinned"),
        {"modes": 2, "stiffening": True},
        ["use tip='free'"],
    ),
    "heavy tip": (
        Beam(1.0, EI=1.0, mass_per_length=1.0, tip_mass=1e7),
        {"modes": 2},
        ["times as heavy as the beam"],
    ),
    "limit": (BEAM, {"frequency_limit": 1.0}, ["no mode lies below", "3.516"]),
    "not one mode": (BEAM, {"modes": True}, ["modes=True must be a whole number"]),
    "contradiction": (BEAM, {"modes": 2, "stiffening": True, "second_order": False}, ["second_order"]),
}


@pytest.mark.parametrize("name", USES)
def test_use_of_a_ready_part_is_checked(name: str) -> None:
    source, options, words = USES[name]
    with pytest.raises(ModelError) as caught:
        flexible_part("body 'boom'", source, **options)
    message = str(caught.value)
    assert message.startswith("body 'boom'") and all(word in message for word in words), message


def test_unknown_node_and_truncation_name_what_there_is() -> None:
    part = flexible_part("body 'boom'", **NODES)
    with pytest.raises(ModelError, match=r"no node 'tp'; did you mean 'tip'.*Known nodes: 'root', 'middle'"):
        part.node("tp")
    with pytest.raises(ModelError, match="only beams and plates have nodes by place"):
        part.node(1.0)
    with pytest.raises(ModelError, match="3 modes requested, but there are 2"):
        part.truncated(3)
    with pytest.raises(ModelError, match="outside the beam"):
        flexible_part("body 'boom'", BEAM, modes=1).node(2.0)


def test_fixed_nothing_may_be_said_as_none() -> None:
    assert flexible_part("body 'b'", **CHAIN, fixed=None).modes == flexible_part("body 'b'", **CHAIN).modes


def test_pickled_files_are_refused(tmp_path: Path) -> None:
    """A pickle could run any code; it is never opened."""
    np.save(tmp_path / "bad.npy", np.array([{"a": 1}], dtype=object))
    with pytest.raises(ModelError, match=r"bad\.npy.*cannot be read"):
        flexible_part("body 'boom'", **{**CHAIN, "mass_matrix": tmp_path / "bad.npy"})


def test_shapes_of_nodes_with_numbers_for_names_are_found() -> None:
    numbered = {"nodes": dict(enumerate(PLACES.values(), 1)), "shapes": dict(enumerate(SHAPES, 1))}
    part, named = (flexible_part("body 'boom'", **{**NODES, **given}) for given in (numbered, {}))
    for number, name in enumerate(PLACES, 1):
        assert np.array_equal(part.node(str(number)).shape, named.node(name).shape)
