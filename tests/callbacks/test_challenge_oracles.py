"""Challenge examples on models with known answers."""

import numpy as np
import pytest

from heedful.callbacks import Challenge, Nothing, Setting
from heedful.datamodules import Planted
from heedful.interventions import KINDS
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.lightning_modules import Classifier
from heedful.lightning_modules.processors.processor import Processor
from heedful.records import Example, RunError, Table

from oracles import Given, sure_of
from oracles import measure as measured
from refusals import refused
from tiers import first_tier

E, N, C = LABELS
RULED = [kind for kind in KINDS if kind != "entities"]
CLAIMS = (  # about a table
    ("{} was released after 1990.", E),
    ("{} was released before 1950.", C),
    ("{} was not recorded in 1950.", E),
    ("{} has over 20 songs.", E),
    ("{} has several producers in London.", E),
    ("All of the members of {} sing.", C),
    ("It was made in London.", E),
    ("{} is loved.", N),
)
TABLES = {
    f"T{i}": Table(
        f"Album{i} (record)",
        (
            ("Released", (f"{1995 + i}",)),
            ("Genre", (("rock", "pop", "folk", "jazz")[i % 4],)),
            ("Label", (f"Company{i}",)),
            ("Studio", ("London",)),
        ),
    )
    for i in range(8)
} | {"T8": Table("Paris", (("Mayor", ("Ann",)),))}
GOLD = {f"d/{'ab'[int(t[1:]) % 2]}/{t}.{k}": gold for t in TABLES for k, (_, gold) in enumerate(CLAIMS)}


def claims(labels=LABELS, **settings):
    """Each claim about each table; the tables alternate between the splits a and b."""
    examples = []
    for uid, gold in GOLD.items():
        _, split, name = uid.split("/")
        table, k = name.split(".")
        text = CLAIMS[int(k)][0].format(TABLES[table].title.split(" ")[0])
        parts = {"premise": TABLES[table], "hypothesis": text}
        examples.append(Example(uid, parts, gold if gold in labels else None, {}, {"table": table, "split": split}))
    return Given(examples, labels, default_label="neutral", **settings)


class Whole(Processor):
    """A processor that passes the examples to the model."""

    def lengths(self, examples):
        return np.array([len(e.uid) for e in examples], dtype=np.int32)

    def __call__(self, examples):
        return {"examples": [Seen(e) for e in examples]}


class Seen:
    """An example, which Lightning does not take for a collection of tensors."""

    def __init__(self, example):
        self.example = example


class Oracle(Classifier):
    """Answers ``rule(example)``, and keeps the examples."""

    def __init__(self, rule):
        super().__init__()
        self.rule, self.seen = rule, []

    def prepare(self, task):
        self.task, self.processor = task, Whole()

    def answer(self, inputs):
        examples = [seen.example for seen in inputs["examples"]]
        self.seen += examples
        return sure_of([self.rule(example) for example in examples], self.task.labels)


def gold_of_the_original(example):
    return GOLD[example.uid]


def measure(rule=gold_of_the_original, data=None, **settings):
    model = Oracle(rule)
    engine = measured(model, data or claims(), Challenge(**settings))
    engine.__dict__["seen"] = model.seen  # the inputs of the model, next to its numbers
    return engine


def changed(engine):
    return [row for row in engine.rows["challenge"][0].to_pylist() if row["intervention"] != "base"]


def found(engine, name):
    return engine[f"challenge/d/{name}"]


def counts_of(engine):
    prefix = "challenge/"
    return {k.removeprefix(prefix): v for k, v in engine.content["counts"].items() if k.startswith(prefix)}


@pytest.fixture(autouse=True)
def no_spacy(monkeypatch):
    monkeypatch.setattr("heedful.interventions.hypotheses.spacy_analyser.MODELS", ("no_such_model",))


def test_the_gold_label_of_the_original_is_right_if_labels_are_preserved_and_wrong_if_they_flip():
    engine = measure()
    for name in ("hypotheses/original", "titles/original", "hypotheses/preserved", "titles/preserved"):
        assert found(engine, name).value == 1
    assert found(engine, "hypotheses/flipped").value == found(engine, "hypotheses/flipped/subsamples").value == 0
    assert {row["gold2"] for row in changed(engine)} == {E, C}
    for kind in RULED:
        counts = counts_of(engine)[kind]
        for way, value in (("preserved", 1), ("flipped", 0)):
            m = found(engine, f"hypotheses/kind={kind}/{way}")
            rows = [row for row in changed(engine) if row["intervention"] == f"perturb/{kind}/{way}"]
            assert (m.value, m.n, counts[way]) == (value if rows else None, len(rows), len(rows))
        assert counts["flipped_from_entailment"] == sum(row["gold2"] == C for row in rows)


def test_a_constant_answer_is_right_if_all_flips_end_in_it_and_has_a_flag():
    engine = measure(lambda example: C)
    for name in ("hypotheses/flipped", *(f"hypotheses/kind={kind}/flipped" for kind in RULED)):
        m = found(engine, name)
        assert (m.value, "one_sided" in m.flags) == (1, True)
        assert found(engine, f"{name}/from_entailment").value == 1
        assert found(engine, f"{name}/both_ways").value is None


def test_a_model_that_knows_the_titles_by_heart_fails_on_other_titles():
    def by_heart(example):
        table = example.uid.split("/")[-1].split(".")[0]
        return GOLD[example.uid] if example.parts["premise"].title == TABLES[table].title else N

    engine = measure(by_heart)
    assert (found(engine, "titles/original").value, found(engine, "titles/preserved").value) == (1, 0)
    assert found(engine, "titles/preserved/drop").value == found(engine, "hypotheses/preserved").value == 1


@pytest.mark.slow
def test_a_model_of_the_hypothesis_alone_receives_the_same_changed_hypotheses():
    full, alone = measure(), measure(data=claims(partial="hypothesis"))
    names = "uid", "intervention", "variant", "draw", "gold2", "y2", "clusters", "partner"
    rows, seen = [], []
    for engine in (full, alone):
        rows.append([[row[name] for name in names] for row in changed(engine)])
        seen.append(sorted((e.uid, e.parts["hypothesis"]) for e in engine.seen))
    assert (rows[0], seen[0], full, counts_of(full)) == (rows[1], seen[1], alone, counts_of(alone))
    assert all(list(e.parts) == ["hypothesis"] for e in alone.seen)
    assert {row["part"] for row in changed(alone)} == {"hypothesis"}
    assert {row["part"] for row in changed(full)} == {"hypothesis", "premise+hypothesis"}


@pytest.mark.parametrize("partial", first_tier(1, [None, "hypothesis"]))
def test_a_split_has_the_changes_of_an_evaluation_of_that_split_alone(partial):
    together, metrics, rows = measure(data=claims(splits="ab", partial=partial)), {}, []
    for half in "ab":
        alone = measure(data=claims(splits=half, partial=partial))
        rows += alone.rows["challenge"][0].drop_columns("slices").to_pylist()
        for name, m in alone.items():
            if name.startswith("challenge/") and "kind=" not in name:
                what = name.split("/")[2]
                metrics[name.replace(f"/{what}/", f"/{what}/split={half}/")] = m
    assert {name: m for name, m in together.items() if "challenge" in name and "split=" in name} == metrics
    assert together.rows["challenge"][0].drop_columns("slices").to_pylist() == rows
    counts = counts_of(together)["titles"]
    assert counts["without"] == {"neutral": 9, "no_other_table": 7, "no_title_expression": 8}
    assert (counts["originals"], counts["preserved"], counts["tables"]) == (6 * 8, 6 * 8, 8)
    assert (counts["neutral"], counts["unchanged"]) == (9, 7 + 8)
    assert not any("titles/flipped" in name for name in together)


def test_rows_have_the_clusters_and_labels_of_their_changes():
    base = {e.uid: e for e in claims().load("validation")}
    for row in changed(measure()):
        assert row["clusters"] == [row["uid"], f"table {base[row['uid']].meta['table']}"]
        flipped = row["intervention"].endswith("/flipped")
        assert (row["expects"], row["gold"]) == ("gold2", base[row["uid"]].label)
        assert (row["gold"], row["gold2"]) in ((E, C), (C, E)) if flipped else ((E, E), (C, C))


def test_names_need_spacy_and_are_counted_without_it(caplog):
    with caplog.at_level("INFO"):
        engine = measure()
    assert sum("pip install 'spacy" in message for message in caplog.messages) == 1
    assert (counts_of(engine)["left_out"], counts_of(engine)["analyser"]) == (["entities"], "rules-3")
    assert not any("entities" in name for name in engine)
    with refused(RunError, "kinds entities", "pip install 'spacy"):
        Challenge(["title", "entities"])
    assert counts_of(measure(kinds=["negation"]))["left_out"] == []


def test_there_is_nothing_to_do_without_a_table_the_labels_or_kinds():
    data, evaluation = claims(), Challenge()
    data.setup("validate")
    assert evaluation.plan(Setting(data)).pool is data.pool
    assert Challenge([]).plan(Setting(data)) == Nothing("has no kind of change in challenge.kinds")
    for other in (Planted(n_validation=8), claims(labels=("yes", "no", "neutral")), claims(partial="premise")):
        other.setup("validate")
        assert evaluation.plan(Setting(other)) == Nothing(f"needs a table, a hypothesis and the labels {E}, {N}, {C}")
