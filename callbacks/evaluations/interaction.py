"""The evaluation "interaction": how much of the probability of the gold label needs two parts together."""

from itertools import combinations

from heedful.callbacks.engine.evaluation import PROBABILITIES, Evaluation, Nothing, Plan, Setting, require_number
from heedful.interventions import KeepPart, Swap
from heedful.metrics import METRICS
from heedful.metrics.interaction import INTERVENTIONS, InteractionSettings
from heedful.records.rows import MOST_DRAWS, SPLIT


class Interaction(Evaluation):
    """How much of the probability of the gold label needs two parts together.

    For each pair of parts, the model predicts without the first part, without the second, and without both; further
    parts stay. A missing part is emptied, or replaced by the part of another example, which lends both parts. All
    pictures are one part. The evaluation runs only if ``--evaluations`` names it.

    Args:
        draws: Number of other examples that lend their parts, for each example.
    """

    metric = METRICS["interaction"]
    by_default = False

    def __init__(self, draws: int = Swap.draws) -> None:
        require_number("interaction.draws", draws, most=MOST_DRAWS)
        self.draws = draws

    def plan(self, setting: Setting) -> Plan | Nothing:
        data = setting.data
        if len(data.sides) < 2 or data.pool.is_unlabelled:
            return Nothing("needs two parts that the model reads, and gold labels")
        if not (data.task.distribution and setting.capabilities.probabilities):
            return Nothing(PROBABILITIES)
        within = SPLIT if data.splits_evaluated else None
        pairs = list(combinations(data.sides, 2))
        missing = [(part, pair) for pair in pairs for part in (*pair, "+".join(pair))]
        emptied = [tuple(part.split("+")) for part in dict(missing)]
        empty = [KeepPart("", parts, name=INTERVENTIONS["emptied"]) for parts in emptied]
        swaps = [Swap(part, None, within=within, pair=pair, draws=self.draws, expects="") for part, pair in missing]
        return Plan(data.pool, [*empty, *swaps], InteractionSettings(pairs), needs_probabilities=True)
