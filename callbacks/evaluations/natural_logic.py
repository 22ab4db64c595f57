"""The evaluation "natural_logic": causal effects of contexts and inserted words, measured on the data set NLI-XY."""

import hashlib
from typing import Any

import pyarrow as pa

from heedful.callbacks.engine.evaluation import PROBABILITIES, Evaluation, Nothing, Plan, Setting, require_number
from heedful.callbacks.evaluations.pools import fitted, require_entailment
from heedful.datamodules.loaders.natural_logic import has_split, load_natural_logic
from heedful.interventions import Design, counterparts
from heedful.interventions.counterparts import without_unneeded
from heedful.metrics import METRICS
from heedful.metrics.natural_logic.causal_effects import NaturalLogicSettings
from heedful.metrics.natural_logic.entailment import disagreements
from heedful.records import BATCH, Context, inform
from heedful.records.rows import number_runs, rows_with

NAME = "nlixy"  # of the data in metric names


class NaturalLogic(Evaluation):
    """Total and direct causal effects (TCE, DCE) of contexts and of inserted words on the prediction of entailment.

    Args:
        path: Folder of NLI-XY; by default the folder of --data nlixy, if it has the split. Without a folder, nothing
            is measured.
        split: The split of NLI-XY that provides the examples.
        seeds: Number of seed examples per intervention set (the paper's 400). Each is paired with all of its matches;
            other examples are not predicted, and do not count in the accuracy.
        paired: Whether the sets of TCE and DCE have the same seed examples.
    """

    metric = METRICS["natural_logic"]
    in_training = True
    brings_examples = True

    def __init__(self, path: str | None = None, split: str = "test", seeds: int = 400, paired: bool = False) -> None:
        require_number("natural_logic.seeds", seeds)
        self.path = path
        self.split = split
        self.seeds = seeds
        self.paired = paired

    def plan(self, setting: Setting) -> Plan | Nothing:
        data = setting.data
        needed = Nothing("needs natural_logic.path DIR, the folder of NLI-XY")
        inherited = self.path is None and data.loader.reads_by(load_natural_logic)
        path = data.path if inherited else self.path
        if path is None:
            return needed
        if inherited and not has_split(path, self.split):
            inform(f"{path} has no split {self.split!r}: causal effects are not measured (natural_logic.split).")
            return needed
        if inherited and not setting.capabilities.probabilities:
            reason = f"{PROBABILITIES}: take model.read first_token"
            inform(f"Causal effects are not measured: natural_logic {reason}.")
            return Nothing(reason)
        setting.require_probabilities(f"natural_logic.path {path}")
        require_entailment(data.task.labels, f"natural_logic.path {path}")
        examples = load_natural_logic(path, split=self.split)
        design = Design(examples)
        counts = {"split": self.split, **design.left_out}
        design, sets = without_unneeded(design, counterparts(design, self.seeds, data.seed, self.paired))
        return Plan(fitted(design.pool, data), sets, NaturalLogicSettings(NAME), counts, needs_probabilities=True)

    def counts(self, plan: Plan, rows: pa.Table, context: Context) -> dict[str, Any]:
        """Return the number "rules_disagree", and a dictionary for each intervention set, such as "I0".

        "rules_disagree" is the number of unchanged examples for which the two rules of :func:`.entailment.entailed`
        disagree whether the answer is entailment. The dictionary of a set has these keys:

        - "seeds": the number of seed examples (examples to change);
        - "pairs": the number of pairs of a seed example and a matching example;
        - "seeds_without_match": the number of seed examples that are in no pair;
        - "sha256": a hash of the uids of all pairs.
        """
        counts: dict[str, Any] = {"rules_disagree": disagreements(rows, context.labels)}
        for one_set in plan.interventions:
            pairs = rows_with(rows, intervention=one_set.name)
            matched = len(set(number_runs(rows, "uid")[pairs].tolist()))
            digest = hashlib.sha256()
            for batch in rows.select(["uid", "partner"]).filter(pa.array(pairs)).to_batches(max_chunksize=BATCH):
                digest.update("".join(f"{a}\t{b}\n" for a, b in zip(*batch.to_pydict().values(), strict=True)).encode())
            counts[one_set.name] = {
                "pairs": int(pairs.sum()),
                "seeds": len(one_set.seeds),
                "seeds_without_match": len(one_set.seeds) - matched,
                "sha256": digest.hexdigest(),
            }
        return counts
