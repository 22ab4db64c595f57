"""The page about a run, ``report.html`` in its folder, and ``examples.json``, what examples hold before and after."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from heedful.callbacks.engine.evaluation import Plan
from heedful.callbacks.engine.measure import Measurements
from heedful.interventions import Changes
from heedful.records import Composed, Example, Examples
from heedful.records.rows import BASE
from heedful.reports.page.contents import UNKNOWN, Contents, Provider, contents_of
from heedful.reports.page.examples import write_examples
from heedful.reports.page.writing import REPORT, write_page

Key = tuple[str, str, int]  # of a change of an example: uid, variant, draw


class Page:
    """Writes ``report.html`` into the folder of the results of evaluate.py, or of train.py at its end.

    Args:
        folder: Returns the folder of the results.
        contents: Returns the texts of the examples of rows.
    """

    def __init__(self, folder: Callable[[], Path], contents: Provider) -> None:
        self.folder = folder
        self.contents = contents

    def write(self, measurements: Measurements) -> None:
        """Write the page about results that were written before."""
        if measurements.epoch is None:
            folder = self.folder()
            write_examples(folder, self.contents)
            write_page([folder], folder / REPORT)


class MadeAgain:
    """The texts of examples before and after a change: the few examples on the page are changed again.

    Args:
        plans: Evaluation to its plan.
        seed: The run's seed.
        parts: The parts that the model reads.
    """

    def __init__(self, plans: Mapping[str, Plan], seed: int, parts: Sequence[str]) -> None:
        self.plans = plans
        self.seed = seed
        self.parts = parts

    def __call__(self, entries: Sequence[Mapping[str, Any]]) -> list[Contents]:
        """What each of these rows is about."""
        groups: dict[tuple[str, str, str], list[int]] = {}
        for k, entry in enumerate(entries):
            groups.setdefault((entry["evaluation"], entry["intervention"], entry["part"]), []).append(k)
        found = [Contents([], UNKNOWN)] * len(entries)
        for (evaluation, intervention, part), places in groups.items():
            plan = self.plans[evaluation]
            answer_of = {plan.pool.position(entries[k]["uid"]): entries[k]["y"] for k in places}
            changed = self._changed(plan, intervention, part, answer_of)
            for k in places:
                entry = entries[k]
                base = plan.pool[plan.pool.position(entry["uid"])]
                parts = [name for name in self.parts if name in base.parts] or list(base.parts)
                after = changed.get((entry["uid"], entry["variant"], entry["draw"]))
                found[k] = contents_of(base, after, parts, is_changed=intervention not in (BASE, "null"))
        return found

    def _changed(
        self, plan: Plan, intervention: str, part: str, answer_of: Mapping[int, str | None]
    ) -> dict[Key, Example]:
        """All changes by an intervention, given positions of examples and the answers to them."""
        positions = np.array(sorted(answer_of), dtype=np.int64)
        answers = pa.array([answer_of[position] for position in positions.tolist()], pa.string())
        changed: dict[Key, Example] = {}
        for one in plan.interventions:
            if one.name == intervention and "+".join(one.parts) == part:
                eligible = one.eligible(plan.pool, positions, answers)  # one of several may be for another split
                changed |= examples_of(plan.pool, one.changes(plan.pool, positions[eligible], self.seed))
        return changed


def examples_of(pool: Examples, changes: Changes) -> dict[Key, Example]:
    """The changed examples, by uid, variant and draw."""
    composed = Composed(pool, changes.positions, changes.lenders)
    found: dict[Key, Example] = {}
    for k, position in enumerate(changes.positions.tolist()):
        variant = changes.variant if isinstance(changes.variant, str) else changes.variant[k].as_py()
        key = pool.uid(position), variant, int(changes.draws[k])
        if changes.examples is not None:
            found[key] = changes.examples[k]
        else:
            found[key] = composed[k] if changes.known is None else pool[int(changes.known[k])]
    return found
