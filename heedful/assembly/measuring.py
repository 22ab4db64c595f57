"""``heedful.measure``: measure whether any model uses every part of its input."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any

from heedful.assembly.measured_functions import measure_function
from heedful.assembly.measured_rows import LABEL, Labels, RowSettings, data_of
from heedful.assembly.results import Results, require_writable
from heedful.assembly.settings import SEED
from heedful.callbacks.engine.evaluation import Evaluation
from heedful.callbacks.evaluations import shown_evaluations
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.base.processes import by_first, isolated
from heedful.lazy import explaining_imports
from heedful.lightning_modules.base_predictor import BasePredictor
from heedful.lightning_modules.function import Answered
from heedful.records import SettingError, listing
from heedful.records.errors import suggestion
from heedful.records.parser import class_parser

OF_EVALUATE = ("partial", "prompt", "config", "dry_run", "allow_package")  # further arguments of heedful.evaluate


def measure(
    predict: Any,
    rows: Any,
    parts: Sequence[str] | Mapping[str, str] | None = None,
    default_label: str | int | None = None,
    *,
    label: str | None = LABEL,
    labels: Labels | None = None,
    swap: Sequence[str] | str | None = None,
    keeps: Sequence[str] | str = (),
    same: str | Callable[..., Any] | None = None,
    cluster: str | None = None,
    by: Sequence[str] | str = (),
    uid: str | None = None,
    name: str | None = None,
    draws: int | None = None,
    precision: float | None = None,
    batch_size: int = 64,
    evaluations: Sequence[str | Evaluation] | str | None = None,
    seed: int = 0,
    output: str | PathLike[str] | None = None,
    answers: Answered | None = None,
    trainer: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Results:
    """Measure whether a model uses every part of its input.

    Each part in turn is replaced by the part of a random other example, ``draws`` times, and the model predicts again.
    Attentiveness to a part is the share of changed predictions, over the examples that are not predicted as
    ``default_label`` (the Counterfactual Attentiveness Test, section 3.3).

    A function, or a model in memory, predicts in this process only: in a program with several processes, call
    ``measure`` on rank 0.

    Args:
        predict: The model. A function that takes a list of dictionaries (part name to text) and returns a list of
            labels, label numbers or texts (None for no answer), or probabilities: an array [inputs, labels], or a list
            of dictionaries (label to probability). Or ``(model, tokenizer)`` of transformers; a
            ``pipeline("text-classification")``; the folder or the hub id of a model; a run folder; a model of Heedful,
            such as ``heedful.Endpoint``.
        rows: The examples: a list of dictionaries, a ``datasets.Dataset``, a frame of pandas or polars, a table of
            Arrow, a file, a data module, or a short name, as ``--data`` takes. Without a column of labels, accuracy is
            not measured, and results cannot tell whether the model is better than a constant prediction.
        parts: Names of the columns that are the parts; or a mapping from part names to columns.
        default_label: The label of unrelated parts, such as "neutral".
        label: Column of the gold label; None for no gold labels.
        labels: The labels, in the order of the model's outputs; or a mapping from labels to their spellings in the rows
            and in answers, as in {"entailment": [0]}. By default the labels of a ``ClassLabel`` column, of the model's
            config, or of the rows. Without any labels, answers are free texts.
        swap: Parts that must matter, swapped in turn; "left+right" swaps two parts together. By default all parts that
            are not in ``keeps``.
        keeps: Parts that must not matter: the share of unchanged predictions is measured.
        same: Equality of free texts: "normalised" (the default), "exact", or a function that maps an answer to a normal
            form, or to None for no answer. If ``same`` is given, answers are free texts.
        cluster: Column of the clusters of intervals, such as the article of several questions.
        by: Columns whose values break down the numbers.
        uid: Column of a unique id; by default a hash of the content.
        name: Name of the data in results; by default "rows".
        draws: Number of counterfactuals of attentiveness per example and part, by default 5.
        precision: Sufficient half width of the interval of attentiveness, such as 0.02: a pilot of 300 examples
            determines how many examples are swapped. By default, all examples are swapped.
        batch_size: Maximum number of inputs per call of the model.
        evaluations: Names of the evaluations to run, as for ``heedful.evaluate``.
        seed: Seed of everything random.
        output: Folder of the results; by default nothing is written before ``save``.
        answers: Answers of a call that failed, ``error.answers``; the function gets only the remaining inputs.
        trainer: Settings of Lightning's Trainer, such as {"devices": 2}. A function and ``(model, tokenizer)`` are
            measured without a Trainer: only enable_progress_bar and limit_val_batches have an effect.
        **settings: Settings of evaluations by name, as for ``heedful.evaluate``.

    Returns:
        The results: ``result.show()``, ``result["attentiveness", "premise"].value``, ``result.rows``. With
        ``dry_run=True``, the number of requests to an endpoint, as for ``heedful.evaluate``.

    Raises:
        HeedfulError: The rows or the settings are wrong; or the model raises, does not return one answer per input, or
            gives different answers to equal inputs. The message quotes the input.

    Examples:
        >>> import heedful
        >>> rows = [{"premise": f"Dog {i} runs.", "hypothesis": f"Animal {i} moves."} for i in range(40)]
        >>> def predict(inputs):
        ...     return ["entailment" if "1" in x["hypothesis"] else "neutral" for x in inputs]
        >>> quiet = {"enable_progress_bar": False}
        >>> result = heedful.measure(predict, rows, ["premise", "hypothesis"], "neutral", trainer=quiet)
        >>> result["attentiveness", "premise"].value
        0.0
    """
    arguments = locals()
    of_rows = RowSettings.of(arguments)
    require_known(settings, arguments)
    if output is not None:
        require_writable(Path(output))
    if swaps := {key: value for key, value in (("draws", draws), ("precision", precision)) if value is not None}:
        if settings.get("attentiveness") is not None:
            raise SettingError(f"{listing(list(swaps))} and attentiveness exclude each other. Leave one of them out.")
        settings["attentiveness"] = swaps
    settings |= {"evaluations": evaluations, "trainer": trainer, SEED: seed}
    settings["slices"] = ([by] if isinstance(by, str) else list(by)) or None
    is_pair = isinstance(predict, tuple) or is_pipeline(predict)
    results: Any
    with isolated() if is_function(predict) or is_pair else nullcontext():  # predicts in this process only
        if is_function(predict):
            results = measure_function(predict, of_rows, answers, settings)
        elif is_pair:
            with explaining_imports():
                from heedful.assembly.measured_pairs import measure_pair  # imports the models of transformers

            results = measure_pair(predict, of_rows, settings)
        else:
            with explaining_imports():
                from heedful.assembly.measured_models import measure_model  # imports Lightning

            results = measure_model(predict, of_rows, settings)
        if output is None or not isinstance(results, Results):
            return results
        saved: list[Results] = []
        by_first(lambda: saved.append(results.save(output)))
    return saved[0] if saved else replace(results, folder=Path(output))  # on other ranks, the rows stay in memory


def is_function(predict: Any) -> bool:
    """Whether ``predict`` is a function, and not a model or a pipeline."""
    is_network = hasattr(predict, "named_parameters") and (
        hasattr(predict, "config") or hasattr(predict, "training_step")
    )
    return callable(predict) and not (is_network or is_pipeline(predict) or isinstance(predict, BasePredictor))


def is_pipeline(predict: Any) -> bool:
    """Whether ``predict`` is a pipeline of transformers."""
    return hasattr(predict, "task") and hasattr(predict, "model") and hasattr(predict, "preprocess")


def require_rows(rows: Any, **arguments: Any) -> None:
    """Read rows and check the arguments of :func:`measure` that describe them, so that a callback can report errors
    before a training begins.
    """
    bound = signature(measure).bind(None, rows, **arguments)
    bound.apply_defaults()
    data = data_of(RowSettings.of(bound.arguments), (), is_function=True)
    data.setup("validate")


def require_known(settings: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Raise SettingError for a name in ``settings`` that is neither an evaluation nor a further setting of
    :func:`measure`; the message suggests names, also from ``arguments``.
    """
    evaluations = [kind.metric.name for kind in shown_evaluations(True)]
    for name in settings:
        if name in evaluations or name in OF_EVALUATE:
            continue
        of_data = f"data.{name}" in class_parser(Pairs, "data").names
        hint = f"It is a setting of data: rows=heedful.load_data(NAME, {name}=...)." if of_data else ""
        raise SettingError(
            f"measure has no setting {name}. {hint or suggestion(name, [*arguments, *OF_EVALUATE, *evaluations])}"
        )
