"""Examples of a pool as a memory-mapped Arrow table."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.records.errors import DataError
from heedful.records.example import Example, Part
from heedful.records.pool.contents import KINDS, canonical, column_texts, content_id, identities, keys
from heedful.records.pool.groups import joined, numbered, related
from heedful.records.pool.partners import Partners
from heedful.records.storage.files import Spool

BATCH = 4096  # examples that are Python objects at a time
CLUSTER = "cluster"  # the column of what is one cluster of intervals, where that is not each example
CHARACTERS = 2**24  # of these examples together; one Arrow column holds less than 2 GiB


class ExamplesBuilder:
    """Spool examples to an Arrow file on disk, batch by batch, and map it into memory.

    Examples pass through; they are never all held at once.

    Args:
        parts: Names of the parts.
        groups: Names of the groups that are no part's content.
        meta: Names of the meta columns.
        kinds: Name to kind (of :data:`KINDS`) of the parts that are no texts.
        cluster: The group or meta column whose values are the clusters of intervals; by default the first group that is
            no part's content.
    """

    BATCH = BATCH

    def __init__(
        self,
        parts: Sequence[str],
        groups: Sequence[str] = (),
        meta: Sequence[str] = (),
        kinds: Mapping[str, str] = MappingProxyType({}),
        cluster: str | None = None,
    ) -> None:
        self.parts = tuple(parts)
        self.groups = (*parts, *groups)
        self.meta = tuple(meta)
        cluster = next(iter(groups), None) if cluster is None else cluster
        self._cluster = None if cluster is None else (*self.groups, *meta).index(cluster)
        columns = {"parts": parts, "groups": self.groups, "meta": meta}
        names = [f"{kind}.{name}" for kind, several in columns.items() for name in several]
        if cluster is not None:
            names.append(CLUSTER)
        metadata = {f"parts.{part}": {b"heedful": kind.encode()} for part, kind in kinds.items()}
        self.schema = pa.schema([pa.field(n, pa.string(), metadata=metadata.get(n)) for n in ["uid", "label", *names]])
        self._rows: list[tuple[str | None, ...]] = []
        self._characters = 0
        self._spool = Spool(self.schema)

    def add(
        self,
        uid: str,
        parts: Sequence[Part],
        label: str | None,
        groups: Sequence[str] = (),
        meta: Sequence[str] = (),
    ) -> None:
        """Append one example; values stand in the order of the names given to the builder."""
        texts = [part if isinstance(part, str) else part.encode() for part in parts]
        ids = [content_id(part) for part in parts]
        columns = (*ids, *map(canonical, groups), *meta)
        if self._cluster is not None:
            columns = (
                *columns,
                ids[self._cluster][:16] if self._cluster < len(ids) else canonical(columns[self._cluster]),
            )
        self._rows.append((uid, label, *texts, *columns))
        self._characters += sum(map(len, (*texts, *groups, *meta)))
        if len(self._rows) == self.BATCH or self._characters > CHARACTERS:
            self._flush()

    def _flush(self) -> None:
        columns = list(zip(*self._rows, strict=True)) or [()] * len(self.schema)
        arrays = [pa.array(column, pa.string()) for column in columns]
        self._spool.write(pa.record_batch(arrays, schema=self.schema))
        self._rows.clear()
        self._characters = 0

    def finish(self) -> "Examples":
        """Close the file and return what was added."""
        self._flush()
        return Examples(self._spool.finish())


class Examples(Sequence[Example]):
    """A pool of examples over an Arrow table; an Example is made when it is asked for.

    Args:
        table: Columns ``uid``, ``label``, ``parts.<name>``, ``groups.<name>``, ``meta.<name>`` and perhaps ``cluster``,
            all strings; those of tables and pictures hold what their ``encode`` makes of them, and say so in their
            metadata.

    Attributes:
        kinds: Name to kind (of :data:`KINDS`) of the parts that are no texts.
        tables: The parts that are tables.
        has_clusters: Whether clusters of intervals are larger than an example, such as all that share a premise.
        no_gold: How many rows were left out when these were loaded, for want of a gold label.
        origin: The file or other source that these were loaded from, if any.
    """

    no_gold = 0
    origin = ""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self._made: dict[tuple[Any, ...], Any] = {}
        columns = table.column_names
        self.parts = tuple(c.removeprefix("parts.") for c in columns if c.startswith("parts."))
        self.groups = tuple(c.removeprefix("groups.") for c in columns if c.startswith("groups."))
        self.meta = tuple(c.removeprefix("meta.") for c in columns if c.startswith("meta."))
        self.kinds = {
            field.name.removeprefix("parts."): field.metadata[b"heedful"].decode()
            for field in table.schema
            if b"heedful" in (field.metadata or {})
        }
        self.has_clusters = CLUSTER in columns
        self.tables = tuple(part for part, kind in self.kinds.items() if kind == "table")
        self._decoders = {f"parts.{part}": KINDS[kind].decode for part, kind in self.kinds.items()}

    @classmethod
    def of(cls, examples: Iterable[Example]) -> "Examples":
        """Build a pool from examples in memory; content groups are computed, further groups are taken over."""
        examples = list(examples)
        if not examples:
            raise DataError("There is no example, so that no part is known. Give one or more.")
        parts = tuple(examples[0].parts)
        extra = tuple(g for g in examples[0].groups if g not in parts)
        meta = tuple(examples[0].meta)
        first = examples[0].parts.items()
        kinds = {name: kind for name, part in first for kind, made in KINDS.items() if isinstance(part, made)}
        builder = ExamplesBuilder(parts, extra, meta, kinds)
        for e in examples:
            values = [e.parts[p] for p in parts]
            builder.add(e.uid, values, e.label, [e.groups[g] for g in extra], [e.meta[m] for m in meta])
        return builder.finish()

    @classmethod
    def concatenate(cls, pools: Sequence["Examples"]) -> "Examples":
        """One pool of several that have the same parts, with the further groups and meta columns that all have."""
        shared = set.intersection(*(set(pool.table.column_names) for pool in pools)) - {CLUSTER}
        tables = [pool.table.select([n for n in pools[0].table.column_names if n in shared]) for pool in pools]
        if any(pool.has_clusters for pool in pools):  # an example without one is alone
            clusters = [pool.table[CLUSTER if pool.has_clusters else "uid"] for pool in pools]
            tables = [table.append_column(CLUSTER, own) for table, own in zip(tables, clusters, strict=True)]
        return cls(pa.concat_tables(tables))

    def __len__(self) -> int:
        return self.table.num_rows

    @property
    def is_unlabelled(self) -> bool:
        """Whether there are examples, and none of them has a gold label."""
        return 0 < len(self) == self.table["label"].null_count

    @overload
    def __getitem__(self, key: int | str) -> Example: ...

    @overload
    def __getitem__(self, key: slice) -> "Examples": ...

    def __getitem__(self, key: int | str | slice) -> "Example | Examples":
        """The example at a position, or with a uid; the examples of a slice."""
        if isinstance(key, slice):
            return self.take(range(len(self))[key])
        i = self.position(key) if isinstance(key, str) else range(len(self))[key]
        row = {name: column[i].as_py() for name, column in self._columns.items()}
        return Example(
            uid=row["uid"],
            parts={p: self._decode(f"parts.{p}", row[f"parts.{p}"]) for p in self.parts},
            label=row["label"],
            groups={g: row[f"groups.{g}"] for g in self.groups},
            meta={m: row[f"meta.{m}"] for m in self.meta},
        )

    def __iter__(self) -> Iterator[Example]:
        return (self[i] for i in range(len(self)))

    def _decode(self, name: str, text: str) -> Part:
        """A value of a table column; only tables and pictures are encoded."""
        return self._decoders[name](text) if name in self._decoders else text

    @cached_property
    def _columns(self) -> dict[str, pa.ChunkedArray]:
        return {name: self.table[name] for name in self.table.column_names}

    @cached_property
    def uids(self) -> pa.Array:
        """All uids in one piece, for a fast ``take``."""
        return pa.concat_arrays(self.table["uid"].chunks) if len(self) else pa.array([], pa.string())

    @cached_property
    def uid_keys(self) -> np.ndarray:
        """A 64-bit hash of each uid (:func:`keys`): uint64 [examples]."""
        return keys(column_texts(self.table, "uid"))

    @cached_property
    def _positions(self) -> tuple[np.ndarray, np.ndarray]:
        """Keys of all uids, sorted, and the position of each."""
        order = np.argsort(self.uid_keys, kind="stable").astype(np.int32)
        return self.uid_keys[order], order

    def partners(self, parts: Sequence[str], within: str | None = None) -> Partners:
        """Which examples may lend some parts to which.

        A part that is the same in all examples makes nobody related, unless nothing else is lent.

        Args:
            parts: The parts that are lent.
            within: A meta column; partners have the same in it.
        """
        same = [] if set(parts) <= {*self._constants} else self._constants
        among = self._once("related", within, *same, make=lambda: related(self.table, within, same))
        kept = [part for part in self.parts if part not in parts] or self.parts  # all are lent: no pair comes of it
        columns = [[f"groups.{part}" for part in some] for some in (kept, parts)]
        return self._once(
            "partners",
            tuple(parts),
            within,
            make=lambda: Partners(among, *(numbered(self.table, names) for names in columns)),
        )

    @cached_property
    def _constants(self) -> list[str]:
        """The parts whose content is the same in all examples, as the instruction of a prompt may be."""
        return [part for part in self.parts if len(self.table[f"groups.{part}"].unique()) == 1]

    def _once(self, *key: Any, make: Callable[[], Any]) -> Any:
        """What an evaluation asks for in every epoch."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    @cached_property
    def uid_order(self) -> np.ndarray:
        """Positions by ascending uid: int64 [examples]."""
        return pc.sort_indices(self.table["uid"]).to_numpy().astype(np.int64)

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over uids, labels and groups (which hold the content of every part)."""
        digest = hashlib.sha256(repr(self.parts).encode())
        for name in ("uid", "label", *(f"groups.{group}" for group in self.groups)):
            digest.update(name.encode())
            for batch in self.table.select([name]).to_batches(max_chunksize=BATCH):
                digest.update("".join(map(repr, batch[0].to_pylist())).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def contents(self, parts: Sequence[str]) -> pa.Array:
        """Identity of each example's label and content: 16 hexadecimal digits, the same whatever else the pool holds.

        Args:
            parts: The parts that the data have, of which a pool with fewer still keeps the content.
        """
        names = tuple(sorted(part for part in parts if part in self.groups))
        return self._once(
            "contents", names, make=lambda: identities(self.table, ["label", *(f"groups.{n}" for n in names)])
        )

    def content_keys(self, parts: Sequence[str]) -> np.ndarray:
        """A 64-bit hash of the content of some parts, without the label: uint64 [examples], equal for equal contents.

        Args:
            parts: As for :meth:`contents`.
        """
        names = tuple(part for part in parts if part in self.groups)
        return self._once("content keys", names, make=lambda: joined(self.table, [f"groups.{name}" for name in names]))

    def clusters(self, parts: Sequence[str]) -> pa.Array:
        """What is one in intervals: texts [examples]; null where an example is alone.

        It is the cluster that the data name. Without one, examples with equal parts are one.

        Args:
            parts: As for :meth:`contents`.
        """
        if self.has_clusters:
            return self.texts(CLUSTER, np.arange(len(self)))
        return self._once("clusters", tuple(parts), make=lambda: _repeated(self.content_keys(parts)))

    def uid(self, i: int) -> str:
        """The uid at a position."""
        return self.value("uid", i)

    def value(self, name: str, i: int) -> Any:
        """The value of a table column (``label``, ``parts.<name>``, ...) at a position: a :class:`Part` or None."""
        return self._decode(name, self._columns[name][int(i)].as_py())

    def position(self, uid: str) -> int:
        """Position of a uid. Raises KeyError where there is none."""
        sorted_keys, positions = self._positions
        key = keys([uid])[0]
        for k in range(int(np.searchsorted(sorted_keys, key)), len(sorted_keys)):
            if sorted_keys[k] != key:
                break
            if self.uid(positions[k]) == uid:
                return int(positions[k])
        raise KeyError(uid)

    def texts(self, name: str, positions: np.ndarray) -> pa.Array:
        """The values of a table column at some positions, as the table holds them: texts [positions]."""
        return self.table[name].take(positions).combine_chunks()

    def column(self, name: str) -> Iterator[Part | None]:
        """Values of a table column (``uid``, ``label``, ``parts.<name>``, ...), in the order of positions."""
        texts = column_texts(self.table, name)
        return map(self._decoders[name], texts) if name in self._decoders else texts

    def take(self, positions: Sequence[int] | np.ndarray) -> "Examples":
        """The examples at these positions, in this order. Raises IndexError for one that is not there."""
        positions = np.asarray(positions, dtype=np.int64)
        if len(positions) and not 0 <= positions.min() <= positions.max() < len(self):
            raise IndexError(f"The positions go from 0 to {len(self) - 1}.")
        spool = Spool(self.table.schema)
        for start in range(0, len(positions), BATCH):
            spool.write(self.table.take(positions[start : start + BATCH]))
        return Examples(spool.finish())

    def with_column(self, name: str, values: pa.Array | pa.ChunkedArray) -> "Examples":
        """The same examples with another column (``uid``, ``meta.<name>``, ``cluster``) in place of the one of that
        name, or beside the others."""
        names = self.table.column_names
        if name not in names:
            return Examples(self.table.append_column(name, values))
        i = names.index(name)
        return Examples(self.table.set_column(i, self.table.schema.field(i), values))

    def without_column(self, name: str) -> "Examples":
        """The same examples without a column, which may be absent."""
        return Examples(self.table.drop_columns([name]) if name in self.table.column_names else self.table)

    def keep_parts(self, parts: Sequence[str]) -> "Examples":
        """The same examples with these parts only, in this order; groups of the parts left out remain."""
        others = [c for c in self.table.column_names if not c.startswith("parts.")]
        return Examples(self.table.select(others[:2] + [f"parts.{p}" for p in parts] + others[2:]))

    def rename_parts(self, names: Sequence[str]) -> "Examples":
        """The same examples with other names for the parts, in their order; a further group of that name gives way."""
        pairs = list(zip(self.parts, names, strict=True))
        new = {f"{kind}.{old}": f"{kind}.{name}" for kind in ("parts", "groups") for old, name in pairs}
        columns = [c for c in self.table.column_names if c in new or c not in new.values()]
        return Examples(self.table.select(columns).rename_columns([new.get(c, c) for c in columns]))


def repeats(keys: np.ndarray) -> int:
    """How many of some examples are repeats of others, by their :meth:`Examples.content_keys`."""
    return len(keys) - len(np.unique(keys))


def _repeated(content_keys: np.ndarray) -> pa.Array:
    """The contents that stand more than once, as 16 hexadecimal digits, null for the others: texts [examples]."""
    _, of, counts = np.unique(content_keys, return_inverse=True, return_counts=True)
    names = (f"{key:016x}" if n > 1 else None for key, n in zip(content_keys.tolist(), counts[of], strict=True))
    return pa.array(list(names), pa.string())
