"""The four intervention sets of natural logic: pairs of examples that differ only in the context or only in the words.

An example consists of a context (a sentence with a gap) and a pair of words, one of which fills the gap in the premise,
the other in the hypothesis. Source: "Estimating the Causal Effects of Natural Logic Features in Transformer-Based NLI
Models", section 3.1, table 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.interventions.base import Changes, Expectation
from heedful.records import DataError, Examples, generator
from heedful.records.rows import NO_DRAW, lists_of

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
    """Finds the counterparts of the examples in a pool: examples that differ only in the context or in the words.

    Args:
        pool: Examples with the meta columns of :func:`~heedful.interventions.natural_logic.compose`.

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
        """Group the used examples by the value of a variable.

        Args:
            codes: int [examples], the index of the value in each example.

        Returns:
            For each value, the ascending positions of the used examples with this value, int64.
        """
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(1, codes.max(initial=-1) + 1))
        return [positions[self.inside[positions]] for positions in np.split(order, starts)]

    def matches(self, name: str, i: int) -> np.ndarray:
        """Return the positions of the counterparts of the example at position ``i``: int64, ascending.

        Each intervention set keeps some variables and changes all others (:data:`SETS`). In "I0", a counterpart has
        the same words and relation as the example, but another context, monotonicity and gold label. Counterparts are
        always examples that :attr:`inside` marks.

        Args:
            name: Name of the intervention set: "I0" to "I3".
            i: Position of the example.
        """
        unchanged = KEPT[CHANGED[name]]
        near = self._sharing[unchanged][self.codes[VARIABLES.index(unchanged), i]]
        same = self.codes[:, near] == self.codes[:, i : i + 1]
        return near[(same == np.array(SETS[name])[:, None]).all(axis=0)]


@dataclass(frozen=True)
class Counterparts:
    """One of four intervention sets: replaces each seed example (example to change) in turn by its counterparts.

    An example has a context (a sentence with a gap) and words (the pair that fills the gap in premise and hypothesis).
    Counterparts are examples of the pool that differ from the seed example as ``name`` demands. All seed examples are
    eligible, whatever their prediction.

    Attributes:
        name: "I0": counterparts have another context, of the opposite monotonicity, and another label. "I1": other
            words, of another relation, and another label. "I2": another context, of the same monotonicity, and the same
            label. "I3": other words, of the same relation, and the same label. "I0" and "I1" measure the total causal
            effect (TCE) of context and words, "I2" and "I3" the direct causal effect (DCE).
        design: Context, words, monotonicity, relation and gold label of each example of the pool.
        seeds: uids of the seed examples.
        settings: Requested number of seed examples, and whether sets share them.
    """

    name: str
    design: Design = field(repr=False, compare=False)
    seeds: frozenset[str] = field(repr=False)
    settings: tuple[str | int | bool, ...] = ()
    version: int = 1
    draws: int = 0
    limit: int | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        return (CHANGED[self.name],)

    @property
    def expectation(self) -> Expectation:
        return "stay" if SETS[self.name][-1] else "change"

    def eligible(self, pool: Examples, positions: np.ndarray, answers: pa.Array) -> np.ndarray:
        seeds = pa.array(sorted(self.seeds), pa.string())
        return pc.is_in(pool.uids.take(positions), value_set=seeds).to_numpy(zero_copy_only=False)

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


def counterparts(design: Design, seeds: int, seed: int, paired: bool = False) -> list[Counterparts]:
    """Return the four intervention sets "I0" to "I3", each with a random sample of seed examples (examples to change).

    "I0" changes the context and the label. "I1" changes the words and the label. "I2" changes the context and keeps the
    label. "I3" changes the words and keeps the label. A counterpart is an example that replaces a seed example; see
    :class:`Counterparts`.

    Args:
        design: Context, words, monotonicity, relation and gold label of each example of the pool.
        seeds: Number of seed examples per set (400 in the paper), or all examples if there are fewer.
        seed: Seed of the run; the seed examples depend only on it and on the uids.
        paired: If True, "I0" and "I2" get the same seed examples, and "I1" and "I3" get the same seed examples; each
            seed example has counterparts in both sets. If False, each set draws its own seed examples, as in the paper;
            some seed examples have no counterpart.
    """
    inside = np.flatnonzero(design.inside).tolist()
    sets = []
    for name, part in CHANGED.items():
        candidates = inside
        if paired:
            pair = [each for each in SETS if CHANGED[each] == part]
            candidates = [i for i in inside if all(len(design.matches(each, i)) for each in pair)]
        uids = _sample([design.pool.uid(i) for i in candidates], seeds, seed, part if paired else name)
        sets.append(Counterparts(name, design, frozenset(uids), (seeds, paired)))
    return sets


def without_unneeded(design: Design, sets: Sequence[Counterparts]) -> tuple[Design, list[Counterparts]]:
    """Leave out of the pool all examples that are neither seed examples nor counterparts; the sets stay the same.

    Returns:
        The design of the remaining pool, and the sets for this pool.
    """
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
