"""The evaluation "evidence": does a model use the rows of a table that people marked as relevant?"""

from collections import Counter

from heedful.callbacks.engine.evaluation import Evaluation, Nothing, Plan, Setting
from heedful.callbacks.evaluations.pools import fitted
from heedful.datamodules.loaders.tables import load_tables
from heedful.datamodules.loaders.tabprobe import load_evidence
from heedful.interventions import Donors, RowEdits, SwapValues
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.metrics import METRICS
from heedful.metrics.tables.evidence import EvidenceSettings
from heedful.records import DataError, ModelError


class Evidence(Evaluation):
    """Which rows of a table a model uses, compared with the rows that people marked as relevant.

    Each row of each annotated pair is deleted once: a row is used if its deletion changes the prediction. In addition,
    the values of the marked rows are copied into another table of the split with the same keys, which preserves the
    label of the hypothesis. Neutral pairs and pairs without a marked row do not count. Source: "Is My Model Using the
    Right Evidence?" (Gupta et al. 2022), §5.2, §5.3 and §6.

    Args:
        path: A csv file of annotations in the format of TabProbe, for tables in --data.path.
        split: The annotated split of the data. If the model was trained on this split, it should have been trained with
            --data.without_tables, which leaves the annotated tables out.
    """

    metric = METRICS["evidence"]
    brings_examples = True

    def __init__(self, path: str | None = None, split: str = "train") -> None:
        self.path = path
        self.split = split

    def plan(self, setting: Setting) -> Plan | Nothing:
        if self.path is None:
            return Nothing("needs evidence.path FILE, annotations of relevant rows")
        data, flag = setting.data, f"evidence.path {self.path}"
        if not data.loader.reads_by(load_tables) or data.path is None:
            raise DataError(
                f"{flag} is about tables in files, which are not evaluated here. Take data infotabs with data.path "
                "DIR, or other tables."
            )
        if data.partial:
            raise ModelError(
                f"{flag} is for a model of tables and hypotheses; this one reads the {data.partial} alone. Name "
                "another model, or leave evidence.path out."
            )
        if set(data.full_task.labels) != set(LABELS):
            raise DataError(
                f"{flag} needs the labels {', '.join(LABELS)}; there are {', '.join(data.task.labels)}. Leave that "
                "evaluation out, or take data with these labels."
            )
        examples = load_tables(data.path, split=self.split)
        annotated, left_out = load_evidence(self.path, examples)
        if not annotated:
            raise DataError(
                f"{flag} marks no row as relevant to a pair that is not neutral. Name another file, or another "
                "evidence.split."
            )
        relevant = {uid: frozenset(keys) for uid, keys in annotated.items()}
        lenders = fitted(examples, data)
        pool = lenders.take(sorted({examples.position(uid) for uid in relevant}))
        part = pool.tables[0]
        hypothesis = next(name for name in pool.parts if name != part)
        swap = SwapValues(relevant, lenders, part, hypothesis)
        reasons = Counter(swap.why_not(pool, uid) or "swapped" for uid in pool.column("uid"))
        changes = [RowEdits("delete", part, Donors(pool, part), relevant=relevant), swap]
        annotated = pool.uid(0).partition("/")[0]  # name of the data set
        settings = EvidenceSettings(annotated, part, {uid: sorted(keys) for uid, keys in sorted(relevant.items())})
        counts = {"split": self.split, "left_out": left_out, "values": dict(sorted(reasons.items()))}
        return Plan(pool, changes, settings, counts)
