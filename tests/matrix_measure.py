"""Measurements from Python for tests/matrix.py: python matrix_measure.py NAME FOLDER OUTPUT prints values as json."""

import json
import os
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import heedful

NLI = ("entailment", "neutral", "contradiction")
PAIR = {"parts": ["premise", "hypothesis"], "default_label": "neutral", "uid": "id", "draws": 3}
QUIET = {"accelerator": "cpu", "enable_progress_bar": False}


def share_of(*texts: str) -> float:
    """A number from 0 to 1 that is the same for the same texts."""
    return int.from_bytes(sha256("|".join(texts).encode()).digest()[:6], "big") / 2**48


def labels(rows: list[dict[str, str]]) -> list[str | None]:
    """A label goes by the hypothesis, and now and then by the premise too; some inputs have no answer."""
    found: list[str | None] = []
    for row in rows:
        share = share_of(row["hypothesis"])
        share = share_of(row["premise"], row["hypothesis"]) if share > 0.6 else share
        found.append(None if share > 0.97 else NLI[int(3 * share) % 3])
    return found


def probabilities(rows: list[dict[str, str]]) -> list[dict[str, float]]:
    """Probabilities of three labels, by both parts."""
    weights = [[0.1 + share_of(label, *row.values()) for label in NLI] for row in rows]
    return [{label: w / sum(of_row) for label, w in zip(NLI, of_row, strict=True)} for of_row in weights]


def texts(rows: list[dict[str, str]]) -> list[str]:
    """Free texts: a word of the premise, with a capital and a full stop now and then."""
    words = [row["premise"].split() for row in rows]
    return [w[int(share_of(r["hypothesis"]) * len(w))] + ". "[len(w) % 2] for w, r in zip(words, rows, strict=True)]


def number_of(result: Any, *key: str) -> list[float | int | None]:
    """Value, interval and n of a number of results."""
    number = result[key]
    return [number.value, number.low, number.high, number.n]


def function(folder: Path, output: Path) -> dict[str, Any]:
    """Functions that return labels, probabilities and texts, on rows of a file and rows in memory."""
    pairs = folder / "data" / "pairs"
    file = str(pairs / "csv" / "validation.csv")
    plain = heedful.measure(labels, file, **PAIR, labels=list(NLI), by="kind", output=output / "labels", trainer=QUIET)
    likely = heedful.measure(probabilities, file, **PAIR, cluster="premise", seed=3, output=output / "p", trainer=QUIET)
    bare = str(pairs / "unlabelled" / "validation.csv")
    unlabelled = heedful.measure(labels, bare, **PAIR, labels=list(NLI), output=output / "unlabelled", trainer=QUIET)
    rows = [
        {"premise": f"The {w} dog {i} ran", "hypothesis": f"a dog {i}"}
        for i, w in enumerate("red big old new".split() * 6)
    ]
    free = heedful.measure(
        texts, rows, ["premise", "hypothesis"], label=None, same="normalised", output=output / "texts", trainer=QUIET
    )
    kept = heedful.measure(
        labels,
        file,
        **PAIR | {"swap": ["hypothesis"]},
        keeps=["premise"],
        labels=list(NLI),
        output=output / "keeps",
        trainer=QUIET,
    )
    found = {"labels": number_of(plain, "attentiveness", "premise"), "accuracy": number_of(plain, "accuracy")}
    found |= {"p": number_of(likely, "attentiveness", "hypothesis")}
    found |= {"unlabelled": number_of(unlabelled, "attentiveness", "premise"), "texts": len(free.rows)}
    found |= {"kept": len(kept.rows), "loaded": number_of(heedful.load(output / "labels"), "attentiveness", "premise")}
    try:
        heedful.measure(labels, file, parts=["premise", "nothing"], default_label="neutral", trainer=QUIET)
    except heedful.HeedfulError:
        found["refused"] = True
    return found


def model(folder: Path, output: Path) -> dict[str, Any]:
    """The folder of a model, and (model, tokenizer)."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    name, file = str(folder / "models" / "nli"), str(folder / "data" / "pairs" / "csv" / "validation.csv")
    whole = heedful.measure(name, file, **PAIR, output=output / "folder", trainer=QUIET)
    both = (AutoModelForSequenceClassification.from_pretrained(name), AutoTokenizer.from_pretrained(name))
    other = heedful.measure(both, file, **PAIR, output=output / "both", trainer=QUIET)
    return {"folder": number_of(whole, "attentiveness", "premise"), "both": number_of(other, "accuracy")}


def endpoint(folder: Path, output: Path) -> dict[str, Any]:
    """A model behind a server, with a prompt of the user's."""
    words = "{premise} Does it follow that {hypothesis}?"
    asked = heedful.Endpoint(os.environ["OPENAI_BASE_URL"], "org/tiny", prompt=words, cache=str(output) + ".sqlite")
    file = str(folder / "data" / "pairs" / "csv" / "validation.csv")
    result = heedful.measure(asked, file, **PAIR, labels=list(NLI), output=output, trainer=QUIET)
    return {"attentiveness": number_of(result, "attentiveness", "premise")}


def in_python(folder: Path, output: Path) -> dict[str, Any]:
    """Training and evaluation by functions."""
    learned = {"max_length": 64, "learning_rate": 0.003}
    model = heedful.load_model(folder / "models" / "bert", **learned)
    data = heedful.load_data("planted", n_train=96, n_validation=30, batch_size=16)
    run = heedful.train(model, data, trainer=QUIET | {"max_epochs": 1}, output=output / "run")
    data = heedful.load_data("planted", n_validation=40)
    more = {"default_label": {"draws": 2}, "trainer": QUIET, "output": output / "evaluated"}
    result = heedful.evaluate(checkpoint=str(run.folder), data=data, evaluations=["accuracy", "default_label"], **more)
    return {"run": number_of(run, "attentiveness", "premise"), "evaluated": number_of(result, "accuracy")}


MEASURED: dict[str, Callable[[Path, Path], dict[str, Any]]] = {
    each.__name__: each for each in (function, model, endpoint, in_python)
}

if __name__ == "__main__":
    print(json.dumps(MEASURED[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))))
