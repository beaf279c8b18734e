"""The reader of files from outside: what it gives, and what it refuses with a reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from armillary.limited_files import UnreadableFileError, read_limited


def test_a_file_of_the_largest_size_is_read_and_a_larger_one_refused(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(b"x" * 1_000_000)
    assert read_limited(file, 1_000_000) == b"x" * 1_000_000
    file.write_bytes(b"x" * 1_000_001)
    with pytest.raises(UnreadableFileError, match=r"^it has more than 1 MB; split it$"):
        read_limited(file, 1_000_000, "split it")


def test_what_is_no_file_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "rotor.csv").touch()
    with pytest.raises(UnreadableFileError, match=r"^there is no such file; did you mean 'rotor\.csv'\?$"):
        read_limited(tmp_path / "roter.csv", 10)
    with pytest.raises(UnreadableFileError, match=r"^there is no such file; check its name and folder$"):
        read_limited(tmp_path / "no folder" / "rotor.csv", 10)
    with pytest.raises(UnreadableFileError, match=r"^this is a folder; give a file$"):
        read_limited(tmp_path, 10)
    with pytest.raises(UnreadableFileError, match=r"^it cannot be read: Not a directory$"):
        read_limited(tmp_path / "rotor.csv" / "inside", 10)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are of POSIX")  # of some systems
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableFileError, match=r"^this is no ordinary file; give a file$"):
        read_limited(tmp_path / "pipe", 10)
