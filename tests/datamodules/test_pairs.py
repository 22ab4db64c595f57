"""Pairs of texts: splits, samples, regimes and inoculation, and that training and validation are two things."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from datasets import Dataset, DatasetDict

from heedful.callbacks import Attentiveness
from heedful.datamodules import PairedText
from heedful.datamodules.base.inoculation import Inoculation
from heedful.datamodules.base.mixture import Mixture
from heedful.records import DataError, Examples, generator

from oracles import measure
from own_data import LABELS, NLI, everything, nli_rows, own, set_up, uids, write_jsonl
from refusals import refused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with 60 training and 30 validation pairs."""
    write_jsonl(tmp_path / "train.jsonl", nli_rows(60))
    write_jsonl(tmp_path / "validation.jsonl", nli_rows(30, start=1000))
    return tmp_path


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_train": 31, "max_validation": 17, "seed": 3, "resample_counterfactuals": True},
        {"hold_out": 20, "groups": ["topic"]},
        {"folds": 3, "fold": 1, "uid": "id"},
        {"where": {"label": ["neutral", "entailment"]}, "slices": ["label"]},
        {"mixture": [Mixture(0.3, "dev", name="other")], "augment": None},
        {"splits": {"validation": ["dev", "train"]}, "validate_on_train": True},
    ],
)
def test_neither_the_order_of_rows_nor_what_holds_them_decides_anything(tmp_path: Path, settings: Any) -> None:
    rows = {"train": nli_rows(60), "dev": nli_rows(60, 1000)}
    for name, some in rows.items():
        some += [row | {"hypothesis": f" {row['hypothesis']}"} for row in some[:4] * 2]  # repeats, but for the topic
        rows[name] = [row | {"topic": f"t {i % 9}", "id": f"{name} {i}"} for i, row in enumerate(some)]
        write_jsonl(tmp_path / f"{name}.jsonl", rows[name])
    sets = {name: Dataset.from_list(some[::-1]) for name, some in rows.items()}
    shuffled = {name: pd.DataFrame(some).sample(frac=1, random_state=1) for name, some in rows.items()}
    found = []
    for path in (tmp_path, rows, DatasetDict(sets), shuffled):
        data = own(path, **{"meta": ["topic"], "augment": "counterfactual"} | settings)
        found.append([everything(data), list(data.training_set(1))])
    assert found[1:] == [found[0]] * 3


def test_what_differs_in_blanks_or_in_composed_letters_is_one_content(tmp_path: Path) -> None:
    """For partners, for overlaps, for groups and for ids alike; case tells texts apart."""
    texts = ["caf\u00e9", "cafe\u0301 ", "caf\u00e9\u00a0", " caf\u00e9"]
    here = [{"premise": text, "hypothesis": f"h {i}", "label": 0, "topic": text} for i, text in enumerate(texts)]
    there = {"premise": "Caf\u00e9", "hypothesis": "h 9", "label": 0, "topic": "Caf\u00e9"}
    train = [here[1] | {"hypothesis": "h  0", "topic": "x"}, there]
    data = own({"train": train, "validation": [*here, there]}, groups=["topic"], validate_on_train=True)
    partners = data.pool.partners(["premise"]).counts.tolist()
    found = {e.parts["hypothesis"]: n for e, n in zip(data.pool, partners, strict=True)}
    assert found == {"h 0": 1, "h 1": 1, "h 2": 1, "h 3": 1, "h 9": 4}
    assert len({*data.pool.column("groups.topic")}) == 2
    assert data.counts.seen == 2


# splits and samples


def test_rows_without_gold_are_counted_by_split(tmp_path: Path) -> None:
    train = [row | {"premise": row["premise"] * (row["label"] != -1)} for row in nli_rows(12, labels=[0, 1, 2, -1])]
    data = own({"train": train, "dev": nli_rows(10, 50, labels=["neutral", "-"])})
    assert (data.counts.no_gold, len(data.train_examples), len(data.pool)) == (5, 9, 5)
    with refused(DataError, "train", "row 2", "None"):  # a label of this name is written as nothing by many tools
        rows = nli_rows(8, labels=["None", None])
        own({"train": rows}, labels={"None": [], "nan": []}, default_label=None, hold_out=1)


def test_regimes_and_folds_go_together(folder: Path) -> None:
    data = own(folder, folds=2, fold=1, partial="hypothesis", max_train=6, max_validation=5)
    assert (len(data.train_examples), len(data.pool), data.regime) == (6, 5, "partial-hypothesis-fold-1")
    assert (data.pool.parts, data.full_task.parts) == (("hypothesis",), ("premise", "hypothesis"))
    augmented = own(folder, folds=2, fold=0, augment="counterfactual")
    assert augmented.regime == "counterfactual-fold-0"
    assert len(augmented.training_set()) == 30 + sum(label != "neutral" for label in augmented.trained.column("label"))
    anew = own(folder, augment="counterfactual", resample_counterfactuals=True)
    assert list(anew.training_set()) == list(anew.training_set()) != list(anew.training_set(draw=1))


def test_labels_that_no_example_has_are_said(caplog: pytest.LogCaptureFixture) -> None:
    labels = {"yes": [], "no": [], "perhaps": [], "never": []}
    rows = {"train": nli_rows(4, labels=["yes"]), "validation": nli_rows(4, 9, labels=["yes", "no"])}
    with caplog.at_level("INFO"):
        own(rows, labels=labels, default_label=None)
    assert [message for message in caplog.messages if "has the label" in message] == [
        "own: no validation example has the label perhaps, never.",
        "own: no training example has the label no, which validation examples have.",
    ]


# several splits, and columns that results are broken down by


@pytest.mark.parametrize("names", [["one", "two", "three"], ["three", "one"], ["two.jsonl", "one.jsonl"]])
def test_the_pool_is_the_splits_in_their_order_with_uids_that_name_them(folder: Path, names: list[str]) -> None:
    for i, (name, labels) in enumerate({"one": "012", "two": "01-", "three": "012-"}.items()):
        write_jsonl(folder / f"{name}.jsonl", [{**r, "genre": "g"} for r in nli_rows(9, 2000 + 100 * i, [*labels])])
    data = own(folder, "validate", splits={"validation": names}, meta=["genre"], groups=["genre"])
    stems = [name.removesuffix(".jsonl") for name in names]
    alone = [own(folder, "validate", splits={"validation": stem}) for stem in stems]
    assert [(e.uid, dict(e.parts), e.meta["split"]) for e in data.pool] == [
        (e.uid.replace("/validation/", f"/{stem}/"), dict(e.parts), stem)
        for stem, one in zip(stems, alone, strict=True)
        for e in one.pool
    ]
    assert data.counts.no_gold == sum(one.counts.no_gold for one in alone)
    assert (data.evaluated, data.splits_evaluated) == ("+".join(stems), tuple(stems))
    assert (data.pool.meta, data.pool.groups) == (("genre", "split"), ("premise", "hypothesis", "genre"))
    listed = own(folder, "validate", splits={"validation": names[:1]})
    assert listed.pool.table.equals(alone[0].pool.table)
    assert (listed.evaluated, listed.splits_evaluated, listed.pool.meta) == (stems[0], (), ())
    both = own(folder, splits={"validation": names}, max_validation=5)
    assert (len(both.train_examples), len(both.pool), both.train_examples.meta) == (60, 5, ())
    with refused(DataError, folder, "'dev'"):  # of several each goes by its own name
        own(folder, "validate", splits={"validation": ["dev", "one"]})


KINDS = ("overlap", "sub/sequence", "")


def sliced(*slices: str, **settings: Any) -> PairedText:
    rows = [row | {"kind": KINDS[i % 3], "half": i % 2, "row": i} for i, row in enumerate(nli_rows(60))]
    return PairedText(**NLI, path=rows, slices=slices, **settings)


def test_a_slice_is_a_column_of_few_values() -> None:
    data = set_up(sliced("kind", meta=["row"]), "validate")
    assert {*data.pool.meta} == {"row", "kind"}
    assert {(e.parts["premise"], e.meta["kind"]) for e in data.pool} == {(f"p {i}", KINDS[i % 3]) for i in range(60)}
    with refused(DataError, "slices row", 60, 50):
        set_up(sliced("row"), "validate")
    set_up(sliced("row", max_validation=50), "validate")


def test_numbers_by_slice() -> None:
    def guess(premise: str, hypothesis: str) -> str:
        return LABELS[generator("guess", premise, hypothesis).integers(3)]

    engine = measure(guess, sliced("kind", "half"), Attentiveness(draws=3), only=["accuracy", "attentiveness"])
    found = {name: metric["value"] for name, metric in engine.content["metrics"].items()}
    by = ["kind=overlap", "kind=sub-sequence", "kind=none", "half=0", "half=1"]
    assert {f"{name}/{text}" for name in ("accuracy/own", "attentiveness/own/premise") for text in by} <= found.keys()
    majorities = [name for name in found if name.startswith("accuracy/own/majority/")]
    assert majorities == ["accuracy/own/majority/half=0", "accuracy/own/majority/half=1"]  # a kind has one label
    base = [row for row in engine.rows["accuracy"][0].to_pylist() if row["intervention"] == "base"]
    right = [row["gold"] == row["y"] for row in base if "kind=overlap" in row["slices"]]
    assert found["accuracy/own/kind=overlap"] == pytest.approx(sum(right) / 20)


# inoculation


def test_inoculation_trains_on_a_few_nested_challenge_examples(folder: Path) -> None:
    rows = [row | {"article": f"a{i // 4}"} for i, row in enumerate(nli_rows(50, start=5000))]
    challenge = str(write_jsonl(folder / "challenge" / "train.jsonl", rows).parent)

    def chosen(n: int, by_group: bool = False, **settings: Any) -> Examples:
        settings |= {"groups": ["article"]} if by_group else {}
        write_jsonl(folder / "validation.jsonl", [row | {"article": "b"} for row in nli_rows(30, start=1000)])
        data = own(folder, augment="inoculation", inoculation=Inoculation(challenge, n, by_group), **settings)
        assert (len(data.pool), len(data.train_examples)) == (30, n)
        assert data.regime == ("partial-hypothesis" if "partial" in settings else f"inoculation-{n}")
        assert all(uid.startswith("own/challenge/") for uid in uids(data.train_examples))
        return data.train_examples

    for by_group in (False, True):
        found = [{*uids(chosen(n, by_group))} for n in (10, 20, 50)]
        assert found[0] < found[1] < found[2]
        assert {*uids(chosen(10, by_group, seed=1))} != found[0]
    assert len({*chosen(10, by_group=True).column("groups.article")}) <= 4
    assert chosen(3, partial="hypothesis").parts == ("hypothesis",)
    with refused(DataError, 51, 50):
        chosen(51)


# training and validation are two things


SAME = {  # settings with which training and validation would read the same rows
    "one file": {"path": "train.jsonl"},
    "one split": {"splits": {"validation": "train"}},
    "one of several": {"splits": {"validation": ["validation", "train"]}},
    "in memory": {"path": {"train": pd.DataFrame(nli_rows(60)), "validation": nli_rows(60)}},
    "saved": {"path": "saved"},
    "copy": {"splits": {"validation": "copy"}},
}


@pytest.mark.parametrize("how", SAME)
def test_validating_on_what_is_trained_on_has_to_be_asked_for(
    folder: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    write_jsonl(folder / "copy.jsonl", nli_rows(60))
    Dataset.from_list(nli_rows(60)).save_to_disk("saved")
    settings = {"path": folder} | SAME[how]
    with refused(DataError, "data.path", "hold_out N", "validate_on_train true"):
        own(**settings)
    assert len(own(**settings, stage="validate").pool) >= 60  # where nothing is trained
    assert own(**settings, validate_on_train=True).counts.seen == 60
    if how in ("one file", "saved"):
        held_out = own(**settings, hold_out=20)
        assert (len(held_out.trained), len(held_out.pool), held_out.counts.seen) == (40, 20, 0)


def test_validation_examples_that_are_trained_on_are_counted(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """By the content of all parts together, whatever the label."""
    seen = [row | {"label": "neutral"} for row in nli_rows(7)]
    write_jsonl(folder / "validation.jsonl", [*nli_rows(30, 1000), *seen, nli_rows(1)[0] | {"hypothesis": "another"}])
    data = own(folder)
    assert data.counts.seen == 7
    with caplog.at_level("INFO"):
        data.announce_evaluation(np.arange(38), SimpleNamespace(truncated=0, unknown=0))
    assert "7 are also training examples." in caplog.text


def trainer_of(examples: int, world_size: int) -> Any:
    statistics = SimpleNamespace(truncated=0, unknown=0)
    encoded = SimpleNamespace(lengths=np.ones(examples, dtype=np.int64), statistics=statistics)
    predictor = SimpleNamespace(encode=lambda examples: encoded, require_known=lambda *_: None, processor=None)
    loop = SimpleNamespace(epoch_loop=SimpleNamespace(batch_progress=None))
    about = {"current_epoch": 0, "world_size": world_size, "global_rank": 0, "fit_loop": loop}
    return SimpleNamespace(lightning_module=SimpleNamespace(predictor=predictor), **about)


def test_each_process_needs_a_batch(folder: Path) -> None:
    data = own(folder, max_train=40, batch_size=20)
    data.trainer = trainer_of(40, 3)
    with refused(DataError, 40, 20, 3, "batch_size"):
        data.train_dataloader()


def test_counterfactual_training_tells_the_share_of_the_default_label(folder: Path, caplog: Any) -> None:
    for augment, n, shares in ((None, 60, {}), ("counterfactual", 100, {"without_copies": 1 / 3, "with_copies": 0.6})):
        data = own(folder, augment=augment)
        data.trainer = trainer_of(n, 1)
        with caplog.at_level("INFO"):
            data.train_dataloader()
        assert data.default_shares == shares
    assert "own: training on 60 examples.\n" in caplog.text
    assert "100 examples (40 counterfactual), 60 % of them 'neutral' (33 % without the copies)." in caplog.text


def test_a_data_module_records_the_arguments_that_its_pairs_take() -> None:
    rows = nli_rows(20)
    data = PairedText("own", NLI["parts"], NLI["labels"], None, path=rows, batch_size=3)
    assert data.arguments | {"default_label": "neutral"} == {**NLI, "label": None, "path": rows, "batch_size": 3}
    again = data.with_arguments(batch_size=4)
    assert (type(again), again.batch_size, again.trainer) == (PairedText, 4, None)
