"""The evaluation "natural_logic": causal effects of contexts and inserted words, measured on the data set NLI-XY."""

from typing import Any

from heedful.callbacks.engine.evaluation import PROBABILITIES, Evaluation, Nothing, Plan, Setting, require_number
from heedful.callbacks.evaluations.pools import fitted, require_entailment
from heedful.datamodules.loaders.natural_logic import has_split, load_natural_logic
from heedful.interventions import Design, intervention_sets
from heedful.interventions.natural_logic import without_unneeded
from heedful.metrics import METRICS
from heedful.metrics.natural_logic.causal_effects import NaturalLogicSettings
from heedful.records import inform


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
        inherited = self.path is None and data.loader.reads_by(load_natural_logic)
        path = data.path if inherited else self.path
        if path is None or (inherited and not has_split(path, self.split)):
            if path is not None:
                inform(f"{path} has no split {self.split!r}: causal effects are not measured (natural_logic.split).")
            return Nothing("needs natural_logic.path DIR, the folder of NLI-XY")
        if inherited and not setting.capabilities.probabilities:
            reason = f"{PROBABILITIES}: take model.read first_token"
            inform(f"Causal effects are not measured: natural_logic {reason}.")
            return Nothing(reason)
        setting.require_probabilities(f"natural_logic.path {path}")
        require_entailment(data.task.labels, f"natural_logic.path {path}")
        design = Design(load_natural_logic(path, split=self.split))
        counts: dict[str, Any] = {"split": self.split, **design.left_out}
        design, sets = without_unneeded(design, intervention_sets(design, self.seeds, data.seed, self.paired))
        for one_set in sets:
            alone = [not len(design.matches(one_set.name, design.pool.position(uid))) for uid in one_set.seeds]
            counts[one_set.name] = {"seeds": len(alone), "seeds_without_match": sum(alone)}
        settings = NaturalLogicSettings("nlixy")  # the data in metric names
        return Plan(fitted(design.pool, data), sets, settings, counts, needs_probabilities=True)
