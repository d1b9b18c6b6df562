"""Completion of commands, options and files by a shell, which asks calib at every press of Tab."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import click
from click.shell_completion import (
    ShellComplete,
    add_completion_class,
    get_completion_class,
    shell_complete,
    split_arg_string,
)


class _TcshComplete(ShellComplete):
    """The shell that click does not know. It completes no names of files after options."""

    name: ClassVar[str] = "tcsh"
    source_template: ClassVar[str] = (
        "complete %(prog_name)s 'p@*@`env %(complete_var)s=tcsh_complete %(prog_name)s`@'"
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMMAND_LINE"]
        words = split_arg_string(line)[1:]
        return (words, "") if line.endswith(" ") else (words[:-1], words[-1] if words else "")

    def format_completion(self, item: Any) -> str:
        return str(item.value)


add_completion_class(_TcshComplete)


def script(program: click.Command, shell: str, variable: str) -> str:
    """What a shell reads so that it completes the commands of a program."""
    kind = get_completion_class(shell)
    assert kind is not None
    return kind(program, {}, "calib", variable).source()


def complete(program: click.Command, instruction: str, variable: str) -> int:
    """Print what can stand at the place where a person pressed Tab."""
    return shell_complete(program, {}, "calib", variable, instruction)
