"""``heedful.measure``: whether any model heeds every part of its input, in five lines."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from inspect import signature
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from pytorch_lightning import LightningModule
from torch import nn

from heedful.assembly.config import Call, load_model
from heedful.assembly.evaluation import configured, measured_in_memory, requests_of
from heedful.assembly.measured_rows import LABEL, Labels, RowSettings, class_names, data_of, readings
from heedful.assembly.parser import SEED, shown_evaluations
from heedful.assembly.plan import prepare
from heedful.assembly.results import Results, require_writable
from heedful.assembly.short_names import model_config
from heedful.assembly.starts import restored_generators
from heedful.assembly.trainers import allowing, calm_lightning, restored_flags
from heedful.callbacks import Evaluation
from heedful.datamodules import PairedData, PairedText
from heedful.datamodules.base.processes import by_first
from heedful.lightning_modules import BasePredictor
from heedful.lightning_modules.function import Answered, Function
from heedful.lightning_modules.pretrained.backbone_config import open_config, positions_of
from heedful.lightning_modules.pretrained.backbones import resolve
from heedful.lightning_modules.pretrained.labels import is_named
from heedful.lightning_modules.pretrained_classifier import PretrainedClassifier
from heedful.records import ModelError, SettingError, listing
from heedful.records.errors import guess
from heedful.records.parser import class_parser, require_types
from heedful.records.storage.results import CONFIG

ON_CPU = {"accelerator": "cpu", "devices": 1}  # settings of the Trainer: one process asks a function
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
    draws: int | None = None,
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
            texts, or None for no answer, or probabilities (an array [inputs, labels], or a dictionary of label to
            probability for each); ``(model, tokenizer)`` of transformers; a ``pipeline("text-classification")``; the
            folder of a model or its id on the hub; a run folder; a model of Heedful, such as ``heedful.Endpoint``.
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
        same: When two free texts are one answer: "normalised" (by default), "exact", a function of a text that returns
            its form, or a function of two texts. It makes answers free texts.
        cluster: Column whose equal values are one cluster of the intervals, such as the article of several questions.
        by: A column, or several, by whose values the numbers are broken down.
        uid: Column of a unique id; by default examples are named by their content.
        name: What results call the data; by default "rows".
        draws: Counterfactuals for each example and part, by default 5.
        batch_size: Most inputs that the model gets at once.
        evaluations: Only these, as for ``heedful.evaluate``.
        seed: All that is random follows from it.
        output: Folder for the results; by default nothing is written before ``save``.
        answers: Answers of a call that failed, ``error.answers``: the same function is asked for the others alone.
        trainer: Settings of Lightning's Trainer, such as {"devices": 2}; a function is asked on the CPU.
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
    if draws is not None:
        if settings.get("attentiveness") is not None:
            raise SettingError(
                "draws and attentiveness both set up the test of attentiveness. Leave one of the two out."
            )
        settings["attentiveness"] = {"draws": draws}
    knows_labels = labels is not None or bool(class_names(rows, label))
    with _model(predict, knows_labels) as asked:
        data, golds = data_of(rows, of_rows, asked.outputs, asked.is_function)
        model = asked.model(data)
        if isinstance(model, Function):
            is_doubtful = not (parts is None or knows_labels or asked.outputs or data.default_label in golds)
            model = model.with_arguments(answers=answers, checks_default=is_doubtful)
        slices = [by] if isinstance(by, str) else list(by)
        of_run = {
            "evaluations": evaluations,
            "trainer": {**(trainer or {}), **ON_CPU} if asked.is_function else trainer,
        }
        results = _measured(model, data, asked.checkpoint, {**settings, **of_run, SEED: seed, "slices": slices or None})
    if output is None or not isinstance(results, Results):
        return results
    saved: list[Results] = []
    by_first(lambda: saved.append(results.save(output)))
    return saved[0] if saved else replace(results, folder=Path(output))  # other ranks have numbers and rows in memory


def _measured(model: Any, data: PairedData, checkpoint: str | None, settings: dict[str, Any]) -> Any:
    """Measure a model in memory; an exception has the answers of a function so far as ``answers``.

    Global generators stay as the caller has them; what a function draws of them remains drawn.
    """
    config, allowed, partial, slices, dry_run = (
        settings.pop(name, None) for name in ("config", "allow_package", "partial", "slices", "dry_run")
    )
    call = Call(model, data, partial=partial, slices=slices, settings={**settings, "dry_run": dry_run or None})
    try:
        generators = nullcontext() if isinstance(model, Function) else restored_generators()
        with generators, allowing(allowed), calm_lightning(), restored_flags():
            plan = prepare(configured(call, [] if config is None else [config], checkpoint))
            return requests_of(plan) if dry_run else measured_in_memory(plan)
    except BaseException as error:
        if isinstance(model, Function) and model.answered:
            error.answers = model.answered  # type: ignore[attr-defined]
            error.add_note(f"{len(model.answered):,} answers are kept: go on with measure(..., answers=error.answers).")
        raise


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
        of_data = f"data.{name}" in class_parser(PairedText, "data").names
        do = "It is one of data: give rows as heedful.load_data(NAME, ...)." if of_data else ""
        do = do or guess(name, [*arguments, *OF_EVALUATE, *evaluations])
        raise SettingError(f"There is no setting {name} here. {do}")


class _Asked(NamedTuple):
    """What ``predict`` is.

    Attributes:
        model: Makes the model for the data; None of a run, which brings its own.
        outputs: What the model calls its labels, in their order; empty where it has no names for them.
        checkpoint: The run, or the checkpoint of one, that the model is from.
        is_function: Whether it is a function, of which nothing else is known.
    """

    model: Callable[[PairedData], Any]
    outputs: Sequence[str] = ()
    checkpoint: str | None = None
    is_function: bool = False


@contextmanager
def _model(predict: Any, is_ordered: bool) -> Iterator[_Asked]:
    """What is to be measured, in whatever form it is given; a copy of a model in memory is there until this ends."""
    if isinstance(predict, BasePredictor):
        learned = predict.task.labels if predict.task else predict.known_labels
        backbone = getattr(predict, "backbone", None)
        yield _Asked(lambda data: predict, learned or (_outputs(model_config(backbone)) if backbone else ()))
    elif isinstance(predict, str | PathLike):
        yield _named(fspath(predict), is_ordered)
    elif isinstance(predict, tuple):
        if len(predict) != 2 or not isinstance(predict[0], nn.Module) or not hasattr(predict[1], "save_pretrained"):
            raise SettingError(
                f"predict is a tuple of {listing([type(one).__name__ for one in predict])}. Give (model, tokenizer) "
                "of transformers."
            )
        with TemporaryDirectory(prefix="heedful-") as folder:
            yield _copied(*predict, folder, is_ordered)
    elif isinstance(predict, nn.Module) and hasattr(predict, "config"):
        raise SettingError(f"predict is a {type(predict).__name__} without its tokenizer. Give (model, tokenizer).")
    elif isinstance(predict, LightningModule):
        raise ModelError(
            f"predict is a {type(predict).__name__}, and nobody knows how it is asked for its answers. Give a "
            "function that asks it: a list of dictionaries to labels."
        )
    elif callable(predict):
        yield _function(predict, is_ordered)
    else:
        raise SettingError(
            f"predict is of the type {type(predict).__name__}, which cannot be asked. Give a function, (model, "
            "tokenizer), a pipeline, or a folder."
        )


def _named(name: str, is_ordered: bool) -> _Asked:
    """A run or one of its checkpoints, or a model by its short name, its folder or its id on the hub."""
    path = Path(name)
    if (path / CONFIG).is_file() or path.suffix == ".ckpt":
        run = path.absolute().parent.parent if path.suffix == ".ckpt" else path
        return _Asked(lambda data: None, _outputs(model_config(run / "checkpoints" / "backbone")), checkpoint=name)
    model = _within_positions(load_model(name))
    outputs = _outputs(model_config(getattr(model, "backbone", name)))
    return _Asked(lambda data: model if outputs else _with_outputs(model, data, is_ordered), outputs)


def _with_outputs(model: BasePredictor, data: PairedData, is_ordered: bool) -> BasePredictor:
    """A model whose outputs have no names, with those of the labels, where somebody says their order.

    Where each label has the number or the name of an output among its spellings, as 0 or LABEL_0, these say it.
    """
    if not isinstance(model, PretrainedClassifier) or not isinstance(data, PairedText):
        return model
    labels = data.columns.labels or {}
    numbers = {
        int(match[1]): label
        for label, spellings in labels.items()
        for spelling in spellings
        if (match := re.fullmatch(r"(?:label_?)?(\d+)", str(spelling), re.IGNORECASE))
    }
    is_whole = sorted(numbers) == list(range(len(labels)))
    if not is_whole and not is_ordered:  # labels that stand in the rows have no order: the model refuses
        return model
    return model.with_arguments(labels=[numbers[k] for k in sorted(numbers)] if is_whole else list(labels))


def _within_positions(model: BasePredictor) -> BasePredictor:
    """A model that reads no more tokens than it has positions, where the usual length is more."""
    if not isinstance(model, PretrainedClassifier):
        return model
    most = positions_of(open_config(resolve(model.backbone, model.sha256)))
    return model if most is None or most >= model.max_length else model.with_arguments(max_length=most)


def _outputs(config: Mapping[str, Any]) -> list[str]:
    """The names of the outputs in the config of a model, in their order; none where they are only numbered."""
    label_of = {int(number): str(label) for number, label in (config.get("id2label") or {}).items()}
    outputs = [label_of[number] for number in sorted(label_of)]
    return outputs if outputs and is_named(outputs) else []


def _copied(model: Any, tokenizer: Any, folder: str, is_ordered: bool) -> _Asked:
    """A model of transformers and its tokenizer, written into a folder: what is measured is a copy in float32."""
    config = model.config.to_dict()
    called = Path(str(config.get("_name_or_path") or "") or type(model).__name__).name
    path = Path(folder) / called
    for part in (model, tokenizer):
        part.save_pretrained(path)

    def made(data: PairedData) -> BasePredictor:
        classifier = _within_positions(load_model(path))
        classifier = classifier if outputs else _with_outputs(classifier, data, is_ordered)
        return classifier.as_copy()

    outputs = _outputs(config)
    return _Asked(made, outputs)


def _function(predict: Any, is_ordered: bool) -> _Asked:
    """A function, or a pipeline of transformers, which is asked like one.

    Args:
        predict: The function.
        is_ordered: Whether the labels have an order that somebody names.
    """
    outputs: Sequence[str] = ()
    is_pipeline = hasattr(predict, "task") and hasattr(predict, "model") and hasattr(predict, "preprocess")
    if is_pipeline:
        outputs = _outputs(predict.model.config.to_dict())

    def made(data: PairedData) -> BasePredictor:
        asked = _Pipeline(predict, data) if is_pipeline else predict
        spellings, same = readings(data)
        if is_pipeline and is_ordered and not outputs:  # LABEL_0 is the first
            numbered = predict.model.config.id2label
            spellings = {label: [*of, numbered.get(k)] for k, (label, of) in enumerate((spellings or {}).items())}
        return Function(asked, spellings, same, is_ordered=is_ordered or bool(outputs))

    return _Asked(made, outputs, is_function=True)


class _Pipeline:
    """A pipeline of transformers as a function; two of one pipeline and the same parts are equal."""

    def __init__(self, pipeline: Any, data: PairedData) -> None:
        self.pipeline = pipeline
        self.parts = data.task.parts
        self.batch_size = data.eval_batch_size
        self.__name__ = type(pipeline).__name__
        if pipeline.task != "text-classification" or len(self.parts) > 2:
            raise ModelError(
                f"predict is a pipeline for {pipeline.task}, and the data have the parts {listing(self.parts)}. Give "
                "one for text-classification of one part or two, or a function that calls the pipeline."
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Pipeline) and (self.pipeline, self.parts) == (other.pipeline, other.parts)

    def __call__(self, inputs: list[dict[str, Any]]) -> list[dict[str, float]]:
        names = ("text", "text_pair")
        texts = [dict(zip(names, (row[part] for part in self.parts), strict=False)) for row in inputs]
        said = self.pipeline(texts, top_k=None, batch_size=self.batch_size)
        return [{one["label"]: one["score"] for one in scores} for scores in said]
