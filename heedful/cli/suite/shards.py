"""Shards of a suite, which run at the same time, a device each: the steps of each, and who else is at work."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from heedful.cli.suite.plan import RANK, Step
from heedful.records import RunError, SettingError
from heedful.records.storage.claim import claim, owner_of

WRITTEN = re.compile("([0-9]{1,6})/([0-9]{1,6})")
FOLDER = re.compile("[.]shard-([0-9]+)-of-([0-9]+)")  # which one process claims for as long as it runs this shard


class Shard(NamedTuple):
    """One of the shards of a suite: ``number`` of ``count``, from 1."""

    number: int
    count: int

    @classmethod
    def read(cls, text: str) -> "Shard":
        """The shard that a user has written, such as "3/8".

        Raises:
            HeedfulError: It is not one.
        """
        written = WRITTEN.fullmatch(text)
        shard = cls(*map(int, written.groups())) if written else None
        if shard is None or not 1 <= shard.number <= shard.count:
            raise SettingError(
                f"--shard {text} is not one of so many shards, from 1. Write --shard 3/8 for the third of eight."
            )
        return shard

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def share(self, steps: Sequence[Step]) -> list[Step]:
        """The steps of this shard, in their order.

        Models that begin from one another stay together, with all that measures them. The longest of these groups goes
        first to the shard with the fewest steps, so that what a shard does depends on the suite alone. None ranks.

        Args:
            steps: All of the suite.
        """
        first: dict[Path, Path] = {}  # the folder of a step to that of the model with which its group begins
        groups: dict[Path, list[Step]] = {}
        for step in steps:
            if step.kind != RANK:
                first[step.folder] = step.folder if step.needs is None else first[step.needs]
                groups.setdefault(first[step.folder], []).append(step)
        shares: list[list[Step]] = [[] for _ in range(min(self.count, len(groups)))]
        for group in sorted(groups.values(), key=len, reverse=True):
            min(shares, key=len).extend(group)
        mine = shares[self.number - 1] if self.number <= len(shares) else []
        return [step for step in steps if step in mine]

    def claim(self, output: Path) -> None:
        """Keep others away from what this shard does, for as long as this process lives.

        These are the same shard, shards of another number, of which two that start at one moment may both be refused,
        and the whole suite. Each process claims its own shard before it looks for others, so that of two one sees the
        other.

        Raises:
            HeedfulError: One of them is at work.
        """
        claim(output, f"--output {output}", shared_by="a shard")
        claim(output / f".shard-{self.number}-of-{self.count}", f"--shard {self}")
        for folder in sorted(output.iterdir()):
            name = FOLDER.fullmatch(folder.name)
            owner = owner_of(folder) if name and int(name[2]) != self.count else None
            if name and owner:
                raise RunError(
                    f"--shard {self}: {owner} runs shard {name[1]}/{name[2]}, whose models may be the same. Take a "
                    f"shard of {name[2]}, or wait until it has ended."
                )
