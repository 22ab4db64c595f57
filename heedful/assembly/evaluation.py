"""``heedful.evaluate``: run the evaluations of a model on all examples and in full precision."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from pytorch_lightning import Callback, Trainer, seed_everything

from heedful.assembly.config import assemble
from heedful.assembly.folders import evaluation_folder, named_folder, new_folder
from heedful.assembly.held_out import require_held_out
from heedful.assembly.job import Job
from heedful.assembly.prompting import Requests, name_of, prompts_of
from heedful.assembly.results import Results, Unsaved
from heedful.assembly.saved import settings_of_file, source_of, unfinished_of
from heedful.assembly.settings import SEED, Settings, several, write_settings
from heedful.assembly.trainers import make_trainer, session
from heedful.callbacks import Evaluation, EvaluationCallback, RunFolder
from heedful.callbacks.checkpoints.files import outline
from heedful.callbacks.engine.forecast import forecast, inputs_of
from heedful.callbacks.engine.measure import Measurements
from heedful.callbacks.outputs.description import command, describe
from heedful.callbacks.outputs.page import Page, RecomputedContents
from heedful.datamodules.base.processes import by_first
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import Endpoint, Predictor
from heedful.lightning_modules.predictor_module import module_of
from heedful.records import Composed, DataError, SettingError
from heedful.records.arguments import IN_MEMORY
from heedful.records.messages import is_first

COMMANDS = "heedful", "train.py", "evaluate.py"  # commands whose arguments hold no key


def evaluate(
    model: str | PathLike[str] | Predictor | None = None,
    data: Any = None,
    *,
    checkpoint: str | PathLike[str] | None = None,
    partial: str | None = None,
    slices: Sequence[str] | str | None = None,
    evaluations: Sequence[str | Evaluation | type[Evaluation]] | str | None = None,
    prompt: Mapping[str, Any] | Prompting | None = None,
    trainer: Mapping[str, Any] | None = None,
    config: str | PathLike[str] | None = None,
    seed: int | None = None,
    output: str | PathLike[str] | None = None,
    dry_run: bool = False,
    allow_package: str | Sequence[str] | None = None,
    **settings: Mapping[str, Any] | Evaluation,
) -> Results | list[Results] | Requests:
    """Measure a classifier with all evaluations, on all examples and in full precision.

    Settings and results are the same as for evaluate.py.

    Args:
        model: A name in configs/model, a YAML file, a hub id, a folder or a model; by default the model of
            ``checkpoint``.
        data: A name in configs/data, a YAML file, rows or a data module; by default the data of ``checkpoint``.
        checkpoint: Run or checkpoint to evaluate.
        partial: The only part that the model receives.
        slices: Columns whose values break down accuracy and attentiveness.
        evaluations: Names, classes or objects of evaluations; by default all evaluations but the optional ones.
        prompt: Settings of ``heedful.datamodules.prompting.Prompting``, for a model that reads prompts.
        trainer: Settings of Lightning's Trainer, such as {"devices": 2}.
        config: A file of settings, such as the config.yaml of an evaluation; other arguments override it.
        seed: Seed of everything random, from 0 to 4294967295; by default 0.
        output: Folder of the results; by default a new folder in the folder of the run, or in runs/.
        dry_run: Count the requests to a server, and send none.
        allow_package: Python packages that may provide weights and the classes of a saved run.
        **settings: Settings of evaluations by name, such as ``attentiveness={"draws": 3}``.

    Returns:
        The results, on every process: their folder, numbers and rows; with several prompts, a list of the results of
        each; with ``dry_run``, the number of requests.

    Raises:
        HeedfulError: A setting is wrong, the data or the model cannot be read, or the folder cannot be written.
    """
    call = {**settings, "model": model, "data": data, "partial": partial, "slices": slices, "prompt": prompt}
    call |= {"evaluations": evaluations, "trainer": trainer, SEED: seed, "output": output, "dry_run": dry_run or None}
    with session(allow_package):
        return run(job_of(call, several(config), checkpoint=checkpoint))


def job_of(
    call: Settings,
    files: Sequence[str | PathLike[str]] = (),
    words: Sequence[str] = (),
    checkpoint: str | PathLike[str] | None = None,
) -> Job:
    """Assemble an evaluation from the arguments of :func:`evaluate`, which override files, and from words of a command
    line, which override both; ``call`` has the other arguments by name.
    """
    layers = [settings_of_file(file, f"config {fspath(file)}") for file in files]
    checkpoint = checkpoint or next((values["checkpoint"] for _, values in layers if values.get("checkpoint")), None)
    saved = None
    if checkpoint is not None:
        path, settings = source_of(fspath(checkpoint))
        for where, values in layers:
            if "class_path" in (values.get("model") or {}) and not values.get("checkpoint"):
                raise SettingError(f"checkpoint and {where} both name a model. Leave one of them out.")
        saved, call = (str(path), settings), {**call, "checkpoint": str(path)}
        if isinstance(model := call["model"], Predictor) and model.task is not None:
            call["model"] = model.with_arguments()  # a copy: the caller's model keeps its weights
    return assemble("validate", call, layers, words, saved)


def run(job: Job) -> Results | list[Results] | Requests:
    """Measure a model, and write the results into a folder.

    Returns:
        The results, on every process; with ``dry_run``, the number of requests.
    """
    with ExitStack() as held:
        output = named_folder(job.output, held)  # fails before the data are read
        seed_everything(job.seed, workers=True, verbose=False)
        prepare(job)
        if job.dry_run:
            return requests_of(job)
        if output is None and is_first():
            output = evaluation_folder(job, held) if job.checkpoint else new_folder(job, held, "pretrained")
        return measured(job, output)


def prepare(job: Job) -> None:
    """Read the data, bind the model to their task and plan the evaluations, before any folder is created."""
    model, only = job.model, job.only
    if job.checkpoint is not None:
        outline(Path(job.checkpoint), f"checkpoint {job.checkpoint}")
        job.unfinished = unfinished_of(job.checkpoint)
    if only is not None and all(item.brings_examples for item in job.evaluations if item.name in only):
        _leave_out_examples(job, "-".join(only))
    job.set_up()
    if not model.has_learned:
        model.learned.require_parts(model.task.parts, job.data.full_task.parts)
        model.require_head()
    elif "backbone" in (of_model := job.record["model"]["init_args"]):
        of_model["backbone"] = IN_MEMORY
    job.prompts = prompts_of(job.prompting, model, job.data)
    job.plan()
    if not job.dry_run:
        if job.checkpoint is None:
            model.require_weights()
        require_held_out(model, job.data, job.checkpoint, True)


def _leave_out_examples(job: Job, name: str) -> None:
    """Rename the data and leave out their examples, for evaluations that bring their own; the data get the labels of
    the model, if known.
    """
    job.data, model = job.data.without_examples(name), job.model
    if not model.has_learned:
        model.bind(job.data.task)  # reads the labels of the head
    if labels := model.learned.names:
        job.data.settle_labels(labels, default_label=None)


def requests_of(job: Job) -> Requests:
    """Return the number of requests that an evaluation would send to a server, and an estimate of their tokens."""
    model, limit = job.model, job.trainer["limit_val_batches"]
    if not isinstance(model, Endpoint):
        raise SettingError(
            f"dry_run counts requests to a server, and {model.description} sends none. Leave it out, or set endpoint."
        )
    amounts = [forecast(job.data, job.plans, model, limit) for _ in each_prompt(job)]

    def inputs() -> Iterator[tuple[Any, Composed]]:
        for _ in each_prompt(job):
            for examples in inputs_of(job.data, job.plans, limit):
                yield model, examples

    written, prices = model.most_written, model.prices
    return Requests(model.description, amounts, written, prices, model.cache, inputs)


def measured(job: Job, folder: Path | None) -> Results | list[Results]:
    """Measure a model, and write the results into a folder (None except on rank 0), or into a subfolder per prompt."""
    run = RunFolder(folder, lambda path: write_settings(job.record, path), _server(job.model))
    engine = job.engine([run, Page(lambda: run.written, RecomputedContents.of(job.plans, job.data))])
    trainer = _trainer(job, [engine, run], folder)
    results: list[Results] = []
    for name, prompt in each_prompt(job):
        if prompt:
            run.begin(folder / name if folder is not None else None, prompt)
        measurements = _validated(trainer, job, engine)
        results.append(Results(run.written, measurements.content))
    return results[0] if len(results) == 1 else results


def measured_in_memory(job: Job) -> Results | list[Results]:
    """Measure a model, once per prompt, and return the results without writing them."""
    engine = job.engine()
    trainer = _trainer(job, [engine], None)
    results: list[Results] = []
    for name, prompt in each_prompt(job):
        measurements = _validated(trainer, job, engine)
        about = describe({**_server(job.model), **prompt}, trainer)
        rows: dict[str, Any] = by_first(functools.partial(dict, measurements.rows))
        contents = RecomputedContents.of(job.plans, job.data)
        unsaved = Unsaved(name, lambda path: write_settings(job.record, path), about, rows, contents)
        results.append(Results(None, measurements.content, unsaved=unsaved))
    return results[0] if len(results) == 1 else results


def each_prompt(job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the model one prompt after the other, so that the caller measures it with each; yield once if there are no
    prompts.

    Yields:
        Pairs: name of the subfolder for the prompt, "" unless there are several prompts; and the entries of run.json
        about the prompt, with the text that is sent for the first example.
    """
    if not job.prompts:
        yield "", {}
    first = next((each.plan.pool[0] for each in job.plans.planned.values() if len(each.plan.pool)), None)
    for prompt in job.prompts:
        job.model.prompt_with(prompt)
        sent = {} if first is None else {"example": first.uid, "sent": job.model.sent(first)}
        yield name_of(prompt) if len(job.prompts) > 1 else "", {"prompt": {**prompt.as_dict(), **sent}}


def _trainer(job: Job, callbacks: Sequence[Callback], folder: Path | None) -> Trainer:
    settings = {**job.trainer, "logger": job.trainer["logger"] or False}
    return make_trainer(callbacks, settings, "validate", folder=folder)


def _validated(trainer: Trainer, job: Job, engine: EvaluationCallback) -> Measurements:
    trainer.validate(module_of(job.model), job.data, ckpt_path=job.checkpoint, weights_only=True, verbose=False)
    if engine.measurements is None:
        raise DataError("Nothing was evaluated. See trainer.limit_val_batches.")
    return engine.measurements


def _server(model: Predictor) -> dict[str, Any]:
    """Return the additional entries of run.json for a model behind an API (an endpoint); empty for other models.

    The entries are "server", a hash of the server's address, and "command". The arguments of a program that is not a
    command of Heedful may contain the key, so they are left out.
    """
    if not isinstance(model, Endpoint):
        return {}
    name, *arguments = command()
    return {"server": model.server, "command": [name, *arguments] if name in COMMANDS else [name]}
