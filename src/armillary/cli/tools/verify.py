"""`armillary verify`: the published cases, expected next to found."""

from __future__ import annotations

import click

from armillary.cli import options, show
from armillary.runtime.progress import on_terminal


@options.command(
    """
    armillary verify
    armillary verify car four_bar --json
    """
)
@click.argument("cases", nargs=-1)
@click.option("--list", "only_list", is_flag=True, help="Name the cases, and run none.")
def verify(cases: tuple[str, ...], only_list: bool, json_wanted: bool) -> int:
    """Run the published cases: expected next to found.

    Each row is a number from the literature, or a closed form, with its source. The exit code is 1 where one
    is off by more than its tolerance.
    """
    from armillary import verification

    if only_list:
        names = {name: case.title for name, case in verification.CASES.items()}
        listed = show.columns([[name, title] for name, title in names.items()], header=False)
        show.emit(json_wanted, {"command": "verify", "cases": names}, listed)
        return 0

    def progress(name: str) -> None:
        if on_terminal() and not json_wanted:
            click.echo(f"\r\033[K{show.faint(name)}", nl=False, err=True)

    rows = verification.run(list(cases) or None, progress=progress)
    progress("")
    failed = [row for row in rows if not row.passed]
    if json_wanted:
        data = {"ok": not failed, "command": "verify", "failed": len(failed)}
        click.echo(show.as_json(data | {"rows": [row.as_dict() for row in rows]}))
        return 1 if failed else 0
    click.echo(verification.table(rows))
    verdict = f"{len(rows)} numbers, {len(failed) or 'none'} off by more than the tolerance"
    click.echo((show.bad if failed else show.good)(verdict))
    return 1 if failed else 0
