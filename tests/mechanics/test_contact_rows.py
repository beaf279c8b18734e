"""Forces of contact rows that hold: by formulas, by factors of independent rows, and by NumPy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from armillary.algebra.expression import as_expr
from armillary.mechanics.contact import blocks
from armillary.mechanics.contact.blocks import ContactBlock, ContactShape
from armillary.mechanics.contact.contact_thresholds import FRICTION_SOFTNESS, WEAKEST
from armillary.mechanics.contact.few_rows import FewForces, find_few_forces, share_few_forces

TWO_FEET = ContactShape([(0, (1,)), (2, (3,))], 3)
STATUSES = ("open", "sticks", "slides")


def _numbers(values: object) -> np.ndarray:
    return np.array([float(as_expr(x).data) for x in values])  # type: ignore[attr-defined]


def _rows(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of two feet of a body in a plane, at random places, their columns and free accelerations."""
    rng = np.random.default_rng(seed)
    x, z, y, w = rng.uniform(-1, 1, 4)
    J = np.array([[0, 1, x], [1, 0, z], [0, 1, y], [1, 0, w]])
    root = rng.uniform(-1, 1, (3, 3))
    return J, np.linalg.solve(np.eye(3) + root @ root.T, J.T).T, rng.normal(size=4)


def _find(J: np.ndarray, D: np.ndarray, free: np.ndarray, held: np.ndarray, weight: np.ndarray) -> FewForces:
    given = J.ravel().tolist(), D.ravel().tolist(), free.tolist(), (held > 0).tolist()
    return find_few_forces(TWO_FEET, *given, weight.tolist(), [0.0] * 4, symmetric=True)


def _solve(
    name: str,
    J: np.ndarray,
    D: np.ndarray,
    free: np.ndarray,
    shape: ContactShape = TWO_FEET,
    **given: object,
) -> dict[str, np.ndarray]:
    block = ContactBlock(name, shape)
    asked = [1, *[0] * (len(shape.rows) - 1)]
    known = {"jacobian": J.ravel(), "columns": D.ravel(), "free": free, "asked": asked, **given}
    flat = [x for field in block.takes for x in np.ravel(known.get(field, [0.0] * block.vectors[field]))]
    return {k: np.array(v) for k, v in block.split(block.gives, block.value(*flat)).items()}


@pytest.mark.parametrize("first", STATUSES)
@pytest.mark.parametrize("second", STATUSES)
def test_formulas_and_factors_have_the_forces_of_linear_equations(first: str, second: str) -> None:
    for seed in range(5):
        J, D, free = _rows(seed)
        held, weight = np.zeros(4), np.zeros(4)
        for c, status in enumerate((first, second)):
            held[2 * c] = status != "open"
            held[2 * c + 1] = status == "sticks"
            weight[2 * c + 1] = 0.3 * (status == "slides")
        if held.sum() == 4:
            continue  # redundant: below
        E = D.copy()
        E[0] -= weight[1] * D[1]
        E[2] -= weight[3] * D[3]
        on = held > 0
        force = np.zeros(4)
        force[on] = np.linalg.solve(J[on] @ E[on].T, -free[on])
        force[[1, 3]] -= weight[[1, 3]] * force[[0, 2]]
        few = _find(J, D, free, held, weight)
        if not bool(as_expr(few.doubtful).data):
            assert _numbers(few.forces) == pytest.approx(force, rel=1e-9, abs=1e-11)
        for name in ("contact_rates", "contact_forces"):
            found = _solve(name, J, D, free, held=held, weight=weight)
            assert found["force"] == pytest.approx(force, rel=1e-9, abs=1e-11)
            assert found["loaded"] == pytest.approx(D.T @ force, rel=1e-9, abs=1e-11)


def test_redundant_forces_are_the_smallest_and_friction_follows_its_limits() -> None:
    """Four rows of a body with three freedoms: among all forces with one motion, those of least Σ σ A λ²,
    with σ of friction inversely to its limit, which the smallest forces without that give, and more than any
    normal has.
    """
    static = [0.9, 0.5]
    for seed in range(6):
        J, D, _ = _rows(seed)
        J[3] = J[1]  # both feet at one height: their frictions are the same
        D[3] = D[1]
        free = J @ np.array([0.3, -9.81, 0.1 * seed])  # pressed down, so that both have a limit
        A = J @ D.T
        scale = np.sqrt(np.diag(A))

        def smallest(soft: np.ndarray, A: np.ndarray = A, free: np.ndarray = free) -> np.ndarray:
            found = np.linalg.lstsq(A, -free, rcond=1e-12)[0]
            idle = np.array([0, 1, 0, -1])  # forces that move nothing
            return found - idle * (idle @ (soft * found)) / (idle @ (soft * idle))

        push = smallest(scale**2)
        limits = np.array([m * max(push[k], 0) for m, k in zip(static, (0, 2), strict=True)]) * scale[[1, 3]]
        soft = np.ones(4)
        soft[[1, 3]] = FRICTION_SOFTNESS * np.minimum(limits.max() / np.maximum(limits, 1e-300), WEAKEST)
        expected = smallest(scale**2 * soft)
        found = _solve("contact_forces", J, D, free, held=np.ones(4), static=static)
        assert found["force"] == pytest.approx(expected, rel=1e-8, abs=1e-9)
        few = _find(J, D, free, np.ones(4), np.zeros(4))
        if not bool(as_expr(few.doubtful).data):
            shared = share_few_forces(TWO_FEET, few, static, [0, 0])
            assert _numbers(shared) == pytest.approx(expected, rel=1e-8, abs=1e-9)
        rates = _solve("contact_rates", J, D, free, held=np.ones(4))
        assert rates["loaded"] == pytest.approx(D.T @ expected, rel=1e-9)


def test_friction_bears_nothing_that_its_own_normal_can() -> None:
    """A point of a body on a hinge: its slip is its normal times a factor. Alone, and beside a slide."""
    for more in ([], [[0.2, 1.0], [0.1, -0.3]]):
        J = np.array([[0.7, 0.0], [0.3, 0.0], *more])
        shape = ContactShape([(2 * c, (2 * c + 1,)) for c in range(len(J) // 2)], 2)
        free, held, weight = J @ [-2.0, -3.0], np.array([1, 1, 1, 0])[: len(J)], [0, 0, 0, 0.4][: len(J)]
        given = {"held": held, "weight": weight, "static": [0.01, 0.4][: len(J) // 2], "shape": shape}
        found = _solve("contact_forces", J, J, free, **given)  # type: ignore[arg-type]
        assert (J @ (J.T @ found["force"]) + free)[held > 0] == pytest.approx(0, abs=1e-14)
        assert abs(found["force"][1]) < 0.1 * 0.01 * found["force"][0]
        rates = _solve("contact_rates", J, J, free, **given)  # type: ignore[arg-type]
        assert rates["loaded"] == pytest.approx(J.T @ found["force"], abs=1e-13)


def test_rounding_of_accelerations_does_not_change_how_redundant_rows_share() -> None:
    """A body on two feet, one of which slides, with a brake that holds its turn: the feet fall at the same
    rate up to rounding, which was all that entered the row of the brake. It contradicted the feet then, and
    another method gave the brake most of the load.
    """
    shape = ContactShape([(0, ()), (1, (2,)), (None, (3,))], 3)
    J = np.array([[0, 1, 0.6], [0, 1, -0.1], [1, 0, -0.3], [0, 0, 1.0]])
    D = J / [2.0, 2.0, 0.05]
    given = {"held": [1, 1, 0, 1], "weight": [0, 0, 0.1, 0], "static_capacity": [0, 0, 40.0], "shape": shape}
    falls = np.array([-9.81, -9.81, 0.2, 0.0])
    expected = _solve("contact_forces", J, D, falls, **given)["force"]
    assert abs(expected[3]) < 1e-2 * abs(expected[0])  # normals can hold the turn
    rounding = np.array([np.spacing(9.81), 0, 0, 0])
    for bits in (1, 2, -3):
        found = _solve("contact_forces", J, D, falls + bits * rounding, **given)["force"]
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_slides_with_redundant_normals_share_the_load_as_compliant_rows_do() -> None:
    """Five feet of a body in space, of which two slide: seven rows of rank five hold, and the motion depends
    on how they share the load: as springs do, λ = Σ⁻¹ J y for a small motion y."""
    rng = np.random.default_rng(4)
    shape = ContactShape([(3 * c, (3 * c + 1, 3 * c + 2)) for c in range(5)], 6)
    axes = np.eye(3)[[2, 0, 1]]
    places = np.column_stack([rng.uniform(-1, 1, (5, 2)), np.full(5, -0.4)])
    J = np.array([[*axis, *np.cross(place, axis)] for place in places for axis in axes])
    root = rng.uniform(-1, 1, (6, 6))
    D = np.linalg.solve(np.eye(6) + root @ root.T, J.T).T
    held, weight = np.zeros(15), np.zeros(15)
    held[::3] = 1
    held[1:3] = 1
    weight[[4, 5, 7, 8]] = [0.2, 0.1, -0.1, 0.2]
    weight[[10, 11, 13, 14]] = [0.1, 0.1, 0.1, -0.1]
    E = D.copy()
    for n, k in ((3, 4), (3, 5), (6, 7), (6, 8), (9, 10), (9, 11), (12, 13), (12, 14)):
        E[n] -= weight[k] * D[k]
    free = J @ np.array([0.1, -0.2, -9.81, 0.3, 0.2, -0.1])
    on = held > 0
    scale = np.sqrt(np.diag(J @ D.T))
    scale[1:3] = np.sqrt(np.mean(scale[1:3] ** 2) * FRICTION_SOFTNESS)
    springs = J[on] / scale[on][:, None] ** 2
    motion = np.linalg.lstsq(J[on] @ E[on].T @ springs, -free[on], rcond=1e-12)[0]
    expected = springs @ motion
    given = {"held": held, "weight": weight, "static": [0.3, 0, 0, 0, 0], "shape": shape}
    found = _solve("contact_forces", J, D, free, **given)  # type: ignore[arg-type]
    assert found["force"][on] == pytest.approx(expected, rel=1e-8, abs=1e-9)
    assert abs((free + J @ found["loaded"])[on]).max() < 1e-13
    rates = _solve("contact_rates", J, D, free, **given)  # type: ignore[arg-type]
    assert rates["loaded"] == pytest.approx(found["loaded"], abs=1e-13)


def test_formulas_leave_nearly_dependent_and_contradictory_rows_to_the_solver() -> None:
    J, D, free = _rows(1)
    free[3] = free[1] + 1e-6
    J[3], D[3] = J[1], D[1]
    held = np.array([1.0, 1, 1, 1])
    assert bool(as_expr(_find(J, D, free, held, np.zeros(4)).doubtful).data)
    J, D, free = _rows(2)
    J[3], D[3] = J[1] + 1e-3 * J[0], D[1] + 1e-3 * D[0]
    assert bool(as_expr(_find(J, D, free, np.array([0.0, 1, 0, 1]), np.zeros(4)).doubtful).data)


class _UsedVectors(blocks._Vectors):
    """Vectors that hold what another problem has left, as those of compiled code do."""

    def __init__(self, lengths: Mapping[str, int]) -> None:
        super().__init__(lengths)
        rng = np.random.default_rng(len(lengths))
        for values in self.__dict__.values():
            values[:] = (
                rng.integers(0, 2, len(values)) if values.dtype == int else rng.normal(size=len(values))
            )


@pytest.mark.parametrize("name", blocks.ENTRIES)
def test_solutions_do_not_depend_on_what_another_problem_left(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two feet stick: four rows of three freedoms contradict each other, then one slides, or both hold."""
    problem = {"active": [1, 1], "rests": [1, 1], "friction": [0.3, 0.5], "before": [1, 1]}
    for seed in range(4):
        J, D, free = _rows(seed)
        for held, weight in (
            ([1, 1, 1, 1], [0] * 4),
            ([1, 0, 1, 1], [0, 0.3, 0, 0]),
            ([0, 0, 1, 1], [0] * 4),
        ):
            known = problem if name == "contact_problem" else {"held": held, "weight": weight}
            given = {**known, "static": [0.4, 0.6], "natural": [1.0, 1.0]}
            fresh = _solve(name, J, D, free, **given)
            with monkeypatch.context() as patch:
                patch.setattr(blocks, "_Vectors", _UsedVectors)
                used = _solve(name, J, D, free, **given)
            for field, values in fresh.items():
                n = 1 if field == "failed" else len(values)  # the others say nothing
                assert np.array_equal(used[field][:n], values[:n]), field


@pytest.mark.parametrize("speeds", [6, 8])
def test_feet_in_space_hold_and_share_their_forces(speeds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven feet of a body on a floor, 21 rows of rank 6, and a wheel on it that they do not move: the forces
    of NumPy's least squares, in the order of problem.py, whatever another problem has left.
    """
    rng = np.random.default_rng(speeds)
    shape = ContactShape([(3 * c, (3 * c + 1, 3 * c + 2)) for c in range(7)], speeds)
    rows = []
    for place in np.column_stack([rng.uniform(-1, 1, (7, 2)), np.full(7, -0.4)]):
        for axis in ([0, 0, 1], [1, 0, 0], [0, 1, 0]):
            rows.append([*axis, *np.cross(place, axis), *[0] * (speeds - 6)])
    J = np.array(rows, dtype=float)
    root = rng.uniform(-1, 1, (speeds, speeds))
    D = np.linalg.solve(np.eye(speeds) + root @ root.T, J.T).T
    A = J @ D.T
    sizes = np.diag(A).copy()
    for c in range(7):
        sizes[3 * c + 1 : 3 * c + 3] = sizes[3 * c + 1 : 3 * c + 3].mean()
    static = rng.uniform(0.5, 1, 7)
    slips = np.arange(21) % 3 > 0
    for motion in ([0, 0, -9.81, 0, 0, 0], rng.normal(size=6)):
        free = J[:, :6] @ np.array(motion)

        def smallest(soft: np.ndarray, free: np.ndarray = free) -> np.ndarray:
            return np.linalg.lstsq(A / np.sqrt(soft), -free, rcond=1e-9)[0] / np.sqrt(soft)

        limits = np.repeat(static * np.maximum(smallest(sizes)[::3], 0), 3) * np.sqrt(np.roll(sizes, -1))
        limits = limits.reshape(7, 3)[:, :1].repeat(3, axis=1).ravel()
        soft = np.where(slips, np.minimum(limits[slips].max() / np.maximum(limits, 1e-300), WEAKEST), 1.0)
        expected = smallest(sizes * np.where(slips, FRICTION_SOFTNESS, 1.0) * soft)
        given = {"held": np.ones(21), "static": static, "shape": shape}
        found = _solve("contact_forces", J, D, free, **given)  # type: ignore[arg-type]
        assert found["force"] == pytest.approx(expected, rel=1e-8, abs=1e-9)
        rates = _solve("contact_rates", J, D, free, **given)  # type: ignore[arg-type]
        assert abs(free + J @ rates["loaded"]).max() < 1e-14 * abs(free).max()
        with monkeypatch.context() as patch:
            patch.setattr(blocks, "_Vectors", _UsedVectors)
            for name, fresh in (("contact_forces", found), ("contact_rates", rates)):
                used = _solve(name, J, D, free, **given)  # type: ignore[arg-type]
                assert all(np.array_equal(used[field], values) for field, values in fresh.items())
