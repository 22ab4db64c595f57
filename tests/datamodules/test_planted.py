"""The truth of planted pairs follows from the grammar, and the strength of the shortcut is the one asked for."""

import math
from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.datamodules import Planted, PlantedOptions
from heedful.datamodules import planted as p
from heedful.records import generator

from own_data import set_up
from tiers import first_tier

FIELDS = ("subject", "verb", "object", *p.OPTIONAL)
SEEDS = st.integers(0, 2**32)
once = cache(p.planted_pair)  # many tests count the same pairs


def pairs(n: int, shortcut: float = 0.9, unrelated: float = 0.05, split: str = "train") -> list[tuple[str, str, str]]:
    return [once(0, split, i, shortcut, unrelated) for i in range(n)]


def cue_of(hypothesis: str) -> str:
    """The label that the one cue word of a hypothesis stands for."""
    (label,) = [label for label, cue in p.CUES.items() if cue in hypothesis.split()]
    return label


def follows(said: str, premise: p.Event, field: str) -> bool:
    """Whether a field of a hypothesis says the same as the premise, less, or something more general."""
    old = getattr(premise, field)
    general = {"subject": p.HYPERNYM, "object": p.HYPERNYM, "verb": p.SYNONYM}.get(field, {})
    return said in (old, general.get(old, old)) or (field in p.OPTIONAL and not said)


def incompatible(said: str, old: str, field: str) -> bool:
    """Whether both cannot be true of one event."""
    if field == "verb":
        return p.ANTONYM.get(old) == said or p.ANTONYM.get(said) == old
    if field in ("place", "number"):
        return bool(said and old) and said != old
    return field in ("subject_adjective", "object_adjective") and said == p.OPPOSITE.get(old)


def changed(event: p.Event, other: p.Event) -> dict[str, tuple[str, str]]:
    """Field to (old, new), where they differ."""
    return {f: (getattr(event, f), getattr(other, f)) for f in FIELDS if getattr(event, f) != getattr(other, f)}


@given(seed=SEEDS)
def test_events_follow_contradict_or_add_as_their_label_says(seed: int) -> None:
    rng = generator(seed)
    event = p.random_event(rng)
    assert 2 <= len(event.filled()) <= 4
    assert all(getattr(event, f) in (*p.CHOICES[f], "") for f in FIELDS)
    assert all((event.subject, event.verb, event.object))

    entailed = p.restated(event, rng)
    assert all(follows(getattr(entailed, f), event, f) for f in FIELDS)
    assert len(changed(event, entailed)) <= 4
    assert entailed.filled()

    contradicted = p.contradicted(event, rng)
    wrong = [f for f, (old, new) in changed(event, contradicted).items() if incompatible(new, old, f)]
    assert len(wrong) == 1
    assert all(follows(getattr(contradicted, f), event, f) for f in FIELDS if f not in wrong)

    undecided = p.undecided(event, rng, unrelated=0)
    added = [f for f, (old, _) in changed(event, undecided).items() if not old]
    assert len(added) == 1
    assert added[0] in p.OPTIONAL
    assert all(follows(getattr(undecided, f), event, f) for f in FIELDS if f not in added)

    rng, again = generator(seed), generator(seed)
    again.random()
    assert p.undecided(event, rng, unrelated=1) == p.restated(p.random_event(again), again)


@given(i=st.integers(0, 10**6), shortcut=st.floats(0, 1))
def test_labels_of_pairs_are_the_truth(i: int, shortcut: float) -> None:
    """The sentences are those of an event and of what the label says of it, with one cue word."""
    premise, hypothesis, label = p.planted_pair(3, "train", i, shortcut, 0)
    rng = generator("planted", 3, "train", i)
    assert label == p.LABELS[int(rng.integers(3))]
    event = p.random_event(rng)
    made = {"entailment": p.restated, "contradiction": p.contradicted}.get(label)
    other = made(event, rng) if made else p.undecided(event, rng, 0)
    assert premise == event.sentence()
    assert hypothesis == other.sentence(p.CUES[cue_of(hypothesis)])
    assert not set(p.CUES.values()) & set(premise.split())


def test_relations_between_words_do_not_contradict_each_other() -> None:
    """A word is in one relation only: no synonym is also an antonym, and no opposite is its own."""
    verbs = [*p.SYNONYM, *p.OPPOSED]
    assert all(p.SYNONYM[p.SYNONYM[word]] == word and p.ANTONYM[word] in p.OPPOSED for word in p.SYNONYM)
    assert all(p.ANTONYM[word] == other for other, words in p.OPPOSED.items() for word in words)
    adjectives = [*p.SUBJECT_ADJECTIVES, *p.OBJECT_ADJECTIVES]
    for words in (verbs, adjectives, p.SUBJECTS + p.OBJECTS + list(set(p.HYPERNYM.values())), p.CHOICES["number"]):
        assert [word for word, n in Counter(words).items() if n > 1] == []
    assert all(p.OPPOSITE[p.OPPOSITE[word]] == word != p.OPPOSITE[word] for word in adjectives)
    for name, words in p.CHOICES.items():
        assert len(set(words)) > 10, name
    verb = Counter(p.CHOICES["verb"])
    assert sum(verb[word] for word in p.SYNONYM) == sum(verb[word] for word in p.OPPOSED)


def test_pairs_are_a_function_of_seed_split_number_and_the_cue_of_the_shortcut() -> None:
    """So that models with and without the shortcut read the same sentences."""

    def without_cue(found: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
        return [(a, " ".join(w for w in h.split() if w not in p.CUES.values()), label) for a, h, label in found]

    first = pairs(50)
    assert first == [p.planted_pair(0, "train", i, 0.9, 0.05) for i in range(50)] == pairs(80)[:50]
    assert first not in (pairs(50, split="validation"), [p.planted_pair(1, "train", i, 0.9, 0.05) for i in range(50)])
    assert without_cue(pairs(300, 0.0)) == without_cue(pairs(300, 1 / 3)) == without_cue(pairs(300, 1.0))
    assert pairs(300, 0.0) != pairs(300, 1.0)


@pytest.mark.parametrize("shortcut", first_tier(2, [0.0, 0.9, 1 / 3, 1.0]))
def test_the_cue_agrees_with_the_label_as_often_as_asked(shortcut: float) -> None:
    """Within four standard deviations, for each label; exactly for 0 and 1. Labels are balanced."""
    found = pairs(3000, shortcut)
    for label in p.LABELS:
        agrees = [cue_of(h) == label for _, h, gold in found if gold == label]
        tolerance = 4 * math.sqrt(shortcut * (1 - shortcut) / len(agrees))
        assert np.mean(agrees) == pytest.approx(shortcut, abs=tolerance)
        assert abs(len(agrees) / 3000 - 1 / 3) < 4 * math.sqrt(2 / 9 / 3000)
    if not shortcut:
        wrong = Counter((label, cue_of(h)) for _, h, label in found)
        assert len(wrong) == 6
        assert min(wrong.values()) > 400
    texts = {(a, h) for a, h, _ in found}
    assert len(texts) > 2990
    assert len({a for a, _ in texts}) > 2950
    assert texts.isdisjoint((a, h) for a, h, _ in pairs(1000, shortcut, split="validation"))
    said = {w.strip(".") for a, h, _ in found for w in (a + " " + h).split()} - {"The", "the", "in", *p.CUES.values()}
    assert len(said) > 350


def guesses(parts: list[int], shortcut: float) -> float:
    """Accuracy of naive Bayes over the words of some parts (0 the premise, 1 the hypothesis) on other pairs."""

    def words(pair: tuple[str, str, str]) -> set[str]:
        return {w for i in parts for w in pair[i].lower().strip(".").split()}

    train, validation = pairs(3000, shortcut), pairs(1000, shortcut, split="validation")
    labels = Counter(pair[2] for pair in train)
    seen = {label: Counter(w for pair in train if pair[2] == label for w in words(pair)) for label in p.LABELS}

    def score(pair: tuple[str, str, str], label: str) -> float:
        likely = (math.log((seen[label][w] + 1) / (labels[label] + 2)) for w in words(pair))
        return math.log(labels[label]) + sum(likely)

    return float(np.mean([max(p.LABELS, key=lambda label: score(pair, label)) == pair[2] for pair in validation]))


def test_the_cue_is_the_only_shortcut_as_far_as_single_words_go() -> None:
    """Chance is a third."""
    assert guesses([0], 0.9) < 0.39  # the premise alone
    assert guesses([1], 1 / 3) < 0.38
    assert guesses([1], 0.9) == pytest.approx(0.9, abs=0.03)


def test_the_data_module_holds_these_pairs() -> None:
    data = Planted(shortcut=0.5, unrelated=0.2, n_train=20, n_validation=7, grammar_seed=4)
    for split, n in (("train", 20), ("validation", 7)):
        examples = list(data.load(split))
        assert [e.uid for e in examples] == [f"planted/{split}/{i}" for i in range(n)]
        made = [p.planted_pair(4, split, i, 0.5, 0.2) for i in range(n)]
        assert [(e.parts["premise"], e.parts["hypothesis"], e.label) for e in examples] == made
    pools = [set_up(Planted(n_validation=9), "validate", seed).pool.fingerprint for seed in (0, 1)]
    assert pools[0] == pools[1] != Planted(n_validation=9, grammar_seed=1).load("validation").fingerprint


def test_one_of_three_options_follows_at_the_places_asked_for() -> None:
    """Made by the same rules: the right one restates the event, and no two are alike."""
    examples = [p.planted_options(0, "train", i, 0.5, 0.05) for i in range(900)]
    counts = Counter(label for _, _, label in examples)
    assert abs(counts["A"] - 450) < 60
    assert abs(counts["B"] - counts["C"]) < 60
    for i, (premise, options, label) in enumerate(examples[:200]):
        rng = generator("planted options", 0, "train", i)
        event = p.random_event(rng)
        right = p.restated(event, rng).sentence()
        assert (premise, options.values[label]) == (event.sentence(), (right,))
        assert len(set(options.texts)) == 3
    assert Counter(label for _, _, label in (p.planted_options(0, "train", i, 1.0, 0) for i in range(30))) == {"A": 30}


def test_options_are_a_data_set() -> None:
    data = set_up(PlantedOptions(n_train=8, n_validation=6))
    assert (data.task.parts, data.task.labels, data.default_label) == (("premise", "options"), ("A", "B", "C"), None)
    assert (len(data.trained), len(data.pool), data.swap) == (8, 6, ["premise"])
