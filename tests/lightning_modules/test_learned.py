"""What a model learned fits a task by names, never by position; hashes of training examples."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from heedful.lightning_modules.learned import (
    Learned,
    TrainedOn,
    is_named,
    is_two_class,
    labels_of_outputs,
    match_labels,
    mismatch,
    reconcile,
)
from heedful.records import CLASSIFICATION, Example, Examples, Task
from heedful.records.example import TableForm

PARTS = ("premise", "hypothesis")
NLI = ("entailment", "neutral", "contradiction")
TWO = ("entailment", "not_entailment")
NUMBERED = ("LABEL_0", "LABEL_1", "LABEL_2")


def clash(head, task, *setting):
    """The message if outputs and labels do not match."""
    return mismatch(Learned(base="some/model", labels=tuple(head)), task, *setting)


@pytest.mark.parametrize(
    ("head", "order"),
    [
        (["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], [2, 1, 0]),  # roberta-large-mnli
        (["contradiction", "entailment", "neutral"], [1, 2, 0]),  # cross-encoder/nli-*
        (["entailment", "neutral", "contradiction"], [0, 1, 2]),  # most DeBERTa models for NLI
        (["contradiction", "neutral", "entailment"], [2, 1, 0]),  # facebook/bart-large-mnli
    ],
)
def test_published_orders_are_matched_by_name(head, order):
    assert match_labels(head, NLI) == order
    assert [labels_of_outputs(head, NLI).index(i) for i in range(3)] == order


def test_case_spaces_hyphens_and_underscores_do_not_matter_unless_labels_differ_in_them():
    for name in ("not_entailment", "not-entailment", "Not Entailment", "NOT_ENTAILMENT"):
        assert match_labels([name, "ENTAILMENT"], TWO) == [1, 0]
    assert match_labels(["hotdog", "hot dog", "yes"], ["yes", "hot dog", "hotdog"]) == [2, 1, 0]
    assert match_labels(["hotdog", "hot dog", "yes"], ["Yes", "Hot dog", "Hotdog"]) is None  # ambiguous without case


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        (["LABEL_0", "LABEL_1"], False),
        (["label_0", "Label_1", "LABEL2"], False),
        (["LABEL_0", "neutral"], True),
        (["0", "1"], True),
        ([], False),
    ],
)
def test_numbered_labels_are_no_names(labels, named):
    assert is_named(labels) is named


@pytest.mark.parametrize("absent", ["not_entailment", "non-entailment", "Non Entailment", "NOT_ENTAILMENT"])
@pytest.mark.parametrize("head", [["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], NLI])
def test_three_classes_answer_in_two(head, absent):
    for task in (["entailment", absent], [absent, "Entailment"]):
        meant = labels_of_outputs(head, task)
        assert [task[k] == absent for k in meant] == [name.lower() != "entailment" for name in head]
        assert labels_of_outputs(head, task, merging=False) is None
        assert is_two_class(task)
    assert labels_of_outputs(["not_entailment", "entailment"], ["entailment", "non-entailment"], merging=False) == (
        1,
        0,
    )
    assert not is_two_class(["entailment", "neutral"])


@pytest.mark.parametrize(
    ("head", "task"),
    [
        (["entailment", "contradiction"], NLI),
        ([*NLI, "other"], NLI),
        ([], NLI),
        (["entailment", "neutral", "refuted"], NLI),
        (["entailment", "neutral", "neutral"], NLI),
        (NLI, ["duplicate", "not_duplicate"]),
        (NLI, ["entailment", "neutral"]),  # contradiction means neither label
        (["yes", "maybe", "no"], TWO),
        (["entailment", "Entailment", "neutral"], TWO),
        (["entailment", "neutral", "neutral"], TWO),
        (TWO, NLI),
        (["weather", "entailment"], TWO),
        (["entailment", "neutral", "weather"], TWO),
    ],
)
def test_labels_that_say_something_else_are_refused(head, task):
    assert labels_of_outputs(head, task) is None
    for words in ("some/model", ", ".join(head), ", ".join(task)):
        assert words in clash(head, task)


@pytest.mark.parametrize(("head", "task"), [(NUMBERED, NLI), (NUMBERED, TWO), (NUMBERED[:2], NUMBERED[:2])])
def test_numbered_outputs_must_be_named(head, task):
    """The message proposes no order of names, since users might paste a wrong one."""
    assert reconcile(Learned(labels=tuple(head)), Task(CLASSIFICATION, PARTS, task)).head == "replaced"
    assert "model.labels" in clash(head, task)
    assert "[" not in clash(head, task)


def test_messages_name_settings_that_there_are_and_a_few_of_thousands_of_answers():
    assert "model.labels" not in clash(["yes", "no"], ["duplicate", "different"], None)
    answers = [f"answer {i}" for i in range(3129)]
    message = clash(answers, answers[::2])
    assert "answer 4, ... (3,129 in all)" in message
    assert "answer 8, ... (1,565 in all)" in message


# fits


def task(parts=PARTS, labels=NLI, **settings):
    return Task(CLASSIFICATION, parts, labels, **settings)


HEAD = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
ENCODER = Learned(parts=PARTS, labels=HEAD)
WRITER = Learned(parts=PARTS, labels=NLI, template="p {premise} h {hypothesis}", texts=("yes", "maybe", "no"))


@pytest.mark.parametrize(
    ("learned", "task", "settings", "head", "column"),
    [
        (Learned(), task(), {}, "new", (0, 1, 2)),
        (ENCODER, task(), {}, "kept", (2, 1, 0)),
        (ENCODER, task(labels=NLI[::-1]), {"trains": True}, "kept", (0, 1, 2)),
        (ENCODER, task(labels=TWO), {}, "merged", (1, 1, 0)),
        (ENCODER, task(labels=TWO), {"trains": True}, "replaced", (0, 1)),
        (ENCODER, task(labels=TWO), {"trains": True, "collapse": "argmax"}, "merged", (1, 1, 0)),
        (ENCODER, task(labels=("x", "y")), {}, "replaced", (0, 1)),
        (WRITER, task(labels=NLI[::-1]), {"trains": True}, "kept", (0, 1, 2)),
        (WRITER, task(labels=TWO), {}, "merged", (0, 1, 1)),
        (WRITER, task(labels=TWO), {"trains": True, "collapse": "sum"}, "replaced", (0, 1)),
        (WRITER, task(parts=("text",)), {}, "new", (0, 1, 2)),
    ],
)
def test_a_head_is_kept_merged_replaced_or_new(learned, task, settings, head, column):
    fit = reconcile(learned, task, **settings)
    assert (fit.head, fit.label_map.column) == (head, column)
    assert len(fit.texts) == len(column)
    assert fit.is_kept == (head in ("kept", "merged"))
    assert reconcile(learned, task, **settings) == fit


@pytest.mark.parametrize(
    ("parts", "order"), [(PARTS[::-1], PARTS), (("b", "a"), ("b", "a")), (("hypothesis", "text"), ("text", PARTS[1]))]
)
def test_parts_are_read_by_name_or_else_by_position_with_the_template_of_the_training(parts, order, caplog):
    with caplog.at_level("INFO"):
        fit = reconcile(WRITER, task(parts, NLI[::-1], template=f"{{{parts[0]}}}{{{parts[1]}}}"))
    assert fit.task.parts == order
    assert fit.task.template == f"p {{{order[0]}}} h {{{order[1]}}}"
    assert fit.task.targets == ("no", "maybe", "yes")
    assert ", then ".join(PARTS) in caplog.text


def test_what_was_learned_is_read_again_from_an_entry_and_from_checkpoints_of_earlier_versions():
    assert Learned(labels=NLI).updated(WRITER.entry()) == WRITER
    assert Learned().updated({"no_answer": "none"}).texts == ("none",)
    assert Learned().updated({}) == Learned()
    saved = {"task": task(form=TableForm()).as_dict(), "global_step": 7}
    for checkpoint in (saved, saved | {"learned": WRITER.entry(), "outputs": list(NLI)}):
        again = replace(WRITER, labels=None).with_checkpoint(checkpoint)
        assert again == replace(WRITER, form=TableForm(), steps=7)


# hashes of training examples


def pool(pairs, names=PARTS):
    return Examples.of(Example(f"d/{i}", dict(zip(names, pair, strict=True)), "yes") for i, pair in enumerate(pairs))


def test_examples_are_found_again_by_their_content():
    known = TrainedOn.of(pool([("a", "b"), ("c", "d"), ("a", "b")]), PARTS)
    assert len(known.keys) == 2
    asked = pool([("a ", "b"), ("b", "a"), ("c", "d"), ("a", "d")])
    assert known.seen(asked, PARTS).tolist() == [True, False, True, False]
    assert known.seen(asked, PARTS[::-1]).tolist() == [True, False, True, False]  # the same names in another order
    others = pool([("a", "b"), ("b", "a")], ("one", "two"))
    assert known.seen(others, ("one", "two")).tolist() == [True, False]


def test_what_was_learned_before_stays():
    before = TrainedOn.of(pool([("a", "b")]), PARTS)
    after = TrainedOn.of(pool([("c", "d")], ("one", "two")), ("one", "two"), before)
    assert after.seen(pool([("a", "b"), ("c", "d"), ("e", "f")]), PARTS).tolist() == [True, True, False]
    assert np.array_equal(before.joined(after).keys, after.keys)
    assert before.joined(None) is before


def test_it_is_kept_in_files_and_checkpoints(tmp_path):
    known = TrainedOn.of(pool([("a", "b"), ("c", "d")]), PARTS)
    known.write(tmp_path)
    torch.save(known.state(), tmp_path / "state")
    for again in (TrainedOn.read(tmp_path), TrainedOn.of_state(torch.load(tmp_path / "state", weights_only=True))):
        assert again.parts == PARTS
        assert np.array_equal(again.keys, known.keys)
    assert TrainedOn.read(tmp_path / "elsewhere") is TrainedOn.of_state(None) is None
