"""``calib`` and ``python -m calib``: the command line, quiet from the first moment."""

import atexit
import os
import signal
import sys
from typing import NoReturn

INTERRUPTED = 130


def main() -> int:
    """Run the command line. A person can interrupt it also during its imports and its end."""
    # A shell starts background jobs with interrupts ignored, which must stay so.
    watched = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if watched:
        signal.signal(signal.SIGINT, _leave)
    from calib.cli import main as run

    if watched:
        # From here on an interrupt raises an exception, so that unfinished files are removed.
        signal.signal(signal.SIGINT, _interrupted)
    try:
        status = run()
    finally:
        if watched:
            # Python waits for threads here. Another interrupt ends the wait.
            signal.signal(signal.SIGINT, _leave)
    if status == INTERRUPTED:
        # When Python ends, an engine would list the objects that interrupted threads still hold.
        atexit._run_exitfuncs()
        _leave()
    return status


def _interrupted(*_: object) -> NoReturn:
    """End the command after its unfinished files are removed.

    The next interrupt is ignored, so that the files are removed. The one after it ends the process.
    """
    signal.signal(signal.SIGINT, lambda *_: signal.signal(signal.SIGINT, _leave))
    raise KeyboardInterrupt


def _leave(*_: object) -> NoReturn:
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
