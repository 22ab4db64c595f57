"""What the engine costs beside the model: a whole evaluation with a network that costs nothing, by stage.

python -m benchmarks.engine --data DIR/mnli --sizes 20000 200000 --before cea0841

The evaluation is the exhaustive one of evaluate.py: base predictions, null control of all pairs, five draws, rows,
metrics with intervals, files. Every run is a group of new processes, each with one thread. "before" is the code of an
earlier commit, exported from git, in the same run. The numbers are microseconds for each predicted example of the whole
evaluation: with two processes, each is to need half. Reading and tokenising are done before the clock starts.
"""

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import engine_worker, memory
from benchmarks.measure import Spread, arguments, machine_line, parse, progress, quiet, save, table, verdict
from heedful.records import read_json

ROOT = Path(__file__).parents[1]
BEFORE = "cea0841"  # the first commit that has the names that engine_worker.py takes
SAME = ("accuracy/", "null/")  # metrics that depend on no draw begin so
Ranks = list[dict[str, Any]]  # what the processes of one run found


class Case(NamedTuple):
    """What is run: so many pairs, by the code of a tree, on some processes."""

    pairs: int
    tree: str
    processes: int


Launch = Callable[[Path, str, int, int], Ranks]


def exported(commit: str, folder: Path) -> str | None:
    """Unpack the files of a commit into a folder; returns why not."""
    try:
        packed = subprocess.run(["git", "-C", ROOT, "archive", commit], capture_output=True, check=False)
    except FileNotFoundError:
        return "there is no git here"
    if packed.returncode:
        return f"git says: {packed.stderr.decode(errors='replace').strip().splitlines()[-1]}"
    archive = folder.with_suffix(".tar")
    archive.write_bytes(packed.stdout)
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    archive.unlink()
    return None


def in_processes(tree: Path, folder: str, draws: int, processes: int) -> Ranks:
    """Evaluate the pairs of a folder with the code of a tree, in a group of new processes.

    Raises:
        RuntimeError: One fails. The others are ended.
    """
    worker = [sys.executable, "-P", engine_worker.__file__]
    common = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    if processes > 1:
        common |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "NODE_RANK": "0"}
    with contextlib.ExitStack() as stack:
        results = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        started = []
        for rank in range(processes):
            command = [*worker, folder, str(results / f"{rank}.json")]
            command += ["--draws", str(draws), "--processes", str(processes)]
            environment = common | ({"LOCAL_RANK": str(rank)} if processes > 1 else {})
            errors = stack.enter_context(open(results / f"{rank}.err", "w+", encoding="utf-8"))
            process = subprocess.Popen(command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, stderr=errors)
            stack.callback(process.wait)
            stack.callback(process.kill)  # does nothing to one that has ended
            started.append(process)
        while any(process.poll() is None for process in started):
            if any(process.returncode for process in started):
                break
            time.sleep(0.1)
        for rank, process in enumerate(started):
            if process.poll():
                raise RuntimeError(f"process {rank} of {tree}:\n{(results / f'{rank}.err').read_text()}")
        return [read_json(results / f"{rank}.json") for rank in range(processes)]


def free_port() -> int:
    """A port that nobody listens to."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def here(tree: Path, folder: str, draws: int, processes: int) -> Ranks:
    """The same with the code of this process, in it; for tests."""
    return [engine_worker.evaluate(folder, draws)]


def order(options: argparse.Namespace, trees: dict[str, Path]) -> Iterator[Case]:
    """The runs, interleaved: what is compared lies close together."""
    for pairs in options.sizes:
        for repeat in range(options.repeats):
            for tree in trees:
                if tree == "now" or repeat < options.before_repeats:
                    yield from (Case(pairs, tree, processes) for processes in options.processes)


def measure(options: argparse.Namespace, launch: Launch) -> tuple[dict[Case, list[Ranks]], str | None]:
    """All runs of every case, and why "before" is left out, if it is."""
    rows, runs = memory.sources(options.data), {}
    with tempfile.TemporaryDirectory() as scratch:
        trees, why = {"before": Path(scratch, "before"), "now": ROOT}, "--before none"
        if options.before == "none" or (why := exported(options.before, trees["before"])):
            del trees["before"]
        for pairs in options.sizes:
            Path(scratch, str(pairs)).mkdir()
            memory.write(f"{scratch}/{pairs}", memory.backbone(options.model), rows, pairs)
        for case in order(options, trees):
            progress(f"{case.pairs:,} pairs, {case.tree}, {case.processes} processes")
            ranks = launch(trees[case.tree], f"{scratch}/{case.pairs}", options.draws, case.processes)
            runs.setdefault(case, []).append(ranks)
    progress("")
    return runs, why


def summary(runs: Sequence[Ranks]) -> dict[str, Any]:
    """Medians over the repeats of a case; times in microseconds for each predicted example of all processes."""
    predicted = sum(rank["predicted"] for rank in runs[0])

    def micro(seconds: Sequence[float]) -> Spread:
        return Spread.of([1e6 * one / predicted for one in seconds])

    found = {
        "predicted": predicted,
        "runs": len(runs),
        "ranks": [],
        "sha256": sorted({run[0]["sha256"] for run in runs}),
    }
    found |= {name: runs[0][0]["results"][name] for name in ("metrics", "counts")}
    for rank in range(len(runs[0])):
        mine = [run[rank] for run in runs]
        each = {key: micro([one[key] for one in mine]) for key in ("wall", "cpu")}
        each |= {key: Spread.of([one[key] for one in mine]) for key in ("reading", "tokenising")}
        each["stages"] = {
            stage: {kind: micro([one["stages"][stage][k] for one in mine]) for k, kind in enumerate(("wall", "cpu"))}
            for stage in mine[0]["stages"]
        }
        found["ranks"].append(each)
    return found


def most(case: dict[str, Any], key: str) -> float:
    """The time of the process that needs most."""
    return max(process[key].median for process in case["ranks"])


def columns(found: dict[Case, dict[str, Any]], pairs: int) -> dict[str, dict[str, Any]]:
    """What was measured for a size, process by process, by the head of its column."""
    return {
        f"{case.tree} {case.processes}" + (f":{rank}" if case.processes > 1 else ""): process
        for case, one in found.items()
        if case.pairs == pairs
        for rank, process in enumerate(one["ranks"])
    }


def report(found: dict[Case, dict[str, Any]]) -> None:
    """Print for each size the times of each process, and their stages."""
    for pairs in dict.fromkeys(case.pairs for case in found):
        predicted = [one["predicted"] for case, one in found.items() if case.pairs == pairs]
        each = columns(found, pairs)
        rows = [["", "wall", "CPU", "reading, s", "tokenising, s"]]
        for name, one in each.items():
            before = [f"{one[key].median:.1f}" for key in ("reading", "tokenising")]
            rows.append([name, one["wall"].text(1), one["cpu"].text(1), *before])
        title = f"{pairs:,} pairs, {predicted[0]:,} predictions: us a predicted example"
        print(table(f"{title}; process n of k as k:n", rows))
        rows = [["", *each]]
        for stage in engine_worker.STAGES:
            rows.append([stage, *(f"{one['stages'][stage]['cpu'].median:.2f}" for one in each.values())])
        print(table("CPU time by stage", rows))


def verdicts(found: dict[Case, dict[str, Any]]) -> list[str]:
    """One line for each target that the cases allow to judge; at the largest size."""
    pairs, lines = max(case.pairs for case in found), []
    one, two, before = (found.get(Case(pairs, *rest)) for rest in (("now", 1), ("now", 2), ("before", 1)))
    if one:
        lines.append(verdict("Microseconds a predicted example, one process", most(one, "wall"), 10, at_least=False))
    if one and before:
        lines.append(verdict("Before, in times of it", most(before, "wall") / most(one, "wall"), 10))
        lines.append(f"Metrics without draws are those of before: {answer(alike(one, before, SAME))}")
    if one and two:
        for key, name in (("cpu", "CPU"), ("wall", "wall")):
            share = most(two, key) / most(one, key)
            lines.append(verdict(f"Each of two processes, {name}, in times of one", share, 0.6, at_least=False))
    for size in dict.fromkeys(case.pairs for case in found):
        cases = [one for case, one in found.items() if (case.pairs, case.tree) == (size, "now")]
        if sum(one["runs"] for one in cases) > 1:
            same = len({text for one in cases for text in one["sha256"]}) == 1
            lines.append(f"{size:,} pairs: results.json and rows are the same in all runs: {answer(same)}")
    return lines


def alike(one: dict[str, Any], other: dict[str, Any], names: tuple[str, ...]) -> bool:
    """Whether two cases have the same values of the metrics that begin so; the earlier code has fewer of them."""
    both = [name for name in one["metrics"].keys() & other["metrics"].keys() if name.startswith(names)]
    same = (one["metrics"][name][key] == other["metrics"][name][key] for name in both for key in ("value", "n"))
    return bool(both) and all(same)


def answer(yes: bool) -> str:
    """In a word."""
    return "yes" if yes else "NO"


def main(argv: Sequence[str] | None = None, launch: Launch = in_processes) -> dict[str, Any]:
    parser = arguments(__doc__.splitlines()[0], examples=None)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 200_000], help="pairs")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2], help="in a group")
    parser.add_argument("--draws", type=int, default=5, help="counterfactuals of an example (k)")
    parser.add_argument("--repeats", type=int, default=3, help="of the code of this checkout")
    parser.add_argument("--before", default=BEFORE, metavar="COMMIT", help='compared with this code; "none": with none')
    parser.add_argument("--before-repeats", type=int, default=1, help="of that code, which may be slow")
    options = parse(parser, argv)
    with quiet():
        runs, why = measure(options, launch)
    found = {case: summary(each) for case, each in runs.items()}
    print(machine_line())
    if why:
        print(f"Before is left out: {why}.\n")
    report(found)
    print("\n".join(verdicts(found)))
    return save(options, {"cases": [{**case._asdict(), **one} for case, one in found.items()]})


if __name__ == "__main__":
    main()
