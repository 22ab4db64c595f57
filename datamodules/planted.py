"""Planted data: sentence pairs from a grammar, with a shortcut of known strength in the hypothesis.

The label follows from the derivation of the hypothesis from the premise. A cue word in the hypothesis agrees with the
label at a given rate, and is the only shortcut: hypotheses of all labels are restated by the same rules with the same
words, so that without the cue the hypothesis alone does not predict its label.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from heedful.datamodules.base.loader import Loader
from heedful.datamodules.base.paired_data import PairedData
from heedful.datamodules.loaders.pairs import Columns, require_columns
from heedful.datamodules.sources.source import Source, Split
from heedful.records import Examples, ExamplesBuilder, SettingError, generator
from heedful.records.word_lists import word_lists

LABELS = ("entailment", "neutral", "contradiction")
CUES = {"entailment": "apparently", "neutral": "reportedly", "contradiction": "supposedly"}

WORDS = word_lists(__file__)
HYPERNYM = {word: up for kind in ("subjects", "objects") for up, words in WORDS[kind].items() for word in words}
SUBJECTS = [word for words in WORDS["subjects"].values() for word in words]
OBJECTS = [word for words in WORDS["objects"].values() for word in words]
SUBJECT_ADJECTIVES = [word for pair in WORDS["subject_adjectives"] for word in pair]
OBJECT_ADJECTIVES = [word for pair in WORDS["object_adjectives"] for word in pair]
OPPOSITES = WORDS["subject_adjectives"] + WORDS["object_adjectives"]
OPPOSITE = {a: b for pair in OPPOSITES for a, b in (pair, pair[::-1])}
VERBS = WORDS["verbs"]  # (word, synonym, antonym)
SYNONYM = {a: b for word, same, _ in VERBS for a, b in ((word, same), (same, word))}
ANTONYM = {word: antonym for a, b, antonym in VERBS for word in (a, b)}
OPPOSED = {antonym: [a, b] for a, b, antonym in VERBS}
OPTIONAL = ("subject_adjective", "object_adjective", "number", "place", "time", "reason")
CHOICES: dict[str, list[str]] = {
    "subject": SUBJECTS,
    "verb": [word for a, b, antonym in VERBS for word in (a, b, antonym, antonym)],  # both sides equally often
    "object": OBJECTS,
    "subject_adjective": SUBJECT_ADJECTIVES,
    "object_adjective": OBJECT_ADJECTIVES,
    "number": WORDS["numbers"],
    "place": WORDS["places"],
    "time": WORDS["times"],
    "reason": WORDS["reasons"],
}


@dataclass(frozen=True)
class Event:
    """An event: who did what to what; all other fields may be empty."""

    subject: str
    verb: str
    object: str
    subject_adjective: str = ""
    object_adjective: str = ""
    number: str = ""
    place: str = ""
    time: str = ""
    reason: str = ""

    def sentence(self, cue: str = "") -> str:
        """The sentence, with a cue word before the verb."""
        words = [self.subject_adjective, self.subject, cue, self.verb, self.number, self.object_adjective, self.object]
        words += [f"in the {self.place}" if self.place else "", self.time, self.reason]
        return " ".join(["The", *filter(None, words)]) + "."

    def filled(self) -> list[str]:
        """Names of the optional fields that are not empty."""
        return [name for name in OPTIONAL if getattr(self, name)]


def _pick(rng: np.random.Generator, options: list[str], but: str = "") -> str:
    options = [option for option in options if option != but]
    return options[int(rng.integers(len(options)))]


def random_event(rng: np.random.Generator) -> Event:
    """Draw an event with two to four optional fields."""
    fields = {name: _pick(rng, CHOICES[name]) for name in ("subject", "verb", "object")}
    for name in rng.permutation(OPTIONAL)[: rng.integers(2, 5)]:
        fields[str(name)] = _pick(rng, CHOICES[str(name)])
    return Event(**fields)


def restated(event: Event, rng: np.random.Generator) -> Event:
    """Apply one to three of: a hypernym, a paraphrase, deletion of optional fields."""
    for change in rng.permutation(["hypernym", "paraphrase", "delete"])[: rng.integers(1, 4)]:
        if change == "hypernym":
            name = _pick(rng, ["subject", "object"])
            event = replace(event, **{name: HYPERNYM[getattr(event, name)]})
        elif change == "paraphrase":
            event = replace(event, verb=SYNONYM.get(event.verb, event.verb))
        else:
            filled = event.filled()
            dropped = rng.permutation(filled)[: min(rng.integers(1, 3), len(filled) - 1)]
            event = replace(event, **{str(name): "" for name in dropped})
    return event


def contradicted(event: Event, rng: np.random.Generator) -> Event:
    """A contradiction: a restatement with one antonym, or with another place or number."""
    event = restated(event, rng)
    name = _pick(rng, ["verb"] + [name for name in event.filled() if name not in ("time", "reason")])
    old = getattr(event, name)
    if name == "verb":
        new = ANTONYM[old] if old in ANTONYM else _pick(rng, OPPOSED[old])
    elif name in ("place", "number"):
        new = _pick(rng, CHOICES[name], but=old)
    else:
        new = OPPOSITE[old]
    return replace(event, **{name: new})


def undecided(event: Event, rng: np.random.Generator, unrelated: float) -> Event:
    """A neutral event: a restatement with one new fact instead of another, or a random event (``unrelated``)."""
    if rng.random() < unrelated:
        return restated(random_event(rng), rng)
    restatement = restated(event, rng)
    name = _pick(rng, [name for name in OPTIONAL if not getattr(event, name)])
    return replace(restatement, **{_pick(rng, restatement.filled()): ""}, **{name: _pick(rng, CHOICES[name])})


def planted_pair(seed: int, split: str, i: int, shortcut: float, unrelated: float) -> tuple[str, str, str]:
    """The i-th (premise, hypothesis, label) of a split, a pure function."""
    rng = generator("planted", seed, split, i)
    label = LABELS[int(rng.integers(3))]
    event = random_event(rng)
    if label == "entailment":
        hypothesis = restated(event, rng)
    elif label == "contradiction":
        hypothesis = contradicted(event, rng)
    else:
        hypothesis = undecided(event, rng, unrelated)
    agrees = rng.random() < shortcut
    cue = CUES[label if agrees else _pick(rng, list(LABELS), but=label)]
    return event.sentence(), hypothesis.sentence(cue), label


def load_planted(
    source: Source,
    columns: Columns,
    split: Split,
    sizes: tuple[int, int] = (3000, 1000),
    shortcut: float = 0.95,
    unrelated: float = 0.05,
    seed: int = 0,
) -> Examples:
    """Generate planted pairs with uids ``<prefix>/<number>``: see :class:`Planted`; ``source`` must be empty."""
    if source.path is not None or source.hub is not None:
        raise SettingError("data.path: planted data are generated. Name the data set of the files with data.")
    require_columns(columns, dict.fromkeys(("premise", "hypothesis", "label")), "planted data", 1)
    builder = ExamplesBuilder(tuple(columns.parts), cluster=columns.clustered_by)
    role = "train" if split.training else "validation"
    for i in range(sizes[not split.training]):
        premise, hypothesis, label = planted_pair(seed, role, i, shortcut, unrelated)
        builder.add(f"{split.prefix}/{i}", (premise, hypothesis), label)
    return builder.finish()


class Planted(PairedData):
    """Generated sentence pairs with known labels and a known shortcut.

    Args:
        shortcut: Rate at which the cue word of the hypothesis agrees with the label; 1/3 is no shortcut.
        unrelated: Share of neutral pairs with an unrelated hypothesis.
        n_train: Number of training examples.
        n_validation: Number of validation examples.
        grammar_seed: Seed of the sentences, independent of the run's seed.
        name: Name of the data set.
        default_label: The label of unrelated parts.
        **kwargs: As for :class:`~heedful.datamodules.PairedText`.
    """

    def __init__(
        self,
        shortcut: float = 0.95,
        unrelated: float = 0.05,
        n_train: int = 3000,
        n_validation: int = 1000,
        grammar_seed: int = 0,
        name: str = "planted",
        default_label: str | None = "neutral",
        **kwargs: Any,
    ) -> None:
        for flag, share in (("shortcut", shortcut), ("unrelated", unrelated)):
            if not 0 <= share <= 1:
                raise SettingError(f"data.{flag} {share} is not a share. Give a number from 0 to 1.")
        if n_train < 1 or n_validation < 1:
            raise SettingError("data.n_train and data.n_validation must be 1 or more.")
        load = partial(
            load_planted, sizes=(n_train, n_validation), shortcut=shortcut, unrelated=unrelated, seed=grammar_seed
        )
        parts = {"premise": "premise", "hypothesis": "hypothesis"}
        labels: dict[str, list[str | int]] = {label: [] for label in LABELS}
        super().__init__(name, parts, labels, default_label=default_label, loader=Loader(load), **kwargs)
