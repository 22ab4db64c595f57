"""The reference of all settings: docs/settings.md, from the signatures and docstrings that hold them.

``make reference`` writes the page. The text before its first section is written by hand, and stays.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, NamedTuple, get_args

from docstring_parser import parse

import heedful.datamodules
import heedful.lightning_modules
from heedful.assembly.evaluation import evaluate
from heedful.assembly.record import SEED, shown_evaluations
from heedful.assembly.settings import EvaluationSettings, RunSettings, TrainerDefaults, TrainingSettings
from heedful.assembly.training import train
from heedful.callbacks import EVALUATIONS, BestCheckpoint, Evaluation
from heedful.datamodules import PairedData
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import Classifier, Endpoint
from heedful.records.made import plain, settings_of
from heedful.records.storage.named_configs import DEFAULTS

GROUPS = ("trainer", "settings")  # arguments of train() and evaluate() that hold settings of their own
OF_NONE = {**DEFAULTS, "seed": RunSettings.seed}  # what None stands for, where no run and no file say otherwise
HEADER = ("on the command line", "in Python", "default", "meaning")


class Entry(NamedTuple):
    """A setting as the page shows it.

    Attributes:
        setting: Its name, as messages have it.
        python: The setting in Python.
        default: Its default, as config.yaml has it; :data:`inspect.Parameter.empty` of one that is needed.
        meaning: What its docstring says.
    """

    setting: str
    python: str
    default: Any
    meaning: str

    @property
    def row(self) -> str:
        """A row of a table in Markdown."""
        default = "needed" if self.default is inspect.Parameter.empty else f"`{shown(self.default)}`"
        return f"| `--{self.setting}` | `{self.python}` | {default} | {in_markdown(self.meaning)} |"


def shown(value: Any) -> str:
    """A default as YAML has it.

    Examples:
        >>> [shown(value) for value in (None, 2e-5, "test", ["delete", "insert"], "")]
        ['null', '2e-05', 'test', '[delete, insert]', '""']
    """
    if isinstance(value, list):
        return f"[{', '.join(shown(one) for one in value)}]"
    return value if isinstance(value, str) and value else json.dumps(value)


def in_markdown(text: str) -> str:
    """A text of a docstring, in one line of a table."""
    text = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", " ".join(text.split())).replace("``", "`")
    return text.replace("|", r"\|")


def meanings(owner: Any) -> dict[str, str]:
    """Name to meaning of the settings of a class, or of the arguments of a function, as docstrings have them.

    A docstring of Heedful is taken whole, of one of Lightning the first sentence.
    """
    meaning_of: dict[str, str] = {}
    for one in getattr(owner, "__mro__", (owner,)):
        for argument in parse(one.__doc__ or "").params:
            text = " ".join((argument.description or "").split())
            ours = one.__module__.startswith("heedful.")
            meaning_of.setdefault(argument.arg_name, text if ours else re.split(r"(?<=\.)\s", text)[0])
    return meaning_of


def opening(kind: type) -> str:
    """The first line of the docstring of a class."""
    return in_markdown(parse(kind.__doc__ or "").short_description or "")


def of_class(kind: type, place: str, python: str) -> list[Entry]:
    """The settings of a class; those of a data class among them stand there one by one.

    Args:
        kind: The class.
        place: A setting as messages name it, with {} for its own name.
        python: A setting in Python, with {} for its name.
    """
    said = meanings(kind)
    entries = []
    for name, setting in settings_of(kind).items():
        if not is_dataclass(setting.default):
            default = setting.default if setting.is_needed else plain(setting.default)
            entries.append(Entry(place.format(name), python.format(name), default, said[name]))
        of_union = get_args(setting.hint) if isinstance(setting.hint, UnionType) else (setting.hint,)
        for inner in of_union:
            if isinstance(inner, type) and is_dataclass(inner):
                entries += of_class(inner, place.format(f"{name}.{{}}"), mapping(name))
    return entries


def mapping(name: str) -> str:
    """A setting in Python that stands in a mapping, with {} for its name."""
    return f'{name}={{{{"{{}}": ...}}}}'


def of_calls() -> dict[str, list[Entry]]:
    """The arguments of :func:`train` and :func:`evaluate`: of both, of training alone, of evaluation alone."""
    training = _of_call(train, TrainingSettings, "checkpoint")
    evaluation = _of_call(evaluate, EvaluationSettings, "prompt")
    both = [name for name in training if name in evaluation]
    return {
        "Training and evaluation": [training[name] for name in both],
        "Training": [entry for name, entry in training.items() if name not in both],
        "Evaluation": [entry for name, entry in evaluation.items() if name not in both],
    }


def _of_call(function: Callable[..., Any], of_run: type, group: str) -> dict[str, Entry]:
    said = meanings(function) | meanings(of_run)
    entries = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in (*GROUPS, group):
            default = OF_NONE.get(name, parameter.default)
            entries[name] = Entry(f"{SEED if name == 'seed' else name}", name, default, said[name])
    return entries


def of_trainer() -> list[Entry]:
    """The settings of Lightning's Trainer whose defaults are others here."""
    return of_class(TrainerDefaults, "trainer.{}", mapping("trainer"))


def of_evaluations() -> dict[type[Evaluation], list[Entry]]:
    """Each evaluation that a command shows to its settings."""
    return {
        kind: of_class(kind, f"{kind.metric.name}.{{}}", mapping(kind.metric.name))
        for kind in shown_evaluations(evaluating=True)
    }


def of_kinds(room: ModuleType, base: type) -> dict[type, list[Entry]]:
    """Each public class of a room, and each that it is made of, to its settings; those above stand first."""
    public = [vars(room)[name] for name in room.__all__]
    public = [kind for kind in public if isinstance(kind, type) and issubclass(kind, base)]
    kinds = dict.fromkeys(above for kind in public for above in reversed(kind.__mro__) if issubclass(above, base))
    name = "data" if base is PairedData else "model"
    return {kind: of_class(kind, f"{'endpoint' if kind is Endpoint else name}.{{}}", "{}=...") for kind in kinds}


def table(entries: Iterable[Entry]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(HEADER)} |", "|---" * len(HEADER) + "|", *(entry.row for entry in entries)]
    return "\n".join(lines) + "\n"


def of_lineage(kinds: Mapping[type, list[Entry]]) -> Iterator[str]:
    """Sections of classes, each with the settings that the class above it does not have, or has otherwise."""
    for kind, entries in kinds.items():
        above = next((one for one in kind.__mro__[1:] if one in kinds), None)
        inherited = kinds[above] if above is not None else []
        added = [entry for entry in entries if entry not in inherited]
        names = {entry.python for entry in entries}
        lacking = ", ".join(f"`{one.python.partition('=')[0]}`" for one in inherited if one.python not in names)
        like = "" if above is None else f" Settings of `{above.__name__}`{f' but for {lacking}' if lacking else ''}"
        like += "." if like and not added else ", and:" if like else ""
        yield f"### {kind.__name__}\n\n{opening(kind)}{like}\n"
        if added:
            yield table(added)


def sections() -> Iterator[str]:
    """The page behind its first text."""
    calls = of_calls()
    for title in calls:
        yield f"## {title}\n"
        yield table(calls[title])
    yield "## Trainer\n\nSettings of Lightning's Trainer whose defaults are others here than there.\n"
    yield table(of_trainer())
    yield f"## Checkpoints\n\n{opening(BestCheckpoint)} Settings of training alone.\n"
    yield table(of_class(BestCheckpoint, "checkpoint.{}", mapping("checkpoint")))
    yield f"## Prompts\n\n{opening(Prompting)} Settings of evaluation alone.\n"
    yield table(of_class(Prompting, "prompt.{}", mapping("prompt")))
    evaluations = of_evaluations()
    without = ", ".join(f"`{name}`" for name, kind in EVALUATIONS.items() if not evaluations.get(kind))
    yield f"## Evaluations\n\nWithout settings: {without}.\n"
    for kind, entries in evaluations.items():
        if entries:
            when = " Measured while a model trains, too." if kind.in_training else ""
            yield f"### {kind.metric.name}\n\n{opening(kind)}{when}\n"
            yield table(entries)
    yield "## Data\n\nIn Python, arguments of `heedful.load_data` and of the classes themselves.\n"
    yield from of_lineage(of_kinds(heedful.datamodules, PairedData))
    yield "## Models\n\nIn Python, arguments of `heedful.load_model` and of the classes themselves.\n"
    yield from of_lineage(of_kinds(heedful.lightning_modules, Classifier))


def with_tables(page: str) -> str:
    """A page with all that is written by code from its first section on."""
    return "\n".join([page.partition("\n## ")[0], *sections()])


def write_page(path: str = "docs/settings.md") -> None:
    """Write the tables into the page."""
    Path(path).write_text(with_tables(Path(path).read_text()))
