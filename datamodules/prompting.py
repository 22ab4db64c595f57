"""Settings of prompts for in-context learning: the wordings, and the demonstrations (solved training examples)."""

from dataclasses import dataclass

from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.demonstrations import VERSIONS, Kind, demonstrations
from heedful.records import CLASSIFICATION, CONTAINED, SPAN, DataError, Example, SettingError, agree, inform, listing
from heedful.records.errors import suggestion
from heedful.records.prompts import Prompt, Wording

PLAIN = "plain"  # name of the wording of data without prompts
TEMPLATE = "template"  # name of the wording of text-to-text models
PROMPT = "prompt"  # name of the wording that the setting model.prompt gives


@dataclass(frozen=True)
class Prompting:
    """Settings of prompts for in-context learning.

    Attributes:
        tuples: Number of demonstrations per label.
        seeds: Number of random draws of demonstrations; every draw is measured.
        demonstrations: "plain"; "counterfactual" adds, for each demonstration whose label is not the default, a copy
            with a part of another example and the default label. Its controls are "extra_tuple", which adds real
            examples of the default label until half of the demonstrations have it, and "matched_labels", which adds a
            real example of the default label instead of each copy.
        wordings: Names of the wordings to measure, by default the first wording of the data. "template" is the template
            of the data, the default of T5 models; "prompt" is ``model.prompt``, the default of an endpoint.

    Evaluated examples are never demonstrations, since demonstrations show the right answers.
    """

    tuples: int = 0
    seeds: int = 1
    demonstrations: Kind = "plain"
    wordings: list[str] | tuple[str, ...] | str = ()

    def __post_init__(self) -> None:
        names = self.wordings.replace(",", " ").split() if isinstance(self.wordings, str) else self.wordings
        object.__setattr__(
            self, "wordings", tuple(dict.fromkeys(names))
        )  # a tuple, so that equal settings compare equal
        for flag, n, least in (("tuples", self.tuples, 0), ("seeds", self.seeds, 1)):
            if n < least:
                raise SettingError(f"prompt.{flag} {n} is less than {least}.")
        if not self.tuples and self.demonstrations != "plain":
            raise SettingError(f"prompt.demonstrations {self.demonstrations} needs prompt.tuples 1 or more.")

    def prompts(self, data: Pairs, template: Wording | None = None, prompt: Wording | None = None) -> list[Prompt]:
        """Return the prompts to measure: each wording with each draw of demonstrations.

        The setting ``wordings`` selects wordings by name. If the setting is empty, a single wording is measured:
        "prompt" if ``prompt`` is given, else "template" if ``template`` is given, else the first wording of the data.

        Args:
            data: The data, set up. The training set is read only if there are demonstrations.
            template: The wording called "template": the own wording of a text-to-text model. None if there is none.
            prompt: The wording called "prompt", from the setting ``model.prompt``. None if that is not set.

        Raises:
            HeedfulError: A wording is unknown or does not fit the data; ``prompt`` is given, but the setting
                ``wordings`` leaves "prompt" out; or there are too few training examples.
        """
        if data.task.kind not in (CLASSIFICATION, SPAN, CONTAINED):
            raise DataError(
                f"{data.name} has labels of the kind {data.task.kind}; a prompt asks for one label or text."
            )
        if self.seeds > 1 and not self.tuples:
            inform("Without demonstrations seeds do not differ: one prompt is measured.")
        kind = self.demonstrations
        draws = self._draws(data) if self.tuples else [()]
        return [
            Prompt(wording, data.task, draw, name, number, self.tuples, kind, VERSIONS[kind])
            for name, wording in self._wordings(data, template, prompt).items()
            for number, draw in enumerate(draws)
        ]

    def _wordings(self, data: Pairs, template: Wording | None, prompt: Wording | None) -> dict[str, Wording]:
        full = data.full_task
        templates = {} if template is None else {TEMPLATE: template}
        prompts = {} if prompt is None else {PROMPT: prompt}
        listed = data.prompts.items()
        from_data = {name: words if isinstance(words, Wording) else Wording(**words) for name, words in listed}
        from_data = from_data or {PLAIN: Wording.plain(full.parts, full.labels)}
        wordings = from_data | templates | prompts
        names = self.wordings or [next(iter(prompts | templates | from_data))]
        if prompts and PROMPT not in names:
            raise SettingError(
                f"model.prompt has no effect, since prompt.wordings is {listing([*names])}. Add {PROMPT}."
            )
        if unknown := [name for name in names if name not in wordings]:
            hint = suggestion(unknown[0], wordings)
            raise SettingError(f"prompt.wordings {unknown[0]} is not a wording of {data.name}. {hint}")
        for name in names:
            if name not in templates:
                wordings[name].require(name, full.parts, full.labels, "model.prompt" if name in prompts else "")
                wordings[name] = wordings[name].keep_parts(data.task.parts)
        return {name: wordings[name] for name in names}

    def _draws(self, data: Pairs) -> list[tuple[Example, ...]]:
        """Draw demonstrations from the training set, once for each seed; return the demonstrations of each draw."""
        examples = data.training_pool()
        evaluated = data.counts.evaluated
        if evaluated and not len(examples):
            raise DataError(
                f"All {evaluated:,} training examples of {data.name} are evaluated, and may not show their answers. "
                "Name others with data.splits or data.path, or add data.hold_out N or data.max_validation N."
            )
        if evaluated:
            also = agree(evaluated, "training example is also evaluated", "training examples are also evaluated")
            inform(f"{data.name}: {also}, and not shown.")
        swap = data.swap[0] if data.swap else None
        return [
            demonstrations(examples, data.task, self.tuples, data.seed, draw, self.demonstrations, swap)
            for draw in range(self.seeds)
        ]
