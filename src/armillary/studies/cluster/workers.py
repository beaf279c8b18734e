"""The workers of a cluster that can take part in a study, as they come and go."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING

from armillary.errors import ArmillaryError, outside
from armillary.studies.cluster import worker_check
from armillary.studies.cluster.task import Job
from armillary.studies.store.folder import UNFINISHED

if TYPE_CHECKING:
    from distributed import Client


class Workers:
    """The workers that are fit, each with its threads, and the reasons why others are not."""

    pause = 2.0  # seconds between two looks

    def __init__(self, client: Client, job: Job) -> None:
        self._client, self._job = client, job
        self.fit: dict[str, int] = {}
        self._unfit: dict[str, str] = {}
        self._looked = -self.pause
        self._warned = False  # that there are none

    def look(self) -> None:
        """Workers that are there now; new ones are checked, with a warning where none is left.

        An error where there are some and all of them are unfit.
        """
        if time.monotonic() - self._looked < self.pause and self.fit:
            return
        there = dict(self._client.ncores())
        new = [address for address in there if address not in self.fit and address not in self._unfit]
        checked = self._checked(new)
        for address, why in checked.items():
            if why:
                self._unfit[address] = why
                self._warn(f"{why}; the study goes on without it")
        known = self.fit.keys() | checked.keys()  # one that did not answer is asked again at the next look
        self.fit = {a: cores for a, cores in there.items() if a in known and a not in self._unfit}
        self._looked = time.monotonic()
        if there and all(address in self._unfit for address in there):
            reasons = dict.fromkeys(self._unfit[address] for address in there)
            raise ArmillaryError(
                f"study '{self._job.folder}': no worker of the cluster can take part\n  "
                + "\n  ".join(reasons)
            )
        if not there and not self._warned:
            address = self._client.scheduler.address if self._client.scheduler else "its address"
            self._warn(f"the scheduler has no workers; the study waits for them: dask worker {address}")
        self._warned = not there

    def leave_out(self, error: Exception) -> None:
        """The worker that raised an error is given no more tasks."""
        host, _, reason = str(error).partition("\n")
        self._unfit[host] = f"the worker at {host} cannot take part: {reason}"
        self.fit.pop(host, None)
        self._looked = -self.pause
        self._warn(f"{self._unfit[host]}; the study goes on without it")

    def _checked(self, addresses: list[str]) -> dict[str, str]:
        """Why each of some workers cannot take part, "" where it can; one that has just died is left out."""
        if not addresses:
            return {}
        import cloudpickle  # a requirement of distributed

        cloudpickle.register_pickle_by_value(worker_check)  # the worker may have no Armillary
        try:
            found = self._client.run(
                worker_check.report, self._job.folder, UNFINISHED, workers=addresses, on_error="return"
            )
        finally:
            cloudpickle.unregister_pickle_by_value(worker_check)
        answers = {address: each for address, each in found.items() if not isinstance(each, Exception)}
        return {address: worker_check.unfit(each, self._job.version) for address, each in answers.items()}

    def _warn(self, text: str) -> None:
        warnings.warn(text, stacklevel=outside())
