"""Changes that never reach the model, through the real engine with real models."""

import json
from io import StringIO

import numpy as np
import pytest
import torch
from rich.console import Console
from transformers import AutoTokenizer

from heedful.callbacks import Attentiveness, NaivePartial
from heedful.callbacks.engine.alone import MOST
from heedful.datamodules import PairedData
from heedful.lightning_modules import Encoder
from heedful.metrics import METRICS
from heedful.metrics.metric import UNREAD_CHANGES
from heedful.records import Context, Example, Examples
from heedful.records.rows import read_rows, save_rows, select
from heedful.reports.terminal.table import print_table

from oracles import measure

LABELS = ("entailment", "neutral", "contradiction")
LONG = "a dog ran " * 1000
NAME = "attentiveness/d/premise"


class Pairs(PairedData):
    """Pairs of the given texts, one for each premise."""

    def __init__(self, premises, **settings):
        super().__init__("d", ("premise", "hypothesis"), LABELS, **settings)
        self.premises = premises

    def load(self, split):
        made = enumerate(self.premises)
        pairs = [{"premise": p, "hypothesis": f"{'the cat ' * (i % 3)}sat in {chr(97 + i)}"} for i, p in made]
        return Examples.of([Example(f"d/v/{i}", pair, LABELS[i % 3], {}) for i, pair in enumerate(pairs)])


def read_by(backbone, premises, *evaluations, max_length=64):
    """A random model that reads so many tokens, on pairs with these premises."""
    torch.manual_seed(0)
    data = Pairs(premises, eval_batch_size=4)
    data.setup("validate")
    module = Encoder(str(backbone), max_length=max_length)
    module.prepare(data.task)
    module.configure_model()
    with torch.no_grad():  # answers that depend on the words
        module.network.classifier.weight.mul_(100)
        for weight in module.network.bert.encoder.parameters():
            weight.mul_(20 if weight.ndim == 2 else 1)
    return measure(module, data, *evaluations, only=["accuracy", *(one.name for one in evaluations)]), data


def printed(engine):
    file = StringIO()
    print_table({"run": engine.content}, Console(width=400, file=file))
    return file.getvalue()


@pytest.mark.slow
def test_premises_that_differ_behind_the_3000th_word_are_no_evidence_of_inattention(tiny_bert):
    engine, data = read_by(tiny_bert, [LONG + chr(97 + i) for i in range(12)], Attentiveness(draws=5))
    metrics = engine.content["metrics"]
    assert (metrics[NAME]["value"], metrics[NAME]["n"]) == (0.0, 12)
    assert UNREAD_CHANGES in metrics[NAME]["flags"]
    assert (metrics[f"{NAME}/unread"]["value"], metrics[f"{NAME}/unread"]["n"]) == (1.0, 60)
    assert metrics[f"{NAME}/read"]["value"] is None
    assert metrics[f"{NAME}/read"]["reason"] == "the model reads none of the changes"
    counts = engine.content["counts"]
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    whole = {part: sum(len(tokenizer.tokenize(e.parts[part])) for e in data.pool) for part in ("premise", "hypothesis")}
    assert counts["truncated"] == 12
    assert {part: n for part, (_, n) in counts["tokens_kept"].items()} == whole
    text = printed(engine)
    assert "Changes that never reach the model: 100 % for 'attentiveness premise'." in text
    assert "12 of 12 examples are longer than the model reads. Tokens that it reads: premise" in text
    assert ") more than 5 % of the changes never reach the model" in text


@pytest.mark.slow
def test_rows_say_what_the_tokenizer_says_and_numbers_are_those_of_the_rows(tiny_bert, tmp_path):
    """Some premises differ behind the cut, some in case alone, and some where the model reads them."""
    premises = [LONG + chr(97 + i) for i in range(4)] + ["The dog ran", "the DOG ran"]
    premises += [f"{chr(97 + i)} man {'slept ' * i}" for i in range(6)]
    engine, data = read_by(tiny_bert, premises, Attentiveness(draws=4), NaivePartial(), max_length=24)
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    parts = {example.uid: example.parts for example in data.pool}

    def encoded(premise, hypothesis):
        return tuple(tokenizer(premise, hypothesis, truncation="longest_first", max_length=24)["input_ids"])

    rows, metadata = engine.rows["attentiveness"]
    swaps = select(rows, intervention="swap").to_pylist()
    unread = []
    for row in swaps:
        base = parts[row["uid"]]
        unread.append(encoded(**base) == encoded(parts[row["partner"]]["premise"], base["hypothesis"]))
        assert row["unread"] == unread[-1]
        assert not (unread[-1] and row["y2"] != row["y"])
    share = np.mean(unread)
    assert 0.05 < share < 0.5
    assert rows["unread"].null_count == rows.num_rows - len(swaps)
    metrics = engine.content["metrics"]
    assert metrics[f"{NAME}/unread"]["value"] == pytest.approx(share)
    shares = {True: [], False: []}
    for draw in range(4):
        of_draw = [(r["y"] != r["y2"], r["unread"]) for r in swaps if r["draw"] == draw]
        shares[True].append(np.mean([changed for changed, _ in of_draw]))
        shares[False].append(np.mean([changed for changed, was_unread in of_draw if not was_unread]))
    assert metrics[NAME]["value"] == pytest.approx(np.mean(shares[True]))
    assert metrics[f"{NAME}/read"]["value"] == pytest.approx(np.mean(shares[False]))
    assert metrics[f"{NAME}/read"]["value"] > metrics[NAME]["value"]
    assert "read" in printed(engine)
    save_rows(tmp_path / "rows.parquet", rows, metadata)
    again, kept = read_rows(tmp_path / "rows.parquet")
    scored = METRICS["attentiveness"].score(again, Context.of(kept["context"]))
    assert json.dumps({str(k): m.as_dict() for k, m in scored.items()}, sort_keys=True) == json.dumps(
        {k: m for k, m in metrics.items() if k.startswith("attentiveness/")}, sort_keys=True
    )


@pytest.mark.slow
def test_what_is_the_same_to_the_model_is_predicted_once(tiny_bert):
    """Two draws, two evaluations, or a change and its base; but the null control is predicted again."""
    premises = [LONG + chr(97 + i) for i in range(3)] + ["The dog ran", "the DOG ran", "a man ran", "a man slept"]
    fed = []
    with pytest.MonkeyPatch.context() as patch:
        predict = Encoder.predict
        patch.setattr(
            Encoder,
            "predict",
            lambda self, batch: fed.append(len(batch["inputs"]["input_ids"])) or predict(self, batch),
        )
        engine, data = read_by(tiny_bert, premises, Attentiveness(draws=6), NaivePartial(), max_length=24)
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    parts = {example.uid: dict(example.parts) for example in data.pool}

    def encoded(parts):
        return tuple(tokenizer(*parts.values(), truncation="longest_first", max_length=24)["input_ids"])

    seen, counts = {}, {"attentiveness": 0, "naive_partial": 0}
    for name, changes in {"attentiveness": "swap", "naive_partial": "keep"}.items():
        for row in select(engine.rows[name][0], intervention=changes).to_pylist():
            base = parts[row["uid"]]
            changed = {
                part: "" if name == "naive_partial" and part != row["variant"] else t for part, t in base.items()
            }
            if name == "attentiveness":
                changed |= {row["part"]: parts[row["partner"]][row["part"]]}
            key = encoded(changed)
            if key == encoded(base):
                counts[name] += 1
                assert (row["y2"], row["p2"]) == (row["y"], row["p"])
            else:
                counts[name] += key in seen
                assert seen.setdefault(key, row["p2"]) == row["p2"]
    found = engine.content["counts"]
    assert found["accuracy/identical"] == 0
    of_both = {name: found[f"{name}/identical"] for name in counts}
    assert sum(of_both.values()) == sum(counts.values()) > 10
    assert min(of_both.values()) > 0
    assert 0 < sum(fed) - len(seen) - 2 * len(premises) <= MOST  # those that are predicted alone, too
    assert f"{sum(counts.values())} changed inputs were the same as others to the model" in printed(engine)


def test_nothing_is_said_where_all_is_read(tiny_bert):
    engine, _ = read_by(tiny_bert, [f"{chr(97 + i)} man ran" for i in range(9)], Attentiveness(draws=2))
    metrics = engine.content["metrics"]
    assert metrics[f"{NAME}/unread"]["value"] == 0.0
    assert f"{NAME}/read" not in metrics
    assert UNREAD_CHANGES not in metrics[NAME]["flags"]
    assert "tokens_kept" not in engine.content["counts"]
    assert "unread" not in printed(engine)


def test_it_is_unknown_where_nobody_sees_the_inputs():
    """As of a function; its numbers are as they were."""
    engine = measure(lambda table, hypothesis: "neutral", Pairs(["a", "b", "c"]), Attentiveness(draws=2))
    rows, _ = engine.rows["attentiveness"]
    assert rows["unread"].null_count == rows.num_rows
    assert engine.content["metrics"][NAME]["value"] == 0.0
    assert not any("unread" in name for name in engine.content["metrics"])
