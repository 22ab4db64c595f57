"""``heedful.measure``: whether any model heeds every part of its input, in five lines."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any

from torch import nn

from heedful.assembly.measured_functions import measure_function
from heedful.assembly.measured_rows import LABEL, Labels, RowSettings, class_names, data_of
from heedful.assembly.results import Results, require_writable
from heedful.assembly.settings import SEED
from heedful.callbacks.engine.evaluation import Evaluation
from heedful.callbacks.evaluations import shown_evaluations
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.base.processes import by_first
from heedful.lightning_modules.base_predictor import BasePredictor
from heedful.lightning_modules.function import Answered
from heedful.records import SettingError, listing
from heedful.records.errors import guess
from heedful.records.parser import class_parser, require_types

OF_EVALUATE = ("partial", "prompt", "config", "dry_run", "allow_package")  # its further arguments
FREE = tuple("predict rows settings labels same evaluations trainer default_label answers".split())  # of many types


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
    quoting: bool = True,
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
    """Measure whether a model heeds every part of its input.

    Each part in turn is replaced by that of another example, ``draws`` times, and the model is asked again.
    Attentiveness to a part is the share of the answers that change, of those that are not ``default_label``
    (the Counterfactual Attentiveness Test, section 3.3).

    Args:
        predict: The model. A function that gets a list of dictionaries, part name to text, and returns as many labels,
            their numbers, texts, or None for no answer, or probabilities (an array [inputs, labels], or a dictionary of
            label to probability for each); ``(model, tokenizer)`` of transformers, which are called as they are; a
            ``pipeline("text-classification")``; the folder of a model or its id on the hub; a run folder; a model of
            Heedful, such as ``heedful.Endpoint``.
        rows: The examples: a list of dictionaries, a ``datasets.Dataset``, a frame of pandas or polars, a table of
            Arrow, a file, or data as of ``heedful.load_data`` or by a name that ``--data`` knows. Without a column
            of labels they are unlabelled: then accuracy is not measured, nor whether the model is better than a single
            answer.
        parts: Names of the parts, which are columns of the rows; or part name to column.
        default_label: The answer to parts that have nothing to do with each other, such as "neutral".
        label: Column of the gold label; None leaves gold labels out.
        labels: The labels, in the order of the outputs of the model or of its probabilities; or label to its spellings
            in the rows and among the answers, as {"entailment": [0]}. By default those of a ``ClassLabel`` column, of
            the config of the model, or of the rows. Without any, answers are free texts.
        swap: Parts that must matter, each swapped in turn; "left+right" are two that come from one other example. By
            default all but ``keeps``.
        keeps: Parts that must not matter: how often an answer stays when they are another's.
        same: When two free texts are one answer: "normalised" (by default), "exact", or a function from an answer to
            its normal form, None for no answer. It makes answers free texts.
        cluster: Column whose equal values are one cluster of the intervals, such as the article of several questions.
        by: A column, or several, by whose values the numbers are broken down.
        uid: Column of a unique id; by default examples are named by their content.
        name: What results call the data; by default "rows".
        quoting: Whether fields of a csv or tsv file may be double-quoted.
        draws: Counterfactuals for each example and part, by default 5.
        precision: The half width of an interval of attentiveness that is precise enough, such as 0.02: no more examples
            are changed than a pilot of 300 says that are needed. By default all are changed.
        batch_size: Most inputs that the model gets at once.
        evaluations: Only these, as for ``heedful.evaluate``.
        seed: All that is random follows from it.
        output: Folder for the results; by default nothing is written before ``save``.
        answers: Answers of a call that failed, ``error.answers``: the same function is asked for the others alone.
        trainer: Settings of Lightning's Trainer, such as {"devices": 2}. A function is measured without a Trainer, in
            this process: only enable_progress_bar and limit_val_batches have an effect.
        **settings: Evaluation to its settings, as for ``heedful.evaluate``.

    Returns:
        The results: ``result.show()``, ``result["attentiveness", "premise"].value``, ``result.rows``. With
        ``dry_run=True``, the requests that an endpoint would get, as of ``heedful.evaluate``.

    Raises:
        HeedfulError: Something is wrong with the rows or the settings; or the model raises, returns something else than
            an answer for each input, or answers the same input in two ways. The message quotes the input.

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
    require_types(measure, arguments, FREE)
    of_rows = RowSettings.of(arguments)
    require_known(settings, arguments)
    if output is not None:
        require_writable(Path(output))
    own = {key: value for key, value in (("draws", draws), ("precision", precision)) if value is not None}
    if own and settings.get("attentiveness") is not None:
        raise SettingError(
            f"{listing(list(own))} and attentiveness both set up the test of attentiveness. Leave one of the two out."
        )
    if own:
        settings["attentiveness"] = own
    knows_labels = labels is not None or bool(class_names(rows, label))
    settings |= {"evaluations": evaluations, "trainer": trainer, SEED: seed}
    settings["slices"] = ([by] if isinstance(by, str) else list(by)) or None
    if is_function(predict):
        results: Any = measure_function(predict, rows, of_rows, knows_labels, answers, settings)
    elif isinstance(predict, tuple):
        from heedful.assembly.measured_pairs import measure_pair  # imports the models of transformers

        results = measure_pair(predict, rows, of_rows, knows_labels, settings)
    else:
        from heedful.assembly.measured_models import measure_model  # imports Lightning

        results = measure_model(predict, rows, of_rows, knows_labels, settings)
    if output is None or not isinstance(results, Results):
        return results
    saved: list[Results] = []
    by_first(lambda: saved.append(results.save(output)))
    return saved[0] if saved else replace(results, folder=Path(output))  # other ranks have numbers and rows in memory


def is_function(predict: Any) -> bool:
    """Whether a model is a function, or a pipeline of transformers: only its answers are known."""
    is_network = isinstance(predict, nn.Module) and (hasattr(predict, "config") or hasattr(predict, "training_step"))
    return callable(predict) and not (is_network or isinstance(predict, str | PathLike | tuple | BasePredictor))


def require_rows(rows: Any, **arguments: Any) -> None:
    """Read rows as ``measure`` does, given its arguments, before there is a model.

    Raises:
        HeedfulError: The rows cannot be read, or an argument does not fit them.
    """
    bound = signature(measure).bind(None, rows, **arguments)
    bound.apply_defaults()
    data, _ = data_of(rows, RowSettings.of(bound.arguments), (), True)
    data.setup("validate")


def require_known(settings: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Refuse what is neither an argument nor an evaluation, where an argument or a setting of data is meant."""
    evaluations = [kind.metric.name for kind in shown_evaluations(True)]
    for name in settings:
        if name in evaluations or name in OF_EVALUATE:
            continue
        of_data = f"data.{name}" in class_parser(Pairs, "data").names
        do = "It is one of data: give rows as heedful.load_data(NAME, ...)." if of_data else ""
        do = do or guess(name, [*arguments, *OF_EVALUATE, *evaluations])
        raise SettingError(f"There is no setting {name} here. {do}")
