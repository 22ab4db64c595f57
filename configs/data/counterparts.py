"""Convert published files of edited examples to JSON lines, for the YAML files in this folder.

    python -m heedful.configs.data.counterparts NAME PATH OUTPUT

NAME is boolq, matres, conflictqa or rgb; PATH is the published file, or for matres the folder; OUTPUT is a .jsonl file.
"""

import csv
import json
import re
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

Row = dict[str, Any]
RELATIONS = ("BEFORE", "AFTER", "EQUAL", "VAGUE")  # in the order of the published predictions
EVENT = r"<span style='color:{};'><strong>(.*?)\s*</strong></span>"


def boolq(path: Path) -> Iterator[Row]:
    """Gardner et al. (2020): questions with edited questions about the same passage. The first entry is a template."""
    for i, entry in enumerate(json.loads(path.read_text())["data"][1:], 1):
        row = {"id": str(i), "passage": entry["paragraph"], "question": entry["question"], "label": entry["answer"]}
        yield row | {"original": ""}
        for k, edit in enumerate(entry["perturbed_questions"], 1):
            new = {"id": f"{i}-{k}", "question": edit["perturbed_q"], "label": edit["answer"], "original": str(i)}
            yield row | new


def matres(folder: Path) -> Iterator[Row]:
    """Gardner et al. (2020): which of two events is first. ``published`` is the prediction of the paper's model."""
    with open(folder / "Platinum_subset_minimal_pairs.csv", newline="") as file:
        every = list(csv.DictReader(file))
    rows = [row for row in every if row["modified bodygraph"]]
    print(f"{len(every) - len(rows)} of {len(every)} rows without an edit are left out.", file=sys.stderr)
    numbers = dict.fromkeys(row["_unit_id"] for row in rows)
    published = {which: _predictions(folder / f"proposed_elmo_lr0.001.{which}.output") for which in EDITIONS}
    for number in numbers:
        original, *_ = edits = [row for row in rows if row["_unit_id"] == number]
        text, label = original["bodygraph"], original["decision"]
        yield _event(number, text, label, "", None, published["original"])
        for k, row in enumerate(edits, 1):
            text, label, kind = row["modified bodygraph"], row["new decision"], row["reason"].strip()
            kind = "several" if re.search("[,+/]", kind) else kind if kind in KINDS or not kind else "other"
            yield _event(f"{number}-{k}", text, label, number, kind, published["perturbed"])


EDITIONS = ("original", "perturbed")
KINDS = ("appearance order", "tense", "indicator", "verb change", "sentence order")


def _predictions(path: Path) -> dict[str, str]:
    """Map row ids to predicted relations; empty if there is no such file."""
    if not path.exists():
        return {}
    numbers: dict[str, count] = {}
    predicted = {}
    for unit, _, index, *_ in csv.reader(path.read_text().splitlines()):
        number = next(numbers.setdefault(unit, count(1)))
        predicted[unit if "original" in path.name else f"{unit}-{number}"] = RELATIONS[int(index)]
    return predicted


def _event(number: str, text: str, label: str, original: str, kind: str | None, published: dict[str, str]) -> Row:
    for tag, color in (("e1", "red"), ("e2", "blue")):
        text = re.sub(EVENT.format(color), rf"<{tag}>\1</{tag}> ", text)
    text = " ".join(re.sub("</?p>", " ", text).split())
    row = {"id": number, "text": text, "label": label.strip(), "original": original, "kind": kind}
    return row | {"published": published.get(number)}


def conflictqa(path: Path) -> Iterator[Row]:
    """Xie et al. (2024): a question with a passage for each of two contrary answers."""
    left_out = 0
    for i, line in enumerate(path.read_text().splitlines(), 1):
        entry = json.loads(line)
        if entry["memory_answer"] == entry["counter_answer"]:
            left_out += 1
            continue
        row = {"id": i, "question": entry["question"], "passage": entry["parametric_memory"], "label": "memory"}
        row |= {"other_passage": entry["counter_memory"], "other_label": "counter"}
        yield row | {"memory": entry["memory_answer"], "counter": entry["counter_answer"]}
    print(f"{left_out} rows with two equal answers are left out.", file=sys.stderr)


def rgb(path: Path) -> Iterator[Row]:
    """Chen et al. (2024): a question with passages that have the answer, and with passages that have a false one."""
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        nested = entry["answer"] if isinstance(entry["answer"], list) else [[entry["answer"]]]
        answers = [text for names in nested for text in (names if isinstance(names, list) else [names])]
        row = {"id": entry["id"], "question": entry["query"], "answers": answers}
        row |= {"passages": "\n".join(entry["positive"]), "false_passages": "\n".join(entry["positive_wrong"])}
        yield row | {"false_answers": [entry["fakeanswer"]]}


CONVERTERS = {convert.__name__: convert for convert in (boolq, matres, conflictqa, rgb)}

if __name__ == "__main__":
    name, source, output = sys.argv[1:]
    Path(output).write_text("".join(f"{json.dumps(row)}\n" for row in CONVERTERS[name](Path(source))))
