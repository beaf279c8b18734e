"""`armillary completion`: the script that completes commands, options, files and names in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from armillary.cli import options, show


@options.command(
    """
    eval "$(armillary completion bash)"                                  # in ~/.bashrc
    eval "$(armillary completion zsh)"                                   # in ~/.zshrc
    armillary completion fish > ~/.config/fish/completions/armillary.fish
    """
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str, json_wanted: bool) -> int:
    """Print the script that completes commands in your shell.

    Commands, options, model files, examples, and the names of parameters behind --set are completed.
    """
    from armillary.cli.app import app

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(app, {}, "armillary", "_ARMILLARY_COMPLETE").source()
    show.emit(json_wanted, {"command": "completion", "shell": shell, "script": script}, script)
    return 0
