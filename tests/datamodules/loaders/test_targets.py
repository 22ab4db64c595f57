"""The words that decide linguistic labels: against sentences marked by hand, and against what a grammar demands."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.datamodules.loaders.targets import FINDERS, targets
from heedful.records.parts.words import words

MORPH, ADJ, VERB = FINDERS
MARKED = {  # siblings, first of the label 1: the target word stands between stars
    MORPH: [
        (
            "Some girl can hug the dogs and all boys *sold* some carts.",
            "Some girl can hug dogs and the boys *sell* some carts.",
        ),
        (
            "Boys had ridden the bikes and most men *went* to that lake.",
            "Boys had ridden the bikes and most men *look* at the lake.",
        ),
        ("The men rode and a lot of kids *ate* every cake.", "The men rode and a lot of kids *think* about the cake."),
        ("The ex-wife sang and those men *upset* this girl.", "An ex-wife sang and those men *impress* this girl."),
        ("Girls fled and banks upset a man.", "Girls fled and the banks upset a man."),  # one form for both tenses
    ],
    ADJ: [
        ("All boys hug the dog and a *tall* man is Guy.", "The boys hug a dog and a man is *Guy*."),
        ("No boy sang and the man at that lake is *old*.", "No boy sang and the man is *at* that lake."),
        ("The films were boring and Ann is a *dull* editor.", "The films were boring and Ann is an *editor*."),
        (
            "A kid drew boring films and Guy is a *boring* man.",
            "A kid drew boring films and Guy is the *man*.",
        ),
    ],
    VERB: [
        ("A boy who the men hug is *biting* bread.", "A boy who is biting bread *bites* that the men hug."),
        ("The girl isn't *hugging* men that bring tea.", "Some girl *hugs* men that are bringing tea."),
        (
            "Boys aren't *thinking* about every man that sighed.",
            "Boys hadn't *thought* about the man that was sighing.",
        ),
        ("Men were *passing* parks some waiter passed.", "Men *passed* parks some waiter who isn't sighing passed."),
        ("All kids are *studying* the painting.", "All kids *studied* the painting that isn't drying."),
        ("Some kids were *skated* around a lake.", "Some kids had *skated* around the lake that is drying."),
        ("Men were *fixing* bikes.", "Men fix the carts a boy fixed."),  # either may be meant
    ],
}


def marked(pairs):
    """(Key, sentence, label) of marked pairs, and the number of each starred word."""
    sentences, places = [], []
    for key, pair in enumerate(pairs):
        for label, text in zip((True, False), pair, strict=True):
            before, star, _ = text.partition("*")
            places.append(len(words(before)) if star else None)
            sentences.append((str(key), text.replace("*", ""), label))
    return sentences, places


@pytest.mark.parametrize("task", MARKED)
def test_targets_are_those_marked_by_hand(task):
    sentences, places = marked(MARKED[task])
    found = targets(task, sentences)
    told = {i: (sentences[i][1], found[i], places[i]) for i in range(len(found)) if found[i] != places[i]}
    assert not told


@given(st.permutations(range(8)), st.sampled_from([*FINDERS]))
def test_the_order_of_the_sentences_does_not_matter(order, task):
    sentences, _ = marked(MARKED[task][:4])
    assert targets(task, [sentences[i] for i in order]) == [targets(task, sentences)[i] for i in order]


def test_without_a_sibling_and_of_other_tasks_nothing_is_told():
    sentences, _ = marked(MARKED[VERB])
    assert targets(VERB, sentences[:1]) == [None]
    assert targets("main_verb_control", sentences) == [None] * len(sentences)
    assert targets(MORPH, []) == []


IRREGULAR = (
    "upset shook sold drew fought bred bit broke drank shot sank struck lit caught left went understood chose heard"
)
IRREGULAR += " wrote forgave forgot had hid took ate froze sang"
ADJECTIVES = (
    "intriguing damp fat cool ill little young cruel youthful kind old dull sick small healthy ordinary wet thin"
)
ADJECTIVES += " large normal mean unusual big organized beautiful obese skinny cold"
BE = {"is", "are", "was", "were", "isn't", "aren't", "wasn't", "weren't"}


def of_file(folder: Path, task: str):
    """(Words, number of the target, label) of the rows of the condition "test"."""
    with gzip.open(folder / task / "test.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    sentences = [
        (f"{row['paradigmID']} {row['condition']}", row["sentence"], row["linguistic_feature_label"] == 1)
        for row in rows
    ]
    found = zip(rows, targets(task, sentences), strict=True)
    return [
        (words(row["sentence"]), place, row["linguistic_feature_label"])
        for row, place in found
        if row["condition"] == "test"
    ]


@pytest.mark.parametrize(("task", "missing"), [(MORPH, 4), (ADJ, 0), (VERB, 4)])
def test_the_targets_of_the_real_files_are_words_of_their_kind(shared_data, task, missing):
    """Which words are irregular forms and adjectives was read off by eye."""
    rows = of_file(shared_data / "msgs", task)
    assert (len(rows), sum(place is None for _, place, _ in rows)) == (2000, missing)
    for sentence, place, label in rows:
        if place is None:
            continue
        target = sentence[place]
        if task == VERB:
            assert (sentence[place - 1] in BE) == label
            assert target.endswith("ing") or target == "skated" or not label
        elif task == MORPH:
            assert "and" in sentence[:place]
            assert (target in IRREGULAR.split()) == bool(label) or target == "upset"
        else:
            assert (target in ADJECTIVES.split()) == bool(label)
            assert label or "is" in sentence[place - 3 : place]
