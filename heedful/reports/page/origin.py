"""Describe on a page how results were produced: command, settings, hashes and versions, without local paths."""

import os
import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from heedful.metrics.attentiveness import DEFAULT_UNSEEN
from heedful.records import printable
from heedful.records.storage.results import CONFIG, RESULTS, file_hash, folder_name
from heedful.records.storage.yaml_files import read_yaml
from heedful.reports.page.about import texts
from heedful.reports.runs import PLAIN, Run

# Absolute paths, and paths that begin with "~" or ".."
PLACES = re.compile(r"(?<![\w.:/-])(?:~|\.\.|/)[^\s'\",;:\[\]{}()]*/[^\s'\",;:\[\]{}()]*")
REPEATABLE = re.compile(r"(python (train|evaluate)\.py|heedful (train|evaluate))(?!\S)")  # commands with a --config
HIDDEN = {"partners_real"}  # counts that a page omits
QUOTES = ("no_answers", "one_text", DEFAULT_UNSEEN)  # counts that quote answers of the model


def without_places(text: str) -> str:
    """Shorten paths in a text: paths in the working folder become relative, others keep only their last component.

    Example:
        >>> without_places("read /srv/someone/data/mnli and ../else/rows.csv, not runs/a")
        'read mnli and rows.csv, not runs/a'
    """
    return PLACES.sub(lambda match: _last(match[0]), text.replace(f"{Path.cwd()}{os.sep}", ""))


def without_model_texts(results: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of results.json without counts that quote texts of the model."""
    counts = {name: n for name, n in results["counts"].items() if PurePosixPath(name).name not in QUOTES}
    return {**results, "counts": counts}


def _last(path: str) -> str:
    return next((name for name in reversed(PurePosixPath(path).parts) if name not in ("/", "~", "..", ".")), path)


def summary(run: Run) -> str:
    """Return one sentence on the model, the training, the data and the seeds of a run."""
    identity = run.identity
    training = "the model was not trained here"
    if identity.get("trained"):
        regime = "" if run.regime == PLAIN else f" ({run.regime})"
        steps = f", {identity['steps']:,} training steps" if identity.get("steps") else ""
        training = f"trained on {identity.get('trained_on')}{regime} with seed {run.seed}{steps}"
    n = run.results["counts"].get("examples")
    examples = f"{n:,} examples of " if n else ""
    model = f"{run.model}: {training}; " if identity else ""
    return f"{model}evaluated on {examples}{run.data}, {run.split}, with seed {run.results['seed']}."


def origin_of(run: Run) -> dict[str, Any]:
    """Return how the results of a run were produced: two command lines ("" for unknown), and pairs of name and text."""
    program, *words = [str(word) for word in run.about.get("command", [])] or [""]
    program = f"python {program}" if program.endswith(".py") else program
    command = " ".join([program, *(shlex.quote(without_places(word)) for word in words)])
    match = REPEATABLE.match(command) if (Path(run.folder) / CONFIG).is_file() else None
    again = f"{match[0]} --config {CONFIG}" if match else ""
    facts = [(name, without_places(text)) for name, text in _facts(run)]
    counts = list(_counts(run.results["counts"], ""))
    return {"command": command, "again": again, "facts": facts, "counts": counts}


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    """Yield a name and a text for each setting, seed, hash and version of a run."""
    results, about = run.results, run.about
    yield "data", f"{run.data}, {run.split}"
    yield from _settings(Path(run.folder) / CONFIG)
    yield "seed", f"{results['seed']} of the evaluation; {run.seed} of the model"
    if weights := run.identity.get("weights"):
        yield "weights, sha256", str(weights)
    for name, (_, metadata) in run.rows.items():
        yield f"changes of {name}, sha256", str(metadata["manifest"])
    for name, sha256 in results["rows"].items():
        yield f"rows of {name}, sha256", str(sha256)
    yield f"{RESULTS}, sha256", file_hash(Path(run.folder) / RESULTS)
    if packages := about.get("packages"):
        yield "versions", ", ".join(f"{name} {version}" for name, version in packages.items())
    for name in ("python", "accelerator", "precision", "processes", "threads", "started"):
        if name in about:
            yield name, str(about[name])


def _settings(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the settings of data and model in config.yaml as pairs (name, text); empty settings are left out."""
    saved = read_yaml(str(path), str(path)) if path.is_file() else {}
    for kind in ("data", "model"):
        content = saved.get(kind)
        settings = (content.get("init_args") if isinstance(content, Mapping) else None) or {}
        words = [
            f"{name}: {textwrap.shorten(str(value), 120, placeholder=' …')}"
            for name, value in settings.items()
            if value not in (None, [], {})
        ]
        if words:
            yield f"settings of the {kind}", "; ".join(words)


def _counts(counts: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    """Yield a name and a text for each count of examples; ``prefix``, such as the evaluation, begins the names."""
    for name, value in counts.items():
        *places, last = PurePosixPath(name).parts
        where = ", ".join(filter(None, [prefix, *places]))
        if isinstance(value, Mapping) and last != "tokens_kept":
            yield from _counts(value, ", ".join(filter(None, [where, last])))
        elif isinstance(value, int) and not isinstance(value, bool) and value and last not in HIDDEN:
            text = texts("counts").get(last, last.replace("_", " "))
            yield f"{where}: {text}" if where else text, f"{value:,}"


def name_of(run: Run) -> str:
    """Return the label of a run, without paths of the machine."""
    label = f"{run.label}, {run.partial} alone" if run.partial else run.label
    backbone = str(run.kind.get("backbone", ""))
    if without_places(backbone) != backbone:
        label = label.replace(folder_name(backbone).lower(), folder_name(_last(backbone)).lower())
    return printable(without_places(label))
