"""How many examples a data module left out, cut or found twice."""

from dataclasses import dataclass, field


@dataclass
class Counts:
    """How many examples were left out or shortened.

    Attributes:
        no_gold: Split to number of rows without a gold label.
        truncated: Validation examples that are longer than the model reads.
        shortened: Split to number of tables that lose rows.
        hopeless: Reason why no answer can be right to the number of validation examples.
        of: Examples that validation ones were sampled from; 0 where all of them are evaluated.
        seen: Validation examples all of whose parts stand in one training example as well.
    """

    no_gold: dict[str, int] = field(default_factory=dict)
    truncated: int = 0
    shortened: dict[str, int] = field(default_factory=dict)
    hopeless: dict[str, int] = field(default_factory=dict)
    of: int = 0
    seen: int = 0

    def add_no_gold(self, split: str, rows: int) -> None:
        """Count rows of a split that have no gold label."""
        self.no_gold[split] = self.no_gold.get(split, 0) + rows

    def asides(self, split: str) -> str:
        """The text that a message about the examples of a split adds."""
        no_gold = self.no_gold.get(split, 0)
        text = f" {no_gold:,} rows without a gold label were left out." if no_gold else ""
        if split == "validation" and self.seen:
            text += f" {self.seen:,} of them stand among the training examples as well."
        return text
