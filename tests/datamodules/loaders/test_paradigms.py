"""MSGS: what is trained on and evaluated, mixtures of control rows, and the words that decide linguistic labels."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.datamodules.loaders.paradigms import mixtures_of
from heedful.datamodules.loaders.targets import FINDERS, targets
from heedful.records import DataError
from heedful.records.text import words

from own_data import configured, twin_path, uids, write_jsonl
from refusals import refused

MORPH, ADJ, VERB = FINDERS
MARKED = {  # siblings, first of the label 1: the target word stands between stars
    MORPH: """
Some girl can hug the dogs and all boys *sold* some carts. / Some girl can hug dogs and the boys *sell* some carts.
Boys had ridden the bikes and most men *went* to that lake. / Boys had ridden the bikes and men *look* at the lake.
The men rode and a lot of kids *ate* every cake. / The men rode and a lot of kids *think* about the cake.
The ex-wife sang and those men *upset* this girl. / An ex-wife sang and those men *impress* this girl.
Girls fled and banks upset a man. / Girls fled and the banks upset a man.""",  # one form for both tenses
    ADJ: """
All boys hug the dog and a *tall* man is Guy. / The boys hug a dog and a man is *Guy*.
No boy sang and the man at that lake is *old*. / No boy sang and the man is *at* that lake.
The films were boring and Ann is a *dull* editor. / The films were boring and Ann is an *editor*.
A kid drew boring films and Guy is a *boring* man. / A kid drew boring films and Guy is the *man*.""",
    VERB: """
A boy who the men hug is *biting* bread. / A boy who is biting bread *bites* that the men hug.
The girl isn't *hugging* men that bring tea. / Some girl *hugs* men that are bringing tea.
Boys aren't *thinking* about every man that sighed. / Boys hadn't *thought* about the man that was sighing.
Men were *passing* parks some waiter passed. / Men *passed* parks some waiter who isn't sighing passed.
All kids are *studying* the painting. / All kids *studied* the painting that isn't drying.
Some kids were *skated* around a lake. / Some kids had *skated* around the lake that is drying.
Men were *fixing* bikes. / Men fix the carts a boy fixed.""",  # either may be meant
}


def marked(task: str, most: int | None = None) -> tuple[list[tuple[str, str, bool]], list[int | None]]:
    """(Key, sentence, label) of marked pairs, and the number of each starred word."""
    sentences, places = [], []
    for key, pair in enumerate(MARKED[task].strip().splitlines()[:most]):
        for label, text in zip((True, False), pair.strip().split(" / "), strict=True):
            before, star, _ = text.partition("*")
            places.append(len(words(before)) if star else None)
            sentences.append((str(key), text.replace("*", ""), label))
    return sentences, places


@pytest.mark.parametrize("task", MARKED)
def test_targets_are_those_marked_by_hand(task: str) -> None:
    sentences, places = marked(task)
    assert targets(task, sentences) == places
    assert targets(task, []) == []
    assert targets("main_verb_control", sentences) == [None] * len(sentences)


@given(st.permutations(range(8)), st.sampled_from([*FINDERS]))
def test_the_order_of_the_sentences_does_not_matter(order: list[int], task: str) -> None:
    sentences, _ = marked(task, 4)
    assert targets(task, [sentences[i] for i in order]) == [targets(task, sentences)[i] for i in order]
    assert targets(VERB, marked(VERB)[0][:1]) == [None]  # without a sibling


def test_it_is_evaluated_where_the_labels_differ() -> None:
    data = configured("msgs", twin_path("msgs"))
    assert (len(data.trained), len(data.pool), data.swap, data.regime) == (100, 40, [], "plain")
    for example in data.pool:
        sentence = example.parts["sentence"]
        assert (example.label == "present") == (not sentence.startswith("the"))
        target = words(sentence)[int(example.meta["target"])]
        assert target.endswith("ing") == (example.label == "present")
        assert target in {f"{verb}{end}" for verb in ("paint", "find", "look", "bark") for end in ("ing", "s")}


@pytest.mark.parametrize(
    ("control", "expected"),
    [("2L", {"L": 2}), ("2S", {"S": 2}), ("2L1S", {"L": 2, "S": 1}), ("1L2S", {"L": 1, "S": 2}), ("10S", {"S": 10})],
)
def test_control_rows_take_the_label_that_is_asked_for(control: str, expected: dict[str, int]) -> None:
    data = configured("msgs", twin_path("msgs"), control=control)
    by_label = {"L": 0, "S": 0}
    for example in data.trained:
        if "/train+control_train/" in example.uid:
            is_linguistic = (example.label == "present") == (" was " in example.parts["sentence"])
            by_label["L" if is_linguistic else "S"] += 1
    assert {label: n for label, n in by_label.items() if n} == expected
    assert (len(data.trained), data.regime, len({*uids(data.trained)})) == (100, f"mixture-{control}", 100)
    assert [mixture.share for mixture in mixtures_of("0.5L2S")] == [0.005, 0.02]


def test_targets_that_cannot_be_told_are_counted_and_columns_are_needed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with gzip.open(twin_path("msgs") / VERB / "test.jsonl.gz", "rt") as file:
        rows = [row for row in map(json.loads, file) if row["condition"] == "test" and row["paradigmID"] < 4]
    write_jsonl(tmp_path / VERB / "test.jsonl", rows[1:])  # a sentence without its sibling
    data = configured("msgs", tmp_path, "validate")
    assert list(data.pool.column("meta.target")).count("") == 1
    assert "the target word of 1 sentence is unknown." in caplog.text
    write_jsonl(tmp_path / VERB / "test.jsonl", [{"sentence": "a", "label": 1}])
    with refused(DataError, "test.jsonl, row 1", "'paradigmID'", "sentence, label"):
        configured("msgs", tmp_path, "validate")
