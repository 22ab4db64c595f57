"""Evaluation: every measurement of a model, on all examples and in full precision."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from pytorch_lightning import Trainer

from heedful.assembly.folders import evaluation_folder, identity, run_folder
from heedful.assembly.job import Job
from heedful.assembly.library_errors import refusing
from heedful.assembly.making import require_types
from heedful.assembly.named_folder import claim_named, require_inside
from heedful.assembly.parts import Parts, allowing, as_path, given
from heedful.assembly.prompting import Requests, each_prompt, requests_of
from heedful.assembly.quiet import quietly
from heedful.assembly.record import SEED, Record, file_record, merged, write_record
from heedful.assembly.results import Results
from heedful.assembly.saved_runs import Source, source_of
from heedful.assembly.settings import EvaluationSettings
from heedful.assembly.starts import is_first, settled_seed
from heedful.assembly.trainers import make_trainer, restored_flags
from heedful.callbacks import ContactSheet, Evaluation, Report, RunFolder, WordSheet
from heedful.callbacks.outputs.run_folder import command
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import Classifier, Endpoint
from heedful.records import DataError, SettingError
from heedful.records.storage.claim import release


def evaluate(
    model: str | PathLike[str] | Classifier | None = None,
    data: Any = None,
    *,
    checkpoint: str | PathLike[str] | None = EvaluationSettings.checkpoint,
    partial: str | None = None,
    slices: Sequence[str] | str | None = None,
    evaluations: Sequence[str | Evaluation] | str | None = EvaluationSettings.evaluations,
    prompt: Mapping[str, Any] | Prompting | None = None,
    trainer: Mapping[str, Any] | None = None,
    config: str | PathLike[str] | None = None,
    seed: int | bool | None = None,
    output: str | PathLike[str] | None = EvaluationSettings.output,
    dry_run: bool = EvaluationSettings.dry_run,
    allow_package: str | Sequence[str] | None = EvaluationSettings.allow_package,
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
    arguments = locals()
    with quietly(), refusing(), ExitStack() as stack:
        require_types(evaluate, arguments)
        stack.enter_context(allowing(allow_package))
        saved: Record = {} if config is None else file_record(fspath(config), evaluating=True)
        if checkpoint is not None:
            source = source_of(fspath(checkpoint))
            saved = _measured(source, saved)
            checkpoint = str(source.checkpoint)
        checkpoint = saved.get("checkpoint") if checkpoint is None else checkpoint
        seed = settled_seed(saved.get(SEED, EvaluationSettings.seed) if seed is None else seed)
        parts = Parts(model, data, None, partial, slices, evaluations, settings, trainer or {}, seed, saved)
        paired = parts.paired_data()
        classifier = parts.classifier(paired)
        if checkpoint is not None and classifier.task is not None:  # weights in memory stay with their object
            classifier = classifier.with_settings()
        job = Job(
            classifier,
            paired,
            EvaluationSettings(
                seed=seed,
                evaluations=parts.only,
                output=as_path(output) or saved.get("output"),
                checkpoint=checkpoint,
                dry_run=dry_run or bool(saved.get("dry_run")),
            ),
            parts.all_evaluations(evaluating=True),
            parts.trainer_settings(),
            prompting=given(prompt, Prompting, "prompt", saved.get("prompt")),
            given=parts.given(prompt=prompt),
        )
        return evaluated(job)


def _measured(source: Source, saved: Record) -> Record:
    """The settings of a file on top of those of the run that is measured, which alone names the model."""
    if "class_path" in (saved.get("model") or {}):
        raise SettingError(
            "checkpoint and the file of config both say where the model comes from. Leave the model out of that file."
        )
    of_run = {"model": source.model, "data": source.data, "natural_logic": source.natural_logic}
    return merged(of_run, saved)


def evaluated(job: Job) -> Results | Requests:
    """Measure a model, and write what was measured into a folder.

    Args:
        job: The run.

    Returns:
        The results, on every process; with ``dry_run``, how many requests they would need.

    Raises:
        HeedfulError: Something is wrong with the settings, the data, the model or the disk.
    """
    try:
        with quietly(), refusing(), restored_flags():
            return _evaluated(job)
    finally:
        release()


def _evaluated(job: Job) -> Results | Requests:
    require_inside(job)
    claim_named(job)  # before anything is read
    job.prepare()
    if job.evaluation.dry_run:
        return requests_of(job.model, job.data, job.planned.values(), job.prompts, job.trainer["limit_val_batches"])
    return measured(job)


def measured(job: Job) -> Results:
    """Measure a model by a run that is prepared, and write what was measured into its folder.

    Raises:
        HeedfulError: Nothing was evaluated, the model fails, or the folder cannot be written.
    """
    trainer, run = assemble(job, output_folder(job) if is_first() else None)
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
    run = RunFolder(folder, lambda path: write_record(job.repeated, path), job.about)
    settings = {**job.trainer, "logger": job.trainer["logger"] or False}
    callbacks = [*job.plain, job.engine, run, ContactSheet(), WordSheet(), Report()]
    return make_trainer(callbacks, settings, evaluating=True, own=job.evaluations, folder=folder), run


def output_folder(job: Job) -> Path:
    """Inside the run for a checkpoint; under ``pretrained`` for a model that was never trained here."""
    if isinstance(job.model, Endpoint):
        job.about["server"] = job.model.server
        job.about["command"] = [job.model.hidden(word) for word in command()]  # a script may have taken the key there
    if job.checkpoint and not job.settings.output:
        return evaluation_folder(job)
    if job.checkpoint:
        job.about["evaluation"] = identity(job)
    return run_folder(job, "pretrained")
