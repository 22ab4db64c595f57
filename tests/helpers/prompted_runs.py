"""Evaluations of prompted models with random answers, in the files of evaluate.py."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import yaml

from heedful.assembly.identity import identity_of
from heedful.datamodules.demonstrations import VERSIONS
from heedful.lightning_modules.predictor import Predictor
from heedful.records import NO_LABEL, SPAN, Context
from heedful.records import rows as r
from heedful.records.storage.results import write_results
from heedful.reports.results import score

import written_results
from python_rows import rows_from

LABELS = ("entailment", "neutral", "contradiction")
CONTEXT = Context("nli", labels=LABELS, default_label="neutral", own={"swap": [["premise", "leaves"]]})


def rows_of(
    examples: int = 60,
    draws: int = 3,
    seed: int = 0,
    right: float = 0.7,
    attentive: float = 0.5,
    invalid: float = 0.1,
    group: int = 1,
    with_p: bool = True,
    context: Context = CONTEXT,
) -> pa.Table:
    """Rows of original and swapped examples with random answers.

    As in the engine, an example is swapped if its generated answer or its most probable label is not the default
    label. Gold labels do not depend on the seed.

    Args:
        examples: Number of examples.
        draws: Number of swaps per example and part.
        seed: Seed of the answers.
        right: Probability of a correct answer.
        attentive: Probability that a swap leads to the default label.
        invalid: Probability that the generated answer is not a label.
        group: Number of examples per group; 1 for no groups.
        with_p: Whether rows have probabilities.
        context: Labels and swapped parts.
    """
    rng, entries = np.random.default_rng(seed), []
    labels = list(context.labels)
    for i in range(examples):
        gold = labels[i * 7 % len(labels)]
        others = [name for name in labels if name != gold]
        y = gold if rng.random() < right else str(rng.choice(others))
        y, p = (NO_LABEL if rng.random() < invalid else y), _near(y, labels, rng)
        base = {"uid": f"u{i:04}", "gold": gold, "y": y, "p": p if with_p else None}
        base |= {"content": f"c{i}", "group": f"g{i // group:04}" if group > 1 else None}
        entries.append(base)
        if y == labels[int(p.argmax())] == context.default_label:
            continue
        for part, expects in context.own["swap"]:
            for draw in range(draws):
                after = context.default_label if rng.random() < attentive else str(rng.choice(labels))
                p2 = _near(after, labels, rng) if with_p else None
                after = NO_LABEL if rng.random() < invalid / 2 else after
                entry = {"intervention": "swap", "part": part, "draw": draw, "expects": expects, "y2": after, "p2": p2}
                entries.append(entry | base)
    return rows_from(entries, len(labels))


def _near(label: str, labels: Sequence[str], rng: np.random.Generator) -> np.ndarray:
    """Random probabilities; the probability of ``label`` is usually the largest."""
    p = rng.dirichlet(np.ones(len(labels)))
    p[labels.index(label)] += 0.4
    return (p / p.sum()).astype(np.float32)


def save(
    folder: Path,
    rows: pa.Table,
    tuples: int = 1,
    seed: int = 0,
    kind: str = "plain",
    wording: str = "paper",
    context: Context = CONTEXT,
    manifest: str = "m",
    backbone: str = "models/tiny",
    swapped: bool = True,
    version: int | None = None,
    server: str | None = None,
    **model: Any,
) -> str:
    """Write the results of one prompt, and return the folder.

    Args:
        folder: The folder.
        rows: Rows of original and swapped examples.
        tuples: Number of demonstrations of each label.
        seed: Seed of the demonstrations.
        kind: Method that draws the demonstrations.
        wording: Name of the wording.
        context: Context of the rows.
        manifest: Hash of the swaps.
        backbone: Backbone of the model.
        swapped: Whether attentiveness was measured.
        version: Version of the method that drew the demonstrations; 0 omits it, None is the current version.
        server: Hash of the server.
        **model: Further settings of the model.
    """
    base = r.select(rows, intervention=r.BASE)
    name = "answers" if context.kind is SPAN else "accuracy"
    written = {name: (base, written_results.about(base, context, manifest))}
    if swapped:
        written["attentiveness"] = (rows, written_results.about(rows, context, manifest))
    prompt = {"wording": wording, "seed": seed, "tuples": tuples, "kind": kind, "demonstrations": []}
    if version != 0:
        prompt["version"] = VERSIONS[kind] if version is None else version
    config = {
        "model": {"class_path": "heedful.lightning_modules.CausalLM", "init_args": {"backbone": backbone, **model}},
        "data": {"class_path": "heedful.datamodules.Pairs", "init_args": {}},
        "checkpoint": None,
    }
    who = identity_of(config, Predictor()) | {"prompt": prompt, "server": server}
    run = next(iter(written.values()))[1]["run"]
    found = {**score(run, written).results, "identity": who, "seed": context.seed}
    write_results(folder, found, written)
    (folder / "run.json").write_text(json.dumps({"prompt": prompt}))
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return str(folder)
