"""Random numbers that depend on what they are for, and on nothing else."""

import hashlib

import numpy as np


def generator(*key: str | int) -> np.random.Generator:
    """A Philox generator keyed by the sha256 of ``key``.

    The same key gives the same numbers in every process, in any order of calls, on any number of processes.

    Example:
        >>> int(generator(0, "swap", "mnli/validation/7", 3).integers(1000))
        701
    """
    text = "\x1f".join(f"{'str' if isinstance(k, str) else 'int'}:{k}" for k in key)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))
