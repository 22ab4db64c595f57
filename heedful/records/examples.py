"""Pools of examples, stored as memory-mapped Arrow tables."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.records.errors import DataError
from heedful.records.example import PART_KINDS, Example, Part, content_id
from heedful.records.partners import Partners, column_texts, identities, names_of, related, row_hashes, row_numbers
from heedful.records.randomness import keys
from heedful.records.storage.files import Spool
from heedful.records.text import canonical

BATCH = 4096  # number of examples that exist as Python objects at the same time
CLUSTER = "cluster"  # column that names the clusters, for confidence intervals
COUNTERPARTS = "counterparts"  # group of the examples that are edited versions of each other
OF_PARTS = ("parts", "edited")  # kinds of columns that hold contents of parts
CHARACTERS = 2**24  # maximum number of characters in a batch: an Arrow column holds less than 2 GiB


class ExamplesBuilder:
    """Builder of a pool of examples, which are collected in an Arrow file on disk, batch by batch.

    Args:
        groups: Names of further groups (columns whose equal values mark related examples); every part is also a group.
        kinds: Maps part names to "table", "picture" or "options"; all other parts are texts.
        cluster: The group or meta column that defines the clusters; by default the first of ``groups``.
        edited: Names of the columns that describe an edited version of the example: its changed parts, "label", ...
    """

    BATCH = BATCH

    def __init__(
        self,
        parts: Sequence[str],
        groups: Sequence[str] = (),
        meta: Sequence[str] = (),
        kinds: Mapping[str, str] = MappingProxyType({}),
        cluster: str | None = None,
        edited: Sequence[str] = (),
    ) -> None:
        self.parts = tuple(parts)
        self.groups = (*parts, *groups)
        self.meta = tuple(meta)
        cluster = next(iter(groups), None) if cluster is None else cluster
        self._cluster = None if cluster is None else (*self.groups, *meta).index(cluster)
        columns = {"parts": parts, "groups": self.groups, "meta": meta, "edited": edited}
        names = [f"{kind}.{name}" for kind, several in columns.items() for name in several]
        if cluster is not None:
            names.append(CLUSTER)
        metadata = {f"{k}.{part}": {b"heedful": kind.encode()} for part, kind in kinds.items() for k in OF_PARTS}
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
        edited: Sequence[Part | None] = (),
    ) -> None:
        """Append an example; parts, groups, meta and edited columns are in the order of the constructor's names."""
        texts, after = (
            [part if isinstance(part, str | None) else part.encode() for part in each] for each in (parts, edited)
        )
        ids = [content_id(part) for part in parts]
        columns = (*ids, *map(canonical, groups), *meta)
        cluster = []
        if self._cluster is not None:
            is_part = self._cluster < len(ids)
            cluster.append(ids[self._cluster][:16] if is_part else canonical(columns[self._cluster]))
        self._rows.append((uid, label, *texts, *columns, *after, *cluster))
        self._characters += sum(map(len, filter(None, (*texts, *groups, *meta, *after))))
        if len(self._rows) == self.BATCH or self._characters > CHARACTERS:
            self._flush()

    def _flush(self) -> None:
        columns = list(zip(*self._rows, strict=True)) or [()] * len(self.schema)
        arrays = [pa.array(column, pa.string()) for column in columns]
        self._spool.write(pa.record_batch(arrays, schema=self.schema))
        self._rows.clear()
        self._characters = 0

    def finish(self) -> "Examples":
        """Close the file, map it into memory, and return the examples."""
        self._flush()
        return Examples(self._spool.finish())


class Examples(Sequence[Example]):
    """A sequence of examples (a pool) in an Arrow table; :class:`Example` objects are created on access.

    Args:
        table: The text columns ``uid``, ``label``, ``parts.<name>``, ``groups.<name>``, ``meta.<name>`` and optionally
            ``cluster``; ``edited.<name>`` describes an edited version (counterpart) of the example. Tables and pictures
            are encoded as text; the metadata of their column has their kind.
    """

    no_gold = 0  # number of rows of the source that were dropped because they have no gold label
    origin = ""  # source of the examples, such as a file, for messages

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self._cache: dict[tuple[Any, ...], Any] = {}
        kinds = ("parts", "groups", "meta", "edited")
        self.parts, self.groups, self.meta, self.edited = (names_of(table, kind) for kind in kinds)
        self.kinds = {
            field.name.removeprefix("parts."): field.metadata[b"heedful"].decode()
            for field in table.schema
            if b"heedful" in (field.metadata or {}) and field.name.startswith("parts.")
        }
        self.has_clusters = CLUSTER in table.column_names
        self.tables = tuple(part for part, kind in self.kinds.items() if kind == "table")
        decoders = {part: PART_KINDS[kind].decode for part, kind in self.kinds.items()}
        self._decoders = {f"{k}.{part}": decode for part, decode in decoders.items() for k in OF_PARTS}

    @classmethod
    def of(cls, examples: Iterable[Example]) -> "Examples":
        """Build a pool from Example objects in memory, and compute the hashes of their parts anew."""
        examples = list(examples)
        if not examples:
            raise DataError("There are no examples. Give one or more.")
        parts, meta = examples[0].parts, tuple(examples[0].meta)
        extra = tuple(g for g in examples[0].groups if g not in parts)
        kinds = {p: k for p, part in parts.items() for k, owner in PART_KINDS.items() if isinstance(part, owner)}
        builder = ExamplesBuilder(tuple(parts), extra, meta, kinds)
        for e in examples:
            values = [e.parts[p] for p in parts]
            builder.add(e.uid, values, e.label, [e.groups[g] for g in extra], [e.meta[m] for m in meta])
        return builder.finish()

    @classmethod
    def concatenate(cls, pools: Sequence["Examples"]) -> "Examples":
        """Concatenate pools with the same parts. A column of groups or meta data is kept if all pools have it."""
        shared = set.intersection(*(set(pool.table.column_names) for pool in pools)) - {CLUSTER}
        tables = [pool.table.select([n for n in pools[0].table.column_names if n in shared]) for pool in pools]
        if any(pool.has_clusters for pool in pools):  # without clusters, each example is one
            clusters = [pool.table[CLUSTER if pool.has_clusters else "uid"] for pool in pools]
            tables = [table.append_column(CLUSTER, column) for table, column in zip(tables, clusters, strict=True)]
        return cls(pa.concat_tables(tables))

    def __len__(self) -> int:
        return self.table.num_rows

    @property
    def is_unlabelled(self) -> bool:
        """Whether the pool is not empty and has no gold labels."""
        return 0 < len(self) == self.table["label"].null_count

    @overload
    def __getitem__(self, key: int | str) -> Example: ...

    @overload
    def __getitem__(self, key: slice) -> "Examples": ...

    def __getitem__(self, key: int | str | slice) -> "Example | Examples":
        """Return the example at a position (int) or with a uid (str), or the pool of the examples in a slice."""
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

    def _decode(self, name: str, text: str | None) -> Any:
        return self._decoders[name](text) if name in self._decoders and text is not None else text

    @cached_property
    def _columns(self) -> dict[str, pa.ChunkedArray]:
        return {name: self.table[name] for name in self.table.column_names}

    @cached_property
    def uids(self) -> pa.Array:
        """The uids as one contiguous Arrow array, which makes ``take`` fast: texts [examples]."""
        return pa.concat_arrays(self.table["uid"].chunks) if len(self) else pa.array([], pa.string())

    @cached_property
    def uid_keys(self) -> np.ndarray:
        """The :func:`keys` of the uids: uint64 [examples]."""
        return keys(column_texts(self.table, "uid"))

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {uid: i for i, uid in enumerate(column_texts(self.table, "uid"))}

    def partners(self, parts: Sequence[str], within: str | None = None) -> Partners:
        """Return which examples may lend each other ``parts`` in a swap, if they agree in the meta column ``within``.

        Examples that share the content of a part are no partners. A part with the same content in all examples, such as
        a fixed instruction, does not count, unless only such parts are swapped.
        """
        same = [] if set(parts) <= {*self._constants} else self._constants
        relation = self._once("related", within, *same, make=lambda: related(self.table, within, same))
        remaining = [part for part in self.parts if part not in parts] or self.parts  # all parts: no pair is excluded
        numbers = [[f"groups.{part}" for part in names] for names in (remaining, parts)]
        make = lambda: Partners(relation, *(row_numbers(self.table, names) for names in numbers))  # noqa: E731
        return self._once("partners", tuple(parts), within, make=make)

    @cached_property
    def _constants(self) -> list[str]:
        return [part for part in self.parts if len(self.table[f"groups.{part}"].unique()) == 1]

    def _once(self, *key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    @cached_property
    def uid_order(self) -> np.ndarray:
        """The positions of the examples, sorted by uid: int64 [examples]."""
        return pc.sort_indices(self.table["uid"]).to_numpy().astype(np.int64)

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of the names of the parts, and of uids, labels, groups (also hashes of the parts) and edits."""
        digest = hashlib.sha256(repr(self.parts).encode())
        edited = (f"edited.{name}" for name in self.edited if self.kinds.get(name) != "picture")  # it has a path
        for name in ("uid", "label", *(f"groups.{group}" for group in self.groups), *edited):
            digest.update(name.encode())
            for batch in self.table.select([name]).to_batches(BATCH):
                digest.update("".join(map(repr, batch[0].to_pylist())).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def contents(self, parts: Sequence[str]) -> pa.Array:
        """The :func:`identities` of the label and of some parts, also of former ones (:meth:`keep_parts`)."""
        columns = ["label", *(f"groups.{part}" for part in sorted(parts) if part in self.groups)]
        return self._once("contents", *columns, make=lambda: identities(self.table, columns))

    def content_keys(self, parts: Sequence[str]) -> np.ndarray:
        """Hash some parts of each example, without the label: uint64 [examples]."""
        columns = [f"groups.{part}" for part in parts if part in self.groups]
        return self._once("content keys", *columns, make=lambda: row_hashes(self.table, columns))

    def clusters(self, parts: Sequence[str]) -> pa.Array:
        """Return the name of each example's cluster: texts [examples], null for an example that is one by itself.

        If the data define no clusters, examples with equal content in ``parts`` are a cluster.
        """
        if self.has_clusters:
            return self.texts(CLUSTER, np.arange(len(self)))
        return self._once("clusters", tuple(parts), make=lambda: _names_of_repeated(self.content_keys(parts)))

    def uid(self, i: int) -> str:
        return self.value("uid", i)

    def value(self, name: str, i: int) -> Any:
        """Return the value of a column such as ``parts.<name>`` at position ``i``: a part, a text or None."""
        return self._decode(name, self._columns[name][int(i)].as_py())

    def position(self, uid: str) -> int:
        """The position of the example with a uid; raises KeyError for an unknown uid."""
        return self._positions[uid]

    def texts(self, name: str, positions: np.ndarray) -> pa.Array:
        """The values of a column at some positions: texts [positions]. Tables and pictures are encoded as text."""
        return self.table[name].take(positions).combine_chunks()

    def column(self, name: str) -> Iterator[Part | None]:
        """Iterate over the values of a column such as ``label`` or ``parts.<name>``."""
        texts = column_texts(self.table, name)
        return (self._decode(name, text) for text in texts) if name in self._decoders else texts

    def take(self, positions: Sequence[int] | np.ndarray) -> "Examples":
        """Return a pool of the examples at the given positions; raises IndexError for one that is not in the pool."""
        positions = np.asarray(positions, dtype=np.int64)
        spool = Spool(self.table.schema)
        for start in range(0, len(positions), BATCH):
            spool.write(self.table.take(positions[start : start + BATCH]))
        return Examples(spool.finish())

    def with_column(self, name: str, values: pa.Array | pa.ChunkedArray) -> "Examples":
        """Return a pool with a column added or replaced: ``uid``, ``meta.<name>`` or ``cluster``."""
        i = self.table.schema.get_field_index(name)
        if i < 0:
            return Examples(self.table.append_column(name, values))
        return Examples(self.table.set_column(i, self.table.schema.field(i), values))

    def without_column(self, name: str) -> "Examples":
        """Return a pool without a column; if the column does not exist, nothing changes."""
        return Examples(self.table.drop_columns([name]) if name in self.table.column_names else self.table)

    def keep_parts(self, parts: Sequence[str]) -> "Examples":
        """Return a pool with only the given parts, in this order; the hashes of the others stay, to find relations."""
        columns = [c for c in self.table.column_names if not c.startswith("parts.")]
        return Examples(self.table.select(columns[:2] + [f"parts.{p}" for p in parts] + columns[2:]))

    def rename_parts(self, names: Sequence[str]) -> "Examples":
        """Return a pool with new names for its parts; a group of no part is removed if a part gets its name."""
        pairs = list(zip(self.parts, names, strict=True))
        new = {f"{kind}.{old}": f"{kind}.{name}" for kind in ("parts", "groups", "edited") for old, name in pairs}
        columns = [c for c in self.table.column_names if c in new or c not in new.values()]
        return Examples(self.table.select(columns).rename_columns([new.get(c, c) for c in columns]))


def repeats(keys: np.ndarray) -> int:
    """Return the number of examples that repeat an earlier one, given their :meth:`Examples.content_keys`."""
    return len(keys) - len(np.unique(keys))


def _names_of_repeated(content_keys: np.ndarray) -> pa.Array:
    """Name the content of each example: texts of 16 hexadecimal digits [examples], null if it occurs once."""
    _, inverse, counts = np.unique(content_keys, return_inverse=True, return_counts=True)
    names = (f"{key:016x}" if n > 1 else None for key, n in zip(content_keys.tolist(), counts[inverse], strict=True))
    return pa.array(list(names), pa.string())
