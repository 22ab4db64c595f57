"""Forked processes of tests: their exit status, and several that are the ranks of one run."""

import os
import socket
import sys
from collections.abc import Callable
from typing import Any, NoReturn


def free_port() -> int:
    """A port on which no process listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def exit_after(act: Callable[[], Any]) -> NoReturn:
    """Call a function, and end this process with the exit status of a Python program; for forked processes."""
    status: Any = 1
    try:
        act()
        status = 0
    except SystemExit as stop:
        status = stop.code or 0
        if isinstance(status, str):
            print(status, file=sys.stderr)
            status = 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def fork(world: int, rank_of: Callable[..., None], *arguments: object) -> None:
    """Call ``rank_of(rank, world, *arguments)`` in ``world`` processes that find each other; exit if one fails."""
    port = free_port()
    children = []
    for rank in range(world):
        children.append(os.fork())
        if not children[-1]:
            os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), NODE_RANK="0")
            os.environ.update(LOCAL_RANK=str(rank), WORLD_SIZE=str(world))
            exit_after(lambda rank=rank: rank_of(rank, world, *arguments))
    failed = [os.waitpid(child, 0)[1] for child in children]
    if any(failed):
        sys.exit(f"{world} processes ended with {failed}")
