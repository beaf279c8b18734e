"""Studies on a Dask cluster of two worker processes: killed workers and clients, no results in between."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armillary.errors import ArmillaryError
from armillary.studies import Study, cluster, open_study
from armillary.studies.sampling import Uniform
from tests.later import later
from tests.studies.study_models import hinged, pendulum_study

dask, distributed = later("dask"), later("distributed")

SLOW = {"step": 1e-4, "runs": 240, "block": 10}  # 24 blocks of some tens of milliseconds


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as workers,
        distributed.Client(workers) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The same study by this process alone."""
    return pendulum_study(tmp_path_factory.mktemp("studies") / "whole", **SLOW).run()


def assert_same(study: Study, whole: Study) -> None:
    assert study.table().equals(whole.table())
    assert np.array_equal(study.dataset()["energy"], whole.dataset()["energy"])


def test_a_killed_worker_changes_nothing(client: Any, whole: Study, tmp_path: Path) -> None:
    pids = list(client.run(os.getpid).values())

    def deadly(status: Any) -> None:
        if status.finished == 4:
            os.kill(pids[0], signal.SIGKILL)

    study = pendulum_study(tmp_path / "s", **SLOW).run(client, progress=deadly)
    assert_same(study, whole)
    heads = [json.loads(path.read_bytes().partition(b"\n")[0]) for path in records(study)]
    assert f"{socket.gethostname()} {os.getpid()}" not in {head["by"] for head in heads}  # workers wrote all


def records(study: Study) -> list[Path]:
    return sorted((study.path / "blocks").iterdir())


@pytest.mark.filterwarnings("ignore:Port 8787 is already in use")  # by the other cluster of this file
def test_the_only_worker_is_killed_and_comes_back(tmp_path: Path, whole: Study) -> None:
    """Its nanny starts it again at another address: what it was sent goes there."""
    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as workers,
        distributed.Client(workers) as alone,
    ):
        (pid,) = alone.run(os.getpid).values()

        def deadly(status: Any) -> None:
            if status.finished == 4:
                os.kill(pid, signal.SIGKILL)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # which of them come depends on when the death is noticed
            assert_same(pendulum_study(tmp_path / "s", **SLOW).run(alone, progress=deadly), whole)


def test_a_killed_client_is_resumed(client: Any, whole: Study, tmp_path: Path) -> None:
    address = client.scheduler.address
    program = (
        "import os, signal, pathlib\n"
        "from tests.studies.study_models import pendulum_study\n"
        "def deadly(status):\n"
        "    if status.finished == 5: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"study = pendulum_study(pathlib.Path({str(tmp_path / 's')!r}), **{SLOW})\n"
        f"study.run({address!r}, progress=deadly)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[2], timeout=300)
    assert ended.returncode == -signal.SIGKILL
    there = {path: path.stat().st_mtime_ns for path in records(open_study(tmp_path / "s"))}
    assert 5 <= len(there) < 24
    study = pendulum_study(tmp_path / "s", **SLOW).run(address)
    assert_same(study, whole)
    assert all(path.stat().st_mtime_ns == changed for path, changed in there.items())


def test_damage_is_mended_by_the_workers(client: Any, tmp_path: Path) -> None:
    study = pendulum_study(tmp_path / "s", runs=100).run(client)
    chunk = study.path / "results.zarr" / "energy" / "c.2.0"
    content = chunk.read_bytes()
    chunk.write_bytes(content[:-9] + b"x" + content[-8:])
    study.run(client)
    assert chunk.read_bytes() == content


def test_a_full_disk_of_a_worker_is_told(client: Any, tmp_path: Path) -> None:
    study = pendulum_study(tmp_path / "s", runs=100)
    client.run(fill_disk)
    try:
        with pytest.raises(ArmillaryError, match="cannot be written: no space left on device; make room"):
            study.run(client)
    finally:
        client.run(empty_disk)
    assert study.run(client).status().complete


def fill_disk() -> None:
    from armillary.studies import folder as folders

    def full(file: Any, piece: Any) -> None:
        raise OSError(28, "No space left on device")

    folders.usual = folders._write_all  # type: ignore[attr-defined]
    folders._write_all = full


def empty_disk() -> None:
    from armillary.studies import folder as folders

    folders._write_all = folders.usual  # type: ignore[attr-defined]


def test_few_small_tasks_are_on_their_way(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many blocks there are, and without a result among what comes back."""
    most, back = 0, []
    submit, result = client.submit, cluster._result
    alive: set[str] = set()

    def counted(*given: Any, **options: Any) -> Any:
        nonlocal most
        alive.add(options["key"])
        most = max(most, len(alive))
        return submit(*given, **options)

    def seen(future: Any) -> Any:
        alive.discard(future.key)
        back.append(result(future))
        return back[-1]

    monkeypatch.setattr(client, "submit", counted)
    monkeypatch.setattr(cluster, "_result", seen)
    pendulum_study(tmp_path / "s", runs=400, block=10).run(client)
    records = [record for made, _ in back for record in made]
    assert most == 4 and sorted(record.number for record in records) == list(range(40))
    assert max(len(distributed.protocol.serialize(record)[1][0]) for record in records) < 1000
    assert len(back) < 40  # short blocks go together


def test_so_many_blocks_make_a_task() -> None:
    """As many as take half a second, but no more than twice as many as before."""
    assert [cluster._fitting(8, 8, seconds) for seconds in (0.01, 0.4, 4.0, 40.0)] == [16, 10, 1, 1]


def test_a_worker_killed_within_a_task_leaves_what_it_finished(
    client: Any, whole: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_fitting", lambda *_: 5)  # the first four blocks alone, then 4 to 8, …
    client.run(deadly_block, 6, str(tmp_path / "died"))
    study = pendulum_study(tmp_path / "s", **SLOW).run(client)
    died = (tmp_path / "died").read_text()
    assert_same(study, whole)
    made_by = [json.loads(path.read_bytes().partition(b"\n")[0])["by"].split()[1] for path in records(study)]
    assert made_by[4:6] == [died, died] and made_by[6] != died


def deadly_block(number: int, note: str) -> None:
    """This worker, and any other, ended at a block, the first time."""
    from armillary.studies.runs import BlockMaker

    make = BlockMaker.make

    def once(self: BlockMaker, block: int, values: Any) -> Any:
        if block == number and not os.path.exists(note):
            Path(note).write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return make(self, block, values)

    BlockMaker.make = once  # type: ignore[method-assign]


def test_models_without_a_text_need_a_function(client: Any, tmp_path: Path) -> None:
    model, vary = hinged().derive().compile(), {"L": Uniform(0.4, 0.6)}

    def study(**more: Any) -> Study:
        return Study(
            model, tmp_path / "s", 0.1, step=0.01, vary=vary, runs=8, metrics=["final(angle)"], **more
        )

    told = (
        "(?s)an object of the Python class Hinge cannot be written.*remedy: .*build='package.module:function'"
    )
    with pytest.raises(ArmillaryError, match=told):
        study().run(client)
    unknown = r"build='tests\.nowhere:made' cannot be imported"
    with (
        pytest.warns(UserWarning, match=f"cannot take part: {unknown}"),
        pytest.raises(ArmillaryError, match=unknown),
    ):
        study(build="tests.nowhere:made").run(client)
    table = study(build="tests.studies.study_models:hinged").run(client).table()
    assert table["final(angle)"].notna().all()


def test_values_of_users_own_distributions_travel(client: Any, tmp_path: Path) -> None:
    vary = {"L": lambda u: 0.5 + u * u}
    here = pendulum_study(tmp_path / "here", vary=vary).run()
    there = pendulum_study(tmp_path / "there", vary=vary).run(client)
    assert there.table().equals(here.table())


def test_places_that_are_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, before = pendulum_study(tmp_path / "s", runs=30), dask.config.get("scheduler", None)
    with pytest.raises(
        ArmillaryError, match="on= must be a Dask client or the address of a scheduler, not 4"
    ):
        study.run(4)
    monkeypatch.setattr(cluster, "_CONNECT", 0.3)
    with pytest.raises(ArmillaryError, match=r"there is no Dask scheduler at 'tcp://127\.0\.0\.1:9'"):
        study.run("tcp://127.0.0.1:9")
    with pytest.raises(ArmillaryError, match=r"missing port.*; give its port too, such as tcp://node1:8786"):
        study.run("localhost")
    assert dask.config.get("scheduler", None) == before  # what the user computes with Dask is left alone
