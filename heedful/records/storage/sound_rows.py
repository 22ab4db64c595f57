"""Whether the rows of a file can be what the engine has written: their values, and those of several files of one run.

A hash says that a file is the one that results.json names. These checks say whether what stands in a file makes sense,
also where no hash of it is known.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.records.errors import HeedfulError, RunError
from heedful.records.labels import listing
from heedful.records.numbers.context import Context
from heedful.records.rows import (
    BASE,
    KEY,
    NO_DRAW,
    codes,
    is_most_probable,
    probabilities,
    require_canonical,
    runs,
    schema,
    where,
)
from heedful.records.task import CLASSIFICATION, NO_LABEL

DEMANDED = {"data": str, "seed": int, "manifest": str, "run": dict, "context": dict, "counts": dict}
SURE = "most_probable"  # of the metadata: whether each answer is the most probable label; since schema 7
SINCE = 7
HAS_GOLD = "it has a gold label, and its context says that no example has"
ROUNDED = 1e-4  # how far the sum of float32 probabilities may be from 1
Evaluated = tuple[pa.Table, Mapping[str, Any]]
Fault = tuple[np.ndarray, str]  # which rows are wrong, bool [rows], and what is wrong with them


def require_sound(rows: pa.Table, metadata: Mapping[str, Any], file: str) -> None:
    """Refuse rows that the engine cannot have written.

    Args:
        rows: As :func:`~heedful.records.rows.read_rows` has read them.
        metadata: Theirs.
        file: What the message begins with.

    Raises:
        HeedfulError: The metadata lack something; a column has another type; rows are not in their canonical order; an
            answer or a gold label is not a label, or a gold label is missing, or is there where the examples have none;
            a change has no prediction; probabilities are not finite, or do not sum to 1; rows of one example do not
            have one prediction before the change; or the examples are not as many as the counts say. The message names
            the first such row.
    """
    context = _context(rows, metadata, file)
    try:
        rows.validate(full=True)
    except pa.ArrowInvalid as error:
        raise RunError(f"{file} is damaged: {error}. Evaluate again.") from None
    for wrong, words in _of_keys(rows):
        _refuse(rows, wrong, words, file)
    try:
        require_canonical(rows)
    except HeedfulError as error:
        raise error.at(file) from None
    faults = _of_changes(rows, metadata, context) if "y2" in rows.schema.names else _of_words(rows, context)
    for wrong, words in faults:
        _refuse(rows, wrong, words, file)
    if miscounted := _miscounted(rows, metadata):
        raise RunError(f"{file} is not what was written: {miscounted}. Evaluate again.")


def _refuse(rows: pa.Table, wrong: np.ndarray, words: str, file: str) -> None:
    if wrong.any():
        row = int(wrong.argmax())
        more = f"; {int(wrong.sum()) - 1:,} more rows have this fault" if wrong.sum() > 1 else ""
        uid = rows["uid"][row].as_py()
        raise RunError(f"{file}, row {row + 1:,} ({uid}): {words}{more}. Evaluate again.")


def _context(rows: pa.Table, metadata: Mapping[str, Any], file: str) -> Context:
    """The context of rows, with all that the metadata must say."""
    for key, kind in DEMANDED.items():
        if not isinstance(metadata.get(key), kind):
            raise RunError(f"{file} is damaged: it does not say its {key!r}. Evaluate again.")
    if metadata["written"] >= SINCE and "y2" in rows.schema.names and not isinstance(metadata.get(SURE), bool):
        raise RunError(f"{file} is damaged: it does not say its {SURE!r}. Evaluate again.")
    try:
        context = Context.of(metadata["context"])
        labels = len(context.kind.distribution(context.labels))
    except (KeyError, TypeError, AttributeError):
        raise RunError(f"{file} is damaged: its 'context' cannot be read. Evaluate again.") from None
    for key, own in (("data", context.data), ("seed", context.seed)):
        if not own == metadata[key] == metadata["run"].get(key):
            raise RunError(f"{file} is damaged: it says several {key!r}. Evaluate again.")
    for field in schema(labels) if "y2" in rows.schema.names else ():
        if rows.schema.field(field.name).type != field.type:
            wrong = f"the column {field.name!r} should be of the type {field.type} for {len(context.labels):,} labels"
            raise RunError(f"{file} is damaged: {wrong}. Evaluate again.")
    return context


def _of_keys(rows: pa.Table) -> Iterator[Fault]:
    """What is wrong with the texts and numbers that every row has."""
    for name in (*KEY, "version", "y"):
        yield rows[name].is_null().to_numpy(), f"it has no {name!r}"


def _of_changes(rows: pa.Table, metadata: Mapping[str, Any], context: Context) -> Iterator[Fault]:
    """What is wrong with rows of examples and their changes."""
    base = where(rows, intervention=BASE)
    example = runs(rows, "uid")
    bases = np.bincount(example[base], minlength=1 + int(example.max(initial=-1)))
    yield (bases != 1)[example], "its example does not have one base row"
    first = np.flatnonzero(base)
    yield base & (rows["draw"].to_numpy() != NO_DRAW), "it is a base row with a draw"
    is_changed = rows["y2"].is_valid().to_numpy()
    yield ~base & ~is_changed, "it has no prediction after the change ('y2')"
    yield base & is_changed, "it is a base row with a prediction after a change ('y2')"
    yield from _of_labels(rows, base, _is_of_others(metadata), context)
    for name in ("y", "group"):
        number, _ = codes(rows, name)
        yield number != number[first[example]], f"its {name!r} is not that of the base row of its example"
    yield from _of_probabilities(rows, first[example], ~base)
    if metadata.get(SURE):
        for name, p in (("y", "p"), ("y2", "p2")):
            yield ~is_most_probable(rows, name, p, context.labels), f"its {name!r} is not the most probable label"


def _of_labels(rows: pa.Table, base: np.ndarray, of_others: bool, context: Context) -> Iterator[Fault]:
    """Which answers and gold labels are not labels; examples of other data may have other gold labels."""
    if context.kind.has_labels:
        answers = (*context.labels, NO_LABEL)
        for name in ("y", "y2"):
            yield _outside(rows, name, answers), f"its {name!r} is not one of {listing(context.labels)}"
    has_gold = rows["gold"].is_valid().to_numpy()
    if context.unlabelled:
        yield has_gold, HAS_GOLD
        return
    yield base & ~has_gold, "it has no gold label"
    if context.kind is CLASSIFICATION:
        if not of_others:
            yield _outside(rows, "gold", context.labels), f"its 'gold' is not one of {listing(context.labels)}"
        return
    number, golds = codes(rows, "gold")
    broken = np.array([text is not None and not context.kind.is_gold(text) for text in golds], dtype=bool)
    yield broken[number], f"its 'gold' is not that of the kind {context.kind.name}"


def _is_of_others(metadata: Mapping[str, Any]) -> bool:
    """Whether an evaluation brought examples of its own, which it then counts; a part may be called "examples"."""
    return isinstance(metadata["counts"].get("examples"), int)


def _outside(rows: pa.Table, name: str, texts: tuple[str, ...]) -> np.ndarray:
    """Which rows have another text than these, bool [rows]; null is none."""
    is_in = pc.is_in(rows[name], value_set=pa.array(texts, pa.string())).to_numpy()
    return rows[name].is_valid().to_numpy() & ~is_in


def _of_probabilities(rows: pa.Table, first: np.ndarray, is_change: np.ndarray) -> Iterator[Fault]:
    """What is wrong with probabilities.

    Args:
        rows: Rows.
        first: int [rows], the base row of the example of each.
        is_change: Which of them have a prediction after a change: bool [rows].
    """
    has = {name: rows[name].is_valid().to_numpy() for name in ("p", "p2")}
    some = has["p"].any()
    yield has["p"] != some, "it has no probabilities, and others have ('p')"
    yield has["p2"] != (is_change & some), "its probabilities after the change are missing, or too many ('p2')"
    for name, here in has.items():
        if here.any():
            p = probabilities(rows.select([name]).filter(pa.array(here)), name)
            wrong = np.zeros(len(here), dtype=bool)
            wrong[here] = ~((p >= 0).all(axis=1) & (np.abs(p.sum(axis=1, dtype=np.float64) - 1) <= ROUNDED))
            yield wrong, f"its probabilities {name!r} do not sum to 1"
    if some:
        before = probabilities(rows, "p")
        yield (
            (before != before[first]).any(axis=1),
            "its probabilities 'p' are not those of the base row of its example",
        )


def _of_words(rows: pa.Table, context: Context) -> Iterator[Fault]:
    """What is wrong with rows of words."""
    yield _outside(rows, "y", context.labels), f"its 'y' is not one of {listing(context.labels)}"
    if context.unlabelled:
        yield rows["gold"].is_valid().to_numpy(), HAS_GOLD
    elif context.kind is CLASSIFICATION:
        yield _outside(rows, "gold", context.labels), f"its 'gold' is not one of {listing(context.labels)}"
    for name in ("phi", "full", "nothing", "delta"):
        yield ~np.isfinite(rows[name].to_numpy()), f"its {name!r} is not a number"


def _miscounted(rows: pa.Table, metadata: Mapping[str, Any]) -> str | None:
    """How the number of rows differs from what was counted when they were written, or None."""
    if "y2" not in rows.schema.names:
        return None
    base = where(rows, intervention=BASE)
    counts = metadata["counts"]
    of_run = metadata["run"].get("counts")
    counted = of_run if isinstance(of_run, Mapping) else {}
    without = where(rows, y2=NO_LABEL)
    if _is_of_others(metadata):
        counted = counts
        without |= base & where(rows, y=NO_LABEL)
    compared = {"examples": (counted.get("examples"), int(base.sum()))}
    if not _is_of_others(metadata):
        unlabelled = int((base & rows["gold"].is_null().to_numpy()).sum())
        compared["unlabelled"] = counted.get("unlabelled", 0), unlabelled
    if "no_label" in counts:
        compared["no_label"] = counts["no_label"], int(without.sum())
    for name, (told, there) in compared.items():
        if told != there:
            return f"{name!r} is {told} among its counts, and {there:,} in the rows"
    return None


def require_together(evaluated: Mapping[str, Evaluated], files: Mapping[str, str]) -> None:
    """Refuse rows of several files that are not predictions of one model for the same examples.

    Args:
        evaluated: Evaluation to its rows, which are sound, and their metadata.
        files: Evaluation to what messages call its file.

    Raises:
        HeedfulError: What the files say of the run differs; or an example has other base rows in them.
    """
    names = list(evaluated)
    first = names[0]
    for name in names[1:]:
        if evaluated[name][1]["run"] != evaluated[first][1]["run"]:
            raise RunError(f"{files[name]} and {files[first]} were not written by one evaluation. Evaluate again.")
    of_data = [name for name in names if not _is_of_others(evaluated[name][1])]
    changes = [name for name in of_data if "y2" in evaluated[name][0].schema.names]
    for name in changes[1:]:
        _require_same(evaluated, files, changes[0], name)
    for name in of_data if changes else ():
        if name not in changes:
            _require_explained(evaluated, files, changes[0], name)


def _require_same(evaluated: Mapping[str, Evaluated], files: Mapping[str, str], one: str, other: str) -> None:
    """Check that two evaluations of the same examples have the same base rows."""
    tables = [rows.filter(pa.array(where(rows, intervention=BASE))) for rows, _ in (evaluated[one], evaluated[other])]
    for name in ("uid", "gold", "content", "group", "y", "p"):
        first, second = (table[name].combine_chunks() for table in tables)
        if first.equals(second):
            continue
        row = next(i for i in range(len(first)) if i >= len(second) or not first[i].equals(second[i]))
        uid = tables[0]["uid"][row].as_py()
        both = f"{files[one]} and {files[other]} are not of one model and the same examples"
        raise RunError(f"{both}: the base rows of {uid} have another {name!r}. Evaluate again.")


def _require_explained(evaluated: Mapping[str, Evaluated], files: Mapping[str, str], base: str, words: str) -> None:
    """Check that examples of which words are explained are those of the base rows of another evaluation."""
    rows, _ = evaluated[base]
    base_rows = rows.select(["uid", "gold", "content"]).filter(pa.array(where(rows, intervention=BASE)))
    explained, _ = evaluated[words]
    place = pc.index_in(explained["uid"], value_set=base_rows["uid"].combine_chunks())
    wrong = place.is_null().to_numpy()
    for name in ("gold", "content"):
        own = base_rows[name].take(pc.fill_null(place, 0))
        is_own = where(explained, variant="")
        is_same = pc.fill_null(pc.equal(own, explained[name]), False).to_numpy()
        is_same |= own.is_null().to_numpy() & explained[name].is_null().to_numpy()
        wrong |= is_own & ~is_same
    if wrong.any():
        uid = explained["uid"][int(wrong.argmax())].as_py()
        both = f"{files[words]} and {files[base]} are not of the same examples"
        raise RunError(f"{both}: {uid} has another label or text, or is in one alone. Evaluate again.")
