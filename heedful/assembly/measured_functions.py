"""``heedful.measure`` of functions: in this process, without a Trainer and without importing Lightning."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from heedful.assembly.identity import identity_of
from heedful.assembly.measured_rows import RowSettings, data_of, readings
from heedful.assembly.prompting import Requests, requests_of_function
from heedful.assembly.results import Results, Unsaved
from heedful.assembly.settings import SEED, name_list, require_seed, write_settings
from heedful.callbacks.engine.evaluation import Evaluation, Plans, Setting
from heedful.callbacks.engine.measure import ALL, measure
from heedful.callbacks.engine.processes import Processes
from heedful.callbacks.evaluations import EVALUATIONS, chosen, shown_evaluations
from heedful.callbacks.outputs.description import describe
from heedful.callbacks.outputs.page import RecomputedContents
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.base.processes import by_first
from heedful.lightning_modules.base_predictor import BasePredictor
from heedful.lightning_modules.function import Answered, Function
from heedful.lightning_modules.pretrained.labels import names_of_outputs
from heedful.records import ModelError, SettingError, listing
from heedful.records.arguments import IN_MEMORY, class_path, plain
from heedful.records.parser import construct
from heedful.reports.html.table import has_bars

OF_MODELS = ("prompt", "config", "allow_package")  # arguments of evaluate for models that are loaded
OF_TRAINER = ("enable_progress_bar", "limit_val_batches", "accelerator", "devices")  # the last two have no effect


def measure_function(
    predict: Any,
    rows: Any,
    of_rows: RowSettings,
    knows_labels: bool,
    answers: Answered | None,
    settings: dict[str, Any],
) -> Results | Requests:
    """Measure a function; exceptions carry the answers so far in ``answers``.

    Args:
        predict: A function, or a pipeline of transformers.
        rows: As for :func:`heedful.measure`.
        of_rows: The arguments about the rows.
        knows_labels: Whether the call or the rows give the labels in order.
        answers: Answers of a call that failed.
        settings: All other arguments of :func:`heedful.measure`.

    Raises:
        HeedfulError: As for :func:`heedful.measure`.
    """
    require_settings(settings, "a function")
    outputs = names_of_outputs(predict.model.config.to_dict()) if _is_pipeline(predict) else []
    data, golds = data_of(rows, of_rows, outputs, is_function=True)
    data = with_settings(data, settings)
    spellings, same = readings(data)
    is_doubtful = of_rows.parts is not None and not knows_labels and not outputs and data.default_label not in golds
    if _is_pipeline(predict):
        spellings = _numbered(spellings, predict) if knows_labels and not outputs else spellings
        predict = _Pipeline(predict, data)
    doubtful = data.default_label if is_doubtful else None
    function = Function(predict, spellings, same, knows_labels or bool(outputs), answers, doubtful)
    try:
        return measure_predictor(function, data, settings)
    except BaseException as error:
        if answered := function.answered:
            error.answers = answered  # type: ignore[attr-defined]
            error.add_note(f"{len(answered):,} answers are kept. Resume with measure(..., answers=error.answers).")
        raise


def require_settings(settings: Mapping[str, Any], kind: str) -> None:
    """Raise SettingError for settings that need a Trainer or a loaded model; ``kind`` describes the model."""
    for name in OF_MODELS:
        if settings.get(name) is not None:
            raise SettingError(f"{name} is a setting for models that Heedful loads. Leave it out for {kind}.")
    if unknown := [name for name in settings["trainer"] or () if name not in OF_TRAINER]:
        raise SettingError(f"trainer.{unknown[0]}: {kind} is measured without a Trainer. Leave it out.")


def measure_predictor(
    predictor: BasePredictor, data: Pairs, settings: dict[str, Any], weights: str | None = None
) -> Results | Requests:
    """Measure a model in this process, without a Trainer.

    Args:
        predictor: The model.
        data: The data, with the settings of the call.
        settings: The other arguments of :func:`heedful.measure`.
        weights: Hash of the weights.
    """
    settings = {name: value for name, value in settings.items() if name not in OF_MODELS}
    trainer, is_dry = settings.pop("trainer", None) or {}, settings.pop("dry_run", None)
    evaluations, only = _evaluations(settings)
    data.setup("validate")
    predictor.bind(data.task)
    predictor.require_learned_parts(data.full_task.parts)
    plans = Plans.of(evaluations, Setting(data, capabilities=predictor.capabilities), only)
    plans.require(predictor)
    limit = trainer.get("limit_val_batches") or ALL
    if is_dry:
        return requests_of_function(predictor, data, plans, limit)
    shows_progress = trainer.get("enable_progress_bar") is not False and has_bars()
    return _measured(predictor, data, plans, limit, shows_progress, weights)


def _measured(
    predictor: BasePredictor,
    data: Pairs,
    plans: Plans,
    limit: int | float,
    shows_progress: bool,
    weights: str | None,
) -> Results:
    planned = plans.planned.values()
    arguments = {name: value for name, value in data.arguments.items() if name != "seed"}  # the seed of the run
    if not isinstance(arguments.get("path"), str | PathLike | None):
        arguments["path"] = IN_MEMORY
    record = {
        SEED: data.seed,
        **{p.evaluation.name: plain(p.evaluation.arguments) for p in planned if p.evaluation.has_settings},
        "evaluations": plans.only,
        "data": {"class_path": class_path(type(data)), "init_args": plain(arguments)},
        "model": {"class_path": class_path(type(predictor)), "init_args": plain(predictor.arguments)},
    }
    processes = Processes(shows_progress)
    about = {"weights": weights, "unfinished": None, "identity": identity_of(record, predictor)}
    measurements = measure(predictor, data, plans, processes, about=about, limit=limit)
    contents = RecomputedContents({p.evaluation.name: p.plan for p in planned}, data.seed, data.task.parts)
    rows = by_first(lambda: measurements.rows)
    facts = describe({}, processes=processes.world_size)
    unsaved = Unsaved("", lambda path: write_settings(record, path), facts, rows, contents)
    return Results(None, measurements.content, unsaved=unsaved)


def with_settings(data: Pairs, settings: dict[str, Any]) -> Pairs:
    """The data with the seed, the slices and the partial input of the call."""
    changed = {name: value for name in ("partial", "slices") if (value := settings.pop(name, None)) is not None}
    seed = require_seed(settings.pop(SEED))
    return data.with_arguments(**changed, seed=seed) if changed or data.seed != seed else data


def _evaluations(settings: dict[str, Any]) -> tuple[list[Evaluation], list[str] | None]:
    """All evaluations with their settings, and the names of the requested evaluations; None for all."""
    listed = name_list(settings.pop("evaluations", None))
    evaluations = [item for item in [*(listed or ()), *settings.values()] if isinstance(item, Evaluation)]
    by_name = {evaluation.name: evaluation for evaluation in evaluations}
    if len(by_name) < len(evaluations):
        twice = next(name for name in by_name if [evaluation.name for evaluation in evaluations].count(name) > 1)
        raise SettingError(f"This call has two evaluations called {twice}. Leave one of them out.")
    for kind in (*shown_evaluations(True), *(kind for kind in EVALUATIONS.values() if not kind.has_settings)):
        name = kind.metric.name
        if name not in by_name:
            by_name[name] = construct(kind, name, settings[name]) if settings.get(name) is not None else kind()
    only = None if listed is None else [item.name if isinstance(item, Evaluation) else item for item in listed]
    return list(by_name.values()), chosen(only, by_name)


def _is_pipeline(predict: Any) -> bool:
    return hasattr(predict, "task") and hasattr(predict, "model") and hasattr(predict, "preprocess")


def _numbered(spellings: Mapping[str, Any] | None, pipeline: Any) -> dict[str, list[Any]]:
    """Add the numbered names of a pipeline's outputs, such as LABEL_0, to the spellings of the labels."""
    names = pipeline.model.config.id2label
    return {label: [*texts, names.get(k)] for k, (label, texts) in enumerate((spellings or {}).items())}


class _Pipeline:
    """A pipeline of transformers as a function; equal if pipeline and parts are equal."""

    def __init__(self, pipeline: Any, data: Pairs) -> None:
        self.pipeline = pipeline
        self.parts: Sequence[str] = data.task.parts
        self.batch_size = data.eval_batch_size
        self.__name__ = type(pipeline).__name__
        if pipeline.task != "text-classification" or len(self.parts) > 2:
            raise ModelError(
                f"A pipeline for {pipeline.task} cannot read the parts {listing(self.parts)}. Give a pipeline for "
                "text-classification and one or two parts, or a function that calls the pipeline."
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Pipeline) and (self.pipeline, self.parts) == (other.pipeline, other.parts)

    def __call__(self, inputs: list[dict[str, Any]]) -> list[dict[str, float]]:
        names = ("text", "text_pair")
        texts = [dict(zip(names, (row[part] for part in self.parts), strict=False)) for row in inputs]
        predictions = self.pipeline(texts, top_k=None, batch_size=self.batch_size)
        return [{output["label"]: output["score"] for output in outputs} for outputs in predictions]
