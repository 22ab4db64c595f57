"""The rows of all models of a suite on one OOD set, as numbers: what the models are worth, and what ranks them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heedful.metrics.attributions.attribution import Attribution, attributions
from heedful.metrics.attributions.choice import value_of
from heedful.metrics.attributions.factors import Factor, has_swapped_words
from heedful.metrics.ranking.baselines import baselines
from heedful.records import Context, RunError, listing
from heedful.records.rows import BASE, cluster_of, probabilities, select, strings
from heedful.records.storage.results import read_evaluation, read_results
from heedful.reports.alike import EXAMPLES, PAIRED, REMEDIES, basis, require_alike
from heedful.reports.rankings.folders import EVALUATION, names_of
from heedful.reports.runs import measured, require_gold

ACCURACY = "accuracy"
TO_DO = REMEDIES | {EXAMPLES: "Evaluate both with one seed and as many examples, or name two sets with --set."}
SWAPS = "swap_avg", "swap_max_diff"  # factors of words that are in both parts


class Model(NamedTuple):
    """What is read of one model.

    Attributes:
        folder: Of its results.
        base: Its predictions of the whole OOD set, base rows in their canonical order.
        context: Of these; its labels stand in the order of the probabilities.
        examples: Method to the attributions of the population, by uid.
    """

    folder: str
    base: pa.Table
    context: Context
    examples: Mapping[str, Sequence[Attribution]]


@dataclass(frozen=True)
class Population:
    """The explained examples of a suite, by one method.

    Attributes:
        values: Ranker to its value for each model and example, float64 [models, population]; higher for a model that
            should be better, so that factors stand with their sign reversed; nan where a factor is not defined.
        factors: The rankers among them that are factors.
        undefined: Factor to how many examples it is not defined for, in one model or more.
        left_out: Factor that is no ranker to the reason; each would count in the correction for several tests.
        without_swap: How many examples have no swapped words, and so count 0 in the SWAP factors.
        places: Which of all examples these are, int64 [population].
    """

    values: Mapping[str, np.ndarray]
    factors: tuple[str, ...]
    undefined: Mapping[str, int]
    left_out: Mapping[str, str]
    without_swap: int
    places: np.ndarray


@dataclass(frozen=True)
class Suite:
    """Models on one OOD set.

    Attributes:
        name: Of the set.
        models: What they are called.
        folders: Of their results.
        correct: What each answer is worth, float64 [models, examples].
        clusters: The cluster of each example, int [examples].
        populations: Method to the explained examples.
    """

    name: str
    models: tuple[str, ...]
    folders: tuple[str, ...]
    correct: np.ndarray
    clusters: np.ndarray
    populations: Mapping[str, Population]

    @property
    def truth(self) -> np.ndarray:
        """The accuracy of each model on all examples: float64 [models]."""
        return self.correct.mean(axis=1)


def read_suite(name: str, folders: Sequence[str], factors: Mapping[str, Factor], methods: Sequence[str]) -> Suite:
    """Read the results of all models on one OOD set.

    Args:
        name: Of the set.
        folders: A folder of results for each model.
        factors: The factors that are tried.
        methods: Methods of attribution that are wanted; none for all that all models have.

    Raises:
        HeedfulError: A folder has no accuracy or no attributions, the models were not given the same examples or not
            explained alike, or they are all equally good.
    """
    models = [_read(folder) for folder in folders]
    require_alike([basis(run, (ACCURACY, EVALUATION)) for run in measured(folders)], PAIRED, TO_DO)
    there = list(models[0].examples)  # of all models, since their manifests are the same
    if missing := [method for method in methods if method not in there]:
        raise RunError(
            f"{name}: these models were not explained by {missing[0]}. They were explained by {listing(there)}."
        )
    correct = np.stack([_worth(model) for model in models])
    if len(np.unique(correct.mean(axis=1))) == 1:
        raise RunError(
            f"{name}: all models have the same accuracy, so that there is no order to predict. Name models that differ "
            "in it."
        )
    populations = {method: _population(models, method, factors) for method in methods or there}
    clusters = cluster_of(models[0].base)
    return Suite(name, tuple(names_of(folders)), tuple(folders), correct, clusters, populations)


def _read(folder: str) -> Model:
    read_results(folder)
    evaluated = {name: read_evaluation(folder, name) for name in (ACCURACY, EVALUATION)}
    for name, found in evaluated.items():
        if found is None:
            raise RunError(
                f"{folder} has no rows of {name}. Evaluate again, with {ACCURACY} and {EVALUATION} among evaluations."
            )
    (rows, metadata), (words, about) = evaluated.values()
    context = Context.of(about["context"])
    require_gold(folder, context)
    several: dict[str, list[Attribution]] = {}
    for one in attributions(words, context):
        if one.variant == "":
            several.setdefault(one.method, []).append(one)
    if len({tuple(one.uid for one in examples) for examples in several.values()}) != 1:
        raise RunError(f"{folder}: its methods explain different examples, or none. Evaluate again.")
    return Model(folder, select(rows, intervention=BASE), Context.of(metadata["context"]), several)


def _worth(model: Model) -> np.ndarray:
    worth = model.context.kind.scores(strings(model.base, "y"), strings(model.base, "gold"))
    return np.asarray(worth, dtype=np.float64)


def _population(models: Sequence[Model], method: str, factors: Mapping[str, Factor]) -> Population:
    uids = [one.uid for one in models[0].examples[method]]
    at = {uid: k for k, uid in enumerate(models[0].base["uid"].to_pylist())}
    places = np.array([at[uid] for uid in uids])
    of_models = [_baselines(model, places) for model in models]
    values = {
        name: np.stack([of[name] for of in of_models]) for name in of_models[0] if all(name in o for o in of_models)
    }
    swaps = [has_swapped_words(one) for one in models[0].examples[method]]
    undefined, left_out = {}, {}
    for name, factor in factors.items():
        column = np.array(
            [[value_of(name, factor, one) for one in model.examples[method]] for model in models], dtype=np.float64
        )  # None becomes nan
        is_undefined = np.isnan(column).any(axis=0)
        twin = next((other for other in undefined if np.array_equal(values[other], -column, equal_nan=True)), None)
        if is_undefined.all():
            left_out[name] = "not defined for any example"
        elif name in SWAPS and not any(swaps):
            left_out[name] = "0 for all examples, none of which has swapped words"
        elif twin is not None:
            left_out[name] = f"the same as {twin}"
        else:
            undefined[name] = int(is_undefined.sum())
            values[name] = -column
    return Population(values, tuple(undefined), undefined, left_out, swaps.count(False), places)


def _baselines(model: Model, places: np.ndarray) -> dict[str, np.ndarray]:
    base = model.base.take(pa.array(places))
    number = {label: k for k, label in enumerate(model.context.labels)}
    y = np.array([number.get(text, -1) for text in strings(base, "y")])
    gold = np.array([number.get(text, -1) for text in strings(base, "gold")])
    has_p = model.context.labels and not base["p"].null_count
    p = probabilities(base, "p") if has_p else np.zeros((len(y), 0))
    return baselines(p, y, gold)
