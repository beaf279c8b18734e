"""Workers that cannot take part, that die, and schedulers that go: by a stand-in for a Dask client."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from armillary.errors import ArmillaryError, ModelError
from armillary.stages import System
from armillary.studies import Study, cluster, definition, open_study, worker_check
from armillary.studies.cluster import Job, UnfitWorkerError
from armillary.version import VERSION
from tests.later import later
from tests.studies.study_models import pendulum_study

distributed = later("distributed")


class Future:
    """A task that has ended."""

    def __init__(self, status: str, outcome: Any) -> None:
        self.status, self.outcome = status, outcome

    def add_done_callback(self, put: Callable[[Any], None]) -> None:
        put(self)

    def result(self, timeout: float) -> Any:
        if isinstance(self.outcome, TimeoutError):
            raise self.outcome
        return self.outcome

    def exception(self) -> Any:
        return self.outcome

    def release(self) -> None:
        pass


class Client:
    """Workers by address, and what becomes of each task: "finished" unless ``fate`` says otherwise."""

    scheduler = None

    def __init__(self, workers: dict[str, dict[str, str]], fate: Callable[[Any, list[int]], Any]) -> None:
        self.status, self.workers, self.fate = "running", workers, fate
        self.tasks: list[tuple[list[str], list[int]]] = []
        self.cancelled: list[Any] = []

    def ncores(self) -> dict[str, int]:
        return dict.fromkeys(self.workers, 1)

    def run(self, function: Any, *given: Any, workers: list[str], on_error: str) -> dict[str, Any]:
        assert function is worker_check.report and on_error == "return"
        return {a: worker_check.report(*given) | self.workers[a] for a in workers}

    def submit(self, function: Any, job: Job, numbers: list[int], given: Any, **how: Any) -> Future:
        self.tasks.append((sorted(how["workers"]), numbers))
        found = self.fate(self, numbers)
        if isinstance(found, Exception):
            return Future("error", found)
        return found or Future("finished", ([f"record {n}" for n in numbers], 0.5))

    def cancel(self, futures: list[Any]) -> None:
        self.cancelled += futures


class Lock:
    def check(self) -> None:
        pass


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    made = pendulum_study(tmp_path_factory.mktemp("studies") / "s", runs=20, block=10)
    made.run()
    return made


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster.Workers, "pause", 0.0)


def ran(study: Study, client: Client, blocks: int = 6) -> list[str]:
    """The records that come back."""
    place = str(study.path.resolve())
    job = Job(place, "digest", 20, VERSION, None, False, 1, "cpu")
    back: list[Any] = []
    given = cluster.BlockAssignment(job, None, range(blocks), Lock(), back.append)  # type: ignore[arg-type]
    cluster.run_there(client, given)
    return sorted(back)


ALL = [f"record {n}" for n in range(6)]


@pytest.mark.parametrize(
    ("lack", "told"),
    [
        ({"version": "", "why": "ModuleNotFoundError: No module named 'armillary'"}, "has no Armillary"),
        ({"version": "0.0.1"}, rf"has Armillary 0\.0\.1, and the study is run with {VERSION}"),
        ({"folder": "sees no study in '/elsewhere'"}, "must be on a disk that all workers share"),
    ],
)
def test_an_unfit_worker_is_left_out(study: Study, lack: dict[str, str], told: str) -> None:
    client = Client({"good": {}, "bad": lack}, lambda client, numbers: None)
    with pytest.warns(UserWarning, match=f"{told}.*the study goes on without it"):
        assert ran(study, client) == ALL
    assert {tuple(workers) for workers, _ in client.tasks} == {("good",)}
    with pytest.warns(UserWarning), pytest.raises(ArmillaryError, match=f"(?s)no worker .*{told}"):
        ran(study, Client({"bad": lack}, lambda client, numbers: None))


def test_a_worker_that_cannot_build_the_model_is_left_out(study: Study) -> None:
    def fate(client: Client, numbers: list[int]) -> Any:
        if "bad" in client.tasks[-1][0]:
            return UnfitWorkerError("bad\nbuild='models:car' cannot be imported")
        return None

    client = Client({"bad": {}, "good": {}}, fate)
    with pytest.warns(UserWarning, match="the worker at bad cannot take part: build='models:car'"):
        assert ran(study, client) == ALL
    assert client.tasks[-1][0] == ["good"]


def test_it_is_said_when_no_worker_is_left_and_those_that_come_are_used(study: Study) -> None:
    looks = 0

    class Leaving(Client):
        def ncores(self) -> dict[str, int]:
            nonlocal looks
            looks += 1
            self.workers = {} if looks in (1, 2, 4) else {f"worker {looks}": {}}
            return super().ncores()

    client = Leaving({}, lambda client, numbers: None)
    with pytest.warns(UserWarning, match="no workers; the study waits for them") as said:
        assert ran(study, client) == ALL
    assert len(said) == 2  # before the first came, and when it had gone


def test_blocks_of_killed_workers_are_sent_again_one_by_one(study: Study) -> None:
    killed = 0

    def fate(client: Client, numbers: list[int]) -> Any:
        nonlocal killed
        if 3 in numbers and killed < 3:
            killed += 1
            return distributed.scheduler.KilledWorker("task", None, 3)
        return None

    client = Client({"worker": {}}, fate)
    with pytest.warns(UserWarning, match="sends block.* again: workers died"):
        assert ran(study, client) == ALL
    assert killed == 3 and [numbers for _, numbers in client.tasks if 3 in numbers][1:] == [[3]] * 3


def test_a_block_that_always_kills_its_workers_ends_the_study(study: Study) -> None:
    def fate(client: Client, numbers: list[int]) -> Any:
        return distributed.scheduler.KilledWorker("task", None, 3) if 3 in numbers else None

    client = Client({"worker": {}}, fate)
    with pytest.warns(UserWarning), pytest.raises(ArmillaryError, match="block 3 was lost 4 times"):
        ran(study, client)


def test_tasks_whose_workers_are_gone_are_taken_back(study: Study) -> None:
    """The scheduler keeps a task for the workers that it was sent to; a restarted one has a new address."""

    class Silent(Future):
        def add_done_callback(self, put: Callable[[Any], None]) -> None:
            pass  # it never ends

    def fate(client: Client, numbers: list[int]) -> Any:
        if "new" in client.workers:
            return None
        if len(client.tasks) == 3:
            client.workers = {"new": {}}
        return Silent("pending", None)

    client = Client({"old": {}}, fate)
    with pytest.warns(UserWarning, match="its workers are gone"):
        assert ran(study, client) == ALL
    assert len(client.cancelled) == 3 and client.tasks[-1][0] == ["new"]


def test_records_that_a_dead_worker_cannot_tell_are_read_by_another(study: Study) -> None:
    late: list[int] = []

    def fate(client: Client, numbers: list[int]) -> Any:
        if not late:
            late.extend(numbers)
            return Future("finished", TimeoutError())
        return None

    client = Client({"worker": {}}, fate)
    with pytest.warns(UserWarning, match="died before it reported"):
        assert ran(study, client) == ALL
    assert len(client.cancelled) == 1


def test_a_worker_that_dies_while_it_is_checked_is_asked_again(study: Study) -> None:
    asked = 0

    class Dying(Client):
        def run(self, *given: Any, **how: Any) -> dict[str, Any]:
            nonlocal asked
            asked += 1
            found = super().run(*given, **how)
            return {a: OSError("Stream is closed") for a in found} if asked == 1 else found

    assert ran(study, Dying({"worker": {}}, lambda client, numbers: None)) == ALL
    assert asked == 2


def test_tasks_that_a_restarted_scheduler_forgot_are_sent_again(study: Study) -> None:
    forgotten: list[int] = []

    def fate(client: Client, numbers: list[int]) -> Any:
        if not forgotten:
            forgotten.extend(numbers)
            return Future("cancelled", None)
        return None

    with pytest.warns(UserWarning, match="the scheduler forgot a task"):
        assert ran(study, Client({"worker": {}}, fate)) == ALL


def test_a_scheduler_that_does_not_come_back_is_told(study: Study) -> None:
    def fate(client: Client, numbers: list[int]) -> Any:
        client.status = "closed"
        return Future("cancelled", None)

    with (
        pytest.warns(UserWarning, match="forgot"),
        pytest.raises(ArmillaryError, match=r"the scheduler is gone.*finished blocks are kept"),
    ):
        ran(study, Client({"worker": {}}, fate))


def test_a_broken_connection_is_told(study: Study) -> None:
    class Broken(Client):
        def ncores(self) -> dict[str, int]:
            raise OSError("Stream is closed")

    with pytest.raises(ArmillaryError, match=r"connection to the scheduler broke \(Stream is closed\); fin"):
        ran(study, Broken({}, lambda client, numbers: None))


def test_the_check_needs_nothing_of_armillary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is pickled by value, and answers where Armillary cannot be imported."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(worker_check)
    try:
        sent = cloudpickle.dumps(worker_check.report)
    finally:
        cloudpickle.unregister_pickle_by_value(worker_check)
    for name in [name for name in sys.modules if name.partition(".")[0] == "armillary"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "armillary", None)
    found = cloudpickle.loads(sent)(str(tmp_path), ".unfinished")
    assert found["version"] == "" and "armillary" in found["why"]
    assert found["folder"] == f"sees no study in '{tmp_path}'"


def test_a_folder_that_cannot_be_written_is_reported(study: Study) -> None:
    found = worker_check.report(str(study.path), "nowhere")
    assert found["version"] == VERSION and found["folder"].startswith("cannot write to")


# ----------------------------------------------------------------------------------------------- trust


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Path]:
    pendulum_study(tmp_path / "t", runs=20, block=10).run()
    yield tmp_path / "t"


def test_machine_code_that_a_changed_text_names_is_not_loaded(
    opened: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ``trust`` says: that is for the text which the study wrote."""
    text = opened / "model.toml"
    text.write_text(text.read_text() + "\n[fmus.extra]\nfile = 'nowhere.fmu'\n")
    monkeypatch.setattr(System, "fmu", lambda *given, **more: pytest.fail("loaded"))
    for trust in (False, True):
        with pytest.raises(ArmillaryError, match="is not the text that the study wrote there"):
            open_study(opened, trust=trust).rerun(3)


def test_an_error_of_the_text_that_the_study_wrote_is_the_error_of_the_model(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text without a change is not said to be another one: its own error is the one that helps."""

    def refuse(path: Path, **more: bool) -> None:
        given.append(more)
        raise ModelError("'extra' loads machine code: give trust=True")

    given: list[dict[str, bool]] = []
    monkeypatch.setattr(definition, "load", refuse)
    for trust in (False, True):
        with pytest.raises(ModelError, match=r"^'extra' loads machine code: give trust=True$"):
            open_study(study.path, trust=trust).rerun(3)
    assert given == [{}, {"trust": True}]  # the study's own text is trusted as far as the user says


def test_workers_are_trusted_as_far_as_the_user_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = []
    monkeypatch.setattr(cluster, "run_there", lambda client, given: jobs.append(given.job))
    monkeypatch.setattr(cluster, "connect_client", _nowhere)
    for name, given in (("a", {}), ("b", {"trust": True})):
        with pytest.raises(ArmillaryError):  # no block was made
            pendulum_study(tmp_path / name, runs=20, block=10, **given).run("tcp://nowhere:1")
    assert [job.trust for job in jobs] == [False, True]


class _nowhere:
    def __init__(self, on: Any) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        pass
