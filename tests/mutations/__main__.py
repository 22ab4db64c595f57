"""Faults put into the code on purpose: which of them do the tests catch?

    python tests/mutations draw     drawn.json: what is found again, and others for what is gone
    python tests/mutations trace    which tests run which lines, of all that pytest runs by itself
    python tests/mutations try      each mutation in turn, by the quickest tests that run its lines
    python tests/mutations try --survivors --most 3000 --seconds 900    the survivors, by all tests that run their lines
    python tests/mutations table    what was caught, by room, and each that was not

A mutation changes one expression or one statement. drawn.json knows it by its function and its text: code that moves to
another file keeps its mutations. Where the text is gone, the next one of the same room takes its place, in an order
that depends on SEED and the texts alone.

Tests run in another working tree of the present commit (--tree), where mutations are written into the files.
Processes that tests start are not traced: "run by no test" may be run by one of these. ``trace`` needs coverage
(pip install coverage).
"""

import argparse
import hashlib
import json
import os
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mutants import Mutation, Source
from watched import Trace, Tree, Watch

ROOT = Path(__file__).resolve().parents[2]
DRAWN = Path(__file__).with_name("drawn.json")
SEED, EACH, ALIKE = 57, 60, 12  # mutations of each room, and those of one operator among them
ROOMS = {
    "records": "heedful/records/",
    "interventions": "heedful/interventions/",
    "metrics": "heedful/metrics/",
    "engine": "callbacks/engine/",
    "lightning_modules": "lightning_modules/",
}
AT_ONCE = 10  # files of tests of one traced process
Found = Mapping[tuple[str, str, str], list[Mutation]]


def all_mutations(root: Path) -> Found:
    """Of every file outside tests and benchmarks, by function and texts."""
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=root, capture_output=True, text=True, check=True).stdout
    found = defaultdict(list)
    for file in listed.split():
        if not file.startswith(("tests/", "benchmarks/")):
            for mutation in Source(root, file).mutations():
                found[mutation.key].append(mutation)
    return found


def read() -> list[dict[str, Any]]:
    return json.loads(DRAWN.read_text()) if DRAWN.exists() else []


def save(entries: list[dict[str, Any]]) -> None:
    DRAWN.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n")


def entry_of(mutation: Mutation, room: str) -> dict[str, Any]:
    facts = {name: getattr(mutation, name) for name in ("operator", "file", "function", "statement", "mutated")}
    return {"room": room, **facts, "tests": None, "caught_by": None}


def find(entry: Mapping[str, Any], found: Found) -> Mutation | None:
    """The mutation of an entry: in its file if it is there, else where the same function has the same text."""
    same = found.get((entry["function"], entry["statement"], entry["mutated"]), [])
    return next((one for one in same if one.file == entry["file"]), same[0] if same else None)


def draw(_: argparse.Namespace) -> None:
    found = all_mutations(ROOT)
    old = [(entry["room"], find(entry, found)) for entry in read()]
    entries = [entry_of(mutation, room) for room, mutation in old if mutation is not None]
    again = len(entries)
    taken = {(entry["function"], entry["statement"]) for entry in entries}
    for room, folder in ROOMS.items():
        often = Counter(entry["operator"] for entry in entries if entry["room"] == room)
        for mutation in in_order(found, folder):
            if mutation.key[:2] not in taken and often.total() < EACH and often[mutation.operator] < ALIKE:
                often[mutation.operator] += 1
                entries.append(entry_of(mutation, room))
    save(sorted(entries, key=lambda entry: list(ROOMS).index(entry["room"])))
    print(f"{again} found again, {len(entries) - again} drawn")


def in_order(found: Found, folder: str) -> Iterator[Mutation]:
    """Statements in the order of their hashes, and of each the mutation whose hash is the least."""
    of_statement = defaultdict(list)
    for same in found.values():
        for one in same:
            if one.file.startswith(folder):
                of_statement[one.key[:2]].append(one)
    for key in sorted(of_statement, key=lambda key: rank(*key)):
        # a value that is not returned is noticed easily: only where nothing else can be changed
        yield min(of_statement[key], key=lambda one: (one.operator == "return dropped", rank(*one.key)))


def rank(*texts: str) -> str:
    return hashlib.sha256("\0".join((str(SEED), *texts)).encode()).hexdigest()


def trace(options: argparse.Namespace) -> None:
    """A few files of tests at a time; with --more, those that were not traced before."""
    tree = Tree(ROOT, options.tree)
    for old in tree.traces.glob("*.json") if not options.more else ():
        old.unlink()
    traced = sorted({str(tree.folder / one.file) for same in all_mutations(tree.folder).values() for one in same})
    files = [str(file.relative_to(tree.folder)) for file in sorted(tree.folder.glob("tests/**/test_*.py"))]
    done = {file for one in tree.traces.glob("*.json") for file in json.loads(one.read_text())["files"]}
    left = [file for file in files if file not in done and file.startswith(tuple(options.files or ["tests"]))]
    for begin in range(0, len(left), AT_ONCE):
        some = left[begin : begin + AT_ONCE]
        result = tree.run(some, Watch(traced=traced), limit=3600)
        result["lines"] = {str(Path(file).relative_to(tree.folder)): lines for file, lines in result["lines"].items()}
        (tree.traces / f"{rank(*some)[:12]}.json").write_text(json.dumps({"files": some, **result}))
        seconds = sum(result["seconds"].values())
        print(f"{begin + len(some)} of {len(left)} files, {seconds:.0f} s, failed: {result['failed']}", flush=True)


def attempt(options: argparse.Namespace) -> None:
    """Those that are untried, or the survivors; at the end, what caught some runs once more on the code as it is."""
    tree = Tree(ROOT, options.tree)
    found = all_mutations(tree.folder)
    known = Trace(tree, sorted({one.file for same in found.values() for one in same}))
    entries = read()
    for number, entry in enumerate(entries):
        mutation = find(entry, found)
        is_due = entry["tests"] is None or (options.survivors and entry["caught_by"] is None)
        if mutation is None or not is_due or entry["room"] not in (options.rooms or ROOMS):
            continue
        begin = time.monotonic()
        tests = known.chosen(mutation, options.most, options.seconds)
        failed = tree.with_mutation(mutation, tests) if tests else []
        entry |= {"tests": len(tests), "caught_by": failed[0] if failed else None}
        save(entries)
        took = time.monotonic() - begin
        print(f"{number} {entry['room']} {took:.0f} s, {len(tests)} tests: {entry['caught_by']}", flush=True)
    killers = sorted({entry["caught_by"] for entry in entries} & known.seconds.keys())
    unsound = tree.run(sorted({one.partition("::")[0] for one in killers}), Watch(killers), 3600)["failed"]
    print(f"{len(killers)} tests caught some; of these fail without a mutation: {unsound}")


def table(_: argparse.Namespace) -> None:
    entries = [entry for entry in read() if entry["tests"] is not None]
    print("| room | mutations | caught | survived | run by no test |\n|---|---:|---:|---:|---:|")
    for room in (*ROOMS, "all"):
        some = [entry for entry in entries if room in (entry["room"], "all")]
        caught = sum(entry["caught_by"] is not None for entry in some)
        unseen = sum(not entry["tests"] for entry in some)
        print(f"| {room} | {len(some)} | {caught} | {len(some) - caught - unseen} | {unseen} |")
    for entry in entries:
        if entry["caught_by"] is None:
            was, now = entry["statement"], entry["mutated"]
            begin = max(0, len(os.path.commonprefix([was, now])) - 30)
            seen = "" if entry["tests"] else ", run by no test"
            print(f"- {entry['file']} {entry['function']}{seen}: `{was[begin:][:70]}` -> `{now[begin:][:70]}`")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", default="/tmp/mutants", help="the working tree whose files are changed")
    commands = parser.add_subparsers(required=True)
    commands.add_parser("draw").set_defaults(run=draw)
    commands.add_parser("table").set_defaults(run=table)
    of_trace = commands.add_parser("trace")
    of_trace.add_argument("files", nargs="*", help="beginnings of paths, such as tests/metrics")
    of_trace.add_argument("--more", action="store_true", help="go on, with the same code")
    of_trace.set_defaults(run=trace)
    of_try = commands.add_parser("try")
    of_try.add_argument("--survivors", action="store_true", help="also those that survived before")
    of_try.add_argument("--most", type=int, default=40, help="tests for each mutation")
    of_try.add_argument("--seconds", type=float, default=20.0, help="that these may take together")
    of_try.add_argument("--rooms", nargs="*", choices=ROOMS)
    of_try.set_defaults(run=attempt)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
