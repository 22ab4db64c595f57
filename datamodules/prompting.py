"""Prompts for models that are asked in context: which words, and which demonstrations of the training set."""

from collections.abc import Sequence
from dataclasses import dataclass

from datamodules.base.paired_data import PairedData
from interventions.demonstrations import Kind, demonstrations
from records import Examples, HeedError
from records.prompts.prompt import Prompt
from records.prompts.wording import Wording

PLAIN = "plain"  # the wording of data that bring none


@dataclass(frozen=True)
class Prompting:
    """How a model in context is prompted.

    Attributes:
        tuples: How many demonstrations of every label stand before the example.
        seeds: How many times demonstrations are drawn, each measured apart.
        demonstrations: "plain"; "counterfactual" adds to each demonstration of another label a copy with a part of
            another example and the default label; "extra_tuple" and "matched_labels" are its controls: one tuple more,
            or real examples, as many of each label.
        wordings: The names of the wordings of the data, each measured apart; by default the first.
    """

    tuples: int = 0
    seeds: int = 1
    demonstrations: Kind = "plain"
    wordings: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "wordings", tuple(self.wordings))  # the parser gives a list, which equals no default
        if self.tuples < 0 or self.seeds < 1:
            raise HeedError("§prompt.tuples may not be negative, and §prompt.seeds must be at least 1.")
        if not self.tuples and self.demonstrations != "plain":
            raise HeedError(f"§prompt.demonstrations {self.demonstrations} needs §prompt.tuples 1 or more.")

    def prompts(self, data: PairedData) -> list[Prompt]:
        """The prompts to measure: each wording with each draw of demonstrations; one draw where there are none.

        Args:
            data: The data, set up; its training set is read where there are demonstrations.

        Raises:
            HeedError: A wording is unknown or does not fit the data, or there are too few training examples.
        """
        draws = range(self.seeds if self.tuples else 1)
        shown = [self._shown(data, draw) for draw in draws] if self.tuples else [()]
        return [
            Prompt(wording, data.task, shown[draw], name, draw, self.tuples, self.demonstrations)
            for name, wording in self._wordings(data).items()
            for draw in draws
        ]

    def _wordings(self, data: PairedData) -> dict[str, Wording]:
        task, full = data.task, data.full_task
        given = data.prompts.items()
        known = {name: words if isinstance(words, Wording) else Wording(**words) for name, words in given}
        known = known or {PLAIN: Wording.plain(full.parts, full.labels)}
        names = list(dict.fromkeys(self.wordings)) or [next(iter(known))]
        if unknown := [name for name in names if name not in known]:
            raise HeedError(f"§prompt.wordings {unknown[0]}: {data.name} has {', '.join(known)}.")
        for name in names:
            known[name].require(name, full.parts, full.labels)
        return {name: known[name].keep_parts(task.parts) for name in names}

    def _shown(self, data: PairedData, draw: int) -> Sequence:
        examples: Examples = data.training_pool()
        swap = data.swap[0] if data.swap else None
        return demonstrations(examples, data.task, self.tuples, data.seed, draw, self.demonstrations, swap)
