"""The real data, where there are any: how many examples their files make, and that none of them has changed."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from heedful.datamodules import load_counterfactuals, load_evidence, load_tables
from heedful.datamodules.base.mixture import Mixture
from heedful.records import Examples

from own_data import configured

PAWS = Mixture(0.02, "validation", "paws", "paws", {"question1": "sentence1", "question2": "sentence2"})
REAL: dict[str, tuple[str, dict[str, Any], str]] = {  # data, settings, what `seen` returns
    "mnli": ("mnli", {}, "18839 9815 a7800a64"),
    "rte": ("rte", {}, "2490 277 6d558885"),
    "qqp": ("qqp", {}, "10000 20215 cdfc0770"),
    "paws among qqp": ("qqp", {"mixture": [PAWS], "max_validation": 10}, "10000 10 14a86944"),
    "paws": ("paws", {"splits": {"train": "validation", "validation": "test"}}, "2000 2000 06aa2ec9"),
    "wanli": ("wanli", {"hold_out": 20, "splits": {"train": "train_sample"}}, "80 20 99534700"),
    "help": ("help", {"path": "help/leskexppmb_or.tsv", "hold_out": 100, "meta": ["monotonicity"]}, "338 100 368da45c"),
    "med": ("med", {"path": "med/MED.tsv", "hold_out": 100, "meta": ["genre"]}, "5282 100 778bb634"),
    "snli": ("snli", {"splits": {"train": "validation"}, "hold_out": 1000}, "8842 1000 db823f22"),
    "hans": ("hans", {}, "29049 30000 530039f5"),
    "infotabs, alpha": ("infotabs", {"splits": {"validation": ["alpha1", "alpha2", "alpha3"]}}, "16538 5400 23c8934d"),
    "infotabs, folds": ("infotabs", {"folds": 5, "fold": 3, "splits": {"train": "train"}}, "13233 3305 c143a313"),
    "nlixy": ("nlixy", {}, "2894 2436 b757e9b9"),
    "nlixy, all": ("nlixy", {"path": "nlixy/all", "validate_on_train": True}, "29436 29436 20c9b1c3"),
    "squad2": ("squad2", {"path": "squad2/dev-v2.0_half.json", "folds": 4, "fold": 1}, "4587 1491 1c0d1f73"),
    "newsqa": ("newsqa", {"path": "newsqa/sample_mrqa.jsonl", "hold_out": 5}, "12 5 a79cbeb4"),
    "nlvr": ("nlvr", {}, "6000 5934 60164a5e"),
    "msgs, irregular form lexical": ("msgs", {"task": "irregular_form_lexical_content_the"}, "2000 2000 d779f0d6"),
    "msgs, main verb control": ("msgs", {"task": "main_verb_control"}, "2000 2000 c66a29f3"),
    "msgs, category lexical": ("msgs", {"task": "syntactic_category_lexical_content_the"}, "2000 2000 d9be2124"),
    "msgs, control": ("msgs", {"control": "2L1S"}, "2000 2000 4d561a88"),
}


def seen(*pools: Examples) -> str:
    """Numbers of examples, and the starts of hashes of their uids, labels, contents, groups and meta columns."""
    held = [[pool.fingerprint, *(list(pool.column(f"meta.{name}")) for name in pool.meta)] for pool in pools]
    hashes = (hashlib.sha256(repr(one).encode()).hexdigest()[:4] for one in held)
    return f"{' '.join(str(len(pool)) for pool in pools)} {''.join(hashes)}"


@pytest.mark.slow
@pytest.mark.parametrize("case", REAL)
def test_real_data_are_what_they_were(case: str, shared_data: Path) -> None:
    name, settings, expected = REAL[case]
    settings = settings | {"path": str(shared_data / settings.get("path", name))}
    if "mixture" in settings:
        settings["mixture"] = [replace(one, path=str(shared_data / one.path)) for one in settings["mixture"]]
    data = configured(name, **settings)
    assert seen(data.trained, data.pool) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("split", "expected"), [("alpha1", "1127 1127 78f7d936"), ("training", "1108 1108 26053b3c")])
def test_real_counterfactual_tables_flip_the_label(split: str, expected: str, shared_data: Path) -> None:
    originals, modified = load_counterfactuals(shared_data / "tabprobe" / "counterfactuals" / split)
    assert seen(originals, modified) == expected
    for a, b in zip(originals, modified, strict=True):
        assert (a.uid, a.meta, a.groups["table"]) == (b.uid, b.meta, b.groups["table"])
        assert (a.parts["hypothesis"], a.parts["premise"].keys) == (b.parts["hypothesis"], b.parts["premise"].keys)
        assert a.parts["premise"] != b.parts["premise"]
        assert {a.label, b.label} == {"entailment", "contradiction"}


@pytest.mark.slow
def test_real_annotations_leave_71_pairs_of_18_tables(shared_data: Path) -> None:
    """140 pairs: 59 are neutral; of the others 4 have no relevant row, and 6 have relevant rows and "none"."""
    path = shared_data / "tabprobe" / "annotation" / "results" / "remaining_annotations.csv"
    examples = load_tables(shared_data / "infotabs", split="train")
    found, left_out = load_evidence(path, examples)
    assert left_out == {"neutral": 59, "no relevant row": 4, "relevant rows and none": 6}
    about = [examples[uid] for uid in found]
    assert (len(found), len({e.meta["table"] for e in about}), sum(e.label == "entailment" for e in about)) == (
        71,
        18,
        32,
    )
    music = "Hollywood Undead has made music on 5 or more music labels."
    (example,) = [e for e in about if e.parts["hypothesis"] == music]
    assert (example.meta["table"], found[example.uid]) == ("T1976", ("Labels",))
