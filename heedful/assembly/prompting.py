"""Create the prompts of an evaluation, and count its requests to a server, or its inputs of a function."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from heedful.callbacks.engine.evaluation import Plans
from heedful.callbacks.engine.forecast import Amount, forecast, inputs_of
from heedful.callbacks.engine.measure import MOST_ALONE
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import Predictor
from heedful.lightning_modules.function import Function
from heedful.lightning_modules.prompted.requests.client import cost
from heedful.records import Composed
from heedful.records.prompts import Prompt

CHARACTERS = 4  # average length of a token in English


def prompts_of(prompting: Prompting, model: Predictor, data: Pairs) -> list[Prompt]:
    """Return the prompts to measure; with the default ``prompting``, none for models that need none, such as T5."""
    if model.capabilities.prompts is None or (model.capabilities.prompts == "optional" and prompting == Prompting()):
        return []
    prompts = prompting.prompts(data, model.own_wording, model.given_wording)
    for prompt in prompts:
        model.prompt_with(prompt)  # raises before anything is measured
    return prompts


def name_of(prompt: Prompt) -> str:
    """Return the name of the folder for the results of a prompt, such as "plain-counterfactual-k2-seed0"."""
    return f"{prompt.name}-{prompt.kind}-k{prompt.tuples}-seed{prompt.seed}"


@dataclass(frozen=True)
class Requests:
    """The result of a dry run: what an evaluation would send to a server or to a function at most.

    A request asks about one input: the parts of an example, original or changed. ``inputs`` iterates over (model, block
    of examples), with all examples that the model may have to predict; an example may be in several blocks.
    """

    model: str  # name of the model or of the function
    amounts: Sequence[Mapping[str, Amount]]  # per prompt, upper bounds by kind of inputs, such as "base" or "changed"
    most_written: int | None  # tokens that the server writes per request; None without a limit
    prices: Sequence[float] | None  # US dollars per million tokens, read and written
    cache: str | None  # file that stores answers; None for a function
    inputs: Callable[[], Iterator[tuple[Any, Composed]]] = field(repr=False, compare=False)

    @property
    def totals(self) -> dict[str, tuple[int, int]]:
        """The number of requests and the estimated number of their tokens, by kind of inputs and "together"."""
        totals = {}
        for kind in self.amounts[0]:
            of_kind = [amounts[kind] for amounts in self.amounts]
            totals[kind] = sum(a.inputs for a in of_kind), sum(-(-a.length // CHARACTERS) for a in of_kind)
        requests, tokens = zip(*totals.values(), strict=True)
        return totals | {"together": (sum(requests), sum(tokens))}

    def __str__(self) -> str:
        prompts = f" for {len(self.amounts)} prompts" if len(self.amounts) > 1 else ""
        lines = [f"{self.model}{prompts}: at most{f', if {self.cache} is empty' if self.cache else ''}"]
        unit = "inputs" if self.cache is None else "requests"
        for name, (requests, tokens) in self.totals.items():
            dollars = cost(tokens, requests * (self.most_written or 0), self.prices) if self.prices else 0.0
            paid = f", {dollars:,.2f} USD" if self.prices else ""
            lines.append(f"  {name:9} {requests:>10,} {unit}   about {tokens:>12,} tokens to read{paid}")
        if self.cache is None:
            return "\n".join([*lines, "The function was not called."])
        most = self.most_written
        limit = "No limit on written tokens" if most is None else f"At most {most} written tokens per request"
        return "\n".join([*lines, f"{limit}. Nothing was sent."])


def requests_of_function(function: Any, data: Pairs, plans: Plans, limit: int | float) -> Requests:
    """Return upper bounds on the inputs that a function, or a model in memory, would receive, without calling it.

    For a model in memory, the kind "repeated" counts the examples that are predicted alone, to test padding. ``limit``
    is the Trainer's limit_val_batches.
    """
    blocks = partial(inputs_of, data, plans, limit)
    amounts = forecast(data, plans, function, limit)
    if not isinstance(function, Function):
        lengths = function.encode(next(blocks())).lengths
        longest = np.sort(lengths)[::-1][
            :MOST_ALONE
        ]  # an upper bound: other inputs, which may be shorter, are repeated
        amounts["repeated"] = Amount(len(longest), int(longest.sum()))
    return Requests(function.description, [amounts], None, None, None, lambda: ((function, each) for each in blocks()))
