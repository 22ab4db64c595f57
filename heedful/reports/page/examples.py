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
from heedful.reports.page.sample import Sample, sampled, swaps_to_judge
from heedful.reports.runs import ATTENTIVENESS, Run

FILE = "examples.json"
LARGEST, FOR_SHEETS = 2_200_000, 1_500_000  # bytes of examples.json for pages, and for sheets
BATCH = 40  # examples per call of a provider
NO_ANSWER = "(no answer)"
OUTCOMES = {1.0: ", as expected", 0.0: ", not as expected", None: ""}  # of a change, by verdict
BASE_OUTCOMES = {1.0: "right", 0.0: "wrong", None: "as it is"}
KEY = ("evaluation", "uid", "intervention", "part", "variant", "draw")


def key_of(entry: Mapping[str, Any]) -> str:
    """Return the values that identify a row (a dictionary) in its run: evaluation, uid, change and draw, as JSON."""
    return json.dumps([entry[name] for name in KEY])


def write_examples(folder: Path, provider: Provider) -> None:
    """Write examples.json: the contents of the examples that a page shows, and of the swaps that a sheet shows."""
    run = Run(str(folder), read_results(folder))
    wanted = [(sampled(run.rows, run.results["seed"]).rows, LARGEST)]
    if ATTENTIVENESS in run.rows:
        wanted.append((swaps_to_judge(run.rows[ATTENTIVENESS][0], run.contexts[ATTENTIVENESS]), FOR_SHEETS))
    examples: dict[str, list[Any]] = {}
    for rows, room in wanted:
        for start in range(0, len(rows), BATCH):
            entries = [entry for entry in rows[start : start + BATCH] if key_of(entry) not in examples]
            for entry, contents in zip(entries, provider(entries), strict=True):
                examples[key_of(entry)] = example = [json.loads(key_of(entry)), *contents]
                room -= len(json.dumps(example, ensure_ascii=False).encode("utf-8", "backslashreplace"))
            if room < 0:
                break
    write_json(folder / FILE, {"rows": run.results["rows"], "examples": list(examples.values())})


def read_examples(run: Run) -> Callable[[Mapping[str, Any]], Contents]:
    """Read examples.json, and return a function from a row to its contents, which the file may lack."""
    path = Path(run.folder) / FILE
    content = read_json(path) if path.is_file() else {}
    is_of_run = content.get("rows") == run.results["rows"]
    contents = {json.dumps(key): Contents(*fields) for key, *fields in (content["examples"] if is_of_run else ())}
    return lambda entry: contents.get(key_of(entry), Contents([], UNKNOWN))


def cards(run: Run, sample: Sample, room: int, html: Callable[..., str]) -> list[tuple[int, str]]:
    """Render sampled rows as cards, up to ``room`` bytes, and return pairs of a rank and HTML. Low ranks come first on
    the page: changed examples, and among them unexpected predictions. ``html`` renders the template of a card.
    """
    contents = read_examples(run)
    ranked: list[tuple[int, str]] = []
    for entry in sample.rows:
        example = _card_variables(run, entry, contents(entry))
        card = html(example=example, facets=json.dumps(_facets(run, example), ensure_ascii=False))
        room -= len(card.encode("utf-8", "backslashreplace"))
        if room < 0:
            break
        ranked.append((3 * (example["y2"] is None) + {0.0: 0, 1.0: 2}.get(entry["verdict"], 1), card))
    return ranked


def _facets(run: Run, example: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the values for the filters of a card, by facet."""
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
    """Return the variables of the template of a card, for a sampled row."""
    is_base = entry["intervention"] == "base"
    kind = run.contexts[entry["evaluation"]].kind
    gold = entry["gold" if is_base else "gold2"]
    outcome = f"prediction {'changed' if entry['changed'] else 'kept'}{OUTCOMES.get(entry['verdict'], '')}"
    return {
        **entry,
        **contents._asdict(),
        "run": run.label,
        "change": change_of(entry),
        "part": "" if is_base else entry["part"].replace("+", " and "),
        "gold": None if gold is None else kind.display_gold(gold),
        "y": entry["y"] or NO_ANSWER,
        "y2": None if is_base else entry["y2"] or NO_ANSWER,
        "outcome": BASE_OUTCOMES.get(entry["verdict"], "partly right") if is_base else outcome,
        "moved": None if entry["moved"] is None else round(entry["moved"], 4),
    }


def change_of(entry: Mapping[str, Any]) -> str:
    """Describe in words the change of a row, given as a dictionary.

    Example:
        >>> change_of({"intervention": "delete", "part": "table", "variant": "Born"})
        'delete Born'
    """
    words = {name: entry[name].replace("+", " and ") for name in ("intervention", "part", "variant")}
    return texts("changes").get(entry["intervention"], "{intervention} {variant}").format(**words).strip()
