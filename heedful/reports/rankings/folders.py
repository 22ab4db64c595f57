"""Which folders of results are of one OOD set, and what their models are called."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from heedful.records import RunError, SettingError
from heedful.records.storage.folder_names import newest_versions
from heedful.records.storage.results import RESULTS, distinct, read_results, rows_file
from heedful.reports.runs import short_names

EVALUATION = "attributions"


def sets_of(folders: Sequence[str], named: Sequence[str] = ()) -> dict[str, list[str]]:
    """The name of each OOD set to the folders of results on it, one for each model.

    A folder that holds folders of results is a set, called as the folder is. Folders of results themselves are grouped
    by the name of their data, and by their split where there are several.

    Args:
        folders: Folders of results, or folders that hold them.
        named: Further sets, "NAME=FOLDER,FOLDER,...".

    Raises:
        HeedfulError: A folder holds no results, a set is named twice, or a set has fewer than two models.
    """
    sets: dict[str, list[str]] = {}
    for text in named:
        if (of := re.fullmatch("([^=]+)=(.+)", text)) is None:
            raise SettingError(f"--set {text} is not a set. Write NAME=FOLDER,FOLDER,... with a folder for each model.")
        _add(sets, of[1], _below(of[2].split(",")))
    runs = []
    for folder in distinct(folders):
        if (Path(folder) / RESULTS).exists():
            runs.append(folder)
        else:
            _add(sets, Path(folder).resolve().name, _below([folder]))
    for name, below in _by_data(runs).items():
        _add(sets, name, below)
    for name, below in sets.items():
        if len(below) < 2:
            raise RunError(
                f"The set {name} has the results of one model alone: {below[0]}. Name those of two models or more on "
                "the same examples."
            )
    return sets


def names_of(folders: Sequence[str]) -> list[str]:
    """What the models of a set are called: their folders but for what these have in common."""
    return short_names(folders)


def _below(folders: Sequence[str]) -> list[str]:
    """The folders themselves, or those below them that hold attributions, each once."""
    found = []
    for folder in folders:
        files = [] if (Path(folder) / RESULTS).exists() else Path(folder).rglob(str(rows_file("", EVALUATION)))
        below = sorted(map(str, newest_versions([path.parents[1] for path in files])), key=_natural)
        if not below:
            read_results(folder)  # says what is missing
        found += below or [folder]
    return distinct(found)


def unexplained(folders: Sequence[str], sets: Mapping[str, Sequence[str]]) -> list[str]:
    """The folders of results below those that were named which are in no set, since they hold no attributions."""
    taken = {Path(folder) for of_set in sets.values() for folder in of_set}
    named = [Path(folder) for folder in folders if not (Path(folder) / RESULTS).exists()]
    below = {*newest_versions([path.parent for folder in named for path in folder.rglob(RESULTS)])}
    return [str(folder) for folder in sorted(below - taken)]


def _natural(folder: str) -> list[tuple[str, int]]:
    """Sorts numbers in names by their size: step-25 before step-100."""
    return [(text, int(number or 0)) for text, number in re.findall(r"(\D*)(\d*)", folder)]


def _add(sets: dict[str, list[str]], name: str, folders: list[str]) -> None:
    if name in sets:
        raise SettingError(f"Two sets are called {name}: {sets[name][0]}, {folders[0]}. Name them with --set.")
    sets[name] = folders


def _by_data(folders: Sequence[str]) -> dict[str, list[str]]:
    about = {folder: read_results(folder) for folder in folders}
    splits: dict[str, set[str]] = {}
    for results in about.values():
        splits.setdefault(results["data"], set()).add(results["split"])
    sets: dict[str, list[str]] = {}
    for folder, results in about.items():
        data = results["data"]
        sets.setdefault(data if len(splits[data]) == 1 else f"{data} {results['split']}", []).append(folder)
    return sets
