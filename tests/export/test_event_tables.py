"""Tables of events in exported text: direction, end of the run, reports and guards, as described."""

from __future__ import annotations

import re
from pathlib import Path

from tests.systems.parallelogram import parallelogram


def test_fortran_tables_of_events_are_those_of_the_description(tmp_path: Path) -> None:
    """The first events are the user's; internal ones are not reported, and those of the choice end a run."""
    s = parallelogram()
    s.event("low", "A.q1 - 0.1", direction=-1, stop=True)
    s.event("up", "A.q1 - 0.3", direction=1)
    s.event("both", "A.q1 - 0.2", direction=0)
    folder = tmp_path / "fortran"
    s.derive().export("fortran", folder)
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.f90")))

    def table(name: str) -> list[str]:
        found = re.search(rf"event_{name}\(n_events\) = \[([^\]]*)\]", text)
        assert found is not None, name
        return [part.strip(" &\n'") for part in re.sub(r"^.*::", "", found[1]).split(",")]

    names = [name.strip() for name in table("names")]
    assert names[:3] == ["low", "up", "both"]
    internal = ["dependent speeds", "rank of constraints", *["sign of pivots"] * (len(names) - 5)]
    assert names[3:] == internal and len(names) > 5
    assert table("direction") == ["-1", "1", "0", "-1", "-1", *["0"] * (len(names) - 5)]
    assert table("stops")[:3] == [".true.", ".false.", ".false."]
    assert table("hidden") == [".false."] * 3 + [".true."] * len(internal)
    guards = dict(zip(names, table("guards"), strict=True))
    assert {name for name, value in guards.items() if value == ".true."} <= set(internal)
    assert guards["dependent speeds"] == ".true." and guards["low"] == ".false."
