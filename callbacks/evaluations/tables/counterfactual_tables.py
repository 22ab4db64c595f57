"""The evaluation "counterfactual_tables": does a model follow an edited table that contradicts world knowledge?"""

from pathlib import Path

import pyarrow as pa

from heedful.callbacks.engine.evaluation import Evaluation, Nothing, Plan, Setting
from heedful.callbacks.evaluations.pools import fitted, fitted_parts
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.loaders.tabprobe import load_counterfactuals
from heedful.interventions import Annotated, RuleAnalyser, Source, SwapTitle
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.metrics import METRICS
from heedful.metrics.tables.challenge import TITLE
from heedful.metrics.tables.counterfactual_tables import ANNOTATED, CounterfactualTablesSettings, set_data
from heedful.records import DataError, Examples, HeedfulError, RunError, SettingError
from heedful.records.rows import BASE, contents, describe_difference, equal_columns, select, strings
from heedful.records.storage.results import RESULTS, read_evaluation


class CounterfactualTables(Evaluation):
    """Accuracy on annotated counterfactual tables and on the original tables.

    Most annotated changes flip the label. In addition, the titles of the original tables are replaced, which preserves
    the label. The evaluation supports models of tables and models that read the hypothesis alone. Source: "Is My Model
    Using the Right Evidence?" (Gupta et al. 2022), §6, tables 7 and 8.

    Args:
        paths: Folders in the format of TabProbe, each with one tsv file of pairs, tables_json/ and tables_mod_json/.
            The name of a folder becomes the name of the set.
        hypothesis_only: Results folder of a model that reads the hypothesis alone, evaluated on the same pairs. It adds
            table 8: the shares of the eight cases in which the two models are right or wrong.
    """

    metric = METRICS["counterfactual_tables"]
    brings_examples = True

    def __init__(self, paths: list[str] | None = None, hypothesis_only: str | None = None) -> None:
        self.paths = paths or []
        self.hypothesis_only = hypothesis_only
        if hypothesis_only is not None:
            self._rows_alone()

    def _rows_alone(self) -> pa.Table:
        """Read the rows in the results folder of the hypothesis-only model."""
        flag = f"counterfactual_tables.hypothesis_only {self.hypothesis_only}"
        try:
            has_results = (Path(self.hypothesis_only) / RESULTS).is_file()
            if evaluation := has_results and read_evaluation(self.hypothesis_only, self.name):
                return evaluation[0]
        except HeedfulError as error:
            raise error.at(flag) from None
        raise RunError(
            f"{flag} has no rows of {self.name}. Evaluate the model of the hypothesis alone first, with the same "
            "paths, and name its folder."
        )

    def plan(self, setting: Setting) -> Plan | Nothing:
        if not self.paths:
            return Nothing("needs counterfactual_tables.paths, folders of annotated counterfactual tables")
        data, flag = setting.data, "counterfactual_tables.paths"
        if set(data.task.labels) != set(LABELS):
            raise DataError(
                f"{flag} needs the labels {', '.join(LABELS)}; there are {', '.join(data.task.labels)}. Leave that "
                "evaluation out, or take data with these labels."
            )
        sets: dict[str, tuple[Examples, Examples]] = {}
        for path in self.paths:
            name = Path(path).resolve().name
            if name in sets:
                raise SettingError(f"{flag} {path}: another folder is called {name} as well. Rename one of the two.")
            sets[name] = load_counterfactuals(path, set_data(name))
        originals, changed = map(Examples.concatenate, zip(*sets.values(), strict=True))
        pool = fitted(originals, data)
        table, hypothesis = fitted_parts(originals, data)
        edited = fitted(changed, data)
        changes = [Annotated(name, edited, table, flips) for name, flips in ANNOTATED.items()]
        for of_set, (mine, _) in sets.items():  # tables of one set lend each other their titles
            source = Source(mine.rename_parts((table, hypothesis)), RuleAnalyser(), hypothesis, table)
            changes.append(SwapTitle(source, pool.parts, name=f"{TITLE}/{of_set}"))
        alone = None if self.hypothesis_only is None else self._right_alone(originals, changed, pool, data)
        return Plan(pool, changes, CounterfactualTablesSettings(tuple(sets), alone))

    def _right_alone(self, originals: Examples, changed: Examples, pool: Examples, data: Pairs) -> dict[str, bool]:
        """Map the uid of each original example to whether the hypothesis-only model predicts its gold label.

        ``pool`` has the originals, with the parts of ``data``; ``changed`` has the same examples with edited tables.

        Raises:
            RunError: The rows of the hypothesis-only model have other examples, or its predictions depend on the table.
        """
        flag, rows = f"counterfactual_tables.hypothesis_only {self.hypothesis_only}", self._rows_alone()
        mine = dict(zip(pool.column("uid"), pool.contents(data.full_task.parts).to_pylist(), strict=True))
        theirs = {uid: content for uid, content in contents(rows).items() if uid in mine}
        if differ := describe_difference(mine, theirs):
            raise RunError(f"{flag} is about other examples: {differ}. Evaluate that model with the same folders.")
        hypotheses = (examples.column(f"parts.{examples.parts[1]}") for examples in (originals, changed))
        same_text = {uid for uid, a, b in zip(originals.column("uid"), *hypotheses, strict=True) if a == b}
        annotated = pa.concat_tables([select(rows, intervention=name) for name in ANNOTATED])
        for uid in strings(annotated, "uid")[~equal_columns(annotated, "y", "y2")]:
            if uid in same_text:
                raise RunError(
                    f"{flag}: that model reads the table, for its answer to {uid} follows it. Name one that reads the "
                    "hypothesis alone."
                )
        base = select(rows, intervention=BASE)
        right = dict(zip(strings(base, "uid"), equal_columns(base, "gold", "y").tolist(), strict=True))
        return {uid: right[uid] for uid in mine}
