"""Results of several models on one out-of-distribution data set, with accuracy and attributions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from heedful.metrics.attributions.attribution import Attribution
from heedful.metrics.attributions.sample import example
from heedful.records import Context
from heedful.records.storage.results import write_results
from heedful.reports.results import score

from attribution_rows import word_rows
from python_rows import rows_from

LABELS = ("no", "yes")
PARTS = ("a", "b")
WORDS = ("good", "bad", "dog", "cat", "saw", "the")


def base_rows(
    probs: np.ndarray, gold: Sequence[int], data: str, content: str = "", group: str | None = None
) -> pa.Table:
    """Base rows of a model that predicts the most probable label.

    Args:
        probs: Probabilities: float [examples, labels].
        gold: Indices of the gold labels.
        data: Name of the data set, the prefix of the uids.
        content: Prefix of the content of each example.
        group: Group of all examples, or None.
    """
    entries = [
        {"uid": (uid := f"{data}/test/{k:04d}"), "content": content + uid, "gold": LABELS[gold[k]], "group": group,
         "y": LABELS[p.argmax()], "p": p.astype(np.float32)}
        for k, p in enumerate(probs)
    ]  # fmt: skip
    return rows_from(entries, 2)


def explained(
    probs: np.ndarray, gold: Sequence[int], places: Sequence[int], data: str, methods: Sequence[str], meta: Mapping
) -> list[Attribution]:
    """Attributions with the same words for all models; words of part a get the probability of the wrong label."""
    made = []
    for k in places:
        rng = np.random.default_rng(k)
        a = rng.choice(WORDS, size=5)
        b = a[rng.permutation(5)] if k % 4 else a
        for method in methods:
            noise = np.random.default_rng([k, len(method), int(1e6 * probs[k, 0])]).normal(0, 0.05, size=10)
            phi = noise + np.repeat([1 - probs[k, gold[k]], probs[k, gold[k]]], 5) / 5
            of = example(" ".join(a), phi[:5], " ".join(b), phi[5:], separators=[noise[0], 0.0], **meta)
            y = LABELS[probs[k].argmax()]
            made.append(replace(of, uid=f"{data}/test/{k:04d}", method=method, y=y, gold=LABELS[gold[k]]))
    return made


def save(
    folder: Path,
    quality: float,
    data: str = "ood",
    examples: int = 200,
    population: int = 40,
    methods: Sequence[str] = ("shap",),
    content: str = "",
    first: int = 0,
    manifest: str = "m",
    truthful: bool = False,
    probabilities: bool = True,
    group: str | None = None,
    **meta: str,
) -> str:
    """Write the results of a model that is correct with the probability ``quality``, and return the folder.

    Args:
        folder: The folder.
        quality: Probability of a correct prediction.
        data: Name of the data set.
        examples: Number of examples.
        population: Number of examples with attributions.
        methods: Methods of attribution.
        content: Prefix of the content of each example.
        first: Index of the first example with attributions.
        manifest: Hash of the masks.
        truthful: Whether the explained probability of each example equals ``quality``.
        probabilities: Whether predictions have probabilities.
        group: Group of all examples, or None.
        **meta: Meta columns of all examples.
    """
    gold = np.random.default_rng(9).integers(0, 2, size=examples)
    rng = np.random.default_rng(int(1000 * quality))
    right, sure = rng.random(examples) < quality, rng.uniform(0.55, 0.99, size=examples)
    of_gold = np.where(right, sure, 1 - sure)
    probs = np.where(gold[:, None] == np.arange(2), of_gold[:, None], 1 - of_gold[:, None])
    context = Context(data, parts=PARTS, labels=LABELS)
    words = explained(probs, gold, range(first, first + population), data, methods, meta)
    words = [replace(of, full=quality) for of in words] if truthful else words
    base = base_rows(probs, gold, data, content, group)
    if not probabilities:
        base = base.set_column(base.schema.get_field_index("p"), "p", pa.nulls(examples, base.schema.field("p").type))
    rows = {"accuracy": base, "attributions": word_rows(words, content=content)}
    run = {"data": data, "split": "test", "seed": 0, "note": None, "counts": {"examples": examples}}
    about = {"context": context.as_dict(), "counts": {}, "run": run, "data": data, "seed": 0}
    about["manifest"] = f"{manifest} {methods}"
    evaluated = {name: (table, about) for name, table in rows.items()}
    write_results(folder, score(run, evaluated).results, evaluated)
    return str(folder)


def suite(folder: Path, qualities: Mapping[str, float], **settings) -> list[str]:
    """Folders with the results of several models, by name."""
    return [save(folder / name, quality, **settings) for name, quality in qualities.items()]
