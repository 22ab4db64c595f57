"""Names of splits: which other names a split goes by, so that another one is never taken for it."""

import re
from collections.abc import Mapping, Sequence
from itertools import chain

ALIASES = {"train": ("train",), "validation": ("validation", "dev", "valid")}


def aliases_of(split: str, aliases: Mapping[str, Sequence[str]]) -> list[str]:
    """Other names of a split, "dev_matched" of "validation_matched"; a file that has a name of its own has none.

    Example:
        >>> aliases_of("dev", ALIASES), aliases_of("dev_r1", ALIASES), aliases_of("test", ALIASES)
        (['validation', 'dev', 'valid'], ['validation_r1', 'dev_r1', 'valid_r1'], [])
    """
    for names in aliases.values():
        for name in names:
            if split == name or re.match(rf"{re.escape(name)}[_-]", split) and split not in chain(*aliases.values()):
                return [other + split.removeprefix(name) for other in names]
    return []
