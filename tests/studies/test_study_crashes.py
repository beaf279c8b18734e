"""Studies stopped by whatever: nothing lost, nothing made twice, equal bit by bit to one that was not."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armillary.errors import ArmillaryError
from armillary.studies import Study, open_study, runs
from armillary.studies import folder as folders
from armillary.studies.folder import StudyLock
from armillary.studies.records import FileState, Finished, crc32c, finished_blocks, is_unchanged
from tests.studies.study_models import BLOCK, RUNS, pendulum_study

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study that nothing has interrupted."""
    return pendulum_study(tmp_path_factory.mktemp("studies") / "whole").run()


@pytest.fixture(scope="module")
def truth(whole: Study) -> Any:
    """All that it keeps."""
    return whole.dataset().load()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The first runs of the blocks that are made from now on."""
    firsts: list[int] = []
    make = runs.ModelRuns.__call__

    def counted(self: Any, values: Any, first: int) -> Any:
        firsts.append(first)
        return make(self, values, first)

    monkeypatch.setattr(runs.ModelRuns, "__call__", counted)
    return firsts


def chunks(study: Study) -> dict[str, bytes]:
    """Every chunk of histories and histograms."""
    store = study.path / "results.zarr"
    return {str(p.relative_to(store)): p.read_bytes() for p in store.rglob("c.*.0")}


def assert_same(study: Study, whole: Study) -> None:
    assert study.table().equals(whole.table())
    assert chunks(study) == chunks(whole) and len(chunks(whole)) == 21
    assert np.array_equal(study.dataset()["energy"], whole.dataset()["energy"])
    assert not list((study.path / ".unfinished").iterdir()) and not (study.path / "lock").exists()


def test_killed_while_it_writes_and_resumed(tmp_path: Path, whole: Study, made: list[int]) -> None:
    """A block has eight pieces: chunk and checksum of three arrays, record and checksum. The first process
    dies in the third chunk of block 2, the second in the record of the fourth block that it makes.
    """
    for piece, blocks in ((2 * 8 + 4, 2), (3 * 8 + 6, 5)):
        command = [sys.executable, "-m", "tests.studies.study_models", str(tmp_path / "s"), str(piece)]
        ended = subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": "src"})
        assert ended.returncode == -signal.SIGKILL
        assert open_study(tmp_path / "s").status().finished == blocks
        assert len(list((tmp_path / "s" / ".unfinished").iterdir())) == 1
        assert (tmp_path / "s" / "lock").exists()
    unfinished = open_study(tmp_path / "s")
    table, data = unfinished.table(), unfinished.dataset()  # what is there can be read
    assert (table["status"] == "not run").sum() == RUNS - 5 * BLOCK
    assert table.iloc[: 5 * BLOCK].equals(whole.table().iloc[: 5 * BLOCK])
    assert data["peak"].notnull().sum() == 5 * BLOCK and data["energy"][6 * BLOCK :].isnull().all()
    assert_same(pendulum_study(tmp_path / "s").run(), whole)
    assert made == [5 * BLOCK, 6 * BLOCK]


def test_a_full_disk_stops_it_and_room_lets_it_go_on(
    tmp_path: Path, whole: Study, made: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    write, left = folders._write_all, 9_000

    def limited(file: Any, piece: Any) -> None:
        nonlocal left
        left -= len(piece)
        if left < 0:
            file.write(bytes(piece)[: len(piece) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(file, piece)

    monkeypatch.setattr(folders, "_write_all", limited)
    study = pendulum_study(tmp_path / "s")
    told = r"block \d cannot be written: no space left on device; make room.*blocks are kept: run it again"
    for _ in range(2):  # the second time at once
        with pytest.raises(ArmillaryError, match=told):
            study.run()
    assert not list((tmp_path / "s" / ".unfinished").iterdir()) and not (tmp_path / "s" / "lock").exists()
    finished = study.status().finished
    assert 0 < finished < 7
    monkeypatch.setattr(folders, "_write_all", write)
    assert_same(study.run(), whole)
    assert made == [BLOCK * n for n in [*range(finished + 1), finished, *range(finished, 7)]]


def test_interrupted_by_the_user(tmp_path: Path, whole: Study) -> None:
    study = pendulum_study(tmp_path / "s")

    def impatient(status: Any) -> None:
        if status.finished == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study.run(progress=impatient)
    assert study.status().finished == 3
    assert "stopped: by Ctrl-C" in (tmp_path / "s" / "log.txt").read_text()
    assert_same(study.run(), whole)


def test_damage_is_found_by_checksums_and_mended(tmp_path: Path, whole: Study, made: list[int]) -> None:
    study = pendulum_study(tmp_path / "s").run()
    store, blocks = tmp_path / "s" / "results.zarr", tmp_path / "s" / "blocks"
    turn_bit(store / "energy" / "c.1.0", keep_time=True)  # found by its content alone
    with pytest.raises(Exception, match="checksum"):
        study.dataset()["energy"].load()  # nobody reads it unawares
    with pytest.raises(ArmillaryError, match=r"(?s)checksum .* run the study again, which mends it"):
        study.fan("energy")
    (store / "bob.q1" / "c.3.0").unlink()
    with open(store / "spread" / "c.4.0", "r+b") as file:
        file.truncate(20)
    turn_bit(blocks / "00000005")
    made.clear()
    assert_same(study.run(), whole)
    assert made == [BLOCK * n for n in (1, 3, 4, 5)]
    assert "damaged: 1, 3, 4, 5" in (tmp_path / "s" / "log.txt").read_text()
    made.clear()
    assert_same(study.run(), whole)
    assert made == []


@pytest.mark.filterwarnings("ignore:Object at energy is not recognized")  # Zarr, of what is gone
@pytest.mark.parametrize(
    ("file", "harm"),
    [
        *((file, harm) for file in ("metrics.parquet", "results.zarr/peak/c.0") for harm in ("gone", "bit")),
        ("complete.json", "bit"),
        ("results.zarr/status/c.0", "gone"),
        ("results.zarr/time/c/0", "bit"),
        ("results.zarr/zarr.json", "gone"),
        ("results.zarr/zarr.json", "bit"),
        ("results.zarr/energy/zarr.json", "gone"),
    ],
)
def test_what_is_made_from_records_is_made_again(
    tmp_path: Path, whole: Study, truth: Any, made: list[int], file: str, harm: str
) -> None:
    """The table, columns, times and descriptions: whoever reads sees the truth or a sentence, and the next
    run mends them.
    """
    shutil.copytree(whole.path, tmp_path / "s")
    study, path = pendulum_study(tmp_path / "s"), tmp_path / "s" / file
    content = path.read_bytes()
    if harm == "bit":
        turn_bit(path, keep_time=file == "metrics.parquet")
    else:
        path.unlink()
    assert study.table().equals(whole.table())
    try:
        found = study.dataset().load()
    except (ArmillaryError, ValueError) as error:  # zarr tells a wrong checksum
        assert "run the study again, which mends it" in str(error) or "checksum" in str(error)
    else:
        assert found.equals(truth)
    assert_same(study.run(), whole)
    assert study.dataset().load().equals(truth) and made == []
    assert path.read_bytes() == content or file == "complete.json"  # which has times of change
    found = study.dataset(decode_cf=False)
    assert found["time"].to_numpy().tolist() == truth["time"].to_numpy().tolist()


def test_what_killed_processes_left_is_removed(tmp_path: Path) -> None:
    pendulum_study(tmp_path / "s").run()
    (tmp_path / "s" / ".armillary-0123456789ab.tmp").write_text("half of a file")
    pendulum_study(tmp_path / "s").run()
    assert not list((tmp_path / "s").glob(".armillary-*"))


def test_without_time_only_what_changed_is_read(tmp_path: Path) -> None:
    """What makes resuming a study of any size quick: sizes and times of change tell most of it."""
    study = pendulum_study(tmp_path / "s").run()
    definition, energy = study._definition, tmp_path / "s" / "results.zarr" / "energy"

    def found() -> Finished:
        return finished_blocks(study._folder, definition.layout, definition.digest, patience=0.0)

    assert found().compared == 0 and len(found().records) == 7
    os.utime(energy / "c.2.0")  # touched: read, and found to be whole
    turn_bit(energy / "c.4.0")
    assert found().compared == 2 and found().damaged == (4,)


def test_a_chunk_of_another_size_is_seen_without_reading_it(tmp_path: Path) -> None:
    """Cut off by a full disk, say, with the time of change that its record states."""
    study = pendulum_study(tmp_path / "s").run()
    definition, chunk = study._definition, tmp_path / "s" / "results.zarr" / "energy" / "c.3.0"
    times = chunk.stat().st_atime_ns, chunk.stat().st_mtime_ns
    chunk.write_bytes(chunk.read_bytes()[:-1])
    os.utime(chunk, ns=times)
    found = finished_blocks(study._folder, definition.layout, definition.digest, patience=0.0)
    assert found.damaged == (3,)


def test_a_sealed_file_that_was_shortened_is_not_as_it_was_left(tmp_path: Path) -> None:
    """With the time of change that its seal states, as a copy from elsewhere may have it."""
    path, content = tmp_path / "table", b"0123456789"
    path.write_bytes(content)
    state = FileState("table", len(content), crc32c(content), path.stat().st_mtime_ns)
    assert is_unchanged(path, state)
    for other in (content[:-1], content + b"0"):
        path.write_bytes(other)
        os.utime(path, ns=(state.changed, state.changed))
        assert not is_unchanged(path, state)
    path.write_bytes(content)
    os.utime(path, ns=(state.changed + 1, state.changed + 1))  # touched, but the same
    assert is_unchanged(path, state)


def turn_bit(path: Path, keep_time: bool = False) -> None:
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(bytes(content))
    if keep_time:
        os.utime(path, ns=times)


def test_a_lost_table_or_text_is_made_again(tmp_path: Path, whole: Study, made: list[int]) -> None:
    study = pendulum_study(tmp_path / "s").run()
    made.clear()
    (tmp_path / "s" / "metrics.parquet").write_bytes(b"PAR1 nonsense")
    assert study.table().equals(whole.table())
    (tmp_path / "s" / "model.toml").unlink()
    (tmp_path / "s" / "design.json").unlink()
    assert_same(study.run(), whole)
    assert (
        made == []
        and (tmp_path / "s" / "model.toml").is_file()
        and (tmp_path / "s" / "design.json").is_file()
    )


# ---------------------------------------------------------------- two processes


def test_two_processes_on_one_study(tmp_path: Path) -> None:
    study = pendulum_study(tmp_path / "s")
    here = f"process {os.getpid()} on {socket.gethostname()}"
    with (
        StudyLock(lock_folder(tmp_path)),
        pytest.raises(ArmillaryError, match=f"is being run by {here}, since 2"),
    ):
        study.run()
    study.run()
    assert study.status().complete


def test_who_runs_a_study_is_told(tmp_path: Path) -> None:
    seen: list[str] = []
    study = pendulum_study(tmp_path / "s", runs=2 * BLOCK)
    assert study.run(progress=lambda status: seen.append(study.run_by)).run_by == ""
    assert seen[0].startswith(f"process {os.getpid()} on {socket.gethostname()}, since 2")


def lock_folder(tmp_path: Path) -> Path:
    (tmp_path / "s").mkdir(exist_ok=True)
    return tmp_path / "s"


def test_locks_of_the_dead_are_taken_over(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with StudyLock(tmp_path):
        owner = json.loads((tmp_path / "lock").read_text())
    lock = tmp_path / "lock"
    for changed, age, stale in (
        ({"pid": gone.pid}, 0, True),  # a process of this machine that is no more
        ({"host": "elsewhere"}, 30, False),  # of another, heard of half a minute ago
        ({"host": "elsewhere"}, 90, True),
        ({"host": "elsewhere"}, -86400, True),  # the clock was set back since
        ({"processes": "another container"}, 30, False),  # where this number may be anybody's
        ({"pid": os.getpid()}, 90, True),  # a number that was given again
    ):
        lock.write_text(json.dumps(owner | {"token": "other"} | changed))
        os.utime(lock, (time.time() - age, time.time() - age))
        if stale:
            with StudyLock(tmp_path):
                assert json.loads(lock.read_text())["pid"] == os.getpid()
            assert not lock.exists()
        else:
            told = r"run this again in (\d|[12]\d|30) s: a process that does not renew its lock for 60 s"
            with pytest.raises(ArmillaryError, match=f"is being run by.*{told}"), StudyLock(tmp_path):
                pass
            assert json.loads(lock.read_text())["token"] == "other"


def test_a_lock_that_another_took_over_meanwhile_is_put_back(tmp_path: Path) -> None:
    """Two processes find the same stale lock; the first has made its own when the second moves it away."""
    lock, late = tmp_path / "lock", StudyLock(tmp_path)
    with StudyLock(tmp_path):
        mine = lock.read_text()
        late._remove({"token": "the stale one"})
        assert lock.read_text() == mine
        late._remove(json.loads(mine))  # the one that it saw: gone
        assert not lock.exists()
    assert not [path.name for path in tmp_path.iterdir()]


def test_an_owner_is_heard_of_and_notices_that_he_was_replaced(tmp_path: Path) -> None:
    """However long a busy machine keeps the owner waiting: a lock that looks abandoned is refreshed."""
    lock = tmp_path / "lock"
    with StudyLock(tmp_path, beat=0.02) as first:
        long_ago = time.time() - 3600
        os.utime(lock, (long_ago, long_ago))
        wait_until(lambda: lock.stat().st_mtime > long_ago + 1800)
        with pytest.raises(ArmillaryError, match="is being run"), StudyLock(tmp_path):
            pass
        first.check()
        lock.write_text(json.dumps({"token": "another"}))
        wait_until(lambda: raised(first.check) is not None)
        assert "was taken over by another process" in str(raised(first.check))
    assert lock.exists()  # that of the other


def wait_until(holds: Callable[[], bool]) -> None:
    """Until something holds that another thread brings about; the limit of every test ends a vain wait."""
    while not holds():
        time.sleep(0.005)


def raised(action: Callable[[], None]) -> ArmillaryError | None:
    try:
        action()
    except ArmillaryError as error:
        return error
    return None
