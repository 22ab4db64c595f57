"""Mistakes in settings of data: one error that names the setting, and what it may be."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from heedful import datamodules
from heedful.datamodules.base.inoculation import Inoculation
from heedful.datamodules.base.mixture import Mixture
from heedful.records import DataError, HeedfulError, SettingError

from own_data import CONFIGS, GENERATED, NLI, nli_rows, twin_path
from refusals import refused

SIZES = {"train": 12, "validation": 6, "test": 6, "one": 12, "two": 12}
OWN = {
    name: [row | {"topic": f"t{k % 4}"} for k, row in enumerate(nli_rows(n, 100 * i))]
    for i, (name, n) in enumerate(SIZES.items())
}
TOPICS = OWN["train"]
TEXTS = {"context": "context", "question": "question"}
BASES: dict[str, tuple[str, dict[str, Any]]] = {  # name of the data to their kind and settings
    "own": ("PairedText", NLI | {"path": OWN, "meta": ["topic"]}),
    "planted": ("Planted", {"n_train": 6, "n_validation": 6}),
    "reading": ("Reading", {"name": "d", "parts": TEXTS}),
    "squares": (
        "PairedImages",
        {"name": "squares", "parts": {"image": "image", "question": "text"}, "labels": {"no": [], "yes": []}},
    ),
} | {name: (config["class_path"], config["init_args"] | {"hub": None}) for name, config in CONFIGS.items()}
INOCULATION = {"augment": "inoculation"}
SEVERAL = {"validation": ["one", "two"]}
Case = tuple[str, dict[str, Any], list[Any]]

# names of parts and labels
NAMES: list[Case] = [
    ("own", {option: given, "default_label": None}, [f"data.{option}", *facts])
    for option, given, *facts in (
        ("labels", {True: [1], False: [0]}, "True", "quotes"),
        ("labels", {"a\x1b[2J": [], "b": []}, r"'a\x1b[2J'"),
        ("labels", {"Yes": [], "yes": [], "no": []}, "'Yes' and 'yes'"),
        ("labels", {"majority": [], "b": []}, "'majority'"),
        ("labels", {}),
        ("labels", {"a": [1], "b": [1]}, "'1'", "a and b"),
        ("parts", {}),
        ("parts", {"a": "premise", "b": "label"}, "b is the column 'label'"),
        ("parts", {"a/b": "a", "c": "c"}, "'a/b'", "+ / { }"),
    )
]
SETTINGS: list[Case] = [
    *NAMES,
    *(("own", {name: 0}, [f"data.{name} 0", 1]) for name in ("max_train", "hold_out", "batch_size")),
    ("own", {"name": "../own"}, ["name '../own'"]),
    ("own", {"path": None}, ["data.path"]),
    ("own", {"columns": ["premise", "premise"]}, ["columns [premise, premise]"]),
    ("own", {"meta": ["topic", "topic"]}, ["data.meta", "'topic'"]),
    ("own", {"cluster": "title"}, ["data.cluster title", "premise, hypothesis, topic"]),
    # parts that are swapped, kept or read alone
    ("own", {"swap": ["premise", "hypothesis", "premise"]}, ["swap", "premise"]),
    *(("own", {"swap": [both]}, [f"swap {both}", "out"]) for both in ("premise+hypothesis", "hypothesis+premise")),
    ("own", {"partial": "premise", "augment": "counterfactual"}, ["partial", "augment counterfactual"]),
    ("own", {"swap": [], "augment": "counterfactual"}, ["augment counterfactual", "swap"]),
    ("nlvr2", {"swap": ["left+middle"]}, ["swap middle", "nlvr2", "left, right, sentence"]),
    ("reading", {"parts": {"context": "context"}}, ["data.parts", "context"]),
    ("rag", {"partial": "question"}, ["data.parts", "partial", "passage, question, distractor"]),
    ("rag", {"swap": ["distractor"]}, ["swap distractor", "distractors"]),
    ("reading", {"distractors": ["title"]}, ["distractors title"]),
    ("own", {"distractors": ["premise", "hypothesis"], "swap": []}, ["distractors", "every part"]),
    ("reading", {"meta": ["starts"]}, ["data.meta", "'starts'"]),
    # held-out examples
    ("own", {"folds": 5}, ["folds N", "fold K"]),
    ("own", {"folds": 1, "fold": 0}, ["1 folds"]),
    ("own", {"folds": 5, "fold": 0, "hold_out": 3}, ["data.hold_out and data.folds", "hold_out null"]),
    ("own", {"folds": 5, "fold": 0, **INOCULATION}, ["folds", "augment inoculation"]),
    ("own", {"hold_out": 2, "splits": {"validation": "test"}}, ["hold_out", "data.splits names test"]),
    ("own", {"hold_out": 2, "where": {"validation": {"topic": "x"}}}, ["hold_out", "where chooses rows"]),
    # splits and conditions
    ("own", {"splits": {"train": ["train", "one"]}}, ["splits: train is a list"]),
    ("own", {"splits": {"validation": []}}, ["splits: validation names no split"]),
    ("own", {"splits": {"validation": ["One", "two", "one.tsv"]}}, ["splits: validation", "One, two, one"]),
    ("infotabs", {"splits": {"validation": ["alpha1", "infotabs_test_alpha1.tsv"]}}, ["validation", "alpha1, alpha1"]),
    (
        "own",
        {"splits": SEVERAL, "folds": 3, "fold": 0},
        ["folds 3", "names one, two", "folds null data.fold null"],
    ),
    ("own", {"splits": SEVERAL, "meta": ["split"]}, ["meta", "'split'"]),
    ("own", {"where": {"topic": {"y": 1}}}, ["data.where", "'topic'", "train", "validation"]),
    ("own", {"where": {"train": {"topic": "t9"}}}, ["data.where", "'topic'", "'t9'", "t0, t1, t2, t3"]),
    # training sets
    *(
        ("own", {**INOCULATION, "inoculation": sources}, ["augment inoculation", "path", "perturbed true"])
        for sources in (Inoculation(), Inoculation("a.tsv", perturbed=True))
    ),
    ("planted", {**INOCULATION, "inoculation": Inoculation("a.tsv")}, ["data.path", "planted"]),
    *(
        ("own", {"mixture": [Mixture(**mixture) for mixture in mixtures], **more}, ["data.mixture", *facts])
        for mixtures, more, *facts in (
            ([{"share": 0.0}], {}, "share 0.0 of train"),
            ([{"share": 0.1, "name": "a/b"}], {}, "'a/b'"),
            ([{"share": 0.5, "split": "one"}, {"share": 0.6, "split": "one"}], {}, "add up to 1.1"),
            ([{"share": 0.1}], {"augment": "counterfactual"}, "augment counterfactual"),
        )
    ),
    # words around the parts
    *(
        ("planted", settings, [*settings, *facts])
        for settings, *facts in (
            ({"template": "premise: {premise}"}, "'premise: {premise}'", "premise, hypothesis"),
            ({"verbalisers": {"neutral": "entailment "}}, "neutral", "'entailment'"),
        )
    ),
    # further kinds
    *(("planted", {"shortcut": x}, [f"data.shortcut {x}"]) for x in (-0.1, 1.1, math.nan)),
    ("planted", {"n_validation": 0}, ["n_validation"]),
    ("planted", {"path": "x"}, ["data.path", "planted"]),
    ("infotabs", {"keep_rows": 0}, ["keep_rows 0", 1]),
    *((name, {"path": pd.DataFrame(TOPICS)}, ["data.path", "DataFrame", "folder"]) for name in ("infotabs", "nlixy")),
    ("squares", {"pictures": ["photo"]}, ["pictures photo", "squares", "image, question"]),
    ("squares", {"labels": None}, ["squares", "labels", "answers"]),
    ("nlvr2", {"pictures": ["right", "left"]}, ["pictures [right, left]"]),  # the network reads them in order
    ("vqa2", {"answers": 0}, ["answers 0", 1]),
    ("vqa2", {"answers": 4, "augment": "counterfactual"}, ["counterfactual", "vqa2", "default_label", "'(unrelated)'"]),
    *(("msgs", {"control": percents}, ["control"]) for percents in ("", "L", "2", "2S1L", "2L 1S", "-1L", "100L")),
    ("msgs", {"control": "2L", "mixture": [1]}, ["data.control and data.mixture"]),
    ("msgs", {"task": "../x"}, ["task '../x'"]),
    ("msgs", {"augment": "counterfactual"}, ["augment counterfactual", "msgs-main_verb", "sentence"]),
]
DATA: list[Case] = [
    ("own", {"folds": 50, "fold": 0}, ["folds 50", "12 different examples"]),
    ("own", {"folds": 5, "fold": 0, "groups": ["topic"]}, ["folds 5", "4 different", "cluster", "groups"]),
    *(("own", {"hold_out": n}, [f"hold_out {n}", 12]) for n in (12, 13)),
    ("own", {"hold_out": 10, "groups": ["topic"]}, ["hold_out 10", "cluster", "groups"]),
    ("own", {"where": {"z": 1}}, ["row 1", "'z'", "premise, hypothesis"]),
    ("own", {"where": {"validation": {"topic": "t0", "label": "entailment"}}}, ["topic is t0; label is entailment"]),
    ("own", {"slices": ["topics"]}, ["slices topics", "premise, hypothesis", "mean topic?"]),
    ("own", {"path": nli_rows(6), "splits": {"validation": ["a", "b"]}}, ["splits names a and b"]),
    ("own", {**INOCULATION, "inoculation": Inoculation(perturbed=True)}, ["perturbed", "tables", "own has none"]),
    ("infotabs", {**INOCULATION, "inoculation": Inoculation("nowhere.tsv")}, ["nowhere.tsv"]),
    ("infotabs", {**INOCULATION, "inoculation": Inoculation(n=99, perturbed=True)}, ["inoculation.n is 99"]),
    *(
        ("infotabs", {**INOCULATION, "inoculation": Inoculation(n=2, perturbed=True), "template": None, **more}, facts)
        for more, *facts in (
            ({"parts": {"hypothesis": "hypothesis", "other": "table_id"}}, "perturbed", "hypothesis, other"),
            ({"parts": {"premise": "premise", "a": "hypothesis", "b": "annotater_id"}}, "perturbed", "premise, a, b"),
            ({"labels": {"yes": ["E"], "no": ["C", "N"]}, "default_label": None}, "'entailment'", "infotabs"),
        )
    ),
    *(
        ("own", {"mixture": [Mixture(**mixture)]}, ["data.mixture", *facts])
        for mixture, *facts in (
            ({"share": 0.001, "split": "one"}, "share 0.001 of 12", "0 of one"),
            ({"share": 0.1, "parts": {"premise": "premise"}}, "train has the parts [premise]", "premise, hypothesis"),
            ({"share": 0.1, "labels": {"equal": [1]}}, "train has the label 'equal'"),
        )
    ),
    ("own", {"mixture": [Mixture(0.9, "test")]}, ["data.mixture", "share 0.9 of 12", "11 of test", 6]),
    ("reading", {"mixture": [Mixture(0.1)]}, ["data.mixture", "d is not"]),
    ("infotabs", {"splits": {"validation": "alpha4"}}, ["maindata", "'alpha4'", "infotabs_dev.tsv"]),
    *(("infotabs", {"path": path}, [f"path {path}", "maindata/ and tables/json/"]) for path in ("nowhere", __file__)),
    ("msgs", {"task": "main_verb"}, ["data.path", "'main_verb'", "main_verb_lexical_content_the"]),
    ("squares", {"labels": None, "answers": "none.txt"}, ["data.answers none.txt"]),
    ("own", {"splits": {"train": "trian"}}, ["'trian'", "train, validation, test", "data.splits"]),
    ("own", {"splits": {"validation": "dev_matched"}}, ["'dev_matched'", "validation_matched", "data.splits"]),
    ("nlixy", {"labels": {"entailment": [], "neutral": []}}, ["'non-entailment'"]),
    (
        "vqa2",
        {"path": twin_path("vqa2") / "validation.parquet", "answers": 4},
        ["answers 4", "RUN/checkpoints/backbone"],
    ),
]


@pytest.mark.parametrize(
    ("error", "name", "settings", "facts"),
    [(SettingError, *case) for case in SETTINGS] + [(DataError, *case) for case in DATA],
)
def test_a_mistake_is_one_error(
    error: type[HeedfulError], name: str, settings: dict[str, Any], facts: list[Any]
) -> None:
    kind, usual = BASES[name]
    path = {} if name not in CONFIGS or name in GENERATED else {"path": str(twin_path(name))}
    with refused(error, *facts):
        arguments = {k: str(v) if isinstance(v, Path) else v for k, v in (usual | path | settings).items()}
        getattr(datamodules, kind)(**arguments).setup("fit")
