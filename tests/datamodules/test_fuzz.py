"""Thousands of damaged files: each loads completely, or is refused in one line that names the file and the row."""

import os
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from heedful.datamodules import Columns, Split, to_examples
from heedful.datamodules.sources.readers import read
from heedful.records import DataError, HeedfulError

from damaged_files import LABELS, MAKERS, Case, damaged

COLUMNS = Columns({"premise": "premise", "hypothesis": "hypothesis"}, "label", LABELS, uid="id", groups=("doc",))
SPELLED = {s: name for name, others in LABELS.items() for s in (name, *others)}
PLACE = re.compile(r"row \d+|line \d+|row group \d+|footer|header|has no rows?|not rows|not valid JSON")
Loaded = list[tuple[str, str, str, str, str]]


def loaded(case: Case, folder: Path) -> tuple[Loaded, int] | HeedfulError:
    """What a file gives (examples, rows without gold), or the error with which it is refused."""
    path = folder / case.name
    path.write_bytes(case.content)
    try:
        examples = to_examples(read(path, case.quoting), str(path), COLUMNS, Split("", "fuzz/train", training=True))
    except HeedfulError as error:
        return error
    finally:
        path.unlink()
    found = [(e.uid, e.parts["premise"], e.parts["hypothesis"], e.label, e.groups["doc"]) for e in examples]
    return found, examples.no_gold


def expected(rows: list[dict[str, Any]]) -> tuple[Loaded, int]:
    """What rows should give."""
    gold = [row for row in rows if row["label"].strip() not in ("-", "")]
    values = [(f"fuzz/train/{r['id']}", r["premise"], r["hypothesis"], SPELLED[r["label"]], r["doc"]) for r in gold]
    return sorted(values), len(rows) - len(gold)


def check(case: Case, folder: Path) -> str:
    """Load a case and hold it against what may come of it; returns "loaded" or "refused"."""
    found = loaded(case, folder)
    if isinstance(found, HeedfulError):
        message = str(found)
        assert case.outcome != "loads", message
        assert isinstance(found, DataError), message
        assert message.isprintable(), message
        assert len(message) - len(str(folder)) < 400, message
        assert case.name in message
        assert PLACE.search(message.replace(case.name, "")), message
        assert case.row is None or f"row {case.row}:" in message, (message, case.row)
        return "refused"
    assert case.outcome != "refused"
    examples, no_gold = found
    if case.rewritten:
        assert len(examples) + no_gold == len(case.rows)
    elif case.free is None:
        assert (examples, no_gold) == expected(case.rows)
    else:
        before, none_before = expected(case.rows[: case.free])
        after, none_after = expected(case.rows[case.free + 1 :])
        assert set(before + after) <= set(examples)
        free = len(examples) - len(before) - len(after) + no_gold - none_before - none_after
        assert free in ((0, 1) if case.may_end else (1,))
    return "loaded"


def run(numbers: range, folder: Path) -> dict[str, Counter]:
    """Check cases; returns how many of each damage were loaded and refused."""
    counts: dict[str, Counter] = {damage: Counter() for damage, *_ in MAKERS}
    for number in numbers:
        case = damaged(number)
        try:
            counts[case.damage][check(case, folder)] += 1
        except Exception as error:
            raise AssertionError(f"case {number}, {case.damage}, {case.name}: {error!r}") from error
    return counts


@pytest.mark.slow
def test_a_damaged_file_loads_completely_or_is_refused_by_name(tmp_path: Path) -> None:
    counts = run(range(300), tmp_path)
    assert all(counts.values())


@pytest.mark.slow
def test_many_damaged_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In bounded memory; HEEDFUL_DAMAGED=10000 prints the table of docs/exactness.md."""
    resource = pytest.importorskip("resource", reason="Windows does not say how much memory a process took")
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    counts = run(range(int(os.environ.get("HEEDFUL_DAMAGED", 2000))), tmp_path)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    with capsys.disabled():
        for damage, n in counts.items():
            print(f"\n{damage:30} loaded {n['loaded']:5} refused {n['refused']:5}", end="")
        total = sum(counts.values(), Counter())
        print(f"\nall: {dict(total)}, {time.perf_counter() - start:.0f} s, {grown:.0f} MiB more memory")
    assert grown < 1024
