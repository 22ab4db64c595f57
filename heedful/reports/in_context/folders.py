"""Folders of evaluations in context: which prompt of which model each holds, and whether they belong together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heedful.interventions.demonstrations import VERSIONS
from heedful.metrics import METRICS
from heedful.metrics.attentiveness import parts_of
from heedful.metrics.metric import Numbers
from heedful.metrics.statistics.paired import recording
from heedful.metrics.statistics.shares import share
from heedful.records import SOFT, SPAN, Context, DataError, Measurement, RunError
from heedful.records.rows import BASE, probabilities, select, strings
from heedful.records.storage.folder_names import newest_versions
from heedful.records.storage.results import RESULTS, RUN, distinct, read_evaluation, read_run
from heedful.reports.alike import CHANGES, DEFAULT, EXAMPLES, SEED, Basis, basis, of_each_set, require_alike
from heedful.reports.runs import HASHES, PLAIN, Measured, measured, require_gold, told_apart

ANSWERS = ("accuracy", "answers")
ATTENTIVENESS = "attentiveness"
Evaluated = tuple[pa.Table, Mapping[str, Any]]  # rows and their metadata
PROMPT = "prompt"  # in an identity, and in run.json from the start


class Key(NamedTuple):
    """What is measured with several choices of demonstrations.

    Attributes:
        model: What the model is called.
        data: Name of the data set.
        split: The examples that were evaluated.
        wording: The name of the words.
        kind: How demonstrations were made: "plain", "counterfactual" or a control; with a version that is not today's.
        tuples: How many tuples of demonstrations.
    """

    model: str
    data: str
    split: str
    wording: str
    kind: str
    tuples: int


@dataclass(frozen=True)
class Asked:
    """The results with one prompt.

    Attributes:
        folder: As it was named, or found.
        key: What it belongs to.
        seed: Which demonstrations were drawn.
        writes: Whether the model writes its answer; else it is the most probable label.
        context: Of the rows.
        written: The numbers of base predictions and of swaps, as answers were written.
        scored: The same of the most probable labels; empty where there are no probabilities.
        agreement: The share of most probable labels that are also written; None where there are no probabilities.
        parts: The parts that were swapped.
    """

    folder: str
    key: Key
    seed: int
    writes: bool
    context: Context
    written: Numbers
    scored: Numbers
    agreement: Measurement | None
    parts: Sequence[str]


class Below(NamedTuple):
    """The folders of results that are meant.

    Attributes:
        prompted: A folder as the user named it to those with the results of a prompt in it, or to itself.
        others: Results of models that were asked without a prompt, in a folder that holds several.
        unfinished: Folders there whose evaluation has not ended.
    """

    prompted: Mapping[str, list[str]]
    others: list[str]
    unfinished: list[str]

    @property
    def folders(self) -> list[str]:
        """All with the results of a prompt, each once."""
        return distinct(folder for inside in self.prompted.values() for folder in inside)


def folders_of(folders: Sequence[str]) -> Below:
    """The folders themselves, and those below them that hold the results of a prompt, each once.

    Raises:
        HeedfulError: A folder does not exist, has results without a prompt, or holds none with one.
    """
    results_of: dict[str, list[str]] = {}
    others, unfinished = [], []
    for folder in distinct(folders):
        if (Path(folder) / RESULTS).exists():
            if not _is_prompted(folder):
                raise RunError(f"{folder} was not asked in context: its {RUN} has no {PROMPT!r}. Leave it out.")
            results_of[folder] = [folder]
            continue
        if not Path(folder).is_dir():
            raise DataError(f"{folder} does not exist, or is not a folder.")
        inside = [path.parent for path in sorted(Path(folder).rglob(RUN))]
        ended = [str(one) for one in newest_versions([one for one in inside if (one / RESULTS).exists()])]
        unfinished += [str(one) for one in inside if not (one / RESULTS).exists() and _is_prompted(str(one))]
        prompted = [one for one in ended if _is_prompted(one)]
        others += [one for one in ended if one not in prompted]
        if not prompted:
            raise RunError(
                f"{folder} holds no results of a model that was asked in context. Name folders that evaluate.py wrote."
            )
        results_of[folder] = prompted
    return Below(results_of, distinct(others), distinct(unfinished))


def read(folders: Sequence[str]) -> list[Asked]:
    """Read results with prompts.

    Raises:
        HeedfulError: There are no rows, the examples or the swaps on one data set are not the same, or two folders hold
            the same prompt.
    """
    runs = measured(folders)
    runs_asked = [_read(run, model) for run, model in zip(runs, _models(runs), strict=True)]
    for of_set in of_each_set([basis(run, (*ANSWERS, ATTENTIVENESS)) for run in runs]):
        _require_alike(of_set)
    prompts: dict[tuple[Key, int], Asked] = {}
    for asked in runs_asked:
        other = prompts.setdefault((asked.key, asked.seed), asked)
        if other is not asked:
            raise RunError(
                f"{other.folder} and {asked.folder} hold results of the same model with the same prompt. Name one of "
                "them."
            )
    return runs_asked


def _require_alike(runs: Sequence[Basis]) -> None:
    require_alike(runs, (DEFAULT, SEED, EXAMPLES, CHANGES))
    swapped = [ATTENTIVENESS in run.rows for run in runs]
    if lacking := [
        run.run.folder for run, is_swapped in zip(runs, swapped, strict=True) if any(swapped) and not is_swapped
    ]:
        raise RunError(
            f"{lacking[0]} has no rows of {ATTENTIVENESS}, and others have. Evaluate all with the same evaluations."
        )


def _is_prompted(folder: str) -> bool:
    """Whether a model was asked in context, or is just now."""
    return PROMPT in read_run(folder)


def _models(runs: Sequence[Measured]) -> list[str]:
    """What each model is called; of those with one name, also the settings in which they differ."""
    own = [run.identity.get("settings", {}) | {key: run.of[key] for key in HASHES if key in run.of} for run in runs]
    return told_apart([_name(run) for run in runs], own)


def _name(run: Measured) -> str:
    name = run.model if run.partial or run.regime == PLAIN else f"{run.model} {run.regime}"
    return f"{name}, {run.partial} alone" if run.partial else name


def _read(run: Measured, model: str) -> Asked:
    """Read the rows of one prompt."""
    prompt = run.identity[PROMPT]
    evaluated = {name: read_evaluation(run.folder, name) for name in (*ANSWERS, ATTENTIVENESS)}
    evaluated = {name: evaluation for name, evaluation in evaluated.items() if evaluation is not None}
    if not evaluated:
        raise RunError(f"{run.folder} has no rows of accuracy. Evaluate again, with that evaluation among evaluations.")
    rows, metadata = next(iter(evaluated.values()))
    context = Context.of(metadata["context"])
    require_gold(run.folder, context)
    if context.kind is SOFT:
        raise DataError(
            f"{run.folder}: {context.data} has soft labels, of which there is no report in context. Leave it out."
        )
    parts: list[str] = []
    if ATTENTIVENESS in evaluated:
        context = Context.of(evaluated[ATTENTIVENESS][1]["context"])
        parts = parts_of(context)
    likely = {} if context.kind is SPAN else _likely(evaluated, context.labels)
    key = Key(model, run.data, run.split, prompt["wording"], _kind(prompt), prompt["tuples"])
    own = run.identity.get("settings", {})
    scores = own.get("decoding", "greedy") != "greedy" or own.get("read", "written") != "written"
    writes = context.kind is SPAN or not scores
    with recording():
        numbers = _numbers(evaluated), _numbers(likely)
    agreement = _agreement(rows, next(iter(likely.values()))[0]) if likely else None
    return Asked(run.folder, key, prompt["seed"], writes, context, *numbers, agreement, parts)


def _kind(prompt: Mapping[str, Any]) -> str:
    """The kind of demonstrations; with its version where today's are drawn otherwise, so that nothing joins them."""
    kind = prompt["kind"]
    version = prompt.get("version", 1)
    return kind if version == VERSIONS.get(kind) else f"{kind}, version {version}"


def _numbers(evaluated: Mapping[str, Evaluated]) -> Numbers:
    numbers: Numbers = {}
    for name, (rows, about) in evaluated.items():
        numbers |= METRICS[name].score(rows, Context.of(about["context"]))
    return numbers


def _likely(evaluated: Mapping[str, Evaluated], labels: tuple[str, ...]) -> dict[str, Evaluated]:
    """The same of the most probable labels; nothing where a prediction has no probabilities."""
    rescored = {name: (scored(rows, labels), about) for name, (rows, about) in evaluated.items()}
    return {name: (rows, about) for name, (rows, about) in rescored.items() if rows is not None}


def _agreement(rows: pa.Table, likely: pa.Table) -> Measurement:
    """The share of base predictions that are the most probable label."""
    written, probable = (strings(select(of, intervention=BASE), "y") for of in (rows, likely))
    return share(written == probable)


def scored(rows: pa.Table, labels: tuple[str, ...]) -> pa.Table | None:
    """Rows whose answers are the most probable labels, whatever was written; where all are as probable, it stays.

    Args:
        rows: Rows.
        labels: The labels, in the order of the probabilities.

    Returns:
        The rows with other ``y`` and ``y2``; None where a prediction has no probabilities.
    """
    if not labels or rows["p"].null_count or rows.filter(rows["y2"].is_valid())["p2"].null_count:
        return None
    answered = rows["y2"].is_valid().to_numpy()
    y2 = np.full(rows.num_rows, None, dtype=object)
    if answered.any():
        y2[answered] = _most_probable(rows.filter(pa.array(answered)), "p2", "y2", labels)
    changed = {"y": _most_probable(rows, "p", "y", labels) if rows.num_rows else y2, "y2": y2}
    for name, column in changed.items():
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(column, pa.string()))
    return rows


def _most_probable(rows: pa.Table, of: str, otherwise: str, labels: tuple[str, ...]) -> np.ndarray:
    p = probabilities(rows, of)
    likely = np.array(labels, dtype=object)[p.argmax(axis=1)]
    return np.where(p.max(axis=1) > p.min(axis=1), likely, strings(rows, otherwise))
