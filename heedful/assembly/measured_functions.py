"""``heedful.measure`` for a function or a transformers model in memory, without a Trainer and without Lightning."""

from collections.abc import Mapping
from typing import Any

from heedful.assembly.identity import identity_of
from heedful.assembly.measured_rows import RowSettings, data_of, load_other_data, order_of_outputs
from heedful.assembly.prompting import Requests, requests_of_function
from heedful.assembly.results import Results, Unsaved
from heedful.assembly.settings import (
    SEED,
    complete_evaluations,
    name_list,
    named_evaluation,
    record_of_evaluations,
    write_settings,
)
from heedful.callbacks.engine.evaluation import Evaluation, Plans, Setting
from heedful.callbacks.engine.measure import ALL, measure
from heedful.callbacks.engine.processes import Processes
from heedful.callbacks.evaluations import shown_evaluations
from heedful.callbacks.outputs.description import describe
from heedful.callbacks.outputs.page import RecomputedContents
from heedful.datamodules.base.pairs import Pairs
from heedful.lightning_modules.function import Function, InputKey
from heedful.lightning_modules.predictor import Predictor
from heedful.parser import construct, section
from heedful.records import HeedfulError, ModelError, SettingError, listing, require_seed
from heedful.records.messages import has_bars

OF_MODELS = ("prompt", "config", "allow_package")  # arguments for models that Heedful loads
OF_TRAINER = ("enable_progress_bar", "limit_val_batches", "accelerator", "devices")  # accepted without a Trainer


def measure_function(
    predict: Any, rows: RowSettings, answers: Mapping[InputKey, Any] | None, settings: dict[str, Any]
) -> Results | Requests:
    """Measure a function. If it raises an exception, its earlier answers are attached as ``exception.answers``."""
    data = data_of(rows, (), is_function=True)
    function = Function(predict, data.columns.labels, data.loader.same, rows.is_ordered, answers)
    try:
        return _measure_predictor(function, data, settings)
    except BaseException as error:
        error.answers = function.answered or None  # type: ignore[attr-defined]
        if function.answered:
            note = f"{len(function.answered):,} answers are kept. Resume with measure(..., answers=error.answers)."
            if isinstance(error, HeedfulError):
                error.args = (f"{error} {note}",)  # not every program shows notes
            else:
                error.add_note(note)
        raise


def measure_pair(predict: Any, rows: RowSettings, settings: dict[str, Any]) -> Results | Requests:
    """Measure ``(model, tokenizer)`` or a pipeline, and restore training mode and global random generators."""
    from torch import Tensor, nn

    from heedful.lightning_modules.transformers_pair import TransformersPair, evaluating, restored_generators
    from heedful.lightning_modules.weights import weights_hash

    tokenizing: dict[str, Any] = {}
    if not isinstance(predict, tuple):
        predict, tokenizing = (predict.model, predict.tokenizer), _settings_of(predict)
    if len(predict) != 2 or not isinstance(predict[0], nn.Module) or not callable(predict[1]):
        raise SettingError(
            f"predict is a tuple of {listing([type(item).__name__ for item in predict])}. Give (model, tokenizer) of "
            "transformers."
        )
    model, tokenizer = predict
    pair = TransformersPair(model, tokenizer, settings=tokenizing)
    outputs = list(pair.learned.names)
    data = data_of(rows, outputs, is_function=False)
    if not outputs and (names := order_of_outputs(data, rows)):
        pair = pair.with_arguments(labels=names)
    state = {name: values for name, values in pair.network.state_dict().items() if isinstance(values, Tensor)}
    is_loaded = not any(values.is_meta for values in state.values())  # accelerate may offload weights
    with restored_generators(), evaluating(pair.network):
        return _measure_predictor(pair, data, settings, weights_hash(state) if is_loaded else None)


def _settings_of(pipeline: Any) -> dict[str, Any]:
    """Return the arguments with which a pipeline for text classification calls its tokenizer."""
    from transformers import TextClassificationPipeline

    changed = [
        name
        for name in ("preprocess", "_forward", "postprocess")
        if getattr(getattr(pipeline, name), "__func__", None) is not getattr(TextClassificationPipeline, name)
    ]
    is_multiple = pipeline.model.config.problem_type == "multi_label_classification"
    function = pipeline._postprocess_params.get("function_to_apply")
    if function is not None and function.value != ("sigmoid" if is_multiple else "softmax"):
        changed.append("function_to_apply")
    if unread := [*changed, *pipeline._forward_params]:
        raise ModelError(
            f"The pipeline has its own {listing(unread)}, but Heedful calls its model and its tokenizer, and applies "
            "softmax. Leave it out, or give a function that calls the pipeline."
        )
    return dict(pipeline._preprocess_params)


def _measure_predictor(
    predictor: Predictor, data: Pairs, settings: dict[str, Any], weights: str | None = None
) -> Results | Requests:
    """Measure a model in this process, without a Trainer; ``weights`` is the hash of its weights, for results.json."""
    trainer, is_dry = settings.pop("trainer", None) or {}, settings.pop("dry_run", None)
    unused = [name for name in OF_MODELS if settings.pop(name, None) is not None]
    unused += [f"trainer.{name}" for name in trainer if name not in OF_TRAINER]
    if unused:
        raise SettingError(f"{unused[0]} has no effect: {predictor.description} is measured without a Trainer.")
    seed = require_seed(settings.pop(SEED))
    changed = {name: value for name in ("partial", "slices") if (value := settings.pop(name, None)) is not None}
    data = data.with_arguments(**changed) if changed else data
    listed = name_list(settings.pop("evaluations", None))
    listed = listed and [named_evaluation(item) if isinstance(item, str) and "." in item else item for item in listed]
    objects = [item for item in [*(listed or ()), *settings.values()] if isinstance(item, Evaluation)]
    kinds = {kind.metric.name: kind for kind in shown_evaluations(True)}
    objects += [construct(kinds[name], name, value) for name, value in settings.items() if isinstance(value, Mapping)]
    names = None if listed is None else [item if isinstance(item, str) else item.metric.name for item in listed]
    evaluations, only = complete_evaluations(True, objects, names)
    data.setup("validate", seed)
    task = predictor.bind(data.task).task
    predictor.learned.require_parts(task.parts, data.full_task.parts)
    plans = Plans.of(evaluations, Setting(data, read=load_other_data, capabilities=predictor.capabilities), only)
    plans.require(predictor)
    if isinstance(predictor, Function):
        needing = [p.evaluation.name for p in plans.planned.values() if p.plan.needs_probabilities]
        predictor.require_probabilities(needing)
    limit = trainer.get("limit_val_batches") or ALL
    if is_dry:
        return requests_of_function(predictor, data, plans, limit)
    shows_progress = trainer.get("enable_progress_bar") is not False and has_bars()
    record = {
        SEED: data.seed,
        **record_of_evaluations([planned.evaluation for planned in plans.planned.values()], plans.only),
        "data": section(data, "data"),
        "model": section(predictor, "model"),
    }
    about = {"weights": weights, "unfinished": None, "identity": identity_of(record, predictor)}
    measurements = measure(predictor, data, plans, Processes(shows_progress), about=about, limit=limit)
    contents = RecomputedContents.of(plans, data)
    unsaved = Unsaved("", lambda path: write_settings(record, path), describe({}), measurements.rows, contents)
    return Results(None, measurements.content, unsaved=unsaved)
