"""``heedful.evaluate``: run the evaluations of a model on all examples and in full precision."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from pytorch_lightning import Callback, Trainer, seed_everything

from heedful.assembly.config import Call, Config, Layer, resolve
from heedful.assembly.folders import evaluation_folder, named_folder, run_folder
from heedful.assembly.plan import Plan, checkpoint_of, prepare
from heedful.assembly.prompting import Requests, name_of
from heedful.assembly.results import Results, Unsaved
from heedful.assembly.saved import settings_of_file, source_of
from heedful.assembly.settings import SEED, several, write_settings
from heedful.assembly.starts import is_first
from heedful.assembly.trainers import allowing, calm_lightning, make_trainer, restored_flags
from heedful.callbacks import Engine, Evaluation, RunFolder
from heedful.callbacks.engine.forecast import forecast, inputs_of
from heedful.callbacks.engine.measure import Measurements
from heedful.callbacks.outputs.description import command, describe
from heedful.callbacks.outputs.page import Page, RecomputedContents
from heedful.datamodules.base.processes import by_first
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import BasePredictor, Endpoint
from heedful.lightning_modules.predictor_module import module_of
from heedful.records import Composed, DataError, SettingError


def evaluate(
    model: str | PathLike[str] | BasePredictor | None = None,
    data: Any = None,
    *,
    checkpoint: str | PathLike[str] | None = None,
    partial: str | None = None,
    slices: Sequence[str] | str | None = None,
    evaluations: Sequence[str | Evaluation] | str | None = None,
    prompt: Mapping[str, Any] | Prompting | None = None,
    trainer: Mapping[str, Any] | None = None,
    config: str | PathLike[str] | None = None,
    seed: int | None = None,
    output: str | PathLike[str] | None = None,
    dry_run: bool = False,
    allow_package: str | Sequence[str] | None = None,
    **settings: Mapping[str, Any] | Evaluation,
) -> Results | Requests:
    """Measure a classifier with all evaluations, on all examples and in full precision.

    Settings and results are the same as for evaluate.py.

    Args:
        model: A name in configs/model, a YAML file, a hub id, a folder or a model; by default the model of
            ``checkpoint``.
        data: A name in configs/data, a YAML file, rows or a data module; by default the data of ``checkpoint``.
        checkpoint: Run or checkpoint to evaluate.
        partial: The only part that the model receives.
        slices: Columns whose values break down accuracy and attentiveness.
        evaluations: Names or objects of the evaluations to run; by default all evaluations but the optional ones.
        prompt: Settings of ``heedful.datamodules.prompting.Prompting``, for a model that reads prompts.
        trainer: Settings of Lightning's Trainer, such as {"devices": 2}.
        config: A file of settings, such as the config.yaml of an evaluation; other arguments override it.
        seed: Seed of everything random, from 0 to 4294967295; by default 0.
        output: Folder of the results; by default a new folder in the folder of the run, or in runs/.
        dry_run: Count the requests to a server, and send none.
        allow_package: Python packages that may provide weights and the classes of a saved run.
        **settings: Settings of evaluations by name, such as ``attentiveness={"draws": 3}``.

    Returns:
        The results, on every process: their folder, numbers and rows; with ``dry_run``, the number of requests.

    Raises:
        HeedfulError: A setting is wrong, the data or the model cannot be read, or the folder cannot be written.
    """
    nested: dict[str, Any] = {**settings, "trainer": trainer, "prompt": prompt, SEED: seed, "evaluations": evaluations}
    nested |= {"output": output, "dry_run": dry_run or None}
    with allowing(allow_package):
        call = Call(model, data, partial=partial, slices=slices, settings=nested)
        return evaluated(configured(call, several(config), checkpoint))


def configured(
    call: Call, files: Sequence[str | PathLike[str]] = (), checkpoint: str | PathLike[str] | None = None
) -> Config:
    """Combine all settings of an evaluation into a :class:`Config`.

    Args:
        call: The model, the data and all other settings of the call, from Python or from the command line.
        files: Paths of YAML files of settings, which ``call`` overrides.
        checkpoint: As for :func:`evaluate`.
    """
    layers = [Layer(settings_of_file(fspath(file), f"config {file}"), f"config {file}") for file in files]
    for layer in layers:
        checkpoint = layer.values.get("checkpoint") if checkpoint is None else checkpoint
    if checkpoint is not None:
        path, saved = source_of(fspath(checkpoint))
        for layer in layers:
            if "class_path" in (layer.values.get("model") or {}) and not layer.values.get("checkpoint"):
                raise SettingError(f"checkpoint and {layer.where} both name a model. Leave one of them out.")
        layers.insert(0, Layer(saved, str(path), is_trusted=False))
        call.settings = {**call.settings, "checkpoint": str(path)}
    if isinstance(call.model, BasePredictor) and checkpoint is not None and call.model.task is not None:
        call.model = call.model.with_arguments()  # a copy: the caller's model keeps its weights
    call.layers = layers
    return resolve(True, call)


def evaluated(config: Config) -> Results | Requests:
    """Measure a model, and write the results into a folder.

    Returns:
        The results, on every process; with ``dry_run``, the number of requests.
    """
    with calm_lightning(), restored_flags(), ExitStack() as held:
        output = named_folder(config, held)  # fails before the data are read
        settings = config.run_settings()
        seed_everything(settings.seed, workers=True, verbose=False)
        plan = prepare(config)
        if vars(settings)["dry_run"]:
            return requests_of(plan)
        if not is_first():
            return measured(plan, None)
        in_run = output is None and checkpoint_of(settings)
        return measured(plan, evaluation_folder(plan, held) if in_run else run_folder(plan, held, output, "pretrained"))


def requests_of(plan: Plan) -> Requests:
    """Return the number of requests that an evaluation would send to a server, and an estimate of their tokens; send
    none.

    Raises:
        SettingError: The model is not an endpoint.
    """
    model, limit = plan.model, plan.trainer["limit_val_batches"]
    if not isinstance(model, Endpoint):
        raise SettingError(
            f"dry_run counts requests to a server, and {model.description} sends none. Leave it out, or set endpoint."
        )
    amounts = [forecast(plan.data, plan.plans, model, limit) for _ in each_prompt(plan)]

    def inputs() -> Iterator[tuple[Any, Composed]]:
        for _ in each_prompt(plan):
            for examples in inputs_of(plan.data, plan.plans, limit):
                yield model, examples

    written, prices = model.most_written, model.prices
    return Requests(model.description, len(plan.prompts), amounts, written, prices, model.cache, inputs)


def measured(plan: Plan, folder: Path | None) -> Results:
    """Measure a model, and write the results into a folder; with several prompts, into a subfolder for each prompt.

    Args:
        plan: The prepared run.
        folder: The folder of the results on rank 0; None on other ranks.
    """
    run = RunFolder(folder, lambda path: write_settings(plan.record, path), _server(plan.model))
    engine = plan.engine([run, Page(lambda: run.written, contents_of(plan))])
    trainer = _trainer(plan, [engine, run], folder)
    results: list[Results] = []
    for name, prompt in each_prompt(plan):
        if prompt:
            run.begin(folder / name if folder is not None else None, prompt)
        measurements = _validated(trainer, plan, engine)
        results.append(Results(run.written, measurements.content))
    return results[0] if len(results) == 1 else Results(run.written.parent, {}, each=tuple(results))


def measured_in_memory(plan: Plan) -> Results:
    """Measure a model, once per prompt, and return the results without writing them."""
    engine = plan.engine()
    trainer = _trainer(plan, [engine], None)
    results: list[Results] = []
    for name, prompt in each_prompt(plan):
        measurements = _validated(trainer, plan, engine)
        about = describe({**_server(plan.model), **prompt}, trainer)
        rows: dict[str, Any] = by_first(functools.partial(dict, measurements.rows))
        unsaved = Unsaved(name, lambda path: write_settings(plan.record, path), about, rows, contents_of(plan))
        results.append(Results(None, measurements.content, unsaved=unsaved))
    return results[0] if len(results) == 1 else Results(None, {}, each=tuple(results))


def each_prompt(plan: Plan) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the model one prompt after the other, so that the caller measures it with each; yield once if there are no
    prompts.

    Yields:
        Pairs: name of the subfolder for the prompt, "" unless there are several prompts; and the entries of run.json
        about the prompt, with the text that is sent for the first example.
    """
    if not plan.prompts:
        yield "", {}
    first = next((each.plan.pool[0] for each in plan.plans.planned.values() if len(each.plan.pool)), None)
    for prompt in plan.prompts:
        plan.model.prompt_with(prompt)
        sent = {} if first is None else {"example": first.uid, "sent": plan.model.sent(first)}
        yield name_of(prompt) if len(plan.prompts) > 1 else "", {"prompt": {**prompt.as_dict(), **sent}}


def contents_of(plan: Plan) -> RecomputedContents:
    """Return an object that recomputes original and changed examples, so that the HTML page can show their texts."""
    plans = {name: planned.plan for name, planned in plan.plans.planned.items()}
    return RecomputedContents(plans, plan.data.seed, plan.data.task.parts)


def _trainer(plan: Plan, callbacks: Sequence[Callback], folder: Path | None) -> Trainer:
    settings = {**plan.trainer, "logger": plan.trainer["logger"] or False}
    return make_trainer(callbacks, settings, evaluating=True, folder=folder)


def _validated(trainer: Trainer, plan: Plan, engine: Engine) -> Measurements:
    checkpoint = checkpoint_of(plan.config.run_settings())
    trainer.validate(module_of(plan.model), plan.data, ckpt_path=checkpoint, weights_only=True, verbose=False)
    if engine.measurements is None:
        raise DataError("Nothing was evaluated. See trainer.limit_val_batches.")
    return engine.measurements


def _server(model: BasePredictor) -> dict[str, Any]:
    """Return the additional entries of run.json for a model behind an API (an endpoint); empty for other models.

    The entries are "server", a hash of the server's address, and "command", the words of the running command. In
    "command", the API key and other secrets are replaced.
    """
    if not isinstance(model, Endpoint):
        return {}
    return {"server": model.server, "command": [model.hidden(word) for word in command()]}
