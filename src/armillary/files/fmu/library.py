"""The library inside an FMU, loaded into this process, and its instances for co-simulation.

What happens once per run is called from here, through ctypes; what happens at every communication point is
called by compiled code (stepping.py).
"""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
import tempfile
from collections import deque
from collections.abc import Mapping
from ctypes import CFUNCTYPE, POINTER, byref, c_bool, c_char_p, c_double, c_int, c_size_t, c_uint32, c_void_p
from pathlib import Path
from typing import Any

from armillary.errors import ArmillaryError, ModelError, SimulationError
from armillary.export.fmi.platforms import PLATFORMS, folders, this_platform
from armillary.files.fmu.archive import opened, unpack
from armillary.files.fmu.description import Fmu, FmuVariable

# What a call answers. After an error an instance may only be freed; after a fatal one nothing of the library
# may be called any more, for any instance (FMI 2.0.4, sections 2.1.3 and 4.2.4; 3.0.1, section 2.2).
OK, WARNING, DISCARD, ERROR, FATAL = range(5)

_LOG2 = CFUNCTYPE(None, c_void_p, c_char_p, c_int, c_char_p, c_char_p)
_LOG3 = CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p)
_LATEST = 100  # messages that are kept


class _Callbacks(ctypes.Structure):
    """What FMI 2.0 wants to be given by the importer."""

    _fields_ = (
        ("logger", _LOG2),
        ("allocate", c_void_p),
        ("release", c_void_p),
        ("finished", c_void_p),
        ("environment", c_void_p),
    )


class Library:
    """An FMU's library and what it needs while it is loaded."""

    def __init__(self, fmu: Fmu) -> None:
        if not fmu.identifier:
            raise ModelError(
                f"FMU '{fmu.name}' ({fmu.path.name}) offers no co-simulation, which is what can be imported"
            )
        here = this_platform()
        file = f"{fmu.identifier}{PLATFORMS[here].suffix}"
        with opened(fmu.path) as archive:
            names = archive.namelist()
        places = folders(fmu.version, here)
        folder = next((place for place in places if f"{place}/{file}" in names), places[0])
        wanted = f"{folder}/{file}"
        if wanted not in names:
            there = sorted(
                {name.split("/")[1] for name in names if name.startswith("binaries/") and name.count("/") > 1}
            )
            raise ModelError(
                f"FMU '{fmu.name}' ({fmu.path.name}) holds no library for this machine ({wanted}); "
                f"it has libraries for {', '.join(there) or 'none'}"
            )
        self.fmu = fmu
        self.messages: deque[str] = deque(maxlen=_LATEST)
        self.fatal = False
        self._folder = tempfile.TemporaryDirectory(prefix="armillary-fmu-", ignore_cleanup_errors=True)
        unpack(fmu.path, (folder, "resources"), Path(self._folder.name))
        self.resources = Path(self._folder.name, "resources")
        self.resources.mkdir(exist_ok=True)
        try:
            self.code = ctypes.CDLL(str(Path(self._folder.name, wanted)))
        except OSError as error:
            raise ModelError(f"the library of FMU '{fmu.name}' cannot be loaded: {error}") from error
        self._logger = _LOG2(self._log2) if fmu.version == "2.0" else _LOG3(self._log3)

    def function(self, name: str) -> Any:
        """A function of the library; its result is a status."""
        try:
            return getattr(self.code, f"fmi{self.fmu.version[0]}{name}")
        except AttributeError:
            raise ModelError(
                f"the library of FMU '{self.fmu.name}' has no function fmi{self.fmu.version[0]}{name}"
            ) from None

    def address(self, name: str) -> int:
        """The address of a function of the library."""
        return ctypes.cast(self.function(name), c_void_p).value or 0

    def _log2(self, _: Any, name: bytes, status: int, category: bytes, message: bytes) -> None:
        self._keep(message)

    def _log3(self, _: Any, status: int, category: bytes, message: bytes) -> None:
        self._keep(message)

    def _keep(self, message: bytes | None) -> None:
        self.messages.append((message or b"").decode("utf-8", "replace"))

    # ------------------------------------------------------------ instances

    def instance(self, name: str) -> int:
        """A new instance for co-simulation."""
        if self.fatal:
            raise SimulationError(
                f"FMU '{self.fmu.name}' failed for good in an earlier run{self._said()}; make the model anew"
            )
        token, resources = self.fmu.token.encode(), self.resources
        if self.fmu.version == "2.0":
            make = self.function("Instantiate")
            make.restype = c_void_p
            make.argtypes = (c_char_p, c_int, c_char_p, c_char_p, POINTER(_Callbacks), c_int, c_int)
            found = make(name.encode(), 1, token, resources.as_uri().encode(), byref(self._callbacks()), 0, 0)
        else:
            make = self.function("InstantiateCoSimulation")
            make.restype = c_void_p
            make.argtypes = (
                *(c_char_p, c_char_p, c_char_p, c_bool, c_bool, c_bool, c_bool, c_void_p, c_size_t),
                *(c_void_p, _LOG3, c_void_p),
            )
            place = f"{resources}/".encode()
            found = make(
                name.encode(), token, place, False, False, False, False, None, 0, None, self._logger, None
            )
        if not found:
            raise SimulationError(f"FMU '{self.fmu.name}' could not be instantiated{self._said()}")
        return int(found)

    def _callbacks(self) -> _Callbacks:
        if not hasattr(self, "_kept"):
            libc = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)
            allocate, release = (ctypes.cast(f, c_void_p) for f in (libc.calloc, libc.free))
            self._kept = _Callbacks(self._logger, allocate, release, None, None)
        return self._kept

    def initialize(
        self,
        instance: int,
        t: float,
        settings: Mapping[FmuVariable, float],
        inputs: Mapping[FmuVariable, float],
    ) -> None:
        """An instance at the start of a run, parameters and inputs set."""
        self.set(instance, settings)
        if self.fmu.version == "2.0":
            self._call(
                "SetupExperiment", instance, c_int(0), c_double(0.0), c_double(t), c_int(0), c_double(0.0)
            )
            self._call("EnterInitializationMode", instance)
        else:
            self._call(
                "EnterInitializationMode", instance, c_bool(False), c_double(0.0), c_double(t), c_bool(False),
                c_double(0.0),
            )  # fmt: skip
        self.set(instance, inputs)
        self._call("ExitInitializationMode", instance)

    def set(self, instance: int, values: Mapping[FmuVariable, float]) -> None:
        """Values of variables."""
        if not values:
            return
        count = len(values)
        references = (c_uint32 * count)(*(v.reference for v in values))
        numbers = (c_double * count)(*values.values())
        more = (c_size_t(count),) if self.fmu.version == "3.0" else ()
        name = "SetFloat64" if self.fmu.version == "3.0" else "SetReal"
        self._call(name, instance, references, c_size_t(count), numbers, *more)

    def free(self, instance: int, status: int) -> None:
        """An instance given back, as far as the worst answer of its calls allows."""
        self.fatal = self.fatal or status >= FATAL
        if self.fatal:
            return
        if status < ERROR:
            self.function("Terminate")(c_void_p(instance))
        release = self.function("FreeInstance")
        release.restype = None
        release(c_void_p(instance))

    def _call(self, name: str, instance: int, *arguments: Any) -> None:
        status = self.function(name)(c_void_p(instance), *arguments)
        if status not in (OK, WARNING):
            self.fatal = self.fatal or status >= FATAL
            raise SimulationError(
                f"FMU '{self.fmu.name}': fmi{self.fmu.version[0]}{name} failed, status {status}{self._said()}"
            )

    def _said(self) -> str:
        return f"; it says: {self.messages[-1]}" if self.messages else ""


def load(fmu: Fmu) -> Library:
    """The library of an FMU; what is wrong with it is one error."""
    try:
        return Library(fmu)
    except OSError as error:
        raise ArmillaryError(f"FMU '{fmu.name}' cannot be unpacked: {error.strerror or error}") from error
