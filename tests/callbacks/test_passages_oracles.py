"""Attentiveness to passages and distractors of question answering, on models with known answers."""

import json
import re

import numpy as np
import pytest

from heedful.callbacks import Answers, Attentiveness
from heedful.datamodules import Reading
from heedful.records.answers import exact_match

from oracles import ByParts, measure

PARTS = {"passage": "passage", "question": "question", "distractor": "distractor"}
N, ARTICLES = 60, 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Questions where a person lives. The passage names the town, except for every fourth question."""
    folder = tmp_path_factory.mktemp("rag")
    rows = []
    for i in range(N):
        person, town = f"Person{i}", f"Town{i}"
        passage = f"{person} lives in {town} ." if i % 4 else f"Nothing is known of Nobody{i} ."
        row = {"id": str(i), "article": f"a{i % ARTICLES}", "question": f"Where does {person} live ?"}
        row |= {"passage": passage, "distractor": f"Other{i} lives in Place{i} ."}
        rows.append(row | {"answers": [town] if i % 4 else []})
    (folder / "validation.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def rag(folder, **settings):
    settings = {"distractors": ["distractor"]} | settings
    return Reading("rag", PARTS, path=str(folder), uid="id", groups=["article"], **settings)


def asked_for(parts):
    return parts["question"].split()[2]


def town_in(text, person=None):
    found = re.search(rf"{person or '.*'} lives in (\w+)", text)
    return found[1] if found else ""


RULES = {
    "reads all": lambda parts: town_in(parts["passage"], asked_for(parts)),
    "reads any passage": lambda parts: town_in(parts["passage"]),
    "reads the question": lambda parts: f"Town{asked_for(parts)[6:]}",
    "reads the distractor": lambda parts: town_in(parts["distractor"]),
    "is disturbed": lambda parts: (
        town_in(parts["passage"], asked_for(parts)) if int(parts["distractor"].split()[0][5:]) % 3 else "Disturbed"
    ),
}
KNOWN = {  # passage, passage/changed, distractor/kept, exact match
    "reads all": (1, 1, 1, 1),
    "reads the question": (0, 0, 1, 0.75),
    "reads the distractor": (0, 0, 0, 0),
}


@pytest.mark.parametrize("rule", RULES)
def test_every_number_follows_from_the_rows_of_the_file(folder, rule):
    """The changed examples are composed here, and the rule answers them."""
    answer = RULES[rule]
    model = ByParts(lambda **parts: answer(parts))
    engine = measure(model, rag(folder), Answers(), Attentiveness(draws=4))
    numbers = {name: m["value"] for name, m in engine.content["metrics"].items()}
    names = [f"attentiveness/rag/{name}" for name in ("passage", "passage/changed", "distractor/kept")]
    if rule in KNOWN:
        assert tuple(numbers[name] for name in (*names, "exact_match/rag")) == KNOWN[rule]
        assert numbers["attentiveness/rag/distractor/changed"] == 1 - numbers[names[2]]
    assert numbers["null/rag/flips"] == 0
    assert "attentiveness/rag/distractor" not in numbers
    examples = {}
    for line in (folder / "validation.jsonl").read_text().splitlines():
        row = json.loads(line)
        examples[f"rag/validation/{row['id']}"] = row
    base = {uid: answer(row) for uid, row in examples.items()}
    silent = [base[uid] == "" for uid in examples]
    assert numbers["abstention/rag"] == pytest.approx(np.mean(silent))
    has = [bool(row["answers"]) for row in examples.values()]
    for slice_, wanted in (("has_answer", True), ("no_answer", False)):
        of = [none for none, own in zip(silent, has, strict=True) if own is wanted]
        assert numbers[f"abstention/rag/{slice_}"] == pytest.approx(np.mean(of))
    right = [exact_match(base[uid], row["answers"]) for uid, row in examples.items()]
    assert numbers["exact_match/rag"] == pytest.approx(np.mean(right))
    hits = {"none": [], "changed": [], "kept": []}
    seen = {}
    for row in engine.rows["attentiveness"][0].to_pylist():
        if row["intervention"] != "swap":
            continue
        own, partner = examples[row["uid"]], examples[row["partner"]]
        assert own["article"] != partner["article"]
        after = answer(own | {row["part"]: partner[row["part"]]})
        assert after == row["y2"]
        seen.setdefault((row["part"], row["draw"]), set()).add(row["uid"])
        if row["part"] == "distractor":
            hits["kept"].append(after == base[row["uid"]])
            assert row["expects"] == "stays"
        else:
            hits["none"].append(after == "")
            hits["changed"].append(after != base[row["uid"]])
    answered = {uid for uid, text in base.items() if text}
    for (part, _), uids in seen.items():
        assert uids == (set(examples) if part == "distractor" else answered)
    assert len(seen) == 8
    for name, values in zip(names, hits.values(), strict=True):
        assert numbers[name] == pytest.approx(np.mean(values))
    counts = engine.content["counts"]
    assert counts["attentiveness/distractor"]["swapped"] == counts["attentiveness/distractor"]["eligible"] == N
    assert counts["attentiveness/passage"]["swapped"] == len(answered)
