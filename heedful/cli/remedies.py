"""The command that works where a model does not know the labels of the data."""

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from heedful.assembly.job import Job
from heedful.lightning_modules.pretrained.labels import is_two_class
from heedful.records import HeedfulError, is_entailment
from heedful.records.command_lines import start_of

NEGATION = "not_entailment"


@contextmanager
def with_remedy(job: Job) -> Iterator[None]:
    """Where a model that is not trained here does not know the labels of the data, say which command works.

    Args:
        job: The evaluation.

    Raises:
        HeedfulError: The model does not know them.
    """
    try:
        yield
    except HeedfulError as error:
        if error.code != "other-question":
            raise
        data = job.data
        spellings = dict.fromkeys(data.task.labels, ())
        if getattr(data, "columns", None) and data.columns.labels:
            spellings = data.columns.labels
        run = str(Path(job.checkpoint).parents[1]) if job.checkpoint else None
        words = sys.argv[1:]
        told = remedy(words[1:] if words[:1] == ["evaluate"] else words, job.model.answers or (), spellings, run)
        raise HeedfulError(error.code, error.wrong, told) from None


def remedy(
    argv: Sequence[str],
    head: Sequence[str],
    spellings: Mapping[str, Sequence[str | int]],
    checkpoint: str | None,
) -> str:
    """A sentence with a command: to ask the data what the model answers, or to train the model on the data.

    Args:
        argv: What follows evaluate.py.
        head: Names of the outputs of the model.
        spellings: Label of the data to its spellings.
        checkpoint: The run that ``argv`` names, or a checkpoint of it; None for a model that was never trained here.
    """
    if is_two_class(head) and sum(map(is_entailment, spellings)) == 1 and len(spellings) > 2:
        (entailment,) = filter(is_entailment, spellings)
        others = [text for name in spellings if name != entailment for text in (name, *spellings[name])]
        labels = f"{{{entailment}: {_listed(spellings[entailment])}, {NEGATION}: {_listed(others)}}}"
        two = ["--data.labels", labels, "--data.default_label", NEGATION]
        return f"Measure it in two classes ({shlex.join([*start_of('evaluate'), *argv, *two])})."
    groups = ("--data", "--partial") if checkpoint else ("--data", "--partial", "--model")
    source = ["--init_from", checkpoint] if checkpoint else []
    return f"Train it on them ({shlex.join([*start_of('train'), *source, *_flags(argv, groups)])})."


def _listed(texts: Sequence[str | int]) -> str:
    return f"[{', '.join(map(str, texts))}]"


def _flags(argv: Sequence[str], groups: tuple[str, ...]) -> list[str]:
    """The flags of these groups, with their values."""
    flags: list[str] = []
    keeps = False
    for argument in argv:
        if argument.startswith("--"):
            keeps = argument.partition("=")[0].split(".")[0] in groups
        if keeps:
            flags.append(argument)
    return flags
