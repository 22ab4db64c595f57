"""``heedful.perturbation``: turn a function from an example to an example into an evaluation."""

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from heedful.callbacks.engine.evaluation import Evaluation, Nothing, Plan, Setting, require_number
from heedful.callbacks.evaluations.registry import register
from heedful.interventions import EachExample, Prediction
from heedful.metrics import Metric
from heedful.metrics.perturbation import PerturbationSettings, perturbation_metric
from heedful.records import Changed, Example, Examples, SettingError, Task, generator
from heedful.records.arguments import expressible
from heedful.records.errors import nearest, suggestion
from heedful.records.example import MissingPart
from heedful.records.rows import BASE, GOLD2, LEAVES, MOST_DRAWS, MOVES, STAYS

Function = Callable[..., Example | Sequence[Example | None] | None]
RESERVED = {BASE, "null", "data", "model", "trainer", "checkpoint", "prompt"}  # names with another meaning
EXPECTATIONS = STAYS, LEAVES, GOLD2, MOVES
ASKED_TWICE = 8  # examples that are changed twice, to find out whether the function is deterministic


@dataclass(frozen=True)
class Perturb(EachExample):
    """Change each example by a function."""

    function: Function = field(compare=False)
    arguments: Mapping[str, Any] = field(hash=False)  # of the function
    expectation: Any = field(compare=False)  # "stays", ...; a label; or a function of the example that returns one
    task: Task = field(compare=False)

    @property
    def settings(self) -> tuple[str | int | bool, ...]:
        fixed = () if callable(self.expectation) else (f"expects {self.expectation}",)
        return (*fixed, *(f"{name} {expressible(value)!r}" for name, value in self.arguments.items()))

    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        base = pool[uid]
        random = {"rng": generator(seed, self.name, self.version, uid, draw)} if self.draws else {}
        try:
            returned = self.function(base, **self.arguments, **random)
            several = [returned] if isinstance(returned, Example | None) else list(returned)
        except Exception as error:
            error.add_note(f"This happened in the perturbation {self.name}, for the example {uid}.")
            raise
        changes = []
        for k, example in enumerate(several):
            if not isinstance(example, Example | None):
                kind = type(example).__name__
                raise SettingError(f"{self.name} returned a {kind} for {uid}. Return example.replace(...), or None.")
            parts = [] if example is None else [p for p in base.parts if example.parts[p] != base.parts[p]]
            if example is None or not parts:
                continue
            expects, gold = self._expected(base, example)
            variant = "" if isinstance(returned, Example) else f"{k:03}"
            example = replace(example, uid=uid, label=gold)
            changes.append(Changed(example, "", variant, (uid,), expects, "+".join(parts)))
        return changes

    def _expected(self, base: Example, example: Example) -> tuple[str, str | None]:
        """Return the expectation of a change, as in rows, and the gold label after it, None if it is unknown."""
        expects, gold = self.expectation(base) if callable(self.expectation) else self.expectation, example.label
        if expects == MOVES:
            moves = base.options.moves(example.options)
            expects, gold = f"{MOVES}/{json.dumps(moves)}", next(iter(moves.get(base.label or "", ())), None)
        elif expects not in (*EXPECTATIONS, None, ""):
            expects, gold = GOLD2, expects
        elif expects == LEAVES and gold == base.label:
            gold = None
        if gold not in (None, base.label):
            require_label(f"The answer after the perturbation {self.name}", gold, self.task)
            gold = self.task.kind.default_gold(gold)
        return "" if expects is None or (expects == GOLD2 and gold is None) else expects, gold


class Perturbation(Evaluation):
    """Base class of the evaluations that :func:`perturbation` creates: how often a change has the expected effect.

    Args:
        max_examples: In training, the evaluation changes at most this number of examples; None for all.
        draws: Number of changes per example, for a function with the argument ``rng``; 1 in training.
        **arguments: Keyword arguments of the function.
    """

    in_training = True
    function: ClassVar[Function]
    expects: ClassVar[Any]
    version: ClassVar[int]
    is_random: ClassVar[bool]

    def __init__(self, max_examples: int | None = 2000, draws: int = 0, **arguments: Any) -> None:
        require_number(f"{self.name}.max_examples", max_examples)
        require_number(f"{self.name}.draws", draws, least=int(self.is_random), most=MOST_DRAWS)
        self.max_examples = max_examples
        self.draws = draws
        self.function_arguments = arguments

    def plan(self, setting: Setting) -> Plan | Nothing:
        data, arguments, part = setting.data, self.function_arguments, self.function_arguments.get("part") or ""
        if not callable(self.expects) and self.expects not in EXPECTATIONS:
            require_label(f"expects of {self.name}", self.expects, data.task, EXPECTATIONS)
        parameters = inspect.signature(self.expects).parameters.values() if callable(self.expects) else ()
        judges = sum(p.default is p.empty and p.kind is not p.KEYWORD_ONLY for p in parameters) > 1
        change = Perturb(
            type(self).function,
            arguments,
            None if judges else type(self).expects,
            data.task,
            name=self.name,
            version=self.version,
            draws=min(self.draws, 1) if setting.monitoring else self.draws,
            limit=self.max_examples if setting.monitoring else None,
            judge=self._judge if judges else None,
        )
        try:
            _require_deterministic(change, data.pool, data.seed)
        except MissingPart as error:
            return Nothing(f"reads another part than these data have: {error.args[0]}")
        return Plan(data.pool, [change], PerturbationSettings(str(part), perturbation=True, limit=change.limit))

    def _judge(self, before: Prediction, after: Prediction) -> bool:
        """Return whether a change is as expected, by the function ``expects``."""
        try:
            verdict = self.expects(before, after)
        except Exception as error:
            raise SettingError(f"expects of {self.name} raised {error!r} for {before} and {after}.") from error
        if not isinstance(verdict, bool | np.bool_):
            raise SettingError(f"expects of {self.name} returned {verdict!r}. Return True or False.")
        return bool(verdict)


def perturbation(
    name: str,
    expects: Any = STAYS,
    *,
    draws: int = 5,
    version: int = 1,
    by_default: bool = True,
    metric: Metric | None = None,
) -> Callable[[Function], type[Perturbation]]:
    """Return a decorator that turns a function from an example to an example into an evaluation.

    The evaluation measures the share of changes that meet the expectation, averaged per example. The function gets an
    example, and returns ``example.replace(part, content)``; or a list of such examples, as variants of the change; or
    None, to leave the example out. Changes that do not reach the model are left out of the share, and counted. Keyword
    arguments of the function are settings of the evaluation; the argument ``rng``, a NumPy generator that depends on
    seed, name, uid and draw, is not.

    Args:
        name: Name of the evaluation and of its settings, such as "no_stop" for ``--no_stop.part``.
        expects: What should become of the prediction: "stays"; "leaves", if any other answer is right (for spans, "no
            answer"); "moves", if options change places, and the option with the same text should be chosen; "gold2",
            the gold label in ``example.replace(..., gold=...)``; a label; a function of the original example that
            returns one of these, or None for no expectation; or a function of two predictions, before and after the
            change, that returns whether the change is as expected (Ribeiro et al. 2020, "Beyond Accuracy", directional
            expectation tests). A prediction has an ``answer``, ``probabilities`` by label, and a ``score``.
        draws: Default number of changes per example, for a function with the argument ``rng``; 1 in training.
        version: Increase it if the function changes other examples than before.
        by_default: Whether the evaluation runs if a call names no evaluations.
        metric: A :func:`~heedful.metrics.perturbation.perturbation_metric` with further numbers.

    Returns:
        The decorator. It replaces the function by a class of evaluations, which is also registered under its name; the
        function is its attribute ``function``.

    Raises:
        SettingError: Another evaluation has this name.

    Example:
        >>> import heedful
        >>> @heedful.perturbation("no_stop", expects="stays")
        ... def no_stop(example, part="premise"):
        ...     return example.replace(part, example[part].rstrip(" ."))
        >>> rows = [{"premise": f"Dog {i} runs.", "hypothesis": f"Animal {i} moves."} for i in range(40)]
        >>> def predict(inputs):
        ...     return ["entailment" if x["premise"].endswith(".") else "neutral" for x in inputs]
        >>> result = heedful.measure(predict, rows, ["premise", "hypothesis"], "neutral", evaluations=[no_stop])
        >>> result["no_stop", "premise"].value
        0.0
    """

    if not re.fullmatch(r"[a-zA-Z]\w*", name) or name in RESERVED:
        raise SettingError(f"{name!r} cannot be the name of a perturbation. Choose a name such as no_stop.")

    def decorate(function: Function) -> type[Perturbation]:
        try:
            _, *parameters = inspect.signature(function, eval_str=True).parameters.values()
        except NameError:  # an annotation is imported for type checkers only
            _, *parameters = inspect.signature(function).parameters.values()
        is_random = any(parameter.name == "rng" for parameter in parameters)
        settings = [_with_type(parameter) for parameter in parameters if parameter.name != "rng"]
        if unset := [p.name for p in settings if p.default is p.empty]:
            raise SettingError(f"{name}: the argument {unset[0]} of the function needs a default value.")
        if taken := {"self", "max_examples", "draws"} & {p.name for p in settings}:
            raise SettingError(f"{name}: all perturbations have a setting {min(taken)}. Rename the argument.")
        own = [*inspect.signature(Perturbation.__init__).parameters.values()][:3]
        own = [own[0], own[1], *([own[2].replace(default=draws)] if is_random else [])]

        def __init__(self: Perturbation, *positional: Any, **arguments: Any) -> None:
            try:
                bound = signature.bind(self, *positional, **arguments)
            except TypeError as error:
                raise SettingError(f"{name}: {error}. The function itself is {name}.function.") from None
            bound.apply_defaults()
            Perturbation.__init__(**bound.arguments)

        keyword_only = [p.replace(kind=p.KEYWORD_ONLY) for p in (*own[1:], *settings)]
        __init__.__signature__ = signature = inspect.Signature([own[0], *keyword_only])  # type: ignore[attr-defined]
        attributes = {
            "__init__": __init__,
            "__doc__": function.__doc__,
            "__module__": function.__module__,
            "__qualname__": function.__qualname__,
            "metric": metric or perturbation_metric(name),
            "function": staticmethod(function),
            "expects": staticmethod(expects) if callable(expects) else expects,
            "version": version,
            "by_default": by_default,
            "is_random": is_random,
        }
        kind = type(function.__name__, (Perturbation,), attributes)
        register(kind)
        return kind

    return decorate


def _with_type(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter annotated by the type of its default value, unless it has an annotation."""
    is_typed = parameter.annotation is not parameter.empty or parameter.default in (None, parameter.empty)
    return parameter if is_typed else parameter.replace(annotation=type(parameter.default))


def require_label(display_name: str, label: Any, task: Task, words: Sequence[str] = ()) -> None:
    """Raise SettingError unless ``label`` may be an answer in the task; the message begins with ``display_name``.

    Where any text is an answer, a text that is similar to one of ``words`` is refused.
    """
    is_answer = label in task.labels if task.kind.has_labels else nearest(str(label), words) is None
    if not isinstance(label, str) or not is_answer:
        known = suggestion(str(label), [*task.labels, *words])
        raise SettingError(f"{display_name}: {label!r} is not a label. {known}")


def _require_deterministic(change: Perturb, pool: Examples, seed: int) -> None:
    """Raise SettingError if the function returns two results for one example, since processes would disagree."""
    draw = 0 if change.draws else -1
    for uid in pool.uids[:ASKED_TWICE].to_pylist():
        if change.apply(pool, uid, draw, seed) != change.apply(pool, uid, draw, seed):
            raise SettingError(
                f"{change.name} changes {uid} differently each time. Draw random numbers from an argument rng."
            )
