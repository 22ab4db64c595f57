"""Results of models asked in context: the numbers of each prompt, and their means over seeds of demonstrations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heedful.interventions.demonstrations import VERSIONS
from heedful.metrics import METRICS
from heedful.metrics.attentiveness import headline_of, parts_of
from heedful.metrics.reading_comprehension import ABSTENTION
from heedful.metrics.statistics.draws import FEW_EXAMPLES, few_examples
from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.metrics.statistics.over_seeds import OverSeeds, is_above, less_over_seeds, over_seeds
from heedful.metrics.statistics.paired import recording
from heedful.metrics.statistics.shares import share
from heedful.records import SOFT, SPAN, Context, DataError, Measurement, MetricName, RunError
from heedful.records.rows import BASE, probabilities, select, strings
from heedful.records.storage.folder_names import newest_versions
from heedful.records.storage.results import RESULTS, RUN, distinct, read_run
from heedful.reports.alike import CHANGES, DEFAULT, EXAMPLES, SEED, of_each_set, require_alike
from heedful.reports.runs import HASHES, PLAIN, Measured, measured, require_gold, told_apart

ATTENTIVENESS, PROMPT = "attentiveness", "prompt"
EVALUATIONS = ("accuracy", "answers", ATTENTIVENESS)
WRITTEN, SCORED = "written", "scored"  # the label that a model writes, and the most probable one
WORTH, MAJORITY, INVALID, AGREEMENT = "worth", "majority", "invalid", "agreement"
WITH_INVALID, TO_DEFAULT = "with_invalid", "to_default"
NO_SWAPS = (
    "no example that was swapped is predicted as another label than the default one, or more than half of the answers "
    "are none"
)
Name = tuple[str, str, str]  # (written or scored, part that was swapped or "", statistic)
Evaluated = tuple[pa.Table, Mapping[str, Any]]  # rows and their metadata


class Key(NamedTuple):
    """What is measured with several seeds of demonstrations; ``kind`` is how demonstrations were made."""

    model: str
    data: str
    split: str
    wording: str
    kind: str
    tuples: int


@dataclass(frozen=True)
class Prompt:
    """The numbers of one prompt; ``writes`` is False where the answer is the most probable label."""

    folder: str
    key: Key
    seed: int
    writes: bool
    is_span: bool
    numbers: Mapping[Name, Measurement]


@dataclass(frozen=True)
class Group:
    """The numbers of prompts that differ in the seed of their demonstrations alone, in the order of seeds."""

    key: Key
    prompts: tuple[Prompt, ...]
    numbers: Mapping[Name, OverSeeds]

    @property
    def writes(self) -> bool:
        """Whether the model writes its answers; else they are the most probable labels."""
        return self.prompts[0].writes

    @property
    def is_span(self) -> bool:
        """Whether answers are texts."""
        return self.prompts[0].is_span

    @property
    def parts(self) -> list[str]:
        """The parts that were swapped."""
        return list(dict.fromkeys(part for _, part, _ in self.numbers if part))

    def swaps(self, part: str, answer: str = WRITTEN) -> dict[str, OverSeeds]:
        """Statistic to its number for swaps of a part, the headline first; empty where there is none."""
        return {name: m for (of, swapped, name), m in self.numbers.items() if (of, swapped) == (answer, part)}


def find(folders: Sequence[str]) -> tuple[list[str], list[str]]:
    """The folders with the results of a prompt, at or below these, and sentences about them and what is left out.

    Raises:
        HeedfulError: A folder does not exist, or holds no results of a prompt.
    """
    found: list[str] = []
    others: list[str] = []
    unfinished: list[str] = []
    about = []
    for folder in distinct(folders):
        if not Path(folder).is_dir():
            raise DataError(f"{folder} does not exist, or is not a folder.")
        is_one = (Path(folder) / RESULTS).exists()
        below = [Path(folder)] if is_one else [path.parent for path in sorted(Path(folder).rglob(RUN))]
        ended = [str(path) for path in newest_versions([path for path in below if (path / RESULTS).exists()])]
        prompted = [path for path in ended if PROMPT in read_run(path)]
        if not prompted:
            raise RunError(
                f"{folder} holds no results of a model that was asked in context, whose {RUN} has {PROMPT!r}. Name "
                "folders that evaluate.py wrote."
            )
        found += prompted
        others += [path for path in ended if path not in prompted]
        unfinished += [str(path) for path in below if not (path / RESULTS).exists() and PROMPT in read_run(path)]
        about.append(f"in {folder}" if is_one else f"in {folder}: {len(prompted)} folders")
    others, unfinished = distinct(others), distinct(unfinished)
    if others:
        about.append(f"Left out, as they hold no prompt: {len(others)} folders, such as {others[0]}.")
    if unfinished:
        about.append(f"Left out, as their evaluation has not ended: {len(unfinished)}, such as {unfinished[0]}.")
    return distinct(found), about


def groups_of(folders: Sequence[str]) -> list[Group]:
    """Read the results of prompts, and average those that differ in the seed of their demonstrations alone.

    Raises:
        HeedfulError: There are no rows, the examples or the swaps on one data set are not the same, or two folders hold
            the same prompt.
    """
    runs = measured(folders)
    names = [run.model if run.partial or run.regime == PLAIN else f"{run.model} {run.regime}" for run in runs]
    names = [f"{name}, {run.partial} alone" if run.partial else name for name, run in zip(names, runs, strict=True)]
    own = [run.identity.get("settings", {}) | {key: run.kind[key] for key in HASHES if key in run.kind} for run in runs]
    prompts = [_read(run, model) for run, model in zip(runs, told_apart(names, own), strict=True)]
    for of_set in of_each_set(runs):
        require_alike(of_set, (DEFAULT, SEED, EXAMPLES, CHANGES), EVALUATIONS)
        swapped = {ATTENTIVENESS in run.rows: run.folder for run in of_set}
        if len(swapped) > 1:
            raise RunError(
                f"{swapped[False]} has no rows of {ATTENTIVENESS}, and others have. Evaluate all with the same "
                "evaluations."
            )
    groups: dict[Key, dict[int, Prompt]] = {}
    for prompt in prompts:
        other = groups.setdefault(prompt.key, {}).setdefault(prompt.seed, prompt)
        if other is not prompt:
            raise RunError(
                f"{other.folder} and {prompt.folder} hold results of the same model with the same prompt. Name one of "
                "them."
            )
    seeds_of = {key: tuple(of[seed] for seed in sorted(of)) for key, of in groups.items()}
    return [Group(key, seeds, _over_seeds(seeds)) for key, seeds in seeds_of.items()]


def _read(run: Measured, model: str) -> Prompt:
    """Read the rows of one prompt."""
    prompt, settings = run.identity[PROMPT], run.identity.get("settings", {})
    evaluated = {name: run.rows[name] for name in EVALUATIONS if name in run.rows}
    if not evaluated:
        raise RunError(f"{run.folder} has no rows of accuracy. Evaluate again, with that evaluation among evaluations.")
    rows, metadata = next(iter(evaluated.values()))
    context = Context.of(metadata["context"])
    require_gold(run.folder, context)
    if context.kind is SOFT:
        raise DataError(
            f"{run.folder}: {context.data} has soft labels, of which there is no report in context. Leave it out."
        )
    is_span = context.kind is SPAN
    numbers = _numbers(evaluated, WRITTEN)
    likely = {name: (scored(of, () if is_span else context.labels), about) for name, (of, about) in evaluated.items()}
    if all(of is not None for of, _ in likely.values()):
        numbers |= _numbers(likely, SCORED)
        both = [strings(select(of, intervention=BASE), "y") for of in (rows, next(iter(likely.values()))[0])]
        numbers[SCORED, "", AGREEMENT] = share(both[0] == both[1])
    kind, version = prompt["kind"], prompt.get("version", 1)
    if version != VERSIONS.get(kind):  # demonstrations that are drawn otherwise today
        kind = f"{kind}, version {version}"
    key = Key(model, run.data, run.split, prompt["wording"], kind, prompt["tuples"])
    scores = settings.get("decoding", "greedy") != "greedy" or settings.get("read", "written") != "written"
    return Prompt(run.folder, key, prompt["seed"], is_span or not scores, is_span, numbers)


def _numbers(evaluated: Mapping[str, Evaluated], answer: str) -> dict[Name, Measurement]:
    """The numbers of base predictions and of swaps."""
    measured: dict[MetricName, Measurement] = {}
    with recording():
        for evaluation, (rows, about) in evaluated.items():
            context = Context.of(about["context"])
            measured |= METRICS[evaluation].score(rows, context)
    is_span = context.kind is SPAN
    quality = MetricName("exact_match" if is_span else "accuracy", context.data)
    invalid = MetricName(ABSTENTION if is_span else "no_answer", context.data)
    numbers = {
        (answer, "", WORTH): measured[quality],
        (answer, "", MAJORITY): measured[quality._replace(statistic=MAJORITY)],
        (answer, "", INVALID): measured.get(invalid, Measurement(0.0, measured[quality].n)),
    }
    for part in parts_of(context) if ATTENTIVENESS in evaluated else ():
        headline = headline_of(part, context)
        numbers[answer, part, headline.statistic or ATTENTIVENESS] = measured[headline]
        beside = () if is_span else (WITH_INVALID,) if context.default_label is None else (WITH_INVALID, TO_DEFAULT)
        for name in beside:
            numbers[answer, part, name] = measured.get(headline._replace(statistic=name), measured[headline])
    return numbers


def scored(rows: pa.Table, labels: tuple[str, ...]) -> pa.Table | None:
    """Rows whose answers are the most probable labels, whatever was written; where all are as probable, it stays.

    Args:
        rows: Rows.
        labels: The labels, in the order of the probabilities.

    Returns:
        The rows with other ``y`` and ``y2``; None where a prediction has no probabilities.
    """
    answered = rows["y2"].is_valid()
    if not labels or rows["p"].null_count or rows.filter(answered)["p2"].null_count:
        return None
    y2 = np.full(rows.num_rows, None, dtype=object)
    y2[answered.to_numpy()] = _most_probable(rows.filter(answered), "p2", "y2", labels)
    for name, column in {"y": _most_probable(rows, "p", "y", labels), "y2": y2}.items():
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(column, pa.string()))
    return rows


def _most_probable(rows: pa.Table, of: str, otherwise: str, labels: tuple[str, ...]) -> np.ndarray:
    if not rows.num_rows:
        return np.zeros(0, dtype=object)
    p = probabilities(rows, of)
    likely = np.array(labels, dtype=object)[p.argmax(axis=1)]
    return np.where(p.max(axis=1) > p.min(axis=1), likely, strings(rows, otherwise))


def _over_seeds(prompts: Sequence[Prompt]) -> dict[Name, OverSeeds]:
    """The mean of each number over seeds, flagged where answers are not worth more than the best single answer."""
    names = [name for name in prompts[0].numbers if all(name in prompt.numbers for prompt in prompts)]
    of = {name: [prompt.numbers[name] for prompt in prompts] for name in names}
    at_chance = {name[0]: _is_at_chance(of[name], of[*name[:2], MAJORITY]) for name in names if name[2] == WORTH}
    numbers = {}
    for name, of_seeds in of.items():
        answer, part, statistic = name
        has_interval = statistic not in (MAJORITY, INVALID, AGREEMENT, WITH_INVALID, TO_DEFAULT)
        number = over_seeds(of_seeds, NO_SWAPS if part else "no example counts", has_interval)
        flags = [NOT_ABOVE_MAJORITY] if (part or statistic == WORTH) and at_chance[answer] else []
        flags += number.flags
        if part:
            flags += [flag for m in of_seeds for flag in m.flags if flag not in (NOT_ABOVE_MAJORITY, FEW_EXAMPLES)]
            if few := few_examples(number.n):  # no table shows the number, and so no spread of it
                number = replace(number, std_seeds=None, std_draws=None, ci95=None)
                flags += few
        numbers[name] = replace(number, flags=tuple(dict.fromkeys(flags)))
    return numbers


def _is_at_chance(worth: Sequence[Measurement], majority: Sequence[Measurement]) -> bool:
    """Whether answers are not worth more than the best single one (p < 0.05).

    With one seed it is the test of :mod:`heedful.metrics.statistics.majority`, which is that of every model. With
    several the mean over seeds must be above it, by the interval that crosses examples and seeds.
    """
    if len(worth) == 1:
        return NOT_ABOVE_MAJORITY in worth[0].flags
    return not is_above(list(zip(worth, majority, strict=True)))


def less(first: Group, other: Group, name: Name) -> OverSeeds:
    """A number of the first group less that of the other, over the examples and the seeds that both have."""
    of_other = {prompt.seed: prompt for prompt in other.prompts}
    both = [(prompt, of_other[prompt.seed]) for prompt in first.prompts if prompt.seed in of_other]
    if not both:
        return OverSeeds(None, 0.0, reason="they have no seed of demonstrations in common")
    return less_over_seeds([(one.numbers[name], two.numbers[name]) for one, two in both], NO_SWAPS)
