"""The examples of a page: an evaluation writes what they hold into examples.json, beside its rows."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from heedful.records import printable
from heedful.records.storage.files import read_json, write_json
from heedful.records.storage.results import read_evaluation, read_results
from heedful.reports.page.contents import UNKNOWN, Contents, Provider
from heedful.reports.page.run import Run
from heedful.reports.page.sample import Sample, sampled

FILE = "examples.json"
LARGEST = 2_200_000  # bytes of what the examples of a run hold
BATCH = 40  # examples whose contents are asked for at a time
NAMES = {
    "swap": "{part} of another example",
    "keep": "{variant} alone",
    "null": "asked again",
    "base": "as it is",
    "I0": "another context, which changes the label",  # of natural logic
    "I1": "other words, which change the label",
    "I2": "another context, which keeps the label",
    "I3": "other words, which keep the label",
}
SHOULD_CHANGE = {"attentiveness": True, "I0": True, "I1": True} | dict.fromkeys(
    ("default_label", "I2", "I3", "null", "base"), False
)  # evaluation or intervention to whether a prediction should change, or be wrong
KEY = ("evaluation", "uid", "intervention", "part", "variant", "draw")


def key_of(entry: Mapping[str, Any]) -> list[Any]:
    """Identifies a row among those of a run."""
    return [entry[name] for name in KEY]


def write_examples(folder: Path, provider: Provider) -> None:
    """Write what the examples hold that a page about these results shows, as many as there is room for.

    Args:
        folder: Of the results.
        provider: Says what rows are about.
    """
    results = read_results(folder)
    read = {name: read_evaluation(folder, name) for name in results["rows"]}
    rows = sampled({name: found for name, found in read.items() if found is not None}, results["seed"]).rows
    found: list[list[Any]] = []
    room = LARGEST
    for entries in (rows[start : start + BATCH] for start in range(0, len(rows), BATCH)):
        for entry, contents in zip(entries, provider(entries), strict=True):
            found.append([key_of(entry), *contents])
            room -= len(json.dumps(found[-1], ensure_ascii=False).encode("utf-8", "backslashreplace"))
        if room < 0:
            break
    write_json(folder / FILE, {"rows": results["rows"], "examples": found})


def _read_examples(run: Run) -> dict[str, Contents]:
    """What is known of the examples of a run, by the key of their row; nothing of other rows than those of the run."""
    path = run.folder / FILE
    known = read_json(path) if path.is_file() else {}
    if known.get("rows") != run.results["rows"]:
        return {}
    return {json.dumps(key): Contents(parts, missing) for key, parts, missing in known["examples"]}


def shown(run: Run, sample: Sample, room: int, html: Callable[..., str]) -> list[tuple[int, str]]:
    """The cards of a sample, until there is no room: (rank, HTML) each. Findings have the lowest rank.

    Args:
        run: The run.
        sample: Which rows.
        room: How many bytes they may have.
        html: Renders a card from an example and its facets.
    """
    known = _read_examples(run)
    found: list[tuple[int, str]] = []
    for entry in sample.rows:
        example = _example(run, entry, known.get(json.dumps(key_of(entry)), Contents([], UNKNOWN)))
        card = html(example=example, facets=json.dumps(_facets(run, example), ensure_ascii=False))
        room -= len(card.encode("utf-8", "backslashreplace"))
        if room < 0:
            break
        found.append((3 * (example["y2"] is None) + (True, None, False).index(example["finding"]), card))
    return found


def _facets(run: Run, example: Mapping[str, Any]) -> dict[str, list[str]]:
    """The filters of the page: filter name to the values of an example."""
    facets = {
        "run": [run.name],
        "evaluation": [example["evaluation"].replace("_", " ")],
        "part": [example["part"] or "(unchanged)"],
        "gold label": [example["gold"]],
        "prediction before": [example["y"]],
        "prediction after": [example["y2"]],
        "outcome": [example["outcome"]],
        "slice": example["slices"],
    }
    return {name: [printable(value) for value in values if value is not None] for name, values in facets.items()}


def _is_finding(entry: Mapping[str, Any]) -> bool | None:
    """Whether a prediction is a failure: kept where it should change, changed where it should stay, or wrong.

    None where that depends on more than whether it changed.
    """
    should_change = SHOULD_CHANGE.get(entry["evaluation"], SHOULD_CHANGE.get(entry["intervention"]))
    return None if should_change is None else bool(entry["changed"]) != should_change


def _example(run: Run, entry: Mapping[str, Any], contents: Contents) -> dict[str, Any]:
    """One example, with the contents in the order in which the model reads them.

    ``p`` is the probability of the answer before the change, None where there is none.
    """
    is_base = entry["intervention"] == "base"
    kind = run.contexts[entry["evaluation"]].kind
    gold = None if entry["gold"] is None else kind.display_gold(entry["gold"])
    return {
        "run": run.name,
        "evaluation": entry["evaluation"],
        "change": change_of(entry),
        "part": "" if is_base else entry["part"].replace("+", " and "),
        "uid": entry["uid"],
        "partner": entry["partner"] or "",
        "gold": gold,
        "y": _answer(entry["y"]),
        "y2": None if is_base else _answer(entry["y2"]),
        "outcome": _outcome(is_base, gold, entry["changed"]),
        "finding": _is_finding(entry),
        "p": entry["p"],
        "moved": _rounded(entry["moved"]),
        "unread": bool(entry["unread"]),
        "slices": entry["slices"],
        "parts": contents.parts,
        "missing": contents.missing,
    }


def change_of(entry: Mapping[str, Any]) -> str:
    """A change in words.

    Example:
        >>> change_of({"intervention": "swap", "part": "premise", "variant": ""})
        'premise of another example'
        >>> change_of({"intervention": "delete", "part": "table", "variant": "Born"})
        'delete Born'
        >>> change_of({"intervention": "I3", "part": "premise+hypothesis", "variant": "dog|animal"})
        'other words, which keep the label'
    """
    told = NAMES.get(entry["intervention"], "{intervention} {variant}")
    words = {name: entry[name].replace("+", " and ") for name in ("intervention", "part", "variant")}
    return told.format(**words).strip()


def _outcome(is_base: bool, gold: str | None, changed: bool) -> str:
    """What became of the prediction of an example."""
    if not is_base:
        return "prediction changed" if changed else "prediction kept"
    return "as it is" if gold is None else "wrong" if changed else "right"


def _answer(answer: str | None) -> str | None:
    return "(no answer)" if answer == "" else answer


def _rounded(p: float | None) -> float | None:
    return None if p is None else round(p, 4)
