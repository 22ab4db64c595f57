"""Evaluation: every measurement of a model, on all examples and in full precision."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from pytorch_lightning import Trainer

from heedful.assembly.config import Call, Config, Layer, resolve
from heedful.assembly.folders import evaluation_folder, named_folder, run_folder
from heedful.assembly.job import Job
from heedful.assembly.parser import SEED
from heedful.assembly.prompting import Requests, each_prompt, requests_of
from heedful.assembly.results import Results
from heedful.assembly.saved import settings_of_file, source_of, write_settings
from heedful.assembly.starts import is_first
from heedful.assembly.trainers import allowing, calm_lightning, make_trainer, restored_flags
from heedful.callbacks import ContactSheet, Evaluation, Report, RunFolder, WordSheet
from heedful.callbacks.outputs.run_folder import command
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import Classifier, Endpoint
from heedful.records import DataError, SettingError


def evaluate(
    model: str | PathLike[str] | Classifier | None = None,
    data: Any = None,
    *,
    checkpoint: str | PathLike[str] | None = None,
    partial: str | None = None,
    slices: Sequence[str] | str | None = None,
    evaluations: Sequence[str | Evaluation] | str | None = None,
    prompt: Mapping[str, Any] | Prompting | None = None,
    trainer: Mapping[str, Any] | None = None,
    config: str | PathLike[str] | None = None,
    seed: int | bool | None = None,
    output: str | PathLike[str] | None = None,
    dry_run: bool = False,
    allow_package: str | Sequence[str] | None = None,
    **settings: Mapping[str, Any] | Evaluation,
) -> Results | Requests:
    """Measure a classifier on everything that Heedful knows, on all examples and in full precision.

    The same as evaluate.py, with the same settings and the same results.

    Args:
        model: As for ``train``; by default that of ``checkpoint``.
        data: As for ``train``; by default those of ``checkpoint``.
        checkpoint: What to evaluate: a run, or one of its checkpoints.
        partial: Evaluate on this part alone.
        slices: Columns by whose values accuracy and attentiveness are broken down.
        evaluations: Only these, by name or as objects; by default, all that need not be named.
        prompt: Settings of ``heedful.datamodules.prompting.Prompting``, for a model that is asked in context.
        trainer: Settings of Lightning's Trainer, such as {"devices": 2}.
        config: A file of settings, such as the config.yaml of an evaluation; other arguments override.
        seed: From 0 to 4294967295, by default 0; all that is random follows from it. True draws one.
        output: Folder of the results; by default one in the folder of the run, or a new one in runs/.
        dry_run: Count the requests that a server would get, and send none.
        allow_package: Python packages that weights may come from.
        **settings: Evaluation to its settings, such as ``attentiveness={"draws": 3}``.

    Returns:
        The results: their folder, the numbers and the rows, on every process. With ``dry_run``, the requests.

    Raises:
        HeedfulError: Something is wrong with the settings, the data, the model or the disk.
    """
    own: dict[str, Any] = {**settings, "trainer": trainer, "prompt": prompt, SEED: seed, "evaluations": evaluations}
    own |= {"output": output, "dry_run": dry_run or None}
    with allowing(allow_package):
        call = Call(model, data, partial=partial, slices=slices, settings=own)
        return evaluated(configured(call, [] if config is None else [config], checkpoint))


def configured(
    call: Call, files: Sequence[str | PathLike[str]] = (), checkpoint: str | PathLike[str] | None = None
) -> Config:
    """All settings of an evaluation, from Python or from the command line.

    Args:
        call: The settings of the call.
        files: Files of settings, the first ones first.
        checkpoint: See :func:`evaluate`.

    Raises:
        HeedfulError: A setting is wrong, or there is no such checkpoint.
    """
    layers = [Layer(settings_of_file(fspath(file), f"config {file}"), f"config {file}") for file in files]
    for layer in layers:
        checkpoint = layer.values.get("checkpoint") if checkpoint is None else checkpoint
    if checkpoint is not None:
        source = source_of(fspath(checkpoint))
        for layer in layers:
            if "class_path" in (layer.values.get("model") or {}) and not layer.values.get("checkpoint"):
                raise SettingError(f"checkpoint and {layer.where} both say where the model comes from. Leave one out.")
        saved = {"model": source.model, "data": source.data, "natural_logic": source.natural_logic}
        layers.insert(0, Layer(saved, str(source.checkpoint), is_trusted=False))
        call.settings = {**call.settings, "checkpoint": str(source.checkpoint)}
    if isinstance(call.model, Classifier) and checkpoint is not None and call.model.task is not None:
        call.model = call.model.with_arguments()  # weights in memory stay with their object
    call.layers = layers
    return resolve(True, call)


def evaluated(config: Config) -> Results | Requests:
    """Measure a model, and write what was measured into a folder.

    Args:
        config: All settings.

    Returns:
        The results, on every process; with ``dry_run``, how many requests they would need.

    Raises:
        HeedfulError: Something is wrong with the settings, the data, the model or the disk.
    """
    with calm_lightning(), restored_flags(), ExitStack() as held:
        return _evaluated(Job(config), held)


def _evaluated(job: Job, held: ExitStack) -> Results | Requests:
    named = named_folder(job, held)  # before anything is read
    job.prepare()
    if job.evaluation.dry_run:
        return requests_of(job.model, job.data, job.planned.values(), job.prompts, job.trainer["limit_val_batches"])
    return measured(job, held, named)


def measured(job: Job, held: ExitStack, named: Path | None) -> Results:
    """Measure a model by a run that is prepared, and write what was measured into its folder.

    Args:
        job: The evaluation, prepared.
        held: Holds the lock of the folder.
        named: The folder that the user named.

    Raises:
        HeedfulError: Nothing was evaluated, the model fails, or the folder cannot be written.
    """
    trainer, run = assemble(job, output_folder(job, held, named) if is_first() else None)
    results: list[Results] = []
    for _ in each_prompt(job.prompts, job.model, run, job.planned.values()):
        trainer.validate(job.model, job.data, ckpt_path=job.checkpoint, weights_only=True, verbose=False)
        if not job.engine.results:
            raise DataError("Nothing was evaluated. See trainer.limit_val_batches.")
        results.append(Results(run.written, job.engine.results))
    return results[0] if len(results) == 1 else Results(results[0].folder.parent, {}, each=tuple(results))


def assemble(job: Job, folder: Path | None) -> tuple[Trainer, RunFolder]:
    """The Trainer of an evaluation and its outputs.

    Args:
        job: The evaluation, prepared.
        folder: Where the outputs are written; None on other processes than the first.

    Raises:
        HeedfulError: Lightning refuses a setting of the Trainer.
    """
    run = RunFolder(folder, lambda path: write_settings(job.record, path), job.about)
    settings = {**job.trainer, "logger": job.trainer["logger"] or False}
    callbacks = [*job.plain, job.engine, run, ContactSheet(), WordSheet(), Report()]
    return make_trainer(callbacks, settings, evaluating=True, own=job.evaluations, folder=folder), run


def output_folder(job: Job, held: ExitStack, named: Path | None) -> Path:
    """Inside the run for a checkpoint; under ``pretrained`` for a model that was never trained here."""
    if isinstance(job.model, Endpoint):
        job.about["server"] = job.model.server
        job.about["command"] = [job.model.hidden(word) for word in command()]  # a script may have taken the key there
    if job.checkpoint and not job.settings.output:
        return evaluation_folder(job, held)
    return run_folder(job, held, named, "pretrained")
