"""``heedful.measure`` for a transformers model in memory, without a Trainer and without copying the model."""

from typing import Any

from torch import Tensor, nn
from transformers import TextClassificationPipeline

from heedful.assembly.generators import restored_generators
from heedful.assembly.measured_functions import measure_predictor
from heedful.assembly.measured_rows import RowSettings, data_of, order_of_outputs
from heedful.assembly.prompting import Requests
from heedful.assembly.results import Results
from heedful.lightning_modules.pretrained.labels import is_named
from heedful.lightning_modules.pretrained.weights import weights_hash
from heedful.lightning_modules.transformers_pair import TransformersPair, evaluating
from heedful.records import ModelError, SettingError, listing


def measure_pair(predict: Any, rows: RowSettings, settings: dict[str, Any]) -> Results | Requests:
    """Measure ``(model, tokenizer)`` or a pipeline, and restore training mode and global random generators."""
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
    outputs = pair.outputs if is_named(pair.outputs) else []
    data = data_of(rows, outputs, is_function=False)
    if not outputs and (names := order_of_outputs(data, rows)):
        pair = pair.with_arguments(labels=names)
    state = {name: values for name, values in pair.network.state_dict().items() if isinstance(values, Tensor)}
    is_loaded = not any(values.is_meta for values in state.values())  # accelerate may offload weights
    with restored_generators(), evaluating(pair.network):
        return measure_predictor(pair, data, settings, weights_hash(state) if is_loaded else None)


def _settings_of(pipeline: Any) -> dict[str, Any]:
    """Return the arguments with which a pipeline for text classification calls its tokenizer."""
    if pipeline.task != "text-classification":
        raise ModelError(f"A pipeline for {pipeline.task} has no labels. Give one for text-classification.")
    own = [
        name
        for name in ("preprocess", "_forward", "postprocess")
        if getattr(getattr(pipeline, name), "__func__", None) is not getattr(TextClassificationPipeline, name)
    ]
    is_multiple = pipeline.model.config.problem_type == "multi_label_classification"
    function = pipeline._postprocess_params.get("function_to_apply")
    if function is not None and function.value != ("sigmoid" if is_multiple else "softmax"):
        own.append("function_to_apply")
    if unread := [*own, *pipeline._forward_params]:
        raise ModelError(
            f"The pipeline has its own {listing(unread)}, but Heedful calls its model and its tokenizer, and applies "
            "softmax. Leave it out, or give a function that calls the pipeline."
        )
    return dict(pipeline._preprocess_params)
