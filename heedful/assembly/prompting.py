"""Models that are asked in context: the prompts that are measured, and the requests that a server would get."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from heedful.callbacks.engine.evaluation import Plans
from heedful.callbacks.engine.forecast import Amount, forecast, inputs_of
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import BasePredictor
from heedful.lightning_modules.prompted.requests.client import cost
from heedful.records import Composed, ModelError, SettingError
from heedful.records.prompts.prompt import Prompt

CHARACTERS = 4  # of a token, about, in English


def prompts_of(prompting: Prompting | None, model: BasePredictor, data: Pairs) -> list[Prompt]:
    """The prompts to measure; none for a model that is asked without one.

    Args:
        prompting: The settings; None in training.
        model: The model.
        data: The data, set up.

    Raises:
        HeedfulError: The model reads no prompts, and settings of prompts are given; it cannot read one of them; or it
            is to be trained, and cannot be.
    """
    if prompting is None:
        if model.needs_prompt:
            raise ModelError(
                f"{model.description} is asked in context, and not trained here. Measure it with evaluate.py."
            )
        if not model.is_trainable:
            raise ModelError(f"{model.description} is asked, and not trained here. Measure it with evaluate.py.")
        return []
    if not model.reads_prompts and prompting != Prompting():
        given = next(name for name, value in vars(prompting).items() if value != getattr(Prompting(), name))
        raise SettingError(
            f"prompt.{given} changes nothing: {model.description} is not asked in context. Leave it out, or take "
            "model smollm2, a T5, or endpoint NAME."
        )
    is_asked = model.needs_prompt or prompting != Prompting()
    prompts = prompting.prompts(data, model.own_wording, model.given_wording) if is_asked else []
    for prompt in prompts:
        model.prompt_with(prompt)  # those that it cannot read are refused before anything is measured
    return prompts


def name_of(prompt: Prompt) -> str:
    """The folder of a prompt among others of the same command."""
    return f"{prompt.name}-{prompt.kind}-k{prompt.tuples}-seed{prompt.seed}"


@dataclass(frozen=True)
class Requests:
    """The requests that an evaluation would send to a server, or the inputs that a function would get, at most.

    Attributes:
        model: The model, by its name at the server, or the name of the function.
        prompts: How many prompts ask it.
        amounts: Per prompt, kind of inputs to their number and length.
        most_written: Tokens that each request may write; None without a limit.
        prices: US dollars for a million tokens that are read, and that are written; None where nobody says.
        cache: The file of answers, which is not read here; None for a function.
        inputs: Iterates over blocks of the inputs, with the model that answers them; some inputs are in several blocks.
    """

    model: str
    prompts: int
    amounts: Sequence[Mapping[str, Amount]]
    most_written: int | None
    prices: Sequence[float] | None
    cache: str | None
    inputs: Callable[[], Iterator[tuple[Any, Composed]]] = field(repr=False, compare=False)

    @property
    def totals(self) -> dict[str, tuple[int, int]]:
        """Kind of inputs, and "together", to requests and about how many tokens are read."""
        totals = {
            kind: (
                sum(amounts[kind].inputs for amounts in self.amounts),
                sum(-(-amounts[kind].length // CHARACTERS) for amounts in self.amounts),
            )
            for kind in self.amounts[0]
        }
        together = sum(requests for requests, _ in totals.values()), sum(tokens for _, tokens in totals.values())
        return totals | {"together": together}

    def __str__(self) -> str:
        of = f" for {self.prompts} prompts" if self.prompts > 1 else ""
        lines = [f"{self.model}{of}: at most{f', where nothing is in {self.cache} yet' if self.cache else ''}"]
        for name, (requests, tokens) in self.totals.items():
            dollars = cost(tokens, requests * (self.most_written or 0), self.prices) if self.prices else 0.0
            paid = f", {dollars:,.2f} USD" if self.prices else ""
            lines.append(f"  {name:9} {requests:>10,} requests   about {tokens:>12,} tokens to read{paid}")
        if self.cache is None:
            return "\n".join([*lines, "Nothing was asked."])
        most = self.most_written
        limit = f"Each writes at most {most} tokens" if most is not None else "Tokens that are written are not limited"
        return "\n".join([*lines, f"{limit}. Nothing was sent."])


def requests_of_function(function: Any, data: Pairs, plans: Plans, limit: int | float) -> Requests:
    """The inputs that a function would get, at most.

    Args:
        function: The function, as a predictor.
        data: The data, set up.
        plans: The plans of the evaluations.
        limit: The Trainer's limit_val_batches.
    """

    def inputs() -> Iterator[tuple[Any, Composed]]:
        return ((function, examples) for examples in inputs_of(data, plans, limit))

    return Requests(function.description, 0, [forecast(data, plans, function, limit)], None, None, None, inputs)
