"""Show examples on a page as cards. Rows hold only predictions, so examples.json stores the parts of examples."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from heedful.records import printable
from heedful.records.storage.files import read_json, write_json
from heedful.records.storage.results import read_results
from heedful.reports.page.about import texts
from heedful.reports.page.contents import UNKNOWN, Contents, Provider
from heedful.reports.page.sample import Sample, sampled
from heedful.reports.runs import Run

FILE = "examples.json"
LARGEST = 2_200_000  # bytes; size of examples.json
BATCH = 40  # examples per call of a provider
OUTCOMES = {1.0: "as expected", 0.0: "not as expected"}  # by verdict
KEY = ("evaluation", "uid", "intervention", "part", "variant", "draw")


def key_of(entry: Mapping[str, Any]) -> list[Any]:
    """Return the values that identify a row (a dictionary) in its run: evaluation, uid, change and draw."""
    return [entry[name] for name in KEY]


def write_examples(folder: Path, provider: Provider) -> None:
    """Write examples.json: the contents of the examples that a page shows, up to about :data:`LARGEST` bytes.

    Args:
        folder: Folder of the results.
        provider: A function that returns the contents of rows.
    """
    run = Run(str(folder), read_results(folder))
    rows = sampled(run.rows, run.results["seed"]).rows
    examples: list[list[Any]] = []
    room = LARGEST
    for entries in (rows[start : start + BATCH] for start in range(0, len(rows), BATCH)):
        for entry, contents in zip(entries, provider(entries), strict=True):
            examples.append([key_of(entry), *contents])
            room -= len(json.dumps(examples[-1], ensure_ascii=False).encode("utf-8", "backslashreplace"))
        if room < 0:
            break
    write_json(folder / FILE, {"rows": run.results["rows"], "examples": examples})


def _read_examples(run: Run) -> dict[str, Contents]:
    """Read examples.json: the contents of examples by the key of their row; empty if the file belongs to other rows."""
    path = Path(run.folder) / FILE
    content = read_json(path) if path.is_file() else {}
    if content.get("rows") != run.results["rows"]:
        return {}
    return {json.dumps(key): Contents(parts, missing) for key, parts, missing in content["examples"]}


def cards(run: Run, sample: Sample, room: int, html: Callable[..., str]) -> list[tuple[int, str]]:
    """Render sampled rows as cards (boxes with one example each), up to a number of bytes.

    Args:
        run: The run.
        sample: The sampled rows.
        room: Largest number of bytes.
        html: Renders a card from an example and its facets, the values by which readers filter cards.

    Returns:
        Pairs of a rank and the HTML of a card. Cards with a low rank come first on the page: changed examples before
        unchanged ones, and among them unexpected predictions first.
    """
    contents = _read_examples(run)
    ranked: list[tuple[int, str]] = []
    for entry in sample.rows:
        example = _card_variables(run, entry, contents.get(json.dumps(key_of(entry)), Contents([], UNKNOWN)))
        card = html(example=example, facets=json.dumps(_facets(run, example), ensure_ascii=False))
        room -= len(card.encode("utf-8", "backslashreplace"))
        if room < 0:
            break
        ranked.append((3 * (example["y2"] is None) + (True, None, False).index(example["finding"]), card))
    return ranked


def _facets(run: Run, example: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the values by which readers of a page filter the cards, by facet, such as "evaluation" or "gold label"."""
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


def _card_variables(run: Run, entry: Mapping[str, Any], contents: Contents) -> dict[str, Any]:
    """Return the variables of the template that renders a card of a sampled row (``entry``).

    "p" is the probability of the prediction before the change, and "moved" the change of this probability; both are
    None without probabilities.
    """
    is_base = entry["intervention"] == "base"
    kind = run.contexts[entry["evaluation"]].kind
    gold = entry["gold" if is_base else "gold2"]
    verdict = entry["verdict"]
    if is_base:
        outcome = "as it is" if verdict is None else {1.0: "right", 0.0: "wrong"}.get(verdict, "partly right")
    else:
        kept = "prediction changed" if entry["changed"] else "prediction kept"
        outcome = ", ".join([kept, *filter(None, [OUTCOMES.get(verdict)])])
    return {
        "run": run.label,
        "evaluation": entry["evaluation"],
        "change": change_of(entry),
        "part": "" if is_base else entry["part"].replace("+", " and "),
        "uid": entry["uid"],
        "partner": entry["partner"] or "",
        "gold": None if gold is None else kind.display_gold(gold),
        "y": _answer(entry["y"]),
        "y2": None if is_base else _answer(entry["y2"]),
        "outcome": outcome,
        "finding": {0.0: True, 1.0: False}.get(verdict),
        "p": entry["p"],
        "moved": None if entry["moved"] is None else round(entry["moved"], 4),
        "unread": bool(entry["unread"]),
        "slices": entry["slices"],
        "parts": contents.parts,
        "missing": contents.missing,
    }


def change_of(entry: Mapping[str, Any]) -> str:
    """Describe in words the change of a row, given as a dictionary.

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
