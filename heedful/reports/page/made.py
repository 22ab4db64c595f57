"""How the results of a page were made, without telling where or by whom."""

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from heedful.records import printable
from heedful.records.storage.folder_names import folder_name
from heedful.records.storage.results import CONFIG, RESULTS, file_hash
from heedful.records.storage.yaml_files import read_yaml
from heedful.reports.page.run import Run
from heedful.reports.runs import Measured

PLACES = re.compile(r"(?<![\w.:/-])(?:~|\.\.|/)[^\s'\",;:\[\]{}()]*/[^\s'\",;:\[\]{}()]*")  # paths that lead elsewhere
COUNTS = {  # of results.json, in words
    "examples": "examples that were predicted",
    "not_predicted": "examples that were not predicted",
    "dropped_no_gold": "rows without a gold label, left out",
    "unlabelled": "examples without gold labels",
    "truncated": "examples that are longer than the model reads",
    "shortened": "tables of which rows were left out",
    "no_label": "answers that are not labels",
    "repeats": "examples that repeat others",
    "trained_on": "examples that the model was trained on",
    "eligible": "predictions that count",
    "swapped": "examples that were changed",
    "partners_excluded": "pairs of an example and a partner that is related to it, left out",
    "partners_eligible": "pairs of an example and a partner that may lend",
    "identical": "changed inputs that were the same as others to the model",
}
SCRIPTS = ("train.py", "evaluate.py")
QUIET = {"partners_real"}  # counts that add nothing here


@dataclass(frozen=True)
class Made:
    """How results were made.

    Attributes:
        command: The command line that was typed.
        again: One that repeats it, from the configuration in the folder.
        facts: What it was made with and of: a name and a text each.
        counts: What was counted, and left out: a text and a number each.
    """

    command: str
    again: str
    facts: list[tuple[str, str]]
    counts: list[tuple[str, str]]


def without_places(text: str) -> str:
    """A text in which paths that lead elsewhere are their last names alone; those in the working folder are relative.

    Example:
        >>> without_places("read /srv/someone/data/mnli and ../else/rows.csv, not runs/a")
        'read mnli and rows.csv, not runs/a'
    """
    here = f"{Path.cwd()}{os.sep}"
    return PLACES.sub(lambda found: _last(found[0]), text.replace(here, ""))


def _last(path: str) -> str:
    return next((name for name in reversed(PurePosixPath(path).parts) if name not in ("/", "~", "..", ".")), path)


def made_of(run: Run) -> Made:
    """How the results of a run were made."""
    words = [str(word) for word in run.about.get("command", [])]
    start = words[0] if words else ""
    program = f"python {start}" if start.endswith(".py") else start
    typed = " ".join([program, *(shlex.quote(without_places(word)) for word in words[1:])]).strip()
    repeated = [program] if start in SCRIPTS else words[:2]
    is_known = start in SCRIPTS or (start == "heedful" and words[1:2] in (["train"], ["evaluate"]))
    again = f"{' '.join(repeated)} --config {CONFIG}" if is_known and (run.folder / CONFIG).is_file() else ""
    counts = [*_counts(run.results["counts"], "")]
    return Made(typed, again, [(name, without_places(text)) for name, text in _facts(run)], counts)


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    """What results were made of, with hashes, and what they were made with."""
    results = run.results
    yield "data", f"{results['data']}, {results['split']}"
    yield from _settings(run)
    yield "seed", f"{results['seed']} of the evaluation; {run.measured.seed} of the model"
    if weights := run.measured.identity.get("weights"):
        yield "weights, sha256", str(weights)
    for name, (_, metadata) in run.rows.items():
        yield f"changes of {name}, sha256", str(metadata["manifest"])
    for name, sha256 in results["rows"].items():
        yield f"rows of {name}, sha256", str(sha256)
    yield f"{RESULTS}, sha256", file_hash(run.folder / RESULTS)
    yield from _machine(run.about)


def _machine(about: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What kind of machine it was, and with which versions; not which one, nor whose."""
    if packages := about.get("packages"):
        yield "versions", ", ".join(f"{name} {version}" for name, version in packages.items())
    for name in ("python", "accelerator", "precision", "processes", "threads", "started"):
        if name in about:
            yield name, str(about[name])


def _settings(run: Run) -> Iterator[tuple[str, str]]:
    """The settings of data and model that config.yaml names, but for those that are not set."""
    path = run.folder / CONFIG
    saved = read_yaml(str(path), str(path)) if path.is_file() else {}
    for kind in ("data", "model"):
        settings = (saved.get(kind) or {}).get("init_args") if isinstance(saved.get(kind), Mapping) else None
        told = [f"{name}: {_brief(value)}" for name, value in (settings or {}).items() if value not in (None, [], {})]
        if told:
            yield f"settings of the {kind}", "; ".join(told)


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 120 else f"{text[:120]} …"


def _counts(counts: Mapping[str, Any], of: str) -> Iterator[tuple[str, str]]:
    """What was counted, in words; of each evaluation what is its own."""
    for name, value in counts.items():
        *places, last = PurePosixPath(name).parts
        where = ", ".join([*([of] if of else []), *places])
        if isinstance(value, Mapping) and last != "tokens_kept":
            yield from _counts(value, ", ".join(text for text in (where, last) if text))
        elif isinstance(value, int) and not isinstance(value, bool) and value and last not in QUIET:
            told = COUNTS.get(last, last.replace("_", " "))
            yield f"{where}: {told}" if where else told, f"{value:,}"


def name_of(run: Measured) -> str:
    """What a page calls a run: no path of this machine, not in the form of a folder's name either."""
    label = f"{run.label}, {run.partial} alone" if run.partial else run.label
    backbone = str(run.kind.get("backbone", ""))
    if without_places(backbone) != backbone:
        label = label.replace(folder_name(backbone).lower(), folder_name(_last(backbone)).lower())
    return printable(without_places(label))
