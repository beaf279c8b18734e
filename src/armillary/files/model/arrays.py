"""Arrays and flexible parts of a text model: in the file itself, or in files beside it."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from armillary.algebra.csv_columns import read_columns
from armillary.errors import ModelError, nearest
from armillary.files.model.documents import Document
from armillary.files.model.objects import BEAMS, PLATES
from armillary.model.flexible.part import FlexibleNode, FlexiblePart, GivenModes, Lumps
from armillary.model.flexible.parts.section import SECTION
from armillary.model.reading.kinds import OneOf, tuples
from armillary.untyped import DataMapping, DataTable, Given

LARGEST = 2**30  # bytes of all arrays of one file


def array_of(document: Document, value: object) -> Given:
    """An array given as lists, or as { file = "boom.npz", key = "shapes" }, where a .csv file's keys are the
    headings or numbers of its columns; any other value as it is.
    """
    if isinstance(value, list):
        return [array_of(document, item) for item in value] if _holds_files(value) else tuples(value)
    if not (isinstance(value, Mapping) and "file" in value):
        return value
    path = beside(document, value["file"])
    key = value.get("key")
    if path.suffix == ".csv":
        columns, heading = read_columns(path), str(key or 1)
        number = heading.isdecimal() and len(heading) < 10
        return columns.values[:, columns.place(int(heading) if number else heading)]
    loaded = load_arrays(path)
    if key is None and len(loaded) == 1:
        return next(iter(loaded.values()))
    if key not in loaded:
        hint = nearest(str(key), loaded) or f"; it holds {', '.join(loaded)}"
        raise ModelError(f"file '{value['file']}' has no array '{key}'{hint}")
    return loaded[key]


def _holds_files(value: list[Given]) -> bool:
    return any(isinstance(item, Mapping) for item in value)


def beside(document: Document, name: str) -> Path:
    """A file named in a document, relative to the document's folder."""
    return document.path.parent / name


def load_arrays(path: Path) -> dict[str, np.ndarray]:
    """Arrays of a .npy or .npz file, by name. Pickled objects, which could run code, are refused."""
    if path.suffix not in (".npy", ".npz"):
        raise ModelError(f"arrays are read from .npy, .npz and .csv files, not from '{path.name}'")
    if not path.is_file():
        raise ModelError(f"there is no file '{path}'; check its name and folder")
    try:
        if path.suffix == ".npz":
            with zipfile.ZipFile(path) as archive:
                if sum(entry.file_size for entry in archive.infolist()) > LARGEST:
                    raise ModelError(f"file '{path}' holds more than {LARGEST // 2**30} GiB of arrays")
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"": loaded}
        with loaded:
            return {key: loaded[key] for key in loaded.files}
    except ModelError:
        raise
    except Exception as error:  # a damaged archive has many kinds
        raise ModelError(f"file '{path}' cannot be read ({error})") from None


def flexible_options(document: Document, table: DataMapping) -> tuple[Given, DataTable]:
    """The arguments of ``Body.flexible``, from the table of a flexible part."""
    options: DataTable = {}
    for key, value in table.items():
        if key in ("beam", "plate", "part"):
            continue
        if key in ("mass_matrix", "stiffness_matrix") and isinstance(value, str):
            options[key] = beside(document, value)
        elif isinstance(value, Mapping) and "file" not in value:
            options[key] = {name: tuples(item) for name, item in value.items()}
        else:
            options[key] = array_of(document, value)
    if "beam" in table:
        beam = dict(table["beam"])
        if "section" in beam:
            beam["section"] = SECTION.python(beam["section"])
        return BEAMS[0].make(**{key: tuples(value) for key, value in beam.items()}), options
    if "plate" in table:
        return OneOf(PLATES).python(table["plate"]), options
    if "part" in table:
        return read_part(beside(document, table["part"])), options
    return None, options


# ---------------------------------------------------------------- ready parts

_FIELDS = ("first", "inertia", "P", "H", "M", "K", "C", "J1", "J2", "H1", "g", "spin")


def part_arrays(part: FlexiblePart, used: Mapping[str, FlexibleNode]) -> DataTable:
    """A ready part as arrays by name, for a .npz file, with the nodes that were used at places."""
    found: DataTable = {"mass": part.mass}
    found |= {name: value for name in _FIELDS if (value := getattr(part, name)) is not None}
    if part.total_mass is not None:
        found["total_mass"] = part.total_mass
    for name, node in {**part.nodes, **used}.items():
        for field in ("position", "shape", "rotation", "shortening", "place"):
            if (value := getattr(node, field)) is not None:
                found[f"node {field} {name}"] = np.asarray(value, dtype=float)
    if (given := part.complex_modes) is not None:
        found |= {f"complex {name}": np.asarray(value) for name, value in vars(given).items()}
    for field in ("masses", "inertias", "positions", "shapes", "stiffness"):
        if part.lumps is not None and (value := getattr(part.lumps, field)) is not None:
            found[f"lumps {field}"] = value
    return found


def read_part(path: Path) -> FlexiblePart:
    """The part that ``part_arrays`` wrote to a file."""
    found = load_arrays(path)
    try:
        names = [key.removeprefix("node position ") for key in found if key.startswith("node position ")]
        nodes = {
            name: FlexibleNode(
                name,
                found[f"node position {name}"],
                found[f"node shape {name}"],
                found[f"node rotation {name}"],
                found.get(f"node shortening {name}"),
                _place(found.get(f"node place {name}")),
            )
            for name in names
        }
        lumps = {
            key.removeprefix("lumps "): value for key, value in found.items() if key.startswith("lumps ")
        }
        given: DataTable = {
            key.removeprefix("complex "): value for key, value in found.items() if key.startswith("complex ")
        }
        if given:
            given["whole"] = bool(given["whole"])
        arrays: DataTable = {name: found[name] for name in _FIELDS if name in found}
        return FlexiblePart(
            mass=float(found["mass"]),
            **arrays,
            nodes=nodes,
            lumps=Lumps(**lumps) if lumps else None,
            complex_modes=GivenModes(**given) if given else None,
            total_mass=float(found["total_mass"]) if "total_mass" in found else None,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"file '{path}' does not hold a flexible part ({error}); save one with its model"
        ) from None


def _place(value: Given) -> Given:
    if value is None:
        return None
    return float(value) if value.ndim == 0 else tuple(value.tolist())
