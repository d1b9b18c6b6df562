"""Runs a page of the documentation from top to bottom, as a reader would."""

import re
import shlex
from collections.abc import Callable, Iterator

from calib.cli.main import main

BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
STATUS = re.compile(r"# exit status (\d)$", re.MULTILINE)
# A test does not install the program, so it leaves these lines out.
INSTALLERS = ("pip",)


def statuses(block: str) -> Iterator[tuple[int, int]]:
    """Run the lines of a shell block; the status of each, and the one that its comment names."""
    for line in block.splitlines():
        program, *arguments = shlex.split(line, comments=True)
        if program in INSTALLERS:
            continue
        assert program == "calib", line
        named = STATUS.search(line)
        yield main(arguments), int(named[1]) if named else 0


def run(page: str, printed: Callable[[], str]) -> tuple[str, dict[str, object]]:
    """Run all blocks with common names; the page with what they print, and the names.

    A text block shows what was printed since the one before: what `printed` returns.
    """
    names: dict[str, object] = {"__name__": "block"}

    def block(found: re.Match[str]) -> str:
        language, text = found.groups()
        if language == "text":
            return f"```text\n{printed()}```"
        if language == "python":
            exec(text, names)
        else:
            for status, expected in statuses(text):
                assert status == expected, text
        return found[0]

    return BLOCK.sub(block, page), names
