"""What a test does in a process of its own, forked from that of the test."""

import os
from collections.abc import Callable

from heedful.records import HeedfulError


def in_child(act: Callable[[], object]) -> tuple[int, str]:
    """Do something in a forked process.

    Returns:
        Its exit status, 0 or 1 after a HeedfulError, and the line that a user would read then.
    """
    read, write = os.pipe()
    child = os.fork()
    if not child:
        status = 3
        try:
            act()
            status = 0
        except HeedfulError as error:
            os.write(write, f"heedful: {error}".encode())
            status = 1
        finally:
            os._exit(status)
    os.close(write)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with open(read, encoding="utf-8") as message:
        return status, message.read()
