"""Changes that do not reach the model, through the real engine with real tokenizers."""

import json
from io import StringIO

import numpy as np
import pytest
import torch
from rich.console import Console
from transformers import AutoTokenizer

from heedful.callbacks import Attentiveness, NaivePartial
from heedful.callbacks.engine.measure import MOST_ALONE
from heedful.lightning_modules import Encoder
from heedful.metrics import METRICS
from heedful.metrics.metric import UNREAD_CHANGES
from heedful.records import Context, Example
from heedful.records.rows import read_rows, save_rows, select
from heedful.reports.terminal.table import print_table

from oracles import NLI, Given, measure

LONG = "a dog ran " * 1000
NAME = "attentiveness/d/premise"


def read_by(backbone, premises, *evaluations, max_length=64):
    """The measurements of a random model that reads ``max_length`` tokens, and the parts of each example by uid."""
    torch.manual_seed(0)
    hypotheses = [f"{'the cat ' * (i % 3)}sat in {chr(97 + i)}" for i in range(len(premises))]
    pairs = [{"premise": p, "hypothesis": h} for p, h in zip(premises, hypotheses, strict=True)]
    data = Given([Example(f"d/v/{i}", pair, NLI[i % 3]) for i, pair in enumerate(pairs)], eval_batch_size=4)
    data.setup("validate")
    module = Encoder(str(backbone), max_length=max_length)
    module.bind(data.task)
    module.configure_model()
    with torch.no_grad():  # answers that depend on the words
        module.network.classifier.weight.mul_(100)
        for weight in module.network.bert.encoder.parameters():
            weight.mul_(20 if weight.ndim == 2 else 1)
    engine = measure(module, data, *evaluations, only=["accuracy", *(each.name for each in evaluations)])
    return engine, {example.uid: dict(example.parts) for example in data.pool}


def printed(engine):
    file = StringIO()
    print_table({"run": engine.content}, Console(width=400, file=file))
    return file.getvalue()


@pytest.mark.slow
def test_unread_changes_are_found_by_the_tokenizer_and_equal_inputs_are_predicted_once(tiny_bert, tmp_path):
    """Some premises differ after the truncation, some in case alone, and some in what the model reads."""
    premises = [LONG + chr(97 + i) for i in range(4)] + ["The dog ran", "the DOG ran"]
    premises += [f"{chr(97 + i)} man {'slept ' * i}" for i in range(6)]
    sizes = []
    with pytest.MonkeyPatch.context() as patch:
        predict = Encoder.predict
        patch.setattr(Encoder, "predict", lambda self, batch: sizes.append(batch["size"]) or predict(self, batch))
        engine, parts = read_by(tiny_bert, premises, Attentiveness(draws=4), NaivePartial(), max_length=24)
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)

    def encoded(pair):
        return tuple(tokenizer(*pair.values(), truncation="longest_first", max_length=24)["input_ids"])

    seen, identical = {}, {"attentiveness": 0, "naive_partial": 0}
    for name, intervention in {"attentiveness": "swap", "naive_partial": "keep"}.items():
        for row in select(engine.rows[name][0], intervention=intervention).to_pylist():
            base = parts[row["uid"]]
            if intervention == "swap":
                changed = base | {row["part"]: parts[row["partner"]][row["part"]]}
            else:
                changed = {part: text if part == row["variant"] else "" for part, text in base.items()}
            inputs = encoded(changed)
            assert row["unread"] == (inputs == encoded(base))
            if row["unread"]:
                identical[name] += 1
                assert (row["y2"], row["p2"]) == (row["y"], row["p"])
            else:
                identical[name] += inputs in seen
                assert seen.setdefault(inputs, row["p2"]) == row["p2"]
    counts = engine.content["counts"]
    found = {name: counts[f"{name}/identical"] for name in identical}
    assert sum(found.values()) == sum(identical.values()) > 10
    assert counts["accuracy/identical"] == 0 < min(found.values())
    assert 0 < sum(sizes) - len(seen) - 2 * len(premises) <= MOST_ALONE, (
        "base, null control, and examples predicted alone"
    )
    assert f"{sum(found.values())} changed inputs were the same as others to the model" in printed(engine)

    rows, metadata = engine.rows["attentiveness"]
    swaps = select(rows, intervention="swap").to_pylist()
    assert rows["unread"].null_count == rows.num_rows - len(swaps)
    metrics = engine.content["metrics"]
    assert metrics[f"{NAME}/unread"]["value"] == pytest.approx(np.mean([row["unread"] for row in swaps]))
    for name, rows_counted in ((NAME, swaps), (f"{NAME}/read", [row for row in swaps if not row["unread"]])):
        draws = [[row["y"] != row["y2"] for row in rows_counted if row["draw"] == draw] for draw in range(4)]
        assert metrics[name]["value"] == pytest.approx(np.mean([np.mean(draw) for draw in draws]))
    assert metrics[f"{NAME}/read"]["value"] > metrics[NAME]["value"]
    save_rows(tmp_path / "rows.parquet", rows, metadata)
    again, kept = read_rows(tmp_path / "rows.parquet")
    scored = METRICS["attentiveness"].score(again, Context.of(kept["context"]))
    assert json.dumps({str(k): m.rounded().as_dict() for k, m in scored.items()}, sort_keys=True) == json.dumps(
        {k: m for k, m in metrics.items() if k.startswith("attentiveness/")}, sort_keys=True
    )


def test_there_is_no_flag_and_no_second_number_if_everything_is_read(tiny_bert):
    engine, _ = read_by(tiny_bert, [f"{chr(97 + i)} man ran" for i in range(9)], Attentiveness(draws=4))
    metrics = engine.content["metrics"]
    assert metrics[f"{NAME}/unread"]["value"] == 0.0
    assert f"{NAME}/read" not in metrics
    assert UNREAD_CHANGES not in metrics[NAME]["flags"]
    assert "tokens_kept" not in engine.content["counts"]
    assert "unread" not in printed(engine)
    swaps = select(engine.rows["attentiveness"][0], intervention="swap").to_pylist()
    identical = len(swaps) - len({(row["uid"], row["partner"]) for row in swaps})
    assert engine.content["counts"]["attentiveness/identical"] == identical > 0, "some draws have the same partner"
