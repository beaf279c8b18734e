"""Instances of an imported FMU: one per thread that runs the model, in a table that compiled code reads.

A run has an instance of its own: the thread that starts a run frees the instance of its last one, so that
runs in several threads do not meet.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from armillary.algebra.block_functions import ForeignFunction
from armillary.errors import SimulationError
from armillary.files.fmu.description import FmuVariable
from armillary.files.fmu.instance_code import SLOTS
from armillary.files.fmu.library import DISCARD, ERROR, OK, Library

Setting = float | str  # of a parameter


class InstanceRecord(ctypes.Structure):
    """The data of an instance that compiled code reads."""

    _fields_ = (
        ("instance", ctypes.c_void_p),
        ("time", ctypes.c_double),
        ("status", ctypes.c_int64),
        ("before", ctypes.POINTER(ctypes.c_double)),  # inputs at the last communication point
    )


class Instances:
    """The instances of one FMU in a system: one per thread, in a table that compiled code reads."""

    def __init__(
        self,
        library: Library,
        name: str,
        settings: Mapping[FmuVariable, Setting],
        inputs: Sequence[FmuVariable],
    ) -> None:
        self.library, self.name, self.settings, self.inputs = library, name, dict(settings), list(inputs)
        self.table = (ctypes.c_void_p * SLOTS)()
        self.records: dict[int, ctypes.Structure] = {}
        self.fresh: dict[int, tuple[float, ...]] = {}  # what an instance was initialised with
        self.owners: dict[int, threading.Thread] = {}
        self.lock = threading.Lock()

    def start(self, t: float, *signals: float) -> float:
        """The handle of an instance initialised with these values; one that has not moved is as good."""
        own, given = self._own(), (t, *signals)
        if own is not None and own in self.records:
            record = self.records[own]
            if self.fresh[own] == given and record.time == t and record.status == OK:
                return float(own)
        slot = self._slot(threading.current_thread()) if own is None else own
        self._free(slot)
        instance = self.library.instance(self.name)
        # Until it is initialised, it may be freed but not terminated, as after an error.
        record = self.record(instance, t, signals)
        self.records[slot], self.fresh[slot] = record, given
        self.library.initialize(instance, t, self.settings, dict(zip(self.inputs, signals, strict=True)))
        self.begun(record)
        record.status = OK
        self.table[slot] = ctypes.addressof(record)
        return float(slot)

    def record(self, instance: int, t: float, signals: Sequence[float]) -> ctypes.Structure:
        """The data that compiled code reads of an instance that is not initialised yet."""
        return InstanceRecord(instance, t, ERROR, (ctypes.c_double * max(1, len(signals)))(*signals))

    def begun(self, record: ctypes.Structure) -> None:
        """The calls after the initialization of an instance."""

    def complaint(self) -> str:
        """A sentence on the failure of this thread's instance, if it failed."""
        own = self._own()
        if own is None or own not in self.records or self.records[own].status < DISCARD:
            return ""
        said = self.library.messages[-1] if self.library.messages else "it gives no reason"
        return f"FMU '{self.name}' failed at t = {self.records[own].time:.6g} s: {said}"

    def _own(self) -> int | None:
        thread = threading.current_thread()
        with self.lock:
            return next((slot for slot, owner in self.owners.items() if owner is thread), None)

    def _slot(self, thread: threading.Thread) -> int:
        """A place for a thread's instance; that of a thread that is over, if there is one."""
        with self.lock:
            free = next(
                (slot for slot, owner in self.owners.items() if not owner.is_alive()), len(self.owners)
            )
            if free >= SLOTS:
                raise SimulationError(f"FMU '{self.name}' takes part in {SLOTS} runs already")
            self.owners[free] = thread
        return free

    def _free(self, slot: int) -> None:
        record = self.records.pop(slot, None)
        self.table[slot] = None
        if record is not None and record.instance:
            self.library.free(record.instance, record.status)

    def release(self) -> None:
        """All instances given back."""
        for slot in list(self.records):
            self._free(slot)

    def __del__(self) -> None:
        self.release()


class InstanceStart(ForeignFunction):
    """`start` as a function of expressions: evaluated in Python when a run begins, never compiled."""

    def __init__(self, name: str, entry: InstanceEntry, arity: int, instances: Instances) -> None:
        super().__init__(name, entry, arity)
        self.instances = instances

    def value(self, *args: Any) -> Any:  # numbers alone, unlike those of its base
        return self.instances.start(*(float(a) for a in args))

    def complaint(self) -> str:
        """The FMU's message when it failed in this thread's last run; empty where it did not."""
        return self.instances.complaint()


@dataclass(frozen=True, eq=False)
class InstanceEntry:
    """An address, and all that has to live as long as it may be called."""

    address: int
    kept: tuple[object, ...]
