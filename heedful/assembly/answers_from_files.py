"""Measuring a model that is not at hand: its inputs are written to a file, and answers to them are scored."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pytorch_lightning.utilities import rank_zero_info

from heedful.assembly.config import Call, load_data, load_model, resolve
from heedful.assembly.evaluation import measured
from heedful.assembly.folders import named_folder
from heedful.assembly.input_files import (
    FORMS,
    VERSION,
    Distinct,
    Form,
    Reading,
    file_hash,
    read_beside,
    write,
    write_beside,
)
from heedful.assembly.job import Job
from heedful.assembly.measured_rows import LABEL, Labels, RowSettings, class_names, data_of, readings
from heedful.assembly.parser import SEED
from heedful.assembly.results import Results
from heedful.assembly.trainers import calm_lightning, restored_flags
from heedful.callbacks.engine.forecast import Needed, needed
from heedful.datamodules import PairedData
from heedful.lightning_modules import Classifier, Endpoint
from heedful.lightning_modules.prompted.batch import BatchEndpoint, require_batch
from heedful.lightning_modules.recorded import Recorded
from heedful.records import DataError, Examples, ModelError, SettingError, atomic_path, listing
from heedful.records.arguments import IN_MEMORY, class_path, plain
from heedful.records.pool.contents import fingerprint

ONCE = "Answers from files: each input was answered once, so that the null control shows no noise."
FREE = ("rows", "endpoint", "settings")  # arguments of many types, of which it is said later what is wrong


class Written(NamedTuple):
    """A file of inputs.

    Attributes:
        path: The file.
        inputs: How many it holds, each once.
        examples: How many examples of the data they are made of.
        version: With which all ids begin.
    """

    path: Path
    inputs: int
    examples: int
    version: str

    def __str__(self) -> str:
        return f"{self.path}: {self.inputs:,} inputs of {self.examples:,} examples, version {self.version}"


def write_inputs(
    rows: Any,
    path: str | PathLike[str],
    parts: Sequence[str] | Mapping[str, str] | None = None,
    default_label: str | int | None = None,
    *,
    label: str | None = LABEL,
    labels: Labels | None = None,
    swap: Sequence[str] | str | None = None,
    keeps: Sequence[str] | str = (),
    same: str | None = None,
    cluster: str | None = None,
    by: Sequence[str] | str = (),
    uid: str | None = None,
    name: str | None = None,
    evaluations: Sequence[str] | str | None = None,
    seed: int = 0,
    endpoint: Endpoint | None = None,
    prompt: Mapping[str, Any] | None = None,
    **settings: Mapping[str, Any],
) -> Written:
    """Write every input that an evaluation may need, each distinct one once, for a model that is not at hand.

    Each line holds an id and the parts of an input: ``{"id": ..., "parts": {...}}``. Which changed inputs are needed
    depends on answers that are not known yet, so that all are there. A file beside it, NAME.meta.json, says what they
    were made of. ``score`` makes results of the answers.

    Args:
        rows: As for ``heedful.measure``, and so are the arguments that are not named here.
        path: The file to write.
        endpoint: A model behind a server, as of ``heedful.Endpoint``: then the file is one of OpenAI's batch API,
            with the requests that this model would get. Nothing is sent.
        prompt: Settings of prompts, as for ``heedful.evaluate``.
        seed: All that is random follows from it; with the same seed inputs are those of evaluate.py.
        **settings: Evaluation to its settings, such as ``attentiveness={"draws": 3}``.

    Returns:
        What was written.

    Raises:
        HeedfulError: Something is wrong with the rows or the settings, or the file cannot be written.

    Examples:
        >>> import tempfile
        >>> from heedful.assembly.config import load_data
        >>> written = write_inputs(load_data("planted", n_validation=9), f"{tempfile.mkdtemp()}/inputs.jsonl")
        >>> written.examples
        9
    """
    arguments = locals()
    if endpoint is None and prompt is not None:
        raise SettingError("prompt changes nothing where no endpoint is asked. Leave it out.")
    of_rows = RowSettings.of(arguments)._asdict()
    del of_rows["batch_size"]
    about: dict[str, Any] = {
        "version": VERSION,
        "format": "jsonl" if endpoint is None else "openai-batch",
        "is_ordered": labels is not None or bool(class_names(rows, label)),
        "of_rows": plain(of_rows),
        "slices": ([by] if isinstance(by, str) else list(by)) if by else None,
        "evaluations": evaluations if evaluations is None or isinstance(evaluations, str) else list(evaluations),
        "settings": plain(settings),
        "seed": seed,
        "endpoint": None if endpoint is None else plain(endpoint.arguments),
        "prompt": None if prompt is None else plain(prompt),
    }
    if Path(path).is_dir():
        raise DataError(f"{fspath(path)} is a folder. Name a file.")
    with calm_lightning():
        data = _data(rows, about)
        asked = None if endpoint is None else endpoint.with_arguments()
        job = _job(about, data, asked or _model(about, data), dry_run=True)
        job.prepare()
        form = FORMS[about["format"]]
        if asked is not None:
            require_batch(asked)
        _require_one_prompt(job)
        distinct = Distinct([form.keys(job.model, some.examples) for some in _needed(job)])
        with atomic_path(Path(path)) as temporary:
            about["sha256"] = write(temporary, form, job.model, distinct, _needed(job))
        about |= {"inputs": len(distinct), "ids": distinct.version, "labels": list(job.data.task.labels)}
        about |= {"parts": list(job.data.task.parts), "examples": _examples(job), "data": _source(rows)}
        write_beside(path, about)
        return Written(Path(path), len(distinct), len(_pool(job)), distinct.version)


def score(
    inputs: str | PathLike[str],
    answers: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    partial: bool = False,
    rows: Any = None,
    output: str | PathLike[str] | None = None,
    trainer: Mapping[str, Any] | None = None,
) -> Results:
    """Make results of answers to the inputs that ``write_inputs`` has written.

    A line of the answers is ``{"id": ..., "answer": label or text}`` or ``{"id": ..., "probs": {label: p, ...}}``, in
    any order; "" says that the model gave no answer. A line without either, or with an "error", is a request that
    failed, and its input has no answer. Of a batch, they are lines of its output.

    Args:
        inputs: The file of inputs, with the one beside it.
        answers: The file of answers, or several.
        partial: Whether to score the examples of which every input has an answer, where some have none. All numbers
            are flagged then.
        rows: The rows again, where they were in memory when the inputs were written.
        output: Folder for the results; by default a new one in runs/.
        trainer: Settings of Lightning's Trainer, such as {"enable_progress_bar": False}.

    Returns:
        The results, as those of ``heedful.evaluate``.

    Raises:
        HeedfulError: Inputs have no answer, or two; there are answers to others, or to another version of them; the
            data are not what they were; or an answer is not a label.
    """
    arguments = locals()
    files = [answers] if isinstance(answers, str | PathLike) else [*answers]
    with calm_lightning(), restored_flags(), ExitStack() as held:
        about = read_beside(inputs)
        data = _data(_rows_again(about, rows, fspath(inputs)), about)
        data = data.with_arguments(note=" ".join(filter(None, (data.note, ONCE))))
        name = Path(files[0]).name.partition(".")[0] or "answers"
        job = _job(
            about,
            data,
            _model(about, data, name),
            output=None if output is None else fspath(output),
            trainer=trainer,
        )
        named = named_folder(job, held)
        job.prepare()
        reading = _read(job, about, files, fspath(inputs))
        if reading.unanswered:
            _leave_out(job, reading, partial)
        job.about["answers"] = {"inputs": about["sha256"], "files": {fspath(f): file_hash(f) for f in files}}
        results = measured(job, held, named)
        assert isinstance(results, Results)
        return results


def _data(rows: Any, about: Mapping[str, Any]) -> PairedData:
    said = RowSettings(**about["of_rows"])
    return data_of(rows, said, (), about["endpoint"] is None)[0]


def _model(about: Mapping[str, Any], data: PairedData, name: str = "answers") -> Classifier:
    """The stand-in for the model."""
    if about["endpoint"] is not None:
        return load_model({"class_path": class_path(BatchEndpoint), "init_args": about["endpoint"]})
    return Recorded(name, *readings(data), about["is_ordered"])


def _job(
    about: Mapping[str, Any],
    data: PairedData,
    model: Classifier,
    output: str | None = None,
    trainer: Mapping[str, Any] | None = None,
    dry_run: bool = False,
) -> Job:
    settings: dict[str, Any] = {**about["settings"], SEED: about["seed"], "evaluations": about["evaluations"]}
    settings |= {"trainer": {"accelerator": "cpu", "devices": 1, **(trainer or {})}, "prompt": about["prompt"]}
    settings |= {"output": output, "dry_run": dry_run}
    return Job(resolve(True, Call(model, data, slices=about["slices"], settings=settings)))


def _require_one_prompt(job: Job) -> None:
    """Refuse several prompts, and have the model asked by the one that there is."""
    if len(job.prompts) > 1:
        raise SettingError(
            f"prompt names {len(job.prompts)} prompts, and a file of inputs holds one. Write a file for each of "
            "prompt.wordings."
        )
    for prompt in job.prompts:
        job.model.prompt_with(prompt)


def _needed(job: Job) -> Iterator[Needed]:
    return needed(job.data, job.planned.values())


def _pool(job: Job) -> Examples:
    """The examples of the data."""
    assert job.data.pool is not None
    return job.data.pool


def _examples(job: Job) -> list[str]:
    """The identity of all examples."""
    pools = [_pool(job), *(planned.plan.pool for planned in job.planned.values())]
    return sorted({f"{pool.fingerprint} {_beside(pool)}" for pool in pools})


def _beside(pool: Examples) -> str:
    """A hash of the columns that are no part, label or group: of clusters and of slices."""
    columns = [name for name in pool.table.column_names if name.partition(".")[0] in ("cluster", "meta")]
    return fingerprint(pool.table, (), columns)


def _source(rows: Any) -> Any:
    """The rows as a file names them; None of rows in memory."""
    if isinstance(rows, str | PathLike):
        return fspath(rows)
    is_file = isinstance(rows, PairedData) and isinstance(getattr(rows, "path", None), str | PathLike | None)
    data_section = plain(rows) if is_file else None
    if data_section is None or IN_MEMORY in str(data_section):
        return None
    data_section["init_args"].pop("seed", None)  # the seed of the run
    return data_section


def _rows_again(about: Mapping[str, Any], rows: Any, inputs: str) -> Any:
    """The rows that the inputs were made of."""
    if rows is not None:
        return rows
    source = about["data"]
    if source is None:
        raise SettingError(f"The inputs in {inputs} were made of rows in memory. Give them again, as rows=.")
    if not isinstance(source, Mapping):
        return source
    return load_data(source)


def _read(job: Job, about: Mapping[str, Any], files: Sequence[str | PathLike[str]], inputs: str) -> Reading:
    """Have the model know the answers.

    Raises:
        HeedfulError: The data or the inputs are not what they were, or there are answers to other inputs.
    """
    if _examples(job) != about["examples"]:
        raise DataError(
            f"{job.data.name}: the examples are not those that {inputs} was made of. Bring the data back, or write the "
            "inputs again."
        )
    form: Form = FORMS[about["format"]]
    _require_one_prompt(job)
    distinct = Distinct([form.keys(job.model, some.examples) for some in _needed(job)])
    if distinct.version != about["ids"]:
        raise ModelError(
            f"{inputs} does not hold the inputs that this version of Heedful asks about. Write the inputs again."
        )
    reading = Reading(distinct, form)
    model: Any = job.model
    for path in files:
        model.source = fspath(path)
        reading.read(path, model)
    model.finish()
    reading.require_own()
    if isinstance(model, Recorded):
        _require_default(model, job, about["of_rows"])
    return reading


def _require_default(model: Recorded, job: Job, of_rows: Mapping[str, Any]) -> None:
    """Refuse a default label that is neither an answer nor a gold one, where nobody names the labels."""
    default = job.data.default_label
    is_guessed = of_rows["parts"] is not None and of_rows["labels"] is None
    given = set(model.answered.counts()) if model.answered is not None else set()
    if is_guessed and given and default is not None and default not in given | set(_pool(job).column("label")):
        raise DataError(
            f"default_label {default!r} is never an answer; some are {listing(sorted(given)[:3])}. Write the inputs "
            "again, with the label as the model writes it."
        )


def _leave_out(job: Job, reading: Reading, partial: bool) -> None:
    """Leave out the examples of which an input has no answer, whether their own answers need it or not.

    Raises:
        HeedfulError: Nobody asked for that, no example is left, or examples that an evaluation brings lack an answer.
    """
    if not partial:
        raise ModelError(f"{reading.missing}. Have them answered, or score the others with partial.")
    pool = _pool(job)
    is_whole: np.ndarray = np.ones(len(pool), dtype=bool)
    for some in _needed(job):
        places = reading.distinct.places(reading.form.keys(job.model, some.examples))
        is_missing = np.logical_not(reading.is_answered[places])
        if some.examples.pool is pool:
            is_whole[some.bases[is_missing]] = False
        elif is_missing.any():
            raise ModelError(
                f"{int(is_missing.sum()):,} inputs of other examples than those of {job.data.name} have no answer. "
                "Have them answered; partial does not leave these out."
            )
    left = int(np.logical_not(is_whole).sum())
    if left == len(pool):
        raise DataError(f"{reading.missing}, and each example lacks one. Answer more.")
    rank_zero_info(f"{reading.missing}: {left:,} of {len(pool):,} examples are left out, and all numbers flagged.")
    job.data.evaluated_only = np.flatnonzero(is_whole)
    model: Any = job.model
    model.unanswered = reading.unanswered
