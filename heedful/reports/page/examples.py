"""The examples of a page: an evaluation writes their content into examples.json, next to its rows."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from heedful.records import printable
from heedful.records.storage.files import read_json, write_json
from heedful.records.storage.results import read_evaluation, read_results
from heedful.reports.page.about import texts
from heedful.reports.page.contents import UNKNOWN, Contents, Provider
from heedful.reports.page.sample import Sample, sampled
from heedful.reports.runs import Run

FILE = "examples.json"
LARGEST = 2_200_000  # bytes of the content of the examples of a run
BATCH = 40  # examples of one call of a provider
SHOULD_CHANGE = {"attentiveness": True, "I0": True, "I1": True} | dict.fromkeys(
    ("default_label", "I2", "I3", "null", "base"), False
)  # evaluation or intervention to the expectation; a base prediction "changes" if it is wrong
KEY = ("evaluation", "uid", "intervention", "part", "variant", "draw")


def key_of(entry: Mapping[str, Any]) -> list[Any]:
    """The unique key of a row within a run."""
    return [entry[name] for name in KEY]


def write_examples(folder: Path, provider: Provider) -> None:
    """Write the content of the examples on the page about these results, within a limit of bytes.

    Args:
        folder: Folder of the results.
        provider: Returns the contents of rows.
    """
    results = read_results(folder)
    evaluated = {name: read_evaluation(folder, name) for name in results["rows"]}
    rows = sampled({name: rows for name, rows in evaluated.items() if rows is not None}, results["seed"]).rows
    examples: list[list[Any]] = []
    room = LARGEST
    for entries in (rows[start : start + BATCH] for start in range(0, len(rows), BATCH)):
        for entry, contents in zip(entries, provider(entries), strict=True):
            examples.append([key_of(entry), *contents])
            room -= len(json.dumps(examples[-1], ensure_ascii=False).encode("utf-8", "backslashreplace"))
        if room < 0:
            break
    write_json(folder / FILE, {"rows": results["rows"], "examples": examples})


def _read_examples(run: Run) -> dict[str, Contents]:
    """The contents of examples by the key of their row; empty if examples.json belongs to other rows."""
    path = Path(run.folder) / FILE
    content = read_json(path) if path.is_file() else {}
    if content.get("rows") != run.results["rows"]:
        return {}
    return {json.dumps(key): Contents(parts, missing) for key, parts, missing in content["examples"]}


def cards(run: Run, sample: Sample, room: int, html: Callable[..., str]) -> list[tuple[int, str]]:
    """The cards of a sample within a limit of bytes: (rank, HTML) each; findings have the lowest rank.

    Args:
        run: The run.
        sample: The sample of rows.
        room: Largest number of bytes of the cards.
        html: Renders a card from an example and its facets.
    """
    contents = _read_examples(run)
    ranked: list[tuple[int, str]] = []
    for entry in sample.rows:
        example = _example(run, entry, contents.get(json.dumps(key_of(entry)), Contents([], UNKNOWN)))
        card = html(example=example, facets=json.dumps(_facets(run, example), ensure_ascii=False))
        room -= len(card.encode("utf-8", "backslashreplace"))
        if room < 0:
            break
        ranked.append((3 * (example["y2"] is None) + (True, None, False).index(example["finding"]), card))
    return ranked


def _facets(run: Run, example: Mapping[str, Any]) -> dict[str, list[str]]:
    """The values of an example for each filter of the page."""
    facets = {
        "run": [run.label],
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
    """Whether a prediction contradicts the expectation; None if the expectation depends on more than the change."""
    should_change = SHOULD_CHANGE.get(entry["evaluation"], SHOULD_CHANGE.get(entry["intervention"]))
    return None if should_change is None else bool(entry["changed"]) != should_change


def _example(run: Run, entry: Mapping[str, Any], contents: Contents) -> dict[str, Any]:
    """One example; ``p`` is the probability of the answer before the change, if there is one."""
    is_base = entry["intervention"] == "base"
    kind = run.contexts[entry["evaluation"]].kind
    gold = None if entry["gold"] is None else kind.display_gold(entry["gold"])
    outcome = "prediction changed" if entry["changed"] else "prediction kept"
    if is_base:
        outcome = "as it is" if gold is None else "wrong" if entry["changed"] else "right"
    return {
        "run": run.label,
        "evaluation": entry["evaluation"],
        "change": change_of(entry),
        "part": "" if is_base else entry["part"].replace("+", " and "),
        "uid": entry["uid"],
        "partner": entry["partner"] or "",
        "gold": gold,
        "y": _answer(entry["y"]),
        "y2": None if is_base else _answer(entry["y2"]),
        "outcome": outcome,
        "finding": _is_finding(entry),
        "p": entry["p"],
        "moved": None if entry["moved"] is None else round(entry["moved"], 4),
        "unread": bool(entry["unread"]),
        "slices": entry["slices"],
        "parts": contents.parts,
        "missing": contents.missing,
    }


def change_of(entry: Mapping[str, Any]) -> str:
    """Describe a change in words.

    Example:
        >>> change_of({"intervention": "swap", "part": "premise", "variant": ""})
        'premise of another example'
        >>> change_of({"intervention": "delete", "part": "table", "variant": "Born"})
        'delete Born'
    """
    words = {name: entry[name].replace("+", " and ") for name in ("intervention", "part", "variant")}
    return texts("changes").get(entry["intervention"], "{intervention} {variant}").format(**words).strip()


def _answer(answer: str | None) -> str | None:
    return "(no answer)" if answer == "" else answer
