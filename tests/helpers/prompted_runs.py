"""Folders of evaluations in context, as evaluate.py writes them, of models whose answers are drawn at random."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import yaml

from heedful.assembly.identity import identity_of
from heedful.interventions.demonstrations import VERSIONS
from heedful.lightning_modules.base_predictor import BasePredictor
from heedful.records import NO_LABEL, SPAN, Context
from heedful.records import rows as r
from heedful.records.storage.results import write_results

import written_results
from python_rows import rows_from

LABELS = ("entailment", "neutral", "contradiction")
CONTEXT = Context("nli", labels=LABELS, default_label="neutral", own={"swap": ["premise"]})


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
    """Base rows and swaps of a model that is right, attentive or invalid with these chances.

    As the engine does, an example is changed where the written answer or the most probable label is not the default
    one. Gold labels do not depend on the seed.

    Args:
        examples: How many.
        draws: How many swaps of each.
        seed: Of the answers.
        right: The chance of a right answer.
        attentive: The chance that a swap leads to the default label.
        invalid: The chance that the written answer is not a label.
        group: How many examples share a group; 1 for no groups.
        with_p: Whether there are probabilities.
        context: The labels, and the parts to swap.
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
        for part in context.own["swap"]:
            for draw in range(draws):
                after = context.default_label if rng.random() < attentive else str(rng.choice(labels))
                p2 = _near(after, labels, rng) if with_p else None
                after = NO_LABEL if rng.random() < invalid / 2 else after
                entries.append({"intervention": "swap", "part": part, "draw": draw, "y2": after, "p2": p2, **base})
    return rows_from(entries, len(labels))


def _near(label: str, labels: Sequence[str], rng: np.random.Generator) -> np.ndarray:
    """Probabilities of which that of a label is mostly the largest."""
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
    """Write the results of one prompt; returns the name of the folder.

    Args:
        folder: The folder.
        rows: Of base predictions and swaps.
        tuples: Of the prompt, as the next three.
        seed: Which demonstrations.
        kind: Of the demonstrations.
        wording: The name of the words.
        context: Of the rows.
        manifest: Identity of the swaps.
        backbone: Of the model.
        swapped: Whether attentiveness was measured.
        version: Of the demonstrations; 0 for a folder that does not say it, by default today's.
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
    who = identity_of(config, BasePredictor()) | {"prompt": prompt, "server": server}
    write_results(folder, written_results.results(data=context.data, seed=context.seed, identity=who), written)
    (folder / "run.json").write_text(json.dumps({"prompt": prompt}))
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return str(folder)
