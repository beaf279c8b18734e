"""Flexible parts and surfaces."""

from __future__ import annotations

import numpy as np

from tests.kept_numbers.entries import Named, entry


@entry
def flexible_parts() -> Named:
    from armillary.model.flexible.beam import Beam, Section
    from armillary.model.flexible.plate import Plate

    parts = {
        "beam": Beam(
            3.0, E=70e9, nu=0.3, density=2700.0, section=Section.rectangle(0.05, 0.04)
        ).flexible_part("part", modes=6),
        "turned beam": Beam(
            2.0,
            EI=(3.0, 4.0),
            EA=9e3,
            GJ=2.0,
            mass_per_length=0.7,
            polar=0.02,
            origin=(0.3, -0.1, 0.2),
            along="z",
            tip_mass=0.4,
            tip_inertia=0.03,
        ).flexible_part("part", modes=7),
        "rectangle": Beam(
            1.0, E=2e11, density=7800.0, section=Section.rectangle(0.02, 0.01), nu=0.3, tip="pinned"
        ).flexible_part("part", modes=4),
        "plate": Plate(
            2.0, 1.0, 0.01, E=70e9, nu=0.3, density=2700.0, along="x", across="z", origin=(0.5, 0, 0)
        ).flexible_part("part", modes=4),
    }
    yield (
        "sections",
        [vars(s) for s in (Section.tube(0.03, 0.004), Section.circle(0.02), Section.rectangle(0.03, 0.02))],
    )
    for name, part in parts.items():
        yield f"{name}, rigid", [part.mass, part.first, part.inertia]
        yield f"{name}, frequencies", part.frequencies
        yield f"{name}, masses", part.effective_masses
        for what in ("M", "K", "C"):
            yield f"{name}, {what}", np.diag(getattr(part, what))
        for what in ("P", "H", "J1", "J2", "H1", "g"):  # the sign of a mode is free
            value = getattr(part, what)
            yield (
                f"{name}, {what}",
                () if value is None else [np.sum(np.asarray(value) ** 2), np.max(np.abs(value))],
            )


@entry
def surfaces() -> Named:
    from armillary.viewer.surfaces import MAKERS as SURFACES
    from armillary.viewer.surfaces import surface_of

    sizes = {
        "size": 0.3,
        "radius": 0.2,
        "length": 0.7,
        "width": 0.1,
        "radii": (0.1, 0.2, 0.3),
        "to": (0.2, -0.4, 0.5),
    }
    for kind in SURFACES:
        made = surface_of({"kind": kind, **sizes, **({"size": (0.3, 0.2, 0.1)} if kind == "box" else {})})
        assert made is not None
        a, b, c = made.vertices[made.faces].transpose(1, 0, 2)
        across = np.cross(b - a, c - a)
        yield (
            kind,
            [
                len(made.faces),
                np.sum(np.linalg.norm(across, axis=1)) / 2,
                np.einsum("ij,ij->", a, np.cross(b, c)) / 6,
                np.einsum("ij,ij->j", a + b + c, across),
                np.ptp(made.vertices, axis=0),
                np.sum(made.normals**2 * [1, 2, 3]),
            ],
        )
