"""Prompts for models that are asked in context: which words, and which demonstrations of the training set."""

from dataclasses import dataclass

from heedful.datamodules.base.pairs import Pairs
from heedful.interventions.demonstrations import VERSIONS, Kind, demonstrations
from heedful.records import CLASSIFICATION, SPAN, DataError, Example, SettingError, agree, inform, listing
from heedful.records.errors import guess
from heedful.records.prompts.prompt import Prompt
from heedful.records.prompts.wording import Wording

PLAIN = "plain"  # the wording of data that bring none
TEMPLATE = "template"  # that of a model that has words of its own
GIVEN = "prompt"  # that of a model that somebody gave words to


@dataclass(frozen=True)
class Prompting:
    """How a model in context is prompted.

    Attributes:
        tuples: How many demonstrations of every label stand before the example.
        seeds: How many times demonstrations are drawn, each measured apart.
        demonstrations: "plain"; "counterfactual" adds a copy of each demonstration of another label, with a part of
            another example and the default label; "extra_tuple" and "matched_labels" are its controls: real examples of
            the default label are added until half have it, or one in the place of each copy.
        wordings: The names of the wordings of the data, each measured apart; by default the first. "template" is the
            data's template, in which models of the T5 family read an example: their default. "prompt" is the one that
            a model behind a server was given, and its default.

    Demonstrations show their answers: an example that is evaluated is never one of them.
    """

    tuples: int = 0
    seeds: int = 1
    demonstrations: Kind = "plain"
    wordings: list[str] | tuple[str, ...] | str = ()

    def __post_init__(self) -> None:
        names = self.wordings.replace(",", " ").split() if isinstance(self.wordings, str) else self.wordings
        object.__setattr__(self, "wordings", tuple(dict.fromkeys(names)))  # equal settings are equal, however given
        for flag, n, least in (("tuples", self.tuples, 0), ("seeds", self.seeds, 1)):
            if n < least:
                raise SettingError(f"prompt.{flag} {n} is less than {least}.")
        if not self.tuples and self.demonstrations != "plain":
            raise SettingError(
                f"prompt.demonstrations {self.demonstrations} changes nothing where there are no demonstrations. Add "
                "prompt.tuples 1 or more."
            )

    def prompts(self, data: Pairs, own: Wording | None = None, given: Wording | None = None) -> list[Prompt]:
        """The prompts to measure: each wording with each draw of demonstrations; one draw where there are none.

        Args:
            data: The data, set up; its training set is read where there are demonstrations.
            own: The words of the model for the parts that it reads, if it has some: the default, called "template".
            given: The words that somebody gave to the model, if any, for all parts of the data: the default, called
                "prompt".

        Raises:
            HeedfulError: A wording is unknown, does not fit the data or is not measured, or there are too few training
                examples.
        """
        if data.task.kind not in (CLASSIFICATION, SPAN):
            raise DataError(
                f"{data.name} is of the kind {data.task.kind}, and a model in context answers with one label or text."
            )
        if self.seeds > 1 and not self.tuples:
            inform("Without demonstrations seeds do not differ: one prompt is measured.")
        kind = self.demonstrations
        draws = range(self.seeds if self.tuples else 1)
        shown = self._shown(data) if self.tuples else [()]
        return [
            Prompt(wording, data.task, shown[draw], name, draw, self.tuples, kind, VERSIONS[kind])
            for name, wording in self._wordings(data, own, given).items()
            for draw in draws
        ]

    def _wordings(self, data: Pairs, own: Wording | None, given: Wording | None) -> dict[str, Wording]:
        full = data.full_task
        of_model = {} if own is None else {TEMPLATE: own}
        of_user = {} if given is None else {GIVEN: given}
        listed = data.prompts.items()
        of_data = {name: words if isinstance(words, Wording) else Wording(**words) for name, words in listed}
        of_data = of_data or {PLAIN: Wording.plain(full.parts, full.labels)}
        wordings = of_data | of_model | of_user
        names = self.wordings or [next(iter(of_user | of_model | of_data))]
        if of_user and GIVEN not in names:
            raise SettingError(
                f"model.prompt changes nothing: prompt.wordings names {listing([*names])} alone. Add {GIVEN} to "
                "them, or leave one of the two out."
            )
        if unknown := [name for name in names if name not in wordings]:
            raise SettingError(
                f"prompt.wordings {unknown[0]} is not a wording of {data.name}. {guess(unknown[0], wordings)}"
            )
        for name in names:
            if name not in of_model:
                wordings[name].require(name, full.parts, full.labels, "model.prompt" if name in of_user else "")
                wordings[name] = wordings[name].keep_parts(data.task.parts)
        return {name: wordings[name] for name in names}

    def _shown(self, data: Pairs) -> list[tuple[Example, ...]]:
        """The demonstrations of each draw."""
        examples = data.training_pool()
        again = data.counts.evaluated
        if again and not len(examples):
            raise DataError(
                f"All {again:,} training examples of {data.name} are evaluated, and may not show their answers. Name "
                "others with data.splits or data.path, or add data.hold_out N or data.max_validation N."
            )
        if again:
            is_shown = (
                "training example is evaluated as well, and is",
                "training examples are evaluated as well, and are",
            )
            inform(f"{data.name}: {agree(again, *is_shown)} not shown.")
        swap = data.swap[0] if data.swap else None
        return [
            demonstrations(examples, data.task, self.tuples, data.seed, draw, self.demonstrations, swap)
            for draw in range(self.seeds)
        ]
