"""The folder of a card: the exported model with README.md, results.json and report.html, and nothing of the machine."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from heedful.records import RunError, writing
from heedful.records.storage.files import as_json, read_json
from heedful.records.storage.results import BACKBONE, CONFIG, RESULTS, results_text
from heedful.records.storage.yaml_files import read_yaml
from heedful.reports.card.source import Source
from heedful.reports.card.text import card_of
from heedful.reports.page.writing import REPORT, write_page

CONFIGS = ("config.json", "tokenizer_config.json", "generation_config.json", "preprocessor_config.json")
PLACE = re.compile(r"(/|~/|[A-Za-z]:[\\/])[^/\\]+[/\\].+")  # a path from the root of a machine
TEXTS = ("no_answers", "one_text")  # counts that quote what a model wrote


def write_card(folder: str | Path, to: str | Path, name: str | None = None, examples: bool = False) -> Path:
    """Write the folder of a card.

    Args:
        folder: Of a run, or of an evaluation of one.
        to: The folder to write, which is not there yet.
        name: USER/NAME on the hub; None of a folder that is not uploaded.
        examples: With examples of the data, and what the model wrote.

    Raises:
        HeedfulError: As of :meth:`Source.read`; or something is there already.
    """
    source = Source.read(folder)
    to = Path(to)
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise RunError(f"output {to} holds something already. Name another folder.")
    path = source.folder / CONFIG
    saved = read_yaml(str(path), str(path))
    with writing(to):
        to.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=to.parent, prefix=".card.") as temporary:
            made = Path(temporary) / "card"
            _copy(source.run / BACKBONE, made)
            results = source.results if examples else _without_texts(source.results)
            (made / RESULTS).write_text(results_text(results, results["rows"]), encoding="utf-8")
            card_of(source, name, saved).save(made / "README.md")
            write_page([source.folder], made / REPORT, examples=examples)
            made.replace(to)
    return to


def _copy(exported: Path, to: Path) -> None:
    """The files of an exported model; configs lose the places that they name."""
    shutil.copytree(exported, to, ignore=lambda _, names: [name for name in names if name.startswith(".")])
    for name in CONFIGS:
        file = to / name
        if file.is_file() and (clean := without_path_entries(before := read_json(file))) != before:
            file.write_text(as_json(clean), encoding="utf-8")


def without_path_entries(value: Any) -> Any:
    """A config without entries that are a path from the root of a machine.

    Example:
        >>> without_path_entries({"_name_or_path": "/home/someone/bert", "unk_token": "/", "sizes": [1, 2]})
        {'unk_token': '/', 'sizes': [1, 2]}
    """
    if isinstance(value, Mapping):
        return {key: without_path_entries(inner) for key, inner in value.items() if not _is_place(inner)}
    return (
        [without_path_entries(inner) for inner in value if not _is_place(inner)] if isinstance(value, list) else value
    )


def _is_place(value: Any) -> bool:
    return isinstance(value, str) and PLACE.fullmatch(value) is not None


def _without_texts(results: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: count for key, count in results["counts"].items() if PurePosixPath(key).name not in TEXTS}
    return {**results, "counts": kept}
