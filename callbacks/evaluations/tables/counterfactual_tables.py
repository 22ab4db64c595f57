"""Counterfactual tables that people have made: does a model follow the table where it contradicts the world?"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from callbacks.engine.evaluation import Evaluation, fitted
from datamodules import PairedData, load_counterfactuals
from interventions import Annotated, Intervention, RuleAnalyser, Source, SwapTitle
from interventions.base import Expectation
from interventions.tables.allowed_transitions import LABELS
from metrics import Measurement, challenge, challenge_counts, eight_cells
from records import Examples, HeedError
from records.rows import contents, difference, same, select, strings
from records.storage.results import RESULTS, read_evaluation

NEUTRAL = LABELS[1]
ANNOTATED: dict[str, Expectation] = {"annotated/flipped": "change", "annotated/preserved": "stay"}
TITLE = "title"


class CounterfactualTables(Evaluation):
    """Accuracy on annotated counterfactual tables and on what they were made of.

    Source: "Is My Model Using the Right Evidence?" (Gupta et al. 2022), §6, tables 7 and 8. What people changed flips
    the label, as a rule; beside it the same originals get other titles, which preserves it. Models of tables are
    measured, and those that read the hypothesis alone.

    Args:
        paths: Folders like those of TabProbe: each one tsv file of pairs, tables_json/ and tables_mod_json/. The name
            of the folder is that of the set.
        hypothesis_only: Folder of an evaluation of a hypothesis-only model on the same pairs. With it, who is right
            where is counted in eight cells (table 8).
    """

    name = "counterfactual_tables"
    figure = "table_rows"
    needs = "paths, folders of annotated counterfactual tables"
    own = True

    def __init__(self, paths: list[str] | None = None, hypothesis_only: str | None = None) -> None:
        self.paths, self.hypothesis_only = paths or [], hypothesis_only
        if hypothesis_only is not None:
            self._evaluated()
        self._sets: dict[str, tuple[Examples, Examples]] = {}
        self._pool: Examples | None = None
        self._changed: Examples | None = None

    @property
    def title(self) -> str:
        sets = [Path(path).resolve().name for path in self.paths]
        return "-".join([self.name, *sets, *(["cells"] if self.hypothesis_only else [])])

    def _evaluated(self) -> tuple[pa.Table, dict[str, Any]]:
        """The rows of the hypothesis-only model, and their metadata."""
        flag = f"§counterfactual_tables.hypothesis_only {self.hypothesis_only}"
        try:
            known = (Path(self.hypothesis_only) / RESULTS).is_file()
            evaluated = read_evaluation(self.hypothesis_only, self.name) if known else None
        except HeedError as error:
            raise HeedError(f"{flag}: {error}") from None
        if evaluated is None:
            raise HeedError(
                f"{flag} has no rows of {self.name}: evaluate the model of the hypothesis alone first, with the same "
                "§counterfactual_tables.paths, and name the folder that the results are in."
            )
        return evaluated

    def pool(self, data: PairedData) -> Examples | None:
        if self._pool is None and self.paths:
            if set(data.full_task.labels) != set(LABELS):
                raise HeedError(
                    f"§counterfactual_tables.paths needs a model with the labels {', '.join(LABELS)}; this one has "
                    f"{', '.join(data.full_task.labels)}."
                )
            for path in self.paths:
                name = Path(path).resolve().name
                if name in self._sets:
                    raise HeedError(f"§counterfactual_tables.paths {path}: another folder is called {name} as well.")
                self._sets[name] = load_counterfactuals(path, _prefix(name), flag="§counterfactual_tables.paths")
            originals, changed = map(Examples.concatenate, zip(*self._sets.values(), strict=True))
            self._pool, self._changed = fitted(originals, data), fitted(changed, data)
            if self.hypothesis_only is not None:
                self._partial = self._rows_of_partial(originals, changed, data)
        return self._pool

    def _rows_of_partial(self, originals: Examples, changed: Examples, data: PairedData) -> pa.Table:
        """The rows of the hypothesis-only model, which must be of one, and hold all of these originals."""
        flag = f"§counterfactual_tables.hypothesis_only {self.hypothesis_only}"
        rows, metadata = self._evaluated()
        predicted = contents(rows)
        if missing := next((uid for uid in originals.column("uid") if uid not in predicted), None):
            raise HeedError(f"{flag}: {missing} was not predicted; evaluate that model with the same folders.")
        mine = dict(zip(self._pool.column("uid"), self._pool.contents(data.full_task.parts), strict=True))
        if differ := difference(mine, {uid: predicted[uid] for uid in mine}):
            raise HeedError(f"{flag} is about other examples: {differ}; evaluate that model with the same folders.")
        if metadata["seed"] != data.seed:
            raise HeedError(
                f"{flag} was evaluated with the seed {metadata['seed']}, and this is {data.seed}: use one "
                "(§seed_everything)."
            )
        hypotheses = (pool.column(f"parts.{pool.parts[1]}") for pool in (originals, changed))
        same_text = {uid for uid, a, b in zip(originals.column("uid"), *hypotheses, strict=True) if a == b}
        annotated = pa.concat_tables([select(rows, intervention=name) for name in ANNOTATED])
        for uid, stays in zip(strings(annotated, "uid"), same(annotated, "y", "y2"), strict=True):
            if uid in same_text and not stays:
                raise HeedError(f"{flag}: that model reads the table, for its answer to {uid} follows it.")
        return rows

    def headlines(self, data: PairedData) -> dict[str, str]:
        return {f"flipped: {name}": f"challenge/{_prefix(name)}/flipped" for name in self._sets}

    def interventions(self, data: PairedData, monitoring: bool) -> list[Intervention]:
        table, hypothesis = data.full_task.parts
        annotated = [Annotated(name, self._changed, table, expected) for name, expected in ANNOTATED.items()]
        swaps = []
        for name, (originals, _) in self._sets.items():  # tables of one set lend each other their titles
            source = Source(originals.rename_parts((table, hypothesis)), RuleAnalyser(), hypothesis, table)
            swaps.append(SwapTitle(source, self._pool.parts, name=f"{TITLE}/{name}"))
        return [*annotated, *swaps]

    def metrics(self, rows: pa.Table, data: PairedData) -> dict[str, Measurement]:
        found: dict[str, Measurement] = {}
        for name in self._sets:
            prefix, chosen, mine = _prefix(name), _interventions(name), _of(rows, name)
            found |= challenge(mine, prefix, chosen, NEUTRAL, data.seed)
            if self.hypothesis_only is not None:
                partial = _of(self._partial, name)
                found |= eight_cells(mine, partial, prefix, chosen, NEUTRAL, "flipped", data.seed)
        return found

    def counts(self, rows: pa.Table, data: PairedData) -> dict[str, Any]:
        """Of each set: how many examples its numbers rest on."""
        return {name: challenge_counts(_of(rows, name), _interventions(name), NEUTRAL) for name in self._sets}


def _prefix(name: str) -> str:
    """What uids of a set begin with, and what its metrics are called."""
    return f"counterfactuals-{name}"


def _interventions(name: str) -> tuple[str, ...]:
    """What changes the examples of a set."""
    return *ANNOTATED, f"{TITLE}/{name}"


def _of(rows: pa.Table, name: str) -> pa.Table:
    """The rows of a set."""
    return rows.filter(pc.starts_with(rows["uid"], f"{_prefix(name)}/"))
