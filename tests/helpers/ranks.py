"""Several processes of one run, forked from a script of a test."""

import os
import socket
import sys
import traceback
from collections.abc import Callable


def fork(world: int, rank_of: Callable[..., None], *arguments: object) -> None:
    """Call ``rank_of(rank, world, *arguments)`` in so many processes that find each other; exit if one fails."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = []
    for rank in range(world):
        child = os.fork()
        if not child:
            status = 1
            try:
                os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), NODE_RANK="0")
                os.environ.update(LOCAL_RANK=str(rank), WORLD_SIZE=str(world))
                rank_of(rank, world, *arguments)
                status = 0
            except BaseException:  # os._exit below would lose it
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        children.append(child)
    failed = [os.waitpid(child, 0)[1] for child in children]
    if any(failed):
        sys.exit(f"{world} processes ended with {failed}")
