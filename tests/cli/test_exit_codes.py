"""Commands that only show something end with 0, those that cannot with 2 and a word on standard error."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from armillary.cli.app import app

SHOWN = {
    ("examples",): "pendulum",
    ("examples", "list", "--json"): '"examples"',
    ("examples", "show", "pendulum"): "def system",
    ("examples", "show", "pendulum", "--json"): '"pendulum.py"',
    ("--version",): "0.1",
    ("run", "--help"): "--duration",
}


@pytest.mark.parametrize("words", SHOWN, ids=" ".join)
def test_what_was_shown_ends_well(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0 and SHOWN[words] in done.output


@pytest.mark.parametrize(
    "words", [("examples", "show"), ("examples", "show", "pendlum"), ("nothing",)], ids=" ".join
)
def test_what_cannot_be_shown_ends_with_2(words: tuple[str, ...]) -> None:
    assert CliRunner().invoke(app, words).exit_code == 2
