"""Inputs over time of a study: their data in its folder, ``inputs.npz``, and what identifies them.

All runs of a study have the same inputs. Data are kept bit for bit, as points with units and interpolation,
so that any worker makes the runs that a single call of ``simulate`` makes.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from contextlib import suppress

import numpy as np

from armillary.atomic import replacing
from armillary.errors import ArmillaryError
from armillary.runtime.inputs.signal import Signal
from armillary.studies.store.folder import Folder
from armillary.untyped import DataMapping, DataTable


def input_identity(signals: Mapping[str, Signal]) -> dict[str, DataTable]:
    """The identity of the inputs of a study."""
    return {
        name: {
            "instants": len(signal),
            "units": signal.units,
            "interpolation": signal.interpolation,
            "checksum": _checksum(signal),
        }
        for name, signal in signals.items()
    }


def _checksum(signal: Signal) -> str:
    made = hashlib.blake2b(digest_size=16)
    for numbers in (signal.time, signal.values):
        made.update(np.ascontiguousarray(numbers, dtype="<f8").tobytes())
    return made.hexdigest()


def keep_signals(folder: Folder, signals: Mapping[str, Signal]) -> None:
    """The data in the study's folder, written where they are not there or damaged."""
    with suppress(ArmillaryError):
        read_signals(folder, input_identity(signals))
        return
    arrays: DataTable = {}
    for i, signal in enumerate(signals.values()):
        arrays |= {f"time{i}": signal.time, f"values{i}": signal.values}
    with replacing(folder.inputs) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)


def read_signals(folder: Folder, about: Mapping[str, DataMapping]) -> dict[str, Signal]:
    """The inputs that ``input_identity`` describes, from the study's folder."""
    if not about:
        return {}
    found = {}
    try:
        with np.load(folder.inputs, allow_pickle=False) as data:
            for i, (name, what) in enumerate(about.items()):
                time, values = data[f"time{i}"], data[f"values{i}"]
                how = {"interpolation": what["interpolation"], "units": what["units"]}
                found[name] = Signal(time, values, name=name, **how)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ArmillaryError(f"cannot read the data of inputs, '{folder.inputs}': {error}") from error
    for name, signal in found.items():
        if _checksum(signal) != about[name]["checksum"]:
            raise ArmillaryError(
                f"'{folder.inputs}' is damaged: the data of input '{name}' are not those of the study; give "
                "the study its inputs= again, or restore the file from a copy"
            )
    return found
