"""Errors of libraries that are about what a user can mend, as refusals."""

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytorch_lightning
import torch
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from heedful.records import HeedfulError, RunError, SettingError

GLOO = "gloo/transport"  # where its RuntimeErrors, which have no type of their own, say that they come from
LOST = "Another process of this command has ended: it was killed, had no memory left, or says above what was wrong."


@contextmanager
def refusing() -> Iterator[None]:
    """Raise the refusal that an exception is, or that led to it: Lightning raises its own on top.

    Raises:
        HeedfulError: The exception is about what a user can mend.
    """
    try:
        yield
    except HeedfulError:
        raise
    except SystemExit as stop:  # which Lightning makes of Ctrl-C
        if isinstance(stop.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise
    except Exception as error:
        if (refused := refusal_behind(error)) is None:
            raise
        raise refused from error


def refusal_behind(error: BaseException | None) -> HeedfulError | None:
    """The refusal that led to an exception; None where it is not about what a user can mend."""
    while error is not None:
        if (refused := _refusal(error)) is not None:
            return refused
        error = error.__cause__ or error.__context__
    return None


def _refusal(error: BaseException) -> HeedfulError | None:
    if isinstance(error, HeedfulError):
        return error
    if is_of_lost_process(error):
        return RunError(f"{LOST} Start the command again; a training goes on with resume RUN.")
    if isinstance(error, ImportError) and is_of_lightning(error):
        return RunError(f"trainer: {first_sentence(error)} Install it with pip.")
    if isinstance(error, (MisconfigurationException, ValueError, RuntimeError)) and is_of_lightning(error):
        return SettingError(f"trainer: {first_sentence(error)}")
    return None


def is_of_lost_process(error: BaseException) -> bool:
    """Whether an error is that of a process that waits for another one, which is there no more."""
    by_torch = isinstance(error, getattr(torch.distributed, "DistError", ()))  # which not every build of torch has
    return by_torch or (isinstance(error, RuntimeError) and GLOO in str(error))


def is_of_lightning(error: BaseException) -> bool:
    """Whether Lightning's own code raises an error, as about a setting of its Trainer."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and Path(frames[-1].filename).is_relative_to(Path(pytorch_lightning.__file__).parent)


def first_sentence(error: BaseException) -> str:
    """The first sentence of what a library says; advice on code follows there."""
    sentence = re.split(r"(?<=[.!]) (?=[A-Z])", " ".join(str(error).split()), maxsplit=1)[0]
    return f"{sentence.rstrip('.!')}."
