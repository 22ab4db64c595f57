"""How many examples a data module left out, cut, mixed in or found twice."""

from dataclasses import dataclass, field
from typing import Any

from heedful.records import percent


@dataclass
class Counts:
    """How many examples were left out, shortened or mixed in.

    Attributes:
        no_gold: Split to number of rows without a gold label.
        filtered: Split to number of rows that a condition leaves out.
        of_rows: Split to number of rows that were looked at for conditions.
        mixed: Name of what is mixed into the training examples to (examples taken, examples there).
        without: Split to what examples lack ("a target", ...) and how many do.
        shortened: Split to number of tables that lose rows.
        hopeless: Reason why no answer can be right to the number of validation examples.
        of: Examples that validation ones were sampled from; 0 where all of them are evaluated.
        seen: Validation examples all of whose parts stand in one training example as well, of this run or of one that
            the model began with.
        said: Split to sentences about its examples, with a place for a number, and the number; without one it is not
            said.
        repeats: Split to how many of its examples have the parts of another one.
        evaluated: Training examples that are not shown to a model in context, since they are evaluated as well.
    """

    no_gold: dict[str, int] = field(default_factory=dict)
    filtered: dict[str, int] = field(default_factory=dict)
    of_rows: dict[str, int] = field(default_factory=dict)
    mixed: dict[str, tuple[int, int]] = field(default_factory=dict)
    without: dict[str, dict[str, int]] = field(default_factory=dict)
    shortened: dict[str, int] = field(default_factory=dict)
    hopeless: dict[str, int] = field(default_factory=dict)
    of: int = 0
    seen: int = 0
    repeats: dict[str, int] = field(default_factory=dict)
    evaluated: int = 0
    said: dict[str, dict[str, int]] = field(default_factory=dict)

    def begin(self, split: str) -> None:
        """Forget what was counted in the rows of a split, which are read anew."""
        self.no_gold[split] = self.filtered[split] = self.of_rows[split] = 0

    def take_over(self) -> None:
        """Say of the validation examples what was counted in the rows of the training split, which both come from."""
        for counts in (self.no_gold, self.filtered, self.of_rows):
            counts["validation"] = counts.get("train", 0)
        self.said["validation"] = dict(self.said.get("train", {}))

    def say(self, split: str, sentence: str, n: int) -> None:
        """Keep a sentence about the examples of a split, in place of what it said before."""
        self.said.setdefault(split, {})[sentence] = n

    def add_no_gold(self, split: str, rows: int) -> None:
        """Count rows of a split that have no gold label."""
        self.no_gold[split] = self.no_gold.get(split, 0) + rows

    def add_filtered(self, split: str, rows: int, of: int) -> None:
        """Count rows of a split that a condition leaves out, and all that it was asked of."""
        self.filtered[split] = self.filtered.get(split, 0) + rows
        self.of_rows[split] = self.of_rows.get(split, 0) + of

    def asides(self, split: str, statistics: Any = None) -> str:
        """Sentences about the examples of a split, for a message.

        Args:
            split: The split.
            statistics: How the model reads them (:class:`~heedful.lightning_modules.predictor.Statistics`), if known.
        """
        text = ""
        if split == "train":
            for source, (taken, there) in self.mixed.items():
                text += f" {taken:,} of the {there:,} examples of {source} are mixed in."
        if filtered := self.filtered.get(split, 0):
            text += f" {filtered:,} of {self.of_rows[split]:,} rows are not what is asked for, and were left out."
        if no_gold := self.no_gold.get(split, 0):
            text += f" {no_gold:,} rows without a gold label were left out."
        for part, examples in self.without.get(split, {}).items():
            text += f" {examples:,} of them have no {part}." if examples else ""
        if repeats := self.repeats.get(split, 0):
            text += f" {repeats:,} of them are repeats of others."
        if split == "validation" and self.seen:
            text += f" {self.seen:,} of them stand among the training examples as well."
        text += "" if statistics is None else _how_read(statistics)
        return text + "".join(f" {sentence.format(n)}" for sentence, n in self.said.get(split, {}).items() if n)


def _how_read(statistics: Any) -> str:
    """How much of some examples a model truncates or does not know, for a message; empty where it reads them whole."""
    truncated = statistics.truncated
    text = f" {truncated:,} are longer than the model reads and are truncated." if truncated else ""
    return text + (
        f" {percent(statistics.unknown)} of the tokens are unknown to the model." if statistics.unknown else ""
    )
