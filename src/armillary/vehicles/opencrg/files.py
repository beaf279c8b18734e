"""Roads from OpenCRG files: reference line, grid and modifiers, assembled from the sections of a file.

The reference line is integrated from its headings, its height from its slope. `sections.py` has the format.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import armillary as arm
from armillary.vehicles.opencrg.sections import FORMATS, RECORD, Entry, Sections, expected_rows, read_sections

SPACING = 1e-6  # m, least distance between neighbouring cross sections and long sections
# Modifiers that are applied; another one raises an error unless its value has no effect.
APPLIED = (
    "GRID_NAN_MODE", "GRID_NAN_OFFSET", "SCALE_Z_GRID", "SCALE_SLOPE", "SCALE_BANKING", "SCALE_LENGTH",
    "SCALE_WIDTH", "REFLINE_OFFSET_X", "REFLINE_OFFSET_Y", "REFLINE_OFFSET_Z", "REFLINE_OFFSET_PHI",
    "REFLINE_ROTCENTER_X", "REFLINE_ROTCENTER_Y",
)  # fmt: skip


@dataclass(frozen=True)
class CrgFile:
    """The content of an OpenCRG file, after its modifiers, in metres and radians.

    u           positions of the cross sections along the reference line, equally spaced
    v           positions of the long sections (lines of constant v), positive to the left
    z           heights over reference line and bank, one row per u; nan where the file has none
    x, y        the reference line at u
    reference_z heights of the reference line at u, the integral of its slope
    bank        dz/dv of the cross section at u
    options     of $ROAD_CRG_OPTS by name in capitals
    """

    path: str
    u: np.ndarray
    v: np.ndarray
    z: np.ndarray = field(repr=False)
    x: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    reference_z: np.ndarray = field(repr=False)
    bank: np.ndarray = field(repr=False)
    options: Mapping[str, float] = field(default_factory=dict)

    @property
    def straight(self) -> bool:
        """Whether the reference line is straight."""
        ahead = np.stack([np.diff(self.x), np.diff(self.y)], axis=1)
        bend = ahead[:-1, 0] * ahead[1:, 1] - ahead[:-1, 1] * ahead[1:, 0]
        return bool(np.all(np.abs(bend) <= 1e-12 * np.max(np.sum(ahead**2, axis=1))))

    def crop(
        self, u: tuple[float, float] | None = None, v: tuple[float, float] | None = None, *, every: int = 1
    ) -> CrgFile:
        """Return a part of the road with every n-th cross section (``every``), for a smaller program."""
        if every < 1:
            raise arm.ModelError(f"{self.path}: crop: every={every!r} must be 1 or more")
        rows = _between(self.u, u, self.path, "u")[::every]
        columns = _between(self.v, v, self.path, "v")
        if len(rows) < 2 or len(columns) < 2:
            raise arm.ModelError(
                f"{self.path}: crop leaves {len(rows)} cross sections and {len(columns)} long sections; "
                "leave two of each at least"
            )
        along = {name: getattr(self, name)[rows] for name in ("u", "x", "y", "reference_z", "bank")}
        return CrgFile(
            self.path, v=self.v[columns], z=self.z[np.ix_(rows, columns)], options=self.options, **along
        )


def read_crg(path: str | os.PathLike[str]) -> CrgFile:
    """Read an OpenCRG file, text or binary, and return its road.

    Sections $ROAD_CRG, $KD_DEFINITION, $ROAD_CRG_OPTS, $ROAD_CRG_MODS and $ROAD_CRG_FILE (another file in the
    same folder with the data) are read; all others are skipped.
    """
    header, rows = read_sections(Path(path), 0)
    road, definition = header.tables["ROAD_CRG"], header.definition
    names = [_channel(name, line, path) for name, line in definition.channels]
    return _assemble(os.fspath(path), header, road, names, rows)


def _channel(text: str, line: int, path: str | os.PathLike[str]) -> tuple[str, float, int]:
    """Return the kind of a channel, its number (a long section's position or counter), and its line."""
    name = text.split(",")[0].strip().lower()
    at = re.match(r"long section at v\s*=\s*(\S+)$", name)
    counted = re.match(r"long section\s+(\d+)$", name)
    try:
        if at:
            return "at", float(at[1]), line
        if counted:
            return "counted", float(counted[1]), line
    except ValueError:
        pass
    known = re.match(r"reference line (u|x|y|phi|banking|slope)$", name)
    if known:
        return known[1], 0.0, line
    raise arm.ModelError(
        f"{os.fspath(path)}, line {line}: the channel {name!r} is not known; channels are 'long section at "
        "v = number', 'long section N', and 'reference line' with u, x, y, phi, banking or slope"
    )


def _assemble(
    where: str,
    header: Sections,
    road: Mapping[str, Entry],
    names: Sequence[tuple[str, float, int]],
    rows: np.ndarray,
) -> CrgFile:
    """Return the road: check and integrate the reference line, choose the grid's columns, apply modifiers."""
    mods = _modifiers(where, header.tables["ROAD_CRG_MODS"])
    start = {
        what: road[f"REFERENCE_LINE_START_{what}"].value if f"REFERENCE_LINE_START_{what}" in road else 0.0
        for what in ("U", "X", "Y", "Z", "PHI", "S", "B")
    }
    end = {
        what: road[f"REFERENCE_LINE_END_{what}"].value
        for what in "UXYZ"
        if f"REFERENCE_LINE_END_{what}" in road
    }
    columns = {what: rows[:, i] for i, (what, _, _) in enumerate(names) if what not in ("at", "counted")}
    step = _increment(where, road, columns)
    expected = expected_rows(road)
    if expected is not None and len(rows) != expected:
        last = header.last_line
        raise arm.ModelError(
            f"{where}{f', line {last}' if last else ''}: the data have {len(rows)} cross sections, but from "
            f"{start['U']:g} to {end['U']:g} m at {step:g} m there are {expected}; the file is "
            + ("cut off: copy it again" if len(rows) < expected else "longer than its header says")
        )
    if len(rows) < 2:
        raise arm.ModelError(f"{where}: it has {len(rows)} cross sections; a road needs two")
    v, order = _long_sections(where, names, road)
    u = start["U"] + step * np.arange(len(rows))
    z = rows[:, order]
    x, y = _line(columns, start, end, step, len(rows))
    slope = columns.get("slope", np.full(len(rows), start["S"])) * mods["SCALE_SLOPE"]
    bank = columns.get("banking", np.full(len(rows), start["B"])) * mods["SCALE_BANKING"]
    heights = _integrate_slope(slope, start["Z"], end.get("Z"), step)
    for what, values in (("x", x), ("y", y), ("slope", heights), ("banking", bank)):
        if not np.all(np.isfinite(values)):
            row = int(np.argmin(np.isfinite(values)))
            raise arm.ModelError(f"{where}: the reference line has no {what} in cross section {row + 1}")
    z = fill_missing(z * mods["SCALE_Z_GRID"], int(mods["GRID_NAN_MODE"]), mods["GRID_NAN_OFFSET"])
    stretch = mods["SCALE_LENGTH"]
    x, y = x[0] + stretch * (x - x[0]), y[0] + stretch * (y - y[0])
    u, heights = u[0] + stretch * (u - u[0]), heights[0] + stretch * (heights - heights[0])
    x, y = _move(x, y, mods)
    options = {name: entry.value for name, entry in header.tables["ROAD_CRG_OPTS"].items()}
    _check_options(where, header.tables["ROAD_CRG_OPTS"])
    return CrgFile(
        where, u, v * mods["SCALE_WIDTH"], z, x, y, heights + mods["REFLINE_OFFSET_Z"], bank, options
    )


def _increment(where: str, road: Mapping[str, Entry], columns: Mapping[str, np.ndarray]) -> float:
    entry = road.get("REFERENCE_LINE_INCREMENT")
    if entry is None and "u" in columns and len(columns["u"]) > 1:
        gaps = np.diff(columns["u"])
        if np.ptp(gaps) <= 0.03 * np.min(gaps):
            return float(np.mean(gaps))
        raise arm.ModelError(f"{where}: the cross sections are not equally spaced along u")
    if entry is None and "x" in columns and "y" in columns and len(columns["x"]) > 1:
        gaps = np.hypot(np.diff(columns["x"]), np.diff(columns["y"]))
        if np.ptp(gaps) <= 0.03 * np.min(gaps):
            return float(np.mean(gaps))
        raise arm.ModelError(f"{where}: the points of the reference line are not equally spaced")
    if entry is None:
        raise arm.ModelError(f"{where}: REFERENCE_LINE_INCREMENT is missing in $ROAD_CRG; give it in metres")
    if entry.value < SPACING:
        raise arm.ModelError(f"{where}, line {entry.line}: REFERENCE_LINE_INCREMENT must be positive")
    return entry.value


def _long_sections(
    where: str, names: Sequence[tuple[str, float, int]], road: Mapping[str, Entry]
) -> tuple[np.ndarray, list[int]]:
    """Return the positions of the long sections, and their columns in the rows."""
    columns = [i for i, (what, _, _) in enumerate(names) if what in ("at", "counted")]
    kinds = {names[i][0] for i in columns}
    if len(columns) < 2 or len(kinds) > 1:
        raise arm.ModelError(
            f"{where}: a road needs two long sections at least, all 'at v = number' or all counted; it has "
            f"{len(columns)}"
        )
    values = np.array([names[i][1] for i in columns])
    lines = [names[i][2] for i in columns]
    if kinds == {"counted"}:
        if not np.array_equal(values, np.arange(1, len(values) + 1)):
            raise arm.ModelError(f"{where}, line {lines[0]}: long sections must be counted 1, 2, 3, …")
        right, left, gap = (road.get(f"LONG_SECTION_V_{name}") for name in ("RIGHT", "LEFT", "INCREMENT"))
        count = len(values) - 1
        if gap is not None:
            spacing = gap.value
        elif right is not None and left is not None:
            spacing = (left.value - right.value) / count
        else:
            raise arm.ModelError(
                f"{where}: LONG_SECTION_V_INCREMENT is missing in $ROAD_CRG; counted long sections need it"
            )
        begin = (
            right.value
            if right is not None
            else (left.value - count * spacing if left is not None else -count * spacing / 2)
        )
        values = begin + spacing * np.arange(count + 1)
        if left is not None and abs(values[-1] - left.value) > 1e-3 * abs(spacing):
            raise arm.ModelError(
                f"{where}, line {left.line}: {count + 1} long sections from {values[0]:g} m end at "
                f"{values[-1]:g} m, not at LONG_SECTION_V_LEFT = {left.value:g}"
            )
    if np.any(np.diff(values) < SPACING):
        at = int(np.argmin(np.diff(values))) + 1
        raise arm.ModelError(
            f"{where}, line {lines[at]}: long sections must follow each other from right to left"
        )
    return values, columns


def _line(
    columns: Mapping[str, np.ndarray],
    start: Mapping[str, float],
    end: Mapping[str, float],
    step: float,
    count: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of the reference line: as given, or integrated from the headings of its pieces.

    If an end is given, the integrals from both ends are blended, as in ASAM's library.
    """
    if "x" in columns and "y" in columns:
        return columns["x"], columns["y"]
    heading = np.full(count, start["PHI"])
    if "phi" in columns:
        heading[1:] = columns["phi"][1:]
    along = [step * np.cos(heading), step * np.sin(heading)]
    blend = "phi" in columns and "X" in end and "Y" in end
    found = []
    for piece, axis in zip(along, "XY", strict=True):
        if not blend:
            found.append(start[axis] + np.concatenate([[0.0], np.cumsum(piece[1:])]))
            continue
        values = end[axis] - np.concatenate([np.cumsum(piece[:0:-1])[::-1], [0.0]])
        values[0] = start[axis]
        for i in range(1, count):
            share = i / (count - 1)
            values[i] = (1 - share) * (values[i - 1] + piece[i]) + share * values[i]
        found.append(values)
    return found[0], found[1]


def _integrate_slope(slope: np.ndarray, start: float, end: float | None, step: float) -> np.ndarray:
    """Return heights of the reference line; if an end is given, blended as in ASAM's library."""
    pieces = slope[1:] * step
    if end is None or not np.any(slope):
        return start + np.concatenate([[0.0], np.cumsum(pieces)])
    heights = end - np.concatenate([np.cumsum(pieces[::-1])[::-1], [0.0]])
    heights[0] = start
    for i in range(len(slope) - 2):
        share = i / (len(slope) - 1)
        heights[i + 1] = (1 - share) * (heights[i] + pieces[i]) + share * heights[i + 1]
    return heights


def _modifiers(where: str, given: Mapping[str, Entry]) -> dict[str, float]:
    values = {name: 1.0 if name.startswith("SCALE") else 0.0 for name in APPLIED}
    for name, (value, line) in given.items():
        idle = value == (1.0 if name.startswith("SCALE") else 0.0)
        if name not in APPLIED and not idle:
            raise arm.ModelError(
                f"{where}, line {line}: the modifier {name} is not applied here; apply it with ASAM's tools, "
                f"or remove the line. Applied are {', '.join(APPLIED)}"
            )
        if name in APPLIED:
            values[name] = value
        if name.startswith("SCALE") and not value > 0 and name in ("SCALE_LENGTH", "SCALE_WIDTH"):
            raise arm.ModelError(f"{where}, line {line}: {name} must be positive")
    return values


def _check_options(where: str, options: Mapping[str, Entry]) -> None:
    for name in ("BORDER_MODE_U", "BORDER_MODE_V"):
        if name in options and options[name].value not in (0, 1, 2, 3, 4):
            raise arm.ModelError(
                f"{where}, line {options[name].line}: {name} = {options[name].value:g} is not known; use "
                "0 to 4"
            )


def fill_missing(z: np.ndarray, mode: int, offset: float) -> np.ndarray:
    """Return heights with missing ones filled: in mode 0 none, in mode 1 by the offset.

    In mode 2 a missing height is the next height to the right, else to the left, plus the offset.
    """
    if mode == 0 or not np.any(np.isnan(z)):
        return z
    made = z.copy()
    if mode == 1:
        made[np.isnan(made)] = offset
        return made
    columns = made.shape[1]
    for j in range(1, columns):
        gap = np.isnan(made[:, j])
        made[gap, j] = made[gap, j - 1]
    for j in range(columns - 2, -1, -1):
        gap = np.isnan(made[:, j])
        made[gap, j] = made[gap, j + 1]
    return np.where(np.isnan(z), made + offset, made)


def _move(x: np.ndarray, y: np.ndarray, mods: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the reference line rotated about a centre and then shifted."""
    turn = mods["REFLINE_OFFSET_PHI"]
    cx, cy = mods["REFLINE_ROTCENTER_X"], mods["REFLINE_ROTCENTER_Y"]
    dx, dy = x - cx, y - cy
    return (
        cx + dx * np.cos(turn) - dy * np.sin(turn) + mods["REFLINE_OFFSET_X"],
        cy + dx * np.sin(turn) + dy * np.cos(turn) + mods["REFLINE_OFFSET_Y"],
    )


def _between(values: np.ndarray, limits: tuple[float, float] | None, where: str, name: str) -> np.ndarray:
    if limits is None:
        return np.arange(len(values))
    low, high = limits
    if not low < high:
        raise arm.ModelError(f"{where}: crop needs {name}=(low, high) with low < high")
    return np.nonzero((values >= low - 1e-9) & (values <= high + 1e-9))[0]


# Writing of OpenCRG files, text or binary; `sections.py` has the format.


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

    u        positions of the cross sections, equally spaced, m
    v        positions of the long sections, rising, m
    z        heights, one row per u; nan is written as missing
    heading  of the reference line at u, rad: the first value belongs to the start, each other value to the
             piece that ends at its u; without headings the line is straight along x
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
    arm.write_file(path, "\n".join([*lines, ""]).encode("ascii") + _encode(rows, kind))


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
