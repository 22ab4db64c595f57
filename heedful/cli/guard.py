"""Run a command, and turn its failure into a message and an exit status.

The exit status is 2 for an error that the user can fix, and 128 + N after signal N. Bugs keep their traceback, and so
do exceptions in the user's own code, such as a measured function.
"""

import signal
import sys
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import torch
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from heedful.records import HeedfulError, stopping
from heedful.records.command_lines import command_name, exit_on_broken_pipe
from heedful.records.messages import rank


def guarded(main: Callable[[], None]) -> None:
    """Run a command; errors that the user can fix end it with one sentence and exit status 2."""
    stopping.listen()
    try:
        with exit_on_broken_pipe():
            main()
    except stopping.Stopped as stop:
        end(str(stop), stop.code)
    except KeyboardInterrupt:
        end("stopped by Ctrl-C.", 128 + signal.SIGINT)
    except Exception as error:
        message = explanation(error)
        if message is None:
            raise
        if (cause := error.__cause__) is not None and is_of_user(cause):
            traceback.print_exception(cause)
        print(f"{command_name()}: {message}", file=sys.stderr, flush=True)
        sys.exit(2)


def explanation(error: BaseException | None) -> str | None:
    """Return the message for the user if an exception, or one of its causes, is a user's error; None for a bug.

    An error that was handled when the exception was raised is no cause, except for a lost connection to another
    process, which usually follows from an error in this process.
    """
    is_lost = False
    while error is not None:
        if isinstance(error, HeedfulError):
            return str(error)
        is_of_lightning = "pytorch_lightning" in str(traceback.extract_tb(error.__traceback__)[-1:])
        if isinstance(error, MisconfigurationException) or (isinstance(error, ValueError) and is_of_lightning):
            return f"trainer: {' '.join(str(error).split())}"
        if isinstance(error, getattr(torch.distributed, "DistError", ())) or "gloo/transport" in str(error):
            is_lost = True
        error = error.__cause__ or (error.__context__ if is_lost else None)
    return "Another process of this command ended: see above, or it was killed or out of memory." if is_lost else None


def is_of_user(error: BaseException) -> bool:
    """Whether an exception comes from code that is neither Heedful's nor an installed package's nor Python's."""
    installed = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    others = (str(Path(__file__).parents[1]), *installed, "<")  # <frozen importlib._bootstrap>
    return not all(frame.filename.startswith(others) for frame in traceback.extract_tb(error.__traceback__))


def end(message: str, status: int) -> NoReturn:
    """Print a message in the process of rank 0, and exit with a status."""
    if rank() == 0:
        print(f"{command_name()}: {message}", file=sys.stderr, flush=True)
    sys.exit(status)
