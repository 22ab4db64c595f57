"""``heedful.measure``: measure whether any model uses every part of its input; and ``heedful.Endpoint``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any, cast

from heedful.assembly.measured_functions import measure_function, measure_pair
from heedful.assembly.measured_rows import LABEL, Labels, RowSettings, data_of
from heedful.assembly.prompting import Requests
from heedful.assembly.results import Results, require_writable
from heedful.assembly.settings import SEED, imported, name_list
from heedful.callbacks.engine.evaluation import Evaluation
from heedful.callbacks.evaluations import shown_evaluations
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.base.processes import by_first, isolated
from heedful.lazy import explaining_imports
from heedful.lightning_modules import Endpoint as EndpointModel
from heedful.lightning_modules.function import InputKey
from heedful.lightning_modules.predictor import Predictor
from heedful.lightning_modules.prompted.requests.client import Address
from heedful.parser import class_parser, construct
from heedful.records import SettingError, listing
from heedful.records.errors import suggestion
from heedful.records.prompts import Wording

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
    batch_size: int | None = None,
    evaluations: Sequence[str | Evaluation | type[Evaluation]] | str | None = None,
    seed: int = 0,
    output: str | PathLike[str] | None = None,
    answers: Mapping[InputKey, Any] | None = None,
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
        batch_size: Maximum number of inputs per call of the model; by default 64, or as many as fill a GPU (encoders).
        evaluations: Names, classes or objects of evaluations, as for ``heedful.evaluate``.
        seed: Seed of everything random.
        output: Folder of the results; by default nothing is written before ``save``.
        answers: Answers of a call that failed, ``error.answers``; the function gets only the remaining inputs.
        trainer: Settings of Lightning's Trainer, such as {"devices": 2}. A function and ``(model, tokenizer)`` are
            measured without a Trainer: only enable_progress_bar and limit_val_batches have an effect.
        **settings: Settings of evaluations by name, as for ``heedful.evaluate``.

    Returns:
        The results: ``result.show()``, ``result["attentiveness", "premise"].value``, ``result.rows``. As for
        ``heedful.evaluate``, a list with several prompts, and the number of requests with ``dry_run=True``.

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
        >>> numbers = heedful.frame([result]).query("evaluation == 'attentiveness' and statistic == ''")
        >>> numbers.pivot(index="run", columns="part", values="value").columns.tolist()
        ['hypothesis', 'premise']
    """
    of_rows = RowSettings.of(locals())
    for path in (item for item in name_list(evaluations) or () if isinstance(item, str) and "." in item):
        imported(path)  # the module may register evaluations
    require_known(settings)
    if output is not None:
        require_writable(Path(output))
    if swaps := {key: value for key, value in (("draws", draws), ("precision", precision)) if value is not None}:
        if settings.get("attentiveness") is not None:
            raise SettingError(f"{listing(list(swaps))} and attentiveness exclude each other. Leave one of them out.")
        settings["attentiveness"] = swaps
    settings |= {"evaluations": evaluations, "trainer": trainer, SEED: seed}
    settings["slices"] = ([by] if isinstance(by, str) else list(by)) or None
    is_pair = isinstance(predict, tuple) or _is_pipeline(predict)
    results: Any
    is_function = _is_function(predict)
    with isolated() if is_function or is_pair else nullcontext():  # predicts in this process only
        with explaining_imports():
            if is_function:
                results = measure_function(predict, of_rows, answers, settings)
            elif is_pair:
                results = measure_pair(predict, of_rows, settings)
            else:
                from heedful.assembly.measured_models import measure_model  # imports Lightning

                results = measure_model(predict, of_rows, settings)
        if output is None or isinstance(results, Requests):
            return results
        of_prompts = results if isinstance(results, list) else [results]
        folders = [Path(output, each.unsaved.name) for each in of_prompts]  # the name is "" without several prompts
        saved: list[Results] = []
        by_first(lambda: saved.extend(each.save(folder) for each, folder in zip(of_prompts, folders, strict=True)))
    # on other ranks, the rows stay in memory
    saved = saved or [replace(each, folder=folder) for each, folder in zip(of_prompts, folders, strict=True)]
    return cast(Any, saved) if isinstance(results, list) else saved[0]


def Endpoint(  # has the name of the class that it returns
    url: str | None = None,
    model: str | None = None,
    prompt: str | Wording | None = None,
    key: str | None = None,
    **settings: Any,
) -> EndpointModel:
    """Create a model behind a server that speaks the OpenAI protocol, such as vLLM, SGLang or ``transformers serve``.

    ``evaluate.py --endpoint`` measures the same models. No file, log or message contains the address or the key.

    Args:
        url: Base URL of the server; by default the environment variable OPENAI_BASE_URL, or else OpenAI.
        model: Name of the model at the server.
        prompt: The question as a template, such as "{premise} Is it true that {hypothesis}?"; literal braces are
            doubled. "Answer with one of: ..." precedes a question that does not name all labels. A
            ``heedful.records.prompts.Wording`` may also map labels to other texts. By default the first prompt
            of the data, or else generic words.
        key: API key; by default the environment variable OPENAI_API_KEY, which a local server does not need. "" for
            none.
        **settings: Further settings of ``heedful.lightning_modules.Endpoint``, such as ``max_requests=5000``.

    Returns:
        The model, for ``heedful.measure`` and ``heedful.evaluate``. No request has been sent.

    Examples:
        >>> endpoint = Endpoint("http://localhost:8000/v1", "qwen", "{premise} Is it true that {hypothesis}?", seed=1)
        >>> endpoint.name
        'qwen'
    """
    for name, value in (("url", url), ("model", model), ("key", key)):
        if not isinstance(value, str | None):
            raise SettingError(f"{name} is a {type(value).__name__}, and not a text.")  # the value may be a key
    if not model or "name" in settings:
        raise SettingError("model is missing: give the name of the model at the server.")
    settings |= {"name": model} | ({} if prompt is None else {"prompt": prompt})
    endpoint: EndpointModel = construct(EndpointModel, "Endpoint", settings)
    return endpoint.at(Address(url, key, ("url", "key")))


def _is_function(predict: Any) -> bool:
    has_weights = hasattr(predict, "named_parameters")
    is_network = has_weights and (hasattr(predict, "config") or hasattr(predict, "training_step"))
    return callable(predict) and not (is_network or _is_pipeline(predict) or isinstance(predict, Predictor))


def _is_pipeline(predict: Any) -> bool:
    return all(hasattr(predict, name) for name in ("task", "model", "preprocess"))  # of transformers


def require_rows(rows: Any, **arguments: Any) -> None:
    """Read rows and check the arguments of :func:`measure` that describe them, before a training begins."""
    bound = signature(measure).bind(None, rows, **arguments)
    bound.apply_defaults()
    data_of(RowSettings.of(bound.arguments), (), is_function=True).setup("validate")


def require_known(settings: Iterable[str]) -> None:
    """Raise SettingError for a name that is no setting of :func:`measure`."""
    names = [name for name in signature(measure).parameters if name != "settings"]
    names += [*OF_EVALUATE, *(kind.metric.name for kind in shown_evaluations(True))]
    for name in settings:
        if name not in names:
            of_data = f"data.{name}" in class_parser(Pairs, "data").names
            hint = f"It is a setting of data: rows=heedful.load_data(NAME, {name}=...)." if of_data else ""
            raise SettingError(f"measure has no setting {name}. {hint or suggestion(name, names)}")
