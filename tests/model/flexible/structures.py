"""Small finite-element structures with textbook element matrices, made for the tests."""

from __future__ import annotations

import itertools

import numpy as np


def chain(count: int, mass: float = 2.0, spring: float = 50.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Masses on a line one metre apart, each tied to its neighbours (the first to the ground) in x, y, z."""
    line = spring * (2 * np.eye(count) - np.eye(count, k=1) - np.eye(count, k=-1))
    line[-1, -1] = spring
    places = np.zeros((count, 3))
    places[:, 0] = np.arange(1, count + 1)
    stiffness = np.kron(line, np.diag([1.0, 0.5, 0.25]))
    return places, mass * np.eye(3 * count), stiffness


def beam_elements(
    count: int, length: float, EI: float, EA: float, GJ: float, density: float, polar: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A free beam along x of Hermite elements with consistent mass (Przemieniecki, chaps. 5 and 11)."""
    h = length / count
    bend = EI / h**3 * np.array(
        [[12, 6 * h, -12, 6 * h], [6 * h, 4 * h * h, -6 * h, 2 * h * h],
         [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h * h, -6 * h, 4 * h * h]]
    )  # fmt: skip
    heavy = density * h / 420 * np.array(
        [[156, 22 * h, 54, -13 * h], [22 * h, 4 * h * h, 13 * h, -3 * h * h],
         [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h * h, -22 * h, 4 * h * h]]
    )  # fmt: skip
    bar, bar_mass = np.array([[1, -1], [-1, 1]]), np.array([[2, 1], [1, 2]]) / 6
    flip = np.diag([1, -1, 1, -1])  # in the x-z plane the slope is −ry
    stiffness, mass = np.zeros((12, 12)), np.zeros((12, 12))
    for freedoms, k, m in (
        ([1, 5, 7, 11], bend, heavy),
        ([2, 4, 8, 10], flip @ bend @ flip, flip @ heavy @ flip),
        ([0, 6], EA / h * bar, density * h * bar_mass),
        ([3, 9], GJ / h * bar, polar * h * bar_mass),
    ):
        stiffness[np.ix_(freedoms, freedoms)] = k
        mass[np.ix_(freedoms, freedoms)] = m
    size = 6 * (count + 1)
    whole = np.zeros((2, size, size))
    for e in range(count):
        at = slice(6 * e, 6 * e + 12)
        whole[0, at, at] += mass
        whole[1, at, at] += stiffness
    places = np.zeros((count + 1, 3))
    places[:, 0] = np.linspace(0, length, count + 1)
    return places, whole[0], whole[1]


GAUSS = [(1 + s * 3**-0.5) / 2 for s in (-1, 1)]


def brick_functions(x: float, y: float, z: float) -> np.ndarray:
    """The eight trilinear functions on a unit cube, corners in binary order."""
    return np.array(
        [np.prod([t if c else 1 - t for t, c in zip((x, y, z), corner, strict=True)])
         for corner in itertools.product((0, 1), repeat=3)]
    )  # fmt: skip


def bar_of_bricks(
    count: int, E: float, density: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[list[int]]]:
    """A bar along x of unit cubes (ν = 0) with consistent mass m ⊗ 1₃, and the nodes of each cube."""
    places = np.array([c for i in range(count + 1) for c in itertools.product((i,), (0, 1), (0, 1))], float)
    cubes = [list(range(4 * e, 4 * e + 8)) for e in range(count)]
    step = 1e-6
    mass, stiffness = np.zeros((24, 24)), np.zeros((24, 24))
    for at in itertools.product(GAUSS, repeat=3):
        shape = brick_functions(*at)
        gradient = np.array(
            [(brick_functions(*(np.array(at) + d)) - brick_functions(*(np.array(at) - d))) / (2 * step)
             for d in step * np.eye(3)]
        )  # fmt: skip
        mass += density / 8 * np.kron(np.outer(shape, shape), np.eye(3))
        strain = np.zeros((6, 24))
        for n in range(8):
            gx, gy, gz = gradient[:, n]
            strain[:, 3 * n : 3 * n + 3] = [
                [gx, 0, 0], [0, gy, 0], [0, 0, gz], [gy, gx, 0], [0, gz, gy], [gz, 0, gx]
            ]  # fmt: skip
        stiffness += strain.T @ np.diag([E, E, E, E / 2, E / 2, E / 2]) @ strain / 8
    size = 3 * len(places)
    whole = np.zeros((2, size, size))
    for nodes in cubes:
        rows = np.array([3 * n + i for n in nodes for i in range(3)])
        whole[0][np.ix_(rows, rows)] += mass
        whole[1][np.ix_(rows, rows)] += stiffness
    return places, whole[0], whole[1], cubes
