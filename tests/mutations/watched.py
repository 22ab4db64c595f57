"""Runs of tests in forks of a process that has imported everything but Heedful, and which tests run which lines."""

import importlib
import json
import os
import pkgutil
import re
import signal
import site
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from mutants import Mutation

HEAVY = "torch pytorch_lightning transformers datasets timm torchmetrics hypothesis jsonargparse tensorboard peft "
HEAVY += "scipy.stats pyarrow.parquet matplotlib.pyplot torch.utils.tensorboard rich.table"
ALONE = 60.0  # seconds that one test may take while it is traced
TOO_LONG = "no answer in time"


class Watch:
    """A plugin of pytest: runs what is wanted alone, in that order, and notes what takes how long and what fails.

    Args:
        wanted: Ids of tests; none for all.
        traced: Files whose lines are traced.
    """

    def __init__(self, wanted: Iterable[str] = (), traced: Iterable[str] = ()) -> None:
        self.wanted = list(wanted)
        self.traced = list(traced)
        self.coverage: Any = None
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: list[str] = []
        self.skipped: list[str] = []

    def pytest_sessionstart(self) -> None:
        if self.traced:
            import coverage

            self.coverage = coverage.Coverage(data_file=None, config_file=False, include=self.traced)
            self.coverage.start()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.wanted:
            of_id = {item.nodeid: item for item in items}
            items[:] = [of_id[one] for one in self.wanted if one in of_id]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed.append(report.nodeid)
        if report.skipped:
            self.skipped.append(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        return (yield from self._in_context(f"{item.nodeid}|setup"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        return (yield from self._in_context(f"{item.nodeid}|call"))

    def _in_context(self, context: str) -> Iterator[None]:
        if self.coverage is None:
            return (yield)
        self.coverage.switch_context(context)
        signal.signal(signal.SIGALRM, _too_long)
        signal.setitimer(signal.ITIMER_REAL, ALONE)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.coverage.switch_context("")

    def result(self) -> dict[str, Any]:
        """What is known, for JSON; ``lines`` are those of each file, with the numbers of what ran them in ``by``."""
        lines: dict[str, dict[int, list[int]]] = {}
        by: dict[str, int] = {}
        modules: list[str] = []
        if self.coverage is not None:
            modules = sorted(sys.modules)
            self.coverage.stop()
            data = self.coverage.get_data()
            for file in data.measured_files():
                found = data.contexts_by_lineno(file).items()
                lines[file] = {line: [by.setdefault(one, len(by)) for one in of if one] for line, of in found}
        known = {"failed": self.failed, "skipped": self.skipped, "seconds": self.seconds}
        return {**known, "lines": lines, "by": list(by), "modules": modules}


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"longer than {ALONE:.0f} s")


class Tree:
    """A working tree of the present commit, whose files may change; this process becomes one that runs its tests.

    Args:
        root: The repository.
        folder: Where the other working tree is, or will be.
    """

    def __init__(self, root: Path, folder: str) -> None:
        self.folder = Path(folder).resolve()
        if self.folder.exists():
            subprocess.run(
                ["git", "checkout", "--quiet", "--force", "--detach", _head(root)], cwd=self.folder, check=True
            )
        else:
            subprocess.run(["git", "worktree", "add", "--detach", self.folder, "HEAD"], cwd=root, check=True)
            (self.folder / ".venv").symlink_to((root / ".venv").resolve())
        self.traces = root / "runs" / "mutations"
        self.traces.mkdir(parents=True, exist_ok=True)
        os.environ.setdefault("HEEDFUL_DATA", str(root.parent / "shared" / "data"))
        os.environ.update(PYTHONPATH=str(self.folder), OMP_NUM_THREADS="1")
        os.chdir(self.folder)
        sys.path.insert(0, str(self.folder))
        for name in [name for name in sys.modules if name.partition(".")[0] == "heedful"]:
            del sys.modules[name]  # an environment may import some of it at its start
        for name in HEAVY.split():
            with suppress(ImportError):
                importlib.import_module(name)
        self._preload()

    def _preload(self) -> None:
        """Import what traced tests had imported from elsewhere."""
        top = {module.name for module in pkgutil.iter_modules(site.getsitepackages())}
        named = {
            name for path in self.traces.glob("*.json") for name in json.loads(path.read_text()).get("modules", ())
        }
        for name in sorted(name for name in named - sys.modules.keys() if name.partition(".")[0] in top):
            with suppress(Exception):
                importlib.import_module(name)

    def run(self, arguments: list[str], watch: Watch, limit: float) -> dict[str, Any]:
        """Run pytest in a fork: the result of ``watch``, or a failure where there is none in so many seconds."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.setsid()
            for output in (1, 2):
                os.dup2(os.open(self.traces / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND), output)
            pytest.main(["-p", "no:cacheprovider", "--durations=0", *arguments], plugins=[watch])
            with os.fdopen(writing, "w") as pipe:
                json.dump(watch.result(), pipe)
            os._exit(0)
        os.close(writing)
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(child, signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, limit)
        with os.fdopen(reading) as pipe:
            text = pipe.read()
        signal.setitimer(signal.ITIMER_REAL, 0)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what tests have left
        os.waitpid(child, 0)
        return json.loads(text) if text else {"failed": [TOO_LONG], "skipped": [], "seconds": {}, "lines": {}, "by": []}

    def with_mutation(self, mutation: Mutation, tests: dict[str, float]) -> list[str]:
        """What fails of some tests, with the seconds that each takes, while a mutation is in the files."""
        path = self.folder / mutation.file
        text = path.read_bytes()
        begin, end = mutation.place
        try:
            _write(path, text[:begin] + mutation.new + text[end:])
            files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
            return self.run(["-x", *files], Watch(tests), limit=60 + 5 * sum(tests.values()))["failed"]
        finally:
            _write(path, text)


def _head(root: Path) -> str:
    return subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


def _write(path: Path, text: bytes) -> None:
    """Python knows code that it has compiled by size and second of its file: no two are of one second."""
    path.write_bytes(text)
    stamp = int.from_bytes(os.urandom(3), "big")
    os.utime(path, (stamp, stamp))


class Trace:
    """Which tests run which lines, and how long they take, of those that passed.

    Args:
        tree: The working tree that was traced.
        files: Whose lines are asked for.
    """

    def __init__(self, tree: Tree, files: Iterable[str]) -> None:
        self._texts = {file: (tree.folder / file).read_text().splitlines() for file in files}
        self.seconds: dict[str, float] = {}
        self._runs: dict[str, dict[int, set[str]]] = {file: defaultdict(set) for file in self._texts}
        of_file = defaultdict(set)
        made = []  # what fixtures ran: for whichever test of the file comes first
        for path in sorted(tree.traces.glob("*.json")):
            result = json.loads(path.read_text())
            for test in result["seconds"].keys() - {*result["failed"], *result["skipped"]}:
                self.seconds[test] = result["seconds"][test]
                of_file[test.partition("::")[0]].add(test)
            for file in self._runs.keys() & result["lines"].keys():
                for line, numbers in result["lines"][file].items():
                    for test, _, phase in (result["by"][number].rpartition("|") for number in numbers):
                        if phase == "call":
                            self._runs[file][int(line)].add(test)
                        else:
                            made.append((file, int(line), test.partition("::")[0]))
        for file, line, tests in made:
            self._runs[file][line] |= of_file[tests]

    def tests(self, mutation: Mutation) -> set[str]:
        """All tests that run its lines; of what runs on import, those that run a line with its name."""
        first, last = mutation.lines
        places = [(mutation.file, line) for line in range(first, last + 1)]
        if mutation.names:
            name = re.compile(rf"\b({'|'.join(mutation.names)})\b")
            places = [
                (file, n) for file, lines in self._texts.items() for n, text in enumerate(lines, 1) if name.search(text)
            ]
        return {test for file, line in places for test in self._runs[file][line] if test in self.seconds}

    def chosen(self, mutation: Mutation, most: int, seconds: float) -> dict[str, float]:
        """The quickest, each with its seconds: of many functions, and of the file of tests with the module's name."""
        cases: Counter[str] = Counter()
        ranked = []
        for test in sorted(self.tests(mutation), key=lambda test: (self.seconds[test], test)):
            function = test.partition("[")[0]
            is_foreign = f"test_{Path(mutation.file).stem}" not in test.partition("::")[0]
            ranked.append((cases[function] // 2, is_foreign, self.seconds[test], test))
            cases[function] += 1
        chosen: list[str] = []
        for *_, took, test in sorted(ranked)[:most]:
            seconds -= took
            if seconds >= 0 or not chosen:
                chosen.append(test)
        files = list(dict.fromkeys(test.partition("::")[0] for test in chosen))
        return {one: self.seconds[one] for one in sorted(chosen, key=lambda one: files.index(one.partition("::")[0]))}
