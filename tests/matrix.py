"""A fixed matrix of small runs and evaluations: has a change moved a number?

    python tests/matrix.py run OUT                      this checkout's numbers, a json file for each case
    python tests/matrix.py run OUT --root CHECKOUT      those of another one, such as a `git worktree`
    python tests/matrix.py run OUT --only CASE,CASE     a few cases; --jobs 2 runs two at a time, which is the default
    python tests/matrix.py compare BEFORE AFTER         what moved, by case; exit status 1 if anything did
    python tests/matrix.py list                         the cases and their commands

A case is a few command lines (matrix_cases.yaml), each a process of its own, and nothing of Heedful is imported here:
the same file runs every revision. Of each command, the json file keeps metrics and counts of results.json, a hash of
each column of each rows file, a hash of who lent a part to whom, a hash of the exported weights, and printed numbers
of reports. The same machine and versions give the same files. What only AFTER has is new, and no difference.

Cases on real data (``HEEDFUL_DATA``, or shared/data beside this checkout) are skipped where there are none.
"""

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import yaml
from safetensors.numpy import load_file

ROOT = Path(__file__).resolve().parents[1]
HELPERS = ROOT / "tests" / "helpers"
FRAGMENTS, CASES = yaml.safe_load((ROOT / "tests" / "matrix_cases.yaml").read_text()).values()
SHARED = Path(os.environ.get("HEEDFUL_DATA", ROOT.parent / "shared" / "data"))
QUIET = ["--trainer.accelerator", "cpu", "--trainer.enable_progress_bar", "false"]
KILLED = {9: -9, 15: 143}  # signal to exit status
LIMIT = 600  # seconds for a process


class Failed(Exception):
    """A command ended otherwise than it should, or two results differ that should not."""


# what is kept of a command


def hash_of(*values: Any) -> str:
    """Of values, however they are stored."""
    digest = hashlib.sha256()
    for value in values:
        numbers = isinstance(value, list) and value and isinstance(value[0], float)
        digest.update(np.float32(value).tobytes() if numbers else repr(value).encode())
    return digest.hexdigest()[:16]


def rows_summary(path: Path) -> dict[str, Any]:
    """Number of rows, hash of each column, and of who lent a part to whom."""
    table = pq.read_table(path)
    columns = {name: table[name].to_pylist() for name in table.column_names}
    found = {"n": table.num_rows, "columns": {name: hash_of(*values) for name, values in columns.items()}}
    if any(columns.get("partner", ())):
        keys = [
            columns[name] for name in ("uid", "intervention", "part", "variant", "draw", "partner") if name in columns
        ]
        found["partners"] = hash_of(*sorted(map(repr, zip(*keys, strict=True))))
    return found


def folder_summary(folder: Path) -> dict[str, Any]:
    """What must not move of every results.json below a folder."""
    found = {}
    for path in sorted(folder.rglob("results.json")):
        results, here = json.loads(path.read_text()), path.parent
        rows = {file.stem: rows_summary(file) for file in sorted((here / "rows").glob("*.parquet"))}
        one = {"metrics": results["metrics"], "counts": results["counts"], "rows": rows}
        weights = here / "checkpoints" / "backbone" / "model.safetensors"
        if weights.is_file():
            tensors = load_file(weights)
            one["weights"] = hash_of(
                *((name, tensors[name].shape, tensors[name].tobytes()) for name in sorted(tensors))
            )
        found[str(here.relative_to(folder))] = one
    return found


def printed_numbers(text: str) -> list[str]:
    """The numbers of each line that has a decimal one."""
    numbers = [re.findall(r"-?\d+\.\d+(?:e-?\d+)?", line) for line in text.splitlines()]
    return [" ".join(line) for line in numbers if line]


# running


class Runner:
    """Runs cases on the code of a checkout, one process after the other: see preloaded.py.

    Attributes:
        root: The checkout.
        folder: Models, data and results, for the time of the run.
    """

    def __init__(self, root: Path, folder: Path, url: str) -> None:
        self.root, self.folder = root, folder
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PL_", "HEEDFUL"))}
        env |= {"PYTHONPATH": f"{HELPERS / 'forked_site'}:{root}", "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf")}
        env |= {"OMP_NUM_THREADS": "1", "COLUMNS": "80", "TMPDIR": str(folder / "tmp"), "CUDA_VISIBLE_DEVICES": ""}
        env |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "start_new_session": True}
        self.forks = subprocess.Popen([sys.executable, HELPERS / "preloaded.py"], env=env, cwd=folder, **pipes)

    def close(self) -> None:
        """End the process that is forked."""
        self.forks.stdin.close()
        self.forks.wait()

    def process(self, argv: Sequence[Any], cwd: Path, env: Mapping[str, str] | None = None, status: int = 0) -> str:
        """What a process prints that ends with this status."""
        out, err = (self.folder / "tmp" / f"{self.forks.pid}.{name}" for name in ("out", "err"))
        job = {"argv": [*map(str, argv)], "cwd": str(cwd), "env": dict(env or {}), "limit": LIMIT}
        self.forks.stdin.write(json.dumps(job | {"out": str(out), "err": str(err)}) + "\n")
        self.forks.stdin.flush()
        ended = int(self.forks.stdout.readline())
        if ended != status:
            raise Failed(f"exit status {ended} and not {status}: {(err.read_text() + out.read_text())[-3000:]}")
        return out.read_text()

    def require_root(self) -> None:
        """Stop unless it is the code of the checkout that runs."""
        where = self.folder / "tmp" / "where.py"
        where.write_text("import heedful; print(heedful.__file__)")
        if not Path(found := self.process([where], self.folder).strip()).is_relative_to(self.root):
            raise SystemExit(f"{found} is imported, and not the heedful of {self.root}.")

    def case(self, name: str) -> dict[str, Any]:
        """What is kept of each step of a case; an entry ``error`` tells where it ended."""
        out = self.folder / "out" / name
        out.mkdir(parents=True)
        names = {"models": self.folder / "models", "data": self.folder / "data", "shared": SHARED, "out": out}
        found: dict[str, Any] = {}
        for step, line in CASES[name].items():
            try:
                found[step] = self.step(words(line, names), out, out / step)
            except (Failed, OSError, ValueError, KeyError) as error:
                return found | {"error": f"{step}: {error}"}
        return found

    def step(self, argv: list[str], cwd: Path, output: Path) -> Any:
        """Run one command line."""
        number = int(argv[1].partition("@")[0]) if argv[0] == "signal" else 0
        env, argv = ({"MATRIX_SIGNAL": argv[1]}, argv[2:]) if number else ({}, argv)
        program, *rest = argv
        if program == "same":
            return same(*(cwd / name for name in rest))
        if program == "heedful":
            return printed_numbers(self.process(["-m", "heedful", *rest], cwd, env))
        if program == "rescore":
            return self.rescored(cwd / rest[0], output)
        if program == "measure":
            script = [ROOT / "tests" / "matrix_measure.py", *rest, self.folder, output]
            values = json.loads(self.process(script, cwd, env).splitlines()[-1])
            return folder_summary(output) | {"values": values}
        rest = rest if "--resume" in rest else [*rest, *QUIET, "--output", output]
        self.process([self.root / f"{program}.py", *rest], cwd, env, KILLED.get(number, 0))
        return (
            None if number else folder_summary(Path(rest[rest.index("--resume") + 1]) if "--resume" in rest else output)
        )

    def rescored(self, folder: Path, copy: Path) -> str:
        """Results are made anew from rows alone, to the byte."""
        shutil.copytree(folder, copy)
        results, before = copy / "results.json", (folder / "results.json").read_bytes()
        self.process(["-m", "heedful", "rescore", copy], copy)
        if results.read_bytes() != before:
            raise Failed(f"rescore made another results.json of {folder.name}")
        return "the same bytes"


def words(line: str, names: Mapping[str, Any]) -> list[str]:
    """The words of a command line, whose ``$NAMES`` are fragments or folders."""
    while "$" in line:
        line = Template(line).substitute(FRAGMENTS | {name: str(value) for name, value in names.items()})
    return shlex.split(line)


def same(first: Path, *others: Path) -> str:
    """Metrics, counts, rows and weights of several folders are alike."""
    for other in others:
        if found := differences(folder_summary(first), folder_summary(other)):
            raise Failed(f"{first.name} and {other.name} are not the same: {'; '.join(found[:9])}")
    return "the same"


@contextmanager
def planted_server() -> Iterator[str]:
    """The address of a server whose answers follow from the hash of all that it is asked, demonstrations too."""
    from fake_server import FakeServer, share_of

    def answer(body: Mapping[str, Any], n: int) -> str:
        share = share_of(json.dumps(body.get("messages", body.get("prompt"))))
        names = ((0.3, "neutral"), (0.55, "Contradiction."), (0.95, "Entailment"))
        return next((name for bound, name in names if share < bound), "I cannot say.")

    with FakeServer(answer) as fake:
        yield fake.url


def run(out: Path, root: Path, only: Sequence[str], jobs: int) -> int:
    """Run the cases; returns the exit status."""
    from matrix_made import write_data, write_models  # which loads torch

    out.mkdir(parents=True, exist_ok=True)
    failed, begin, left = [], time.monotonic(), list(reversed(only))

    def some(runner: Runner) -> None:
        """Run cases until none is left."""
        while left:
            name, start = left.pop(), time.monotonic()
            skipped = name.startswith("real_") and not SHARED.is_dir()
            found = {"skipped": "no data"} if skipped else runner.case(name)
            (out / f"{name}.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
            failed.extend([name] if "error" in found else [])
            said = found.get("error") or ("skipped (no data)" if skipped else "done")
            print(f"{name:28} {time.monotonic() - start:6.1f} s  {said}", flush=True)
        runner.close()

    with TemporaryDirectory(prefix="matrix-") as folder, planted_server() as url, ThreadPoolExecutor(jobs) as pool:
        (Path(folder) / "tmp").mkdir()
        write_models(Path(folder) / "models")
        write_data(Path(folder) / "data")
        runners = [Runner(root.resolve(), Path(folder), url) for _ in range(jobs)]
        runners[0].require_root()
        list(pool.map(some, runners))
    import resource  # of POSIX

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(only)} cases in {time.monotonic() - begin:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processors")
    if failed:
        print(f"failed: {', '.join(sorted(failed))}")
    return bool(failed)


# comparing


def differences(before: object, after: object, path: str = "") -> list[str]:
    """Where two trees of json differ; what only the second has is new, and no difference."""
    if isinstance(before, dict) and isinstance(after, dict):
        found = [f"{path}/{key}: gone" for key in sorted(before.keys() - after.keys())]
        shared = sorted(before.keys() & after.keys())
        return found + [d for key in shared for d in differences(before[key], after[key], f"{path}/{key}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [d for i, (a, b) in pairs for d in differences(a, b, f"{path}/{i}")]
    return [] if before == after else [f"{path}: {str(before)[:60]} -> {str(after)[:60]}"]


def compare(before: Path, after: Path, only: Sequence[str]) -> int:
    """Print what moved; returns the exit status."""
    names = [path.stem for path in sorted(before.glob("*.json")) if path.stem in only]
    moved = 0
    for name in names:
        trees = [
            json.loads(p.read_text()) if p.exists() else None
            for p in (folder / f"{name}.json" for folder in (before, after))
        ]
        if trees[0] == {"skipped": "no data"}:
            continue
        found = ["/: gone"] if trees[1] is None else differences(*trees)
        found += (
            [f"/error: {trees[1]['error']}"] if trees[1] and "error" in trees[1] and "error" not in trees[0] else []
        )
        if found:
            moved += 1
            print("\n".join([f"{name}: {len(found)} differences", *(f"  {line}" for line in found)]))
    print(f"{moved} of {len(names)} cases moved.")
    return bool(moved or not names)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    of_run, of_compare, _ = (commands.add_parser(name) for name in ("run", "compare", "list"))
    of_run.add_argument("out", type=Path)
    of_run.add_argument("--root", type=Path, default=ROOT, help="checkout whose code runs")
    of_run.add_argument("--jobs", type=int, default=2, help="cases at a time")
    of_compare.add_argument("before", type=Path)
    of_compare.add_argument("after", type=Path)
    for each in (of_run, of_compare):
        each.add_argument("--only", default=",".join(CASES), help="cases, with commas between them")
    args = parser.parse_args()
    if args.command == "list":
        for name, steps in CASES.items():
            print("\n".join([name, *(f"    {step} = {line}" for step, line in steps.items())]))
        return 0
    only = args.only.split(",")
    if unknown := [name for name in only if name not in CASES]:
        parser.error(f"there is no case {', '.join(unknown)}")
    return (
        run(args.out, args.root, only, args.jobs) if args.command == "run" else compare(args.before, args.after, only)
    )


if __name__ == "__main__":
    sys.path.insert(0, str(HELPERS))
    sys.exit(main())
