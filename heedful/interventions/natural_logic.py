"""The four intervention sets of natural logic: pairs of examples that differ only in the context or only in the words.

An example has a context (a sentence with a gap) and a pair of words, which fill the gap in premise and hypothesis.
"I0" changes the context and its monotonicity, "I1" the words and their relation; both change the label. "I2" changes
the context, "I3" the words; both keep monotonicity, relation and label.

Source: "Estimating the Causal Effects of Natural Logic Features in Transformer-Based NLI Models", section 3.1, table 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.interventions.base import Changes, Intervention
from heedful.records import DataError, Examples, generator
from heedful.records.rows import LEAVES, NO_DRAW, STAYS, lists_of

VARIABLES = ("context", "insertion", "monotonicity", "relation", "gold")
SETS: dict[str, tuple[bool, ...]] = {  # table 4: for each variable, whether both examples of a pair have the same value
    "I0": (False, True, False, True, False),
    "I1": (True, False, True, False, False),
    "I2": (False, True, True, True, True),
    "I3": (True, False, True, True, True),
}
CHANGED = {"I0": "context", "I1": "insertion", "I2": "context", "I3": "insertion"}
KEPT = {"context": "insertion", "insertion": "context"}
IDS = {"context": "meta.context", "insertion": "meta.pair"}  # columns that name clusters
MONOTONE = ("up", "down")  # monotonicities in table 1
RELATED = ("leq", "geq", "none")  # relations in table 1


class Design:
    """Finds the matches of the examples in a pool: examples that differ from them as an intervention set demands.

    Args:
        pool: Examples with the meta columns context, insertion, monotonicity, relation and pair.

    Attributes:
        codes: Values of :data:`VARIABLES` (the context, for instance) as integers: [variables, examples].
        inside: Whether each example is used: bool [examples].
        left_out: Number of examples that are not used, by reason: "neither" if the monotonicity of the context is not
            "up" or "down"; "eq" if the relation of the words is not "leq", "geq" or "none"; "repeated" if an earlier
            example has the same context and the same words.
    """

    def __init__(self, pool: Examples) -> None:
        missing = [name for name in (*VARIABLES[:4], "pair") if name not in pool.meta]
        if missing:
            raise DataError(
                f"Natural logic needs the column {missing[0]!r}, which these examples do not have. The columns are "
                f"{', '.join(pool.meta) or 'none'}."
            )
        self.pool = pool
        columns = {name: pool.table[f"meta.{name}"].to_pylist() for name in VARIABLES[:4]}
        columns["gold"] = pool.table["label"].to_pylist()
        self.codes = np.stack([_codes(columns[name]) for name in VARIABLES])
        neither = ~np.isin(columns["monotonicity"], MONOTONE)
        unknown = ~neither & ~np.isin(columns["relation"], RELATED)
        repeated = ~neither & ~unknown
        self.inside = np.zeros(len(pool), dtype=bool)
        self.inside[np.unique(self.codes[:2], axis=1, return_index=True)[1]] = True
        self.inside &= repeated
        repeated &= ~self.inside
        self.left_out = {"neither": int(neither.sum()), "eq": int(unknown.sum()), "repeated": int(repeated.sum())}
        self._sharing = {name: self._positions_by_value(self.codes[k]) for k, name in enumerate(VARIABLES[:2])}

    def _positions_by_value(self, codes: np.ndarray) -> list[np.ndarray]:
        """Return the ascending positions of the used examples with each value of a variable."""
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(1, codes.max(initial=-1) + 1))
        return [positions[self.inside[positions]] for positions in np.split(order, starts)]

    def matches(self, name: str, i: int) -> np.ndarray:
        """Return the positions of the used examples that match the example at position ``i``: int64, ascending.

        Args:
            name: Name of the intervention set, which keeps some variables and changes all others (:data:`SETS`).
            i: Position of the example.
        """
        unchanged = KEPT[CHANGED[name]]
        near = self._sharing[unchanged][self.codes[VARIABLES.index(unchanged), i]]
        same = self.codes[:, near] == self.codes[:, i : i + 1]
        return near[(same == np.array(SETS[name])[:, None]).all(axis=0)]


@dataclass(frozen=True)
class InterventionSet(Intervention):
    """One of the four sets: replaces each seed example (example to change) in turn by its matches.

    All seed examples are eligible, whatever their prediction. "I0" and "I1" measure the total causal effect (TCE) of
    context and words, "I2" and "I3" the direct causal effect (DCE).

    Attributes:
        name: "I0" to "I3", see :data:`SETS`.
        design: Finds the matches.
        seeds: uids of the seed examples.
        requested: Requested number of seed examples.
        paired: Whether two sets share the seed examples.
    """

    name: str
    design: Design = field(repr=False, compare=False)
    seeds: frozenset[str] = field(repr=False)
    requested: int
    paired: bool

    @property
    def parts(self) -> tuple[str, ...]:
        return (CHANGED[self.name],)

    @property
    def settings(self) -> tuple[int | bool, ...]:
        return self.requested, self.paired

    def eligible(self, pool: Examples, positions: np.ndarray, answers: pa.Array) -> np.ndarray:
        seeds = pc.is_in(pool.uids.take(positions), value_set=pa.array(sorted(self.seeds), pa.string()))
        return seeds.to_numpy(zero_copy_only=False) & super().eligible(pool, positions, answers)

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        matches = [self.design.matches(self.name, i) for i in positions.tolist()]
        bases = np.repeat(positions, [len(each) for each in matches])
        known = np.concatenate([positions[:0], *matches])
        (part,) = self.parts
        unchanged = pc.binary_join_element_wise(KEPT[part], pool.texts(IDS[KEPT[part]], bases), " ")
        changed = pc.binary_join_element_wise(part, pool.texts(IDS[part], known), " ")
        clusters = lists_of(pool.uids.take(bases), unchanged, changed)
        draws = np.full(len(known), NO_DRAW, dtype=np.int16)
        variant = pool.texts(f"meta.{part}", known)
        return Changes(bases, draws, clusters, known=known, partner=pool.uids.take(known), variant=variant)


def intervention_sets(design: Design, seeds: int, seed: int, paired: bool = False) -> list[InterventionSet]:
    """Return the four intervention sets "I0" to "I3", each with a random sample of seed examples.

    Args:
        design: Finds the matches of the examples in the pool.
        seeds: Number of seed examples per set (400 in the paper), or all examples if there are fewer.
        seed: Seed of the run; the seed examples depend only on it and on the uids.
        paired: If True, "I0" and "I2" share the seed examples, as do "I1" and "I3", and each seed example has matches
            in both sets. If False, each set draws its own, as in the paper; some seed examples have no match.
    """
    inside = np.flatnonzero(design.inside).tolist()
    sets = []
    for name, part in CHANGED.items():
        candidates = inside
        if paired:
            pair = [each for each in SETS if CHANGED[each] == part]
            candidates = [i for i in inside if all(len(design.matches(each, i)) for each in pair)]
        uids = _sample([design.pool.uid(i) for i in candidates], seeds, seed, part if paired else name)
        expects = STAYS if SETS[name][-1] else LEAVES
        sets.append(InterventionSet(name, design, frozenset(uids), seeds, paired, expects=expects))
    return sets


def without_unneeded(design: Design, sets: Sequence[InterventionSet]) -> tuple[Design, list[InterventionSet]]:
    """Leave out of the pool what is neither a seed example nor a match; return its design, and the same sets for it."""
    needed = np.zeros(len(design.pool), dtype=bool)
    for one_set in sets:
        for i in np.flatnonzero(design.inside).tolist():
            if design.pool.uid(i) in one_set.seeds:
                needed[i] = True
                needed[design.matches(one_set.name, i)] = True
    smaller = Design(design.pool.take(np.flatnonzero(needed)))
    return smaller, [replace(one_set, design=smaller) for one_set in sets]


def _sample(uids: Sequence[str], n: int, seed: int, purpose: str) -> list[str]:
    """Draw ``n`` of the uids at random, independently for each purpose; a smaller ``n`` draws a subset."""
    return sorted(uids, key=lambda uid: generator(seed, "natural_logic", purpose, uid).random())[:n]


def _codes(values: Sequence[str]) -> np.ndarray:
    return np.unique(np.asarray(values, dtype=object).astype(str), return_inverse=True)[1]
