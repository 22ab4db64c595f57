"""``heedful.measure`` for a transformers model in memory, without a Trainer and without copying the model."""

from typing import Any

from torch import Tensor, nn

from heedful.assembly.measured_functions import measure_predictor
from heedful.assembly.measured_rows import RowSettings, data_of, order_of_outputs
from heedful.assembly.prompting import Requests
from heedful.assembly.results import Results
from heedful.assembly.starts import restored_generators
from heedful.lightning_modules.pretrained.labels import is_named
from heedful.lightning_modules.pretrained.weights import weights_hash
from heedful.lightning_modules.transformers_pair import TransformersPair, evaluating
from heedful.records import ModelError, SettingError, listing


def measure_pair(predict: Any, rows: RowSettings, settings: dict[str, Any]) -> Results | Requests:
    """Measure a transformers model with its tokenizer, and restore its training mode and the global random generators.

    Args:
        predict: ``(model, tokenizer)``, or a pipeline for text classification, which has both.
        rows: The rows and the arguments that describe them.
        settings: All other arguments of :func:`heedful.measure`.

    Returns:
        The results; with ``dry_run``, the number of inputs.
    """
    if not isinstance(predict, tuple):
        if predict.task != "text-classification":
            raise ModelError(f"A pipeline for {predict.task} has no labels. Give one for text-classification.")
        predict = predict.model, predict.tokenizer
    if len(predict) != 2 or not isinstance(predict[0], nn.Module) or not callable(predict[1]):
        raise SettingError(
            f"predict is a tuple of {listing([type(item).__name__ for item in predict])}. Give (model, tokenizer) of "
            "transformers."
        )
    pair = TransformersPair(*predict)
    outputs = pair.outputs if is_named(pair.outputs) else []
    data = data_of(rows, outputs, is_function=False)
    if not outputs and (names := order_of_outputs(data, rows)):
        pair = pair.with_arguments(labels=names)
    state = {name: values for name, values in pair.network.state_dict().items() if isinstance(values, Tensor)}
    is_loaded = not any(values.is_meta for values in state.values())  # accelerate may offload weights
    with restored_generators(), evaluating(pair.network):
        return measure_predictor(pair, data, settings, weights_hash(state) if is_loaded else None)
