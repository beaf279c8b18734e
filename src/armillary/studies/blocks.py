"""Blocks of runs, made and written: the same on this machine's threads and on a cluster's workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from armillary.atomic import reason
from armillary.errors import ArmillaryError
from armillary.studies.definition.definition import Definition
from armillary.studies.lock import StudyLock
from armillary.studies.store.folder import Folder
from armillary.studies.store.layout import Made, StoreLayout
from armillary.studies.store.records import BlockRecord, finish_block

Values: TypeAlias = Mapping[str, np.ndarray]
RunMaker: TypeAlias = Callable[[Values, int], Made]  # values of a block's runs, and the number of the first


@dataclass(frozen=True, eq=False)
class BlockMaker:
    """Where blocks go, and what makes them."""

    folder: Folder
    layout: StoreLayout
    digest: str
    make_runs: RunMaker

    @classmethod
    def of(cls, folder: Folder, definition: Definition, make_runs: RunMaker) -> BlockMaker:
        return cls(folder, definition.layout, definition.digest, make_runs)

    def make(self, number: int, values: Values) -> BlockRecord:
        """A block made and written; an error leaves nothing of it that counts."""
        started = time.perf_counter()
        first, end = self.layout.span(number)
        try:
            made = self.make_runs(values, first)
        except ArmillaryError as error:
            raise ArmillaryError(f"study '{self.folder.root}', runs {first} to {end - 1}: {error}") from error
        seconds = time.perf_counter() - started
        try:
            return finish_block(self.folder, self.layout, self.digest, number, made, seconds)
        except OSError as error:
            raise ArmillaryError(
                f"study '{self.folder.root}', block {number} cannot be written: {reason(error)}; finished "
                "blocks are kept: run it again to go on"
            ) from error


def run_here(
    blocks: BlockMaker,
    values: Callable[[int, int], Values],
    numbers: Iterable[int],
    lock: StudyLock,
    done: Callable[[BlockRecord], None],
) -> None:
    """Blocks made one after another in this process; ``values`` are those of the design from one run up to
    another.
    """
    for number in numbers:
        lock.check()
        done(blocks.make(number, values(*blocks.layout.span(number))))
