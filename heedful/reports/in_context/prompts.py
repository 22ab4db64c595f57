"""Read the results of prompted models, and average them over the seeds that choose the demonstrations of the prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heedful.datamodules.demonstrations import VERSIONS
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
from heedful.records.storage.results import RESULTS, distinct
from heedful.reports.alike import CHANGES, DEFAULT, EXAMPLES, SEED, by_data, require_alike
from heedful.reports.runs import ATTENTIVENESS, HASHES, PLAIN, Run, distinguished, require_gold

PROMPT = "prompt"
EVALUATIONS = ("accuracy", "answers", ATTENTIVENESS)
WRITTEN, SCORED = "written", "scored"  # the answer in the generated text, and the most probable label
WORTH, MAJORITY, INVALID, AGREEMENT = "worth", "majority", "invalid", "agreement"
WITH_INVALID, TO_DEFAULT = "with_invalid", "to_default"
NO_SWAPS = "all swapped examples have the default label as base prediction, or more than half of the answers are none"
Name = tuple[str, str, str]  # (WRITTEN or SCORED, swapped part or "" for none, statistic)


class Key(NamedTuple):
    """The model, data and settings that the prompts of a group share; only the seed of the demonstrations differs."""

    model: str  # name of the model
    data: str  # name of the data set
    split: str  # name of the split
    wording: str  # name of the wording of the prompt
    kind: str  # method that draws the demonstrations, such as "counterfactual"
    tuples: int  # number of demonstrations of each label (k)


@dataclass(frozen=True)
class Prompt:
    """The results of a model with one prompt (a wording with demonstrations)."""

    folder: str  # folder of the results
    key: Key  # model, data and settings
    seed: int  # seed of the demonstrations
    writes: bool  # whether answers are generated texts; otherwise the most probable labels
    is_span: bool  # whether answers are spans of a text instead of labels
    numbers: Mapping[Name, Measurement]  # measurements by name


@dataclass(frozen=True)
class Group:
    """The prompts that differ only in the seed of their demonstrations, with the means of their numbers."""

    key: Key  # model, data and settings of the prompts
    prompts: tuple[Prompt, ...]  # the prompts in the order of their seeds
    numbers: Mapping[Name, OverSeeds]  # means over seeds by name

    @property
    def writes(self) -> bool:
        """Whether the model generates its answers; otherwise the answers are the most probable labels."""
        return self.prompts[0].writes

    @property
    def is_span(self) -> bool:
        """Whether answers are spans of a text instead of labels."""
        return self.prompts[0].is_span

    @property
    def parts(self) -> list[str]:
        """Names of the parts that were swapped."""
        return list(dict.fromkeys(part for _, part, _ in self.numbers if part))

    def swaps(self, part: str, answer: str = WRITTEN) -> dict[str, OverSeeds]:
        """Return the numbers about swaps of a part, by statistic; the main number is first.

        ``answer`` is WRITTEN for generated answers, SCORED for the most probable labels.
        """
        return {name[2]: m for name, m in self.numbers.items() if name[:2] == (answer, part)}


def result_folders(folders: Sequence[str]) -> list[str]:
    """Return the folders with results: each given folder that has results, and for any other, the folders in it that
    do.

    Raises:
        RunError: A folder has no results, and none is in it.
    """
    paths: list[str] = []
    for folder in distinct(folders):
        if (Path(folder) / RESULTS).exists():
            paths.append(folder)
        elif files := sorted(Path(folder).rglob(RESULTS)):
            paths += [str(file.parent) for file in files]
        else:
            raise RunError(f"{folder} holds no results. Name folders of evaluations with prompts.")
    return distinct(paths)


def groups_of(runs: Sequence[Run]) -> list[Group]:
    """Group runs whose prompts differ only in the seed of their demonstrations, and average their measurements.

    Raises:
        HeedfulError: A run has no rows, the examples or swaps of runs on the same data set differ, or two runs have the
            same prompt.
    """
    names = [run.model if run.partial or run.regime == PLAIN else f"{run.model} {run.regime}" for run in runs]
    names = [f"{name}, {run.partial} alone" if run.partial else name for name, run in zip(names, runs, strict=True)]
    kinds = [
        run.identity.get("settings", {}) | {key: run.kind[key] for key in HASHES if key in run.kind} for run in runs
    ]
    prompts = [_read_prompt(run, model) for run, model in zip(runs, distinguished(names, kinds), strict=True)]
    for group in by_data(runs):
        require_alike(group, (DEFAULT, SEED, EXAMPLES, CHANGES), EVALUATIONS)
        swapped = {ATTENTIVENESS in run.rows: run.folder for run in group}
        if len(swapped) > 1:
            raise RunError(
                f"Only {swapped[False]} has no rows of {ATTENTIVENESS}. Evaluate all with equal evaluations."
            )
    by_key: dict[Key, dict[int, Prompt]] = {}
    for prompt in prompts:
        first = by_key.setdefault(prompt.key, {}).setdefault(prompt.seed, prompt)
        if first is not prompt:
            folders = f"{first.folder} and {prompt.folder}"
            raise RunError(f"{folders} hold results of the same model with the same prompt. Name one of them.")
    seeds_of = {key: tuple(seeds[seed] for seed in sorted(seeds)) for key, seeds in by_key.items()}
    return [Group(key, seeds, _over_seeds(seeds)) for key, seeds in seeds_of.items()]


def _read_prompt(run: Run, model: str) -> Prompt:
    """Return the prompt of a run, with accuracy (or exact match) and attentiveness computed from the rows of the run.

    If the rows have label probabilities, the same numbers are also computed for the most probable labels. ``model`` is
    the name of the model in tables.
    """
    if PROMPT not in run.identity:
        raise RunError(f"{run.folder} holds no results of a prompt. Name folders of evaluations with prompts.")
    prompt, settings = run.identity[PROMPT], run.identity.get("settings", {})
    rows = {name: run.rows[name][0] for name in EVALUATIONS if name in run.rows}
    if not rows:
        raise RunError(f"{run.folder} has no rows of accuracy. Evaluate again, with it among evaluations.")
    context = run.contexts[next(iter(rows))]
    require_gold(run.folder, context)
    if context.kind is SOFT:
        raise DataError(f"{run.folder}: {context.data} has soft labels, which this report does not know. Leave it out.")
    is_span = context.kind is SPAN
    numbers = _numbers(rows, run.contexts, WRITTEN)
    likely = {name: with_most_probable(table, () if is_span else context.labels) for name, table in rows.items()}
    if all(table is not None for table in likely.values()):
        numbers |= _numbers(likely, run.contexts, SCORED)
        written, most_likely = (
            strings(select(next(iter(tables.values())), intervention=BASE), "y") for tables in (rows, likely)
        )
        numbers[SCORED, "", AGREEMENT] = share(written == most_likely)
    kind, version = prompt["kind"], prompt.get("version", 1)
    if version != VERSIONS.get(kind):  # drawn by another version of Heedful
        kind = f"{kind}, version {version}"
    key = Key(model, run.data, run.split, prompt["wording"], kind, prompt["tuples"])
    is_scored = settings.get("decoding", "greedy") != "greedy" or settings.get("read", "written") != "written"
    return Prompt(run.folder, key, prompt["seed"], is_span or not is_scored, is_span, numbers)


def _numbers(rows: Mapping[str, pa.Table], contexts: Mapping[str, Context], answer: str) -> dict[Name, Measurement]:
    """Compute accuracy (or exact match) and attentiveness.

    ``rows`` and ``contexts`` are by evaluation; ``answer`` is the kind of answer in the rows, WRITTEN or SCORED.
    """
    measured: dict[MetricName, Measurement] = {}
    with recording():
        for evaluation, table in rows.items():
            context = contexts[evaluation]
            measured |= METRICS[evaluation].score(table, context)
    is_span = context.kind is SPAN
    quality = MetricName("exact_match" if is_span else "accuracy", context.data)
    invalid = MetricName(ABSTENTION if is_span else "no_answer", context.data)
    numbers = {
        (answer, "", WORTH): measured[quality],
        (answer, "", MAJORITY): measured[quality._replace(statistic=MAJORITY)],
        (answer, "", INVALID): measured.get(invalid, Measurement(0.0, measured[quality].n)),
    }
    for part in parts_of(context) if ATTENTIVENESS in rows else ():
        headline = headline_of(part, context)
        numbers[answer, part, headline.statistic or ATTENTIVENESS] = measured[headline]
        more = () if is_span else (WITH_INVALID,) if context.default_label is None else (WITH_INVALID, TO_DEFAULT)
        for name in more:
            statistic = "/".join(filter(None, (headline.statistic, name)))  # a distractor has "kept/with_invalid"
            numbers[answer, part, name] = measured.get(headline._replace(statistic=statistic), measured[headline])
    return numbers


def with_most_probable(rows: pa.Table, labels: tuple[str, ...]) -> pa.Table | None:
    """Replace generated answers by the most probable labels; an answer stays if all labels are equally probable.

    Args:
        rows: Rows with answers ``y`` before and ``y2`` after a change, and probabilities ``p`` and ``p2``.
        labels: The labels, in the order of the probabilities.

    Returns:
        The rows with the replaced answers ``y`` and ``y2``; None without labels or probabilities.
    """
    answered = rows["y2"].is_valid()
    if not labels or rows["p"].null_count or rows.filter(answered)["p2"].null_count:
        return None
    y2 = np.full(rows.num_rows, None, dtype=object)
    y2[answered.to_numpy()] = _most_probable(rows.filter(answered), "p2", "y2", labels)
    for name, column in {"y": _most_probable(rows, "p", "y", labels), "y2": y2}.items():
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(column, pa.string()))
    return rows


def _most_probable(rows: pa.Table, column: str, written: str, labels: tuple[str, ...]) -> np.ndarray:
    if not rows.num_rows:
        return np.zeros(0, dtype=object)
    p = probabilities(rows, column)
    likely = np.array(labels, dtype=object)[p.argmax(axis=1)]
    return np.where(p.max(axis=1) > p.min(axis=1), likely, strings(rows, written))


def _over_seeds(prompts: Sequence[Prompt]) -> dict[Name, OverSeeds]:
    """Average the numbers of prompts over seeds; flag accuracy and attentiveness if the accuracy is not better than the
    majority baseline.
    """
    names = [name for name in prompts[0].numbers if all(name in prompt.numbers for prompt in prompts)]
    by_name = {name: [prompt.numbers[name] for prompt in prompts] for name in names}
    at_chance = {n[0]: _is_at_chance(by_name[n], by_name[*n[:2], MAJORITY]) for n in names if n[2] == WORTH}
    numbers = {}
    for name, seeds in by_name.items():
        answer, part, statistic = name
        has_interval = statistic not in (MAJORITY, INVALID, AGREEMENT, WITH_INVALID, TO_DEFAULT)
        number = over_seeds(seeds, NO_SWAPS if part else "no example counts", has_interval)
        flags = [NOT_ABOVE_MAJORITY] if (part or statistic == WORTH) and at_chance[answer] else []
        flags += number.flags
        if part:
            flags += [flag for m in seeds for flag in m.flags if flag not in (NOT_ABOVE_MAJORITY, FEW_EXAMPLES)]
            if few := few_examples(number.n):  # tables show n instead
                number = replace(number, std_seeds=None, std_draws=None, ci95=None)
                flags += few
        numbers[name] = replace(number, flags=tuple(dict.fromkeys(flags)))
    return numbers


def _is_at_chance(worth: Sequence[Measurement], majority: Sequence[Measurement]) -> bool:
    """Whether accuracy (``worth``, by seed) is not better than the majority baseline.

    For one seed, this is the test of :mod:`heedful.metrics.statistics.majority` (p < 0.05). With several seeds,
    accuracy is better if the interval of its mean over examples and seeds is above the majority share.
    """
    if len(worth) == 1:
        return NOT_ABOVE_MAJORITY in worth[0].flags
    return not is_above(list(zip(worth, majority, strict=True)))


def less(first: Group, second: Group, name: Name) -> OverSeeds:
    """Return the difference of a number between two groups of prompts, first minus second.

    The difference is computed for each seed of demonstrations that both groups have, and averaged over these seeds.
    Without a common seed, the result has no value, but a reason. ``name`` is the name of the number.
    """
    by_seed = {prompt.seed: prompt for prompt in second.prompts}
    pairs = [(prompt, by_seed[prompt.seed]) for prompt in first.prompts if prompt.seed in by_seed]
    if not pairs:
        return OverSeeds(None, 0.0, reason="they have no seed of demonstrations in common")
    return less_over_seeds([(prompt.numbers[name], control.numbers[name]) for prompt, control in pairs], NO_SWAPS)
