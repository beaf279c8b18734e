"""Roads written as OpenCRG files, text or binary; `sections.py` has the format."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import armillary as arm
from armillary.vehicles.opencrg.reading import SPACING
from armillary.vehicles.opencrg.sections import FORMATS, RECORD


def write_crg(
    path: str | os.PathLike[str],
    u: Sequence[float] | np.ndarray,
    v: Sequence[float] | np.ndarray,
    z: np.ndarray,
    *,
    heading: Sequence[float] | np.ndarray | None = None,
    kind: str = "KRBI",
) -> None:
    """Write heights over a reference line as an OpenCRG file.

    u        places of the cross sections, equally spaced, m
    v        places of the long sections, rising, m
    z        heights, one row per u; nan is written as missing
    heading  of the reference line at u, rad; the first value belongs to the start, and each other to the
             piece that ends there. Left out, the line is straight along x
    kind     the format: "LRFI" and "LDFI" are text, "KRBI" and "KDBI" binary
    """
    along, across, heights = np.asarray(u, float), np.asarray(v, float), np.asarray(z, float)
    gaps = np.diff(along)
    if kind not in FORMATS:
        raise arm.ModelError(f"write_crg: the format {kind!r} is not known; there are {', '.join(FORMATS)}")
    if heights.shape != (len(along), len(across)) or len(along) < 2 or len(across) < 2:
        raise arm.ModelError(
            f"write_crg: z must have one row for each of {len(along)} u and one column for each of "
            f"{len(across)} v, not the shape {heights.shape}"
        )
    if np.any(gaps < SPACING) or np.ptp(gaps) > 1e-6 * np.max(gaps) or np.any(np.diff(across) < SPACING):
        raise arm.ModelError("write_crg: u must rise in equal steps, and v must rise")
    rows = heights if heading is None else np.column_stack([np.asarray(heading, float), heights])
    lines = [
        "$CT", "written by Armillary", "$",
        "$ROAD_CRG",
        f"REFERENCE_LINE_START_U = {float(along[0])!r}",
        f"REFERENCE_LINE_END_U = {float(along[-1])!r}",
        f"REFERENCE_LINE_INCREMENT = {float((along[-1] - along[0]) / (len(along) - 1))!r}",
        f"REFERENCE_LINE_START_PHI = {0.0 if heading is None else float(rows[0, 0])!r}",
        "$", "$KD_DEFINITION", f"#:{kind}",
        *(["D:reference line phi,rad"] if heading is not None else []),
        *(f"D:long section at v = {float(value)!r},m" for value in across),
        "$", "$" * RECORD,
    ]  # fmt: skip
    Path(path).write_bytes("\n".join([*lines, ""]).encode("ascii") + _encode(rows, kind))


def _encode(rows: np.ndarray, kind: str) -> bytes:
    width = {"RF": 10, "DF": 20, "RB": 4, "DB": 8}[kind[1:3]]
    per_record = RECORD // width
    if kind[0] == "L":
        count = -(-rows.shape[1] // per_record) * per_record
        blocks = np.full((rows.shape[0], count), np.nan)
        blocks[:, : rows.shape[1]] = rows
    else:
        flat = rows.ravel()
        blocks = np.full((-(-len(flat) // per_record), per_record), np.nan)
        blocks.ravel()[: len(flat)] = flat
    if kind[2] == "B":
        return blocks.astype(">f4" if width == 4 else ">f8").tobytes()
    shown = "10.7f" if width == 10 else "20.16f"
    missing = "*missing*".rjust(width)
    lines = []
    for block in blocks:
        fields = [missing if np.isnan(value) else f"{value:{shown}}"[:width].rjust(width) for value in block]
        for i in range(0, len(fields), per_record):
            lines.append("".join(fields[i : i + per_record]))
    if kind[0] == "L":  # rows end after their last channel
        return "".join(f"{line}\n" for line in _trim(lines, rows.shape[1], per_record, width)).encode("ascii")
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def _trim(lines: list[str], count: int, per_record: int, width: int) -> list[str]:
    per_row = -(-count // per_record)
    rest = (count - 1) % per_record + 1
    return [line[: rest * width] if (i + 1) % per_row == 0 else line for i, line in enumerate(lines)]
