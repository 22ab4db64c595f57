"""Write the page ``report.html`` of a run, and ``examples.json`` with examples before and after a change."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from heedful.callbacks.engine.evaluation import Plan, Plans
from heedful.callbacks.engine.measure import Measurements
from heedful.datamodules.base.pairs import Pairs
from heedful.interventions import Changes
from heedful.records import Composed, Example, Examples
from heedful.records.rows import BASE
from heedful.reports.page.contents import UNKNOWN, Contents, Provider, contents_of
from heedful.reports.page.examples import write_examples
from heedful.reports.page.writing import REPORT, write_page

Key = tuple[str, str, int]  # of a change: uid, variant, draw


class Page:
    """Writer of the engine for ``report.html`` and ``examples.json``, after an evaluation and at the end of a training.

    Args:
        folder: Returns the results folder.
        contents: Returns, for some rows, their examples before and after the change.
    """

    def __init__(self, folder: Callable[[], Path], contents: Provider) -> None:
        self.folder = folder
        self.contents = contents

    def write(self, measurements: Measurements) -> None:
        """Write the page; in the epochs of a training, do nothing."""
        if measurements.epoch is None:
            folder = self.folder()
            write_examples(folder, self.contents)
            write_page([folder], folder / REPORT)


class RecomputedContents:
    """A function that returns examples before and after a change. It makes the changes again, for the few examples of
    the page.

    Args:
        plans: Maps evaluations to plans.
        seed: The run's seed.
        parts: The parts that the model reads.
    """

    def __init__(self, plans: Mapping[str, Plan], seed: int, parts: Sequence[str]) -> None:
        self.plans = plans
        self.seed = seed
        self.parts = parts

    @classmethod
    def of(cls, plans: Plans, data: Pairs) -> Self:
        """Create the function for the plans of a run and its data."""
        return cls({name: planned.plan for name, planned in plans.planned.items()}, data.seed, data.task.parts)

    def __call__(self, entries: Sequence[Mapping[str, Any]]) -> list[Contents]:
        """Return the examples of some rows, before and after the change.

        Args:
            entries: The rows, as mappings with evaluation, intervention, part, uid, variant, draw, y and most_probable.
        """
        groups: dict[tuple[str, str, str], list[int]] = {}
        for k, entry in enumerate(entries):
            groups.setdefault((entry["evaluation"], entry["intervention"], entry["part"]), []).append(k)
        contents = [Contents([], UNKNOWN)] * len(entries)
        for (evaluation, intervention, part), indices in groups.items():
            plan = self.plans[evaluation]
            answers_of = {
                plan.pool.position(entry["uid"]): (entry["y"], entry["most_probable"])
                for entry in (entries[k] for k in indices)
            }
            changed = self._changed(plan, intervention, part, answers_of)
            for k in indices:
                entry = entries[k]
                base = plan.pool[plan.pool.position(entry["uid"])]
                parts = [name for name in self.parts if name in base.parts] or list(base.parts)
                after = changed.get((entry["uid"], entry["variant"], entry["draw"]))
                contents[k] = contents_of(base, after, parts, is_changed=intervention not in (BASE, "null"))
        return contents

    def _changed(
        self, plan: Plan, intervention: str, part: str, answers_of: Mapping[int, tuple[str, str]]
    ) -> dict[Key, Example]:
        """Return the examples that an intervention on a part changes, by (uid, variant, draw).

        ``answers_of`` maps the position of each base example to its answer and its most probable label: as in the
        engine, an example is eligible by either.
        """
        positions = np.array(sorted(answers_of), dtype=np.int64)
        pairs = [answers_of[position] for position in positions.tolist()]
        answers = [pa.array([pair[k] for pair in pairs], pa.string()) for k in range(2)]
        changed: dict[Key, Example] = {}
        for each in plan.interventions:  # each split may have an intervention of this name
            if each.name == intervention and "+".join(each.parts) in ("", part):  # "" if the changes name their parts
                eligible = np.logical_or.reduce([each.eligible(plan.pool, positions, column) for column in answers])
                changed |= examples_of(plan.pool, each.changes(plan.pool, positions[eligible], self.seed))
        return changed


def examples_of(pool: Examples, changes: Changes) -> dict[Key, Example]:
    """Map (uid, variant, draw) of each change to the changed example."""
    composed = Composed(pool, changes.positions, changes.lenders)
    by_key: dict[Key, Example] = {}
    for k, position in enumerate(changes.positions.tolist()):
        variant = changes.variant if isinstance(changes.variant, str) else changes.variant[k].as_py()
        key = pool.uid(position), variant, int(changes.draws[k])
        if changes.examples is not None:
            by_key[key] = changes.examples[k]
        else:
            by_key[key] = composed[k] if changes.known is None else pool[int(changes.known[k])]
    return by_key
