"""Faults put into the code on purpose: which of them do the tests catch?

    python tests/mutations.py draw           mutations.json: what is found again, and others for what is gone
    python tests/mutations.py trace          which tests run which line; or the tests of some files or folders
    python tests/mutations.py try            each mutation in turn, by the quickest tests that run its line
    python tests/mutations.py try --survivors --tests 2000 --seconds 600    the survivors once more, by all such tests
    python tests/mutations.py table          what was caught, by room

A mutation changes one expression or statement. mutations.json knows it by its function and its text, not by its line
or file: code that moves keeps its mutations. Where the text is gone, the next one of the same room takes its place, in
an order that depends on SEED and the texts alone.

The tests run in another working tree of the commit (--tree). What they import from elsewhere is loaded once; each
mutation is a fork of that process. `trace` needs coverage (pip install coverage).
"""

import argparse
import ast
import hashlib
import importlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".json")
TRACES = ROOT / "runs" / "mutations"
TOO_LONG = "no answer in time"
SEED, EACH, ALIKE = 57, 60, 12  # mutations of each room, and those of one operator among them
ROOMS = {
    "records": "heedful/records",
    "interventions": "heedful/interventions",
    "metrics": "heedful/metrics",
    "engine": "callbacks/engine",
    "lightning_modules": "lightning_modules",
}
HEAVY = "torch pytorch_lightning transformers datasets timm torchmetrics hypothesis jsonargparse tensorboard peft "
HEAVY += "scipy.stats pyarrow.parquet matplotlib.pyplot torch.utils.tensorboard rich.table _pytest.assertion.rewrite"
ALONE = 20.0  # seconds that one test may take while it is traced
COMPARED = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
COMPUTED = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
TEXTS = ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp
UNORDERED = {"isinstance", "issubclass", "min", "max", "maximum", "minimum", "hasattr", "getattr", "cast"}
MESSAGES = re.compile(r"HeedfulError|\w*[wW]arn\w*|rank_zero_\w+|print|debug|info|TypeVar|NewType")


class Mutation(NamedTuple):
    """One change of one statement; of a compound statement, the text is its head."""

    room: str
    operator: str
    function: str  # qualified, without the module
    statement: str  # with single spaces
    mutated: str
    file: str
    begin: int  # bytes of the file
    end: int
    new: bytes
    lines: tuple[int, int]
    names: tuple[str, ...]  # for what runs on import: names of whoever reads it

    @property
    def key(self) -> tuple[str, str, str]:
        return self.function, self.statement, self.mutated


class Source:
    """A file and its mutations."""

    def __init__(self, file: str, root: Path = ROOT) -> None:
        self.file = file
        self.text = (root / file).read_bytes()
        self.starts = [0]
        for line in self.text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.room = next((room for room, folder in ROOMS.items() if file.startswith(f"{folder}/")), "")

    def span(self, node: ast.AST) -> tuple[int, int]:
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def segment(self, node: ast.AST) -> bytes:
        begin, end = self.span(node)
        return self.text[begin:end]

    def mutations(self) -> list[Mutation]:
        """All of the file, without those whose texts are alike."""
        found = list(self._of_body(ast.parse(self.text).body, (), runs_on_import=True))
        often = Counter(mutation.key for mutation in found)
        return [mutation for mutation in found if often[mutation.key] == 1]

    def _of_body(self, body: list[Any], scope: tuple[str, ...], runs_on_import: bool) -> Iterator[Mutation]:
        for node in body:
            is_def = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            if isinstance(node, ast.ClassDef):
                yield from self._of_body(node.body, (*scope, node.name), runs_on_import)
                continue
            if isinstance(node, ast.If) and re.search(rb"TYPE_CHECKING|__name__", self.segment(node.test)):
                continue
            inner = [one for part in ("body", "orelse", "finalbody") for one in getattr(node, part, [])]
            cases = [*getattr(node, "handlers", []), *getattr(node, "cases", [])]
            yield from self._of_statement(node, (*scope, node.name) if is_def else scope, runs_on_import)
            for block in (inner, *(case.body for case in cases)):
                yield from self._of_body(block, (*scope, node.name) if is_def else scope, runs_on_import and not is_def)

    def _of_statement(self, node: Any, scope: tuple[str, ...], runs_on_import: bool) -> Iterator[Mutation]:
        begin, end = self.span(node)
        last = node.end_lineno
        if isinstance(node, ast.Match):
            end, last = self.span(node.subject)[1], node.subject.end_lineno
        elif getattr(node, "body", None):
            end = self.span(node.body[0])[0]
            last = max(node.lineno, node.body[0].lineno - 1)
        names: tuple[str, ...] = ()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            last = node.end_lineno  # a default is read on import; what it changes shows in the body
        elif runs_on_import:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = tuple(target.id for target in targets if isinstance(target, ast.Name))
            if not names or names[0] == "__all__":
                return
        for operator, place, new in changes(node, self):
            if names and new in {b"|", b"&"}:
                continue  # a union of types
            text = self.text[begin:end].decode()
            mutated = (self.text[begin : place[0]] + new + self.text[place[1] : end]).decode()
            texts = [" ".join(re.sub(r"(?m)\s+#( .*)?$", "", one).split()) for one in (text, mutated)]
            function = ".".join(scope)
            yield Mutation(self.room, operator, function, *texts, self.file, *place, new, (node.lineno, last), names)


def changes(statement: Any, source: Source) -> Iterator[tuple[str, tuple[int, int], bytes]]:
    """The operator, what it replaces, and by what: of a statement and its expressions, but no statement inside."""
    if isinstance(statement, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.Try | ast.Global | ast.Pass):
        return
    span = source.span(statement)
    match statement:
        case ast.Break():
            yield "break/continue", span, b"continue"
        case ast.Continue():
            yield "break/continue", span, b"break"
        case ast.Return(value=value) if value is not None and source.segment(value) != b"None":
            yield "return dropped", span, b"return None"
        case ast.Expr(value=ast.Call() as call) if not MESSAGES.fullmatch(name_of(call)):
            yield "statement removed", span, b"pass"
        case ast.AugAssign() | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "statement removed", span, b"pass"
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            for default in filter(None, [*statement.args.defaults, *statement.args.kw_defaults]):
                for _, place, new in of_expression(default, source):
                    yield "default", place, new
            return
    if isinstance(statement, ast.If | ast.While):
        yield from negated(statement.test, source)
    for field, value in ast.iter_fields(statement):
        if field in {"body", "orelse", "finalbody", "handlers", "cases", "annotation"}:
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.expr | ast.withitem):
                yield from of_expression(node, source)


def name_of(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def negated(test: ast.expr, source: Source) -> Iterator[tuple[str, tuple[int, int], bytes]]:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield "condition negated", source.span(test), b"(" + source.segment(test.operand) + b")"
    elif not isinstance(test, ast.Compare) or len(test.ops) > 1:  # else it is a comparison swapped
        yield "condition negated", source.span(test), b"(not (" + source.segment(test) + b"))"


def of_expression(node: Any, source: Source) -> Iterator[tuple[str, tuple[int, int], bytes]]:
    """The changes of an expression and of those inside it, but of texts and of messages."""

    def between(left: ast.expr, right: ast.expr, old: str, new: str) -> Iterator[tuple[tuple[int, int], bytes]]:
        begin, end = source.span(left)[1], source.span(right)[0]
        text = source.text[begin:end]
        at = text.find(old.encode())
        if at >= 0 and b"#" not in text:
            yield (begin + at, begin + at + len(old)), new.encode()

    match node:
        case ast.JoinedStr() | ast.keyword(arg="strict" | "stacklevel"):
            return
        case ast.Call() if MESSAGES.fullmatch(name_of(node)):
            return
        case ast.Compare(ops=[op]):
            for place, new in between(node.left, node.comparators[0], *COMPARED[type(op)]):
                yield "comparison", place, new
        case ast.BinOp(op=op) if type(op) in COMPUTED and not is_text(node.left) and not is_text(node.right):
            for place, new in between(node.left, node.right, *COMPUTED[type(op)]):
                yield "arithmetic", place, new
        case ast.BoolOp(op=op):
            words = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
            for place, text in between(node.values[0], node.values[1], *words):
                yield "and/or", place, text
        case ast.IfExp():
            yield from negated(node.test, source)
        case ast.comprehension():
            for test in node.ifs:
                yield from negated(test, source)
        case ast.Constant(value=bool() as value):
            yield "constant", source.span(node), str(not value).encode()
        case ast.Constant(value=int() | float() as value):
            yield "constant", source.span(node), repr(value + 1 if abs(value) < 10 else value * 2).encode()
        case ast.Slice():
            for bound in filter(None, [node.lower, node.upper]):
                if not any(isinstance(part, ast.Constant) for part in ast.walk(bound)):  # else a constant changes
                    yield "slice", source.span(bound), source.segment(bound) + b" + 1"
        case ast.Call(args=[ast.Name() | ast.Attribute() as first, ast.Name() | ast.Attribute() as second, *_]):
            texts = source.segment(first), source.segment(second)
            if name_of(node) not in UNORDERED and texts[0] != texts[1]:
                middle = source.text[source.span(first)[1] : source.span(second)[0]]
                place = source.span(first)[0], source.span(second)[1]
                yield "arguments swapped", place, texts[1] + middle + texts[0]
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.arguments):
            yield from of_expression(child, source)


def is_text(node: ast.expr) -> bool:
    return isinstance(node, TEXTS) or (isinstance(node, ast.Constant) and not isinstance(node.value, int | float))


def all_mutations() -> dict[tuple[str, str, str], list[Mutation]]:
    """Of every file outside tests and benchmarks, by function and texts."""
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = defaultdict(list)
    for file in listed.split():
        if not file.startswith(("tests/", "benchmarks/")):
            for mutation in Source(file).mutations():
                found[mutation.key].append(mutation)
    return found


def find(entry: Mapping[str, Any], found: Mapping[Any, list[Mutation]]) -> Mutation | None:
    """The mutation of an entry: in its file if it is there, else where the same function has the same text."""
    same = found.get((entry["function"], entry["statement"], entry["mutated"]), [])
    return next((one for one in same if one.file == entry["file"]), same[0] if same else None)


def entry_of(mutation: Mutation, room: str) -> dict[str, Any]:
    facts = {name: getattr(mutation, name) for name in ("operator", "file", "function", "statement", "mutated")}
    return {"room": room, **facts, "tests": None, "caught_by": None}


def rank(*texts: str) -> str:
    return hashlib.sha256("\0".join((str(SEED), *texts)).encode()).hexdigest()


def draw(_: argparse.Namespace) -> None:
    """Statements of a room in the order of their hashes; of each, the mutation whose hash is the least."""
    found = all_mutations()
    entries = []
    for entry in json.loads(LIST.read_text()) if LIST.exists() else ():
        mutation = find(entry, found)
        entries += [] if mutation is None else [entry_of(mutation, entry["room"])]
    again = len(entries)
    taken = {(entry["function"], entry["statement"]) for entry in entries}
    for room in ROOMS:
        of_statement = defaultdict(list)
        for same in found.values():
            for one in same:
                if one.room == room and one.key[:2] not in taken:
                    of_statement[one.key[:2]].append(one)
        often = Counter(entry["operator"] for entry in entries if entry["room"] == room)
        for key in sorted(of_statement, key=lambda key: rank(*key)):
            # whether a returned value is missing shows easily: only where nothing else can be changed
            best = min(of_statement[key], key=lambda one: (one.operator == "return dropped", rank(*one.key)))
            if often.total() < EACH and often[best.operator] < ALIKE:
                often[best.operator] += 1
                entries.append(entry_of(best, room))
    save(sorted(entries, key=lambda entry: list(ROOMS).index(entry["room"])))
    print(f"{again} found again, {len(entries) - again} drawn")


def save(entries: list[dict[str, Any]]) -> None:
    LIST.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n")


class Watch:
    """A plugin of pytest: runs what is wanted alone, in that order, and notes what takes how long and what fails."""

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
        signal.signal(signal.SIGALRM, too_long)
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
        if self.coverage is not None:
            self.coverage.stop()
            data = self.coverage.get_data()
            for file in data.measured_files():
                found = data.contexts_by_lineno(file).items()
                lines[file] = {line: [by.setdefault(one, len(by)) for one in of if one] for line, of in found}
        known = {"failed": self.failed, "skipped": self.skipped, "seconds": self.seconds}
        return {**known, "lines": lines, "by": list(by)}


def too_long(*_: Any) -> None:
    raise TimeoutError(f"longer than {ALONE:.0f} s")


def prepared(folder: str) -> Path:
    """The other working tree. This process becomes one that runs its tests, and has what they import from elsewhere."""
    tree = Path(folder).resolve()
    if not tree.exists():
        subprocess.run(["git", "worktree", "add", "--detach", tree, "HEAD"], cwd=ROOT, check=True)
        (tree / ".venv").symlink_to((ROOT / ".venv").resolve())
    os.environ.setdefault("HEEDFUL_DATA", str(ROOT.parent / "shared" / "data"))
    os.environ.update(PYTHONPATH=str(tree), OMP_NUM_THREADS="1")
    os.chdir(tree)
    sys.path[:] = [str(tree), *(place for place in sys.path if Path(place or ".").resolve() not in (ROOT, LIST.parent))]
    for name in HEAVY.split():
        with suppress(ImportError):
            importlib.import_module(name)
    for name in [name for name in sys.modules if name.partition(".")[0] == "heedful"]:
        del sys.modules[name]  # an environment may import some of it at its start
    TRACES.mkdir(parents=True, exist_ok=True)
    return tree


def run(arguments: list[str], watch: Watch, limit: float) -> dict[str, Any]:
    """Run pytest in a fork; the result of ``watch``, or a failure where there is none in time."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        for output in (1, 2):
            os.dup2(os.open(TRACES / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND), output)
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


def trace(options: argparse.Namespace) -> None:
    """Write which tests run which lines, a few files of tests at a time."""
    tree = prepared(options.tree)
    files = [str(file.relative_to(tree)) for file in sorted(tree.glob("tests/**/test_*.py"))]
    done = {file for one in TRACES.glob("*.json") for file in json.loads(one.read_text())["files"]}
    left = [file for file in files if file not in done and file.startswith(tuple(options.files or ["tests"]))]
    traced = sorted({str(tree / one.file) for same in all_mutations().values() for one in same})
    for begin in range(0, len(left), 10):
        some = left[begin : begin + 10]
        result = run(some, Watch(traced=traced), limit=3600)
        result["lines"] = {str(Path(file).relative_to(tree)): lines for file, lines in result["lines"].items()}
        (TRACES / f"{hashlib.sha256(some[0].encode()).hexdigest()[:12]}.json").write_text(
            json.dumps({"files": some, **result})
        )
        seconds = sum(result["seconds"].values())
        print(f"{begin + len(some)} of {len(left)} files, {seconds:.0f} s, failed: {result['failed']}", flush=True)


class Trace:
    """Which tests run which lines of some files, and how long they take."""

    def __init__(self, files: Iterable[str]) -> None:
        self.seconds: dict[str, float] = {}
        self.runs: dict[str, dict[int, set[str]]] = {file: defaultdict(set) for file in files}
        made: dict[str, dict[int, set[str]]] = {file: defaultdict(set) for file in files}  # by fixtures: files of tests
        for path in sorted(TRACES.glob("*.json")):
            result = json.loads(path.read_text())
            known = result["seconds"].keys() - {*result["failed"], *result["skipped"]}
            self.seconds |= {test: result["seconds"][test] for test in known}
            for file in self.runs.keys() & result["lines"].keys():
                for line, numbers in result["lines"][file].items():
                    for test, _, phase in (result["by"][number].rpartition("|") for number in numbers):
                        if phase == "setup":
                            made[file][int(line)].add(test.partition("::")[0])
                        else:
                            self.runs[file][int(line)].add(test)
        of_file = defaultdict(set)
        for test in self.seconds:
            of_file[test.partition("::")[0]].add(test)
        for file, lines in made.items():
            for line, test_files in lines.items():
                self.runs[file][line].update(*(of_file[one] for one in test_files))

    def tests(self, mutation: Mutation) -> list[str]:
        """All tests that run its lines; of what runs on import, those that run a line with its name."""
        if mutation.names:
            name = re.compile(rf"\b({'|'.join(mutation.names)})\b")
            places = []
            for file in self.runs:
                texts = (ROOT / file).read_text().splitlines() if (ROOT / file).exists() else []
                places += [(file, number) for number, text in enumerate(texts, 1) if name.search(text)]
        else:
            places = [(mutation.file, line) for line in range(mutation.lines[0], mutation.lines[1] + 1)]
        return [test for test in set().union(*(self.runs[file][line] for file, line in places)) if test in self.seconds]

    def chosen(self, mutation: Mutation, most: int, seconds: float) -> list[str]:
        """The quickest, of different functions first, and those of the mutation's own file of tests before others."""
        cases = Counter()
        ranked = []
        for test in sorted(self.tests(mutation), key=lambda test: (self.seconds[test], test)):
            function = test.partition("[")[0]
            foreign = f"test_{Path(mutation.file).stem}" not in test.partition("::")[0]
            ranked.append((cases[function] // 2, foreign, self.seconds[test], test))
            cases[function] += 1
        chosen, total = [], 0.0
        for *_, took, test in sorted(ranked)[:most]:
            total += took
            if total <= seconds or not chosen:
                chosen.append(test)
        files = list(dict.fromkeys(test.partition("::")[0] for test in chosen))
        return sorted(chosen, key=lambda test: files.index(test.partition("::")[0]))


def attempt(options: argparse.Namespace) -> None:
    """Try the mutations that are untried, or the survivors; at the end, what caught some on the code as it is."""
    found = all_mutations()
    entries = json.loads(LIST.read_text())
    tree = prepared(options.tree)
    known = Trace(sorted({one.file for same in found.values() for one in same}))
    for number, entry in enumerate(entries):
        mutation = find(entry, found)
        is_due = entry["tests"] is None or (options.survivors and entry["caught_by"] is None)
        if mutation is None or not is_due or not (not options.rooms or entry["room"] in options.rooms):
            continue
        tests = known.chosen(mutation, options.tests, options.seconds)
        begin = time.monotonic()
        failed = with_mutation(tree, mutation, tests, known) if tests else []
        entry |= {"tests": len(tests), "caught_by": failed[0] if failed else None}
        save(entries)
        took = time.monotonic() - begin
        print(f"{number} {entry['room']} {took:.0f} s, {len(tests)} tests: {entry['caught_by']}", flush=True)
    killers = {entry["caught_by"] for entry in entries} & known.seconds.keys()
    unsound = run(sorted({one.partition("::")[0] for one in killers}), Watch(sorted(killers)), 3600)["failed"]
    print(f"{len(killers)} tests caught some; of these fail without a mutation: {unsound}")


def with_mutation(tree: Path, mutation: Mutation, tests: list[str], known: Trace) -> list[str]:
    path = tree / mutation.file
    text, status = path.read_bytes(), path.stat()
    try:
        path.write_bytes(text[: mutation.begin] + mutation.new + text[mutation.end :])
        stamp = random.SystemRandom().randrange(2**30)  # or Python takes the code compiled of another mutation
        os.utime(path, (stamp, stamp))
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        limit = 60 + 5 * sum(known.seconds[test] for test in tests)
        return run(["-x", *files], Watch(tests), limit)["failed"]
    finally:
        path.write_bytes(text)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def table(_: argparse.Namespace) -> None:
    entries = json.loads(LIST.read_text())
    print("| room | mutations | caught | survived | run by no test |\n|---|---:|---:|---:|---:|")
    for room in (*ROOMS, "all"):
        some = [entry for entry in entries if room in (entry["room"], "all") and entry["tests"] is not None]
        caught, unseen = (
            sum(entry["caught_by"] is not None for entry in some),
            sum(not entry["tests"] for entry in some),
        )
        print(f"| {room} | {len(some)} | {caught} | {len(some) - caught - unseen} | {unseen} |")
    for entry in entries:
        if entry["tests"] is not None and entry["caught_by"] is None:
            was, now = entry["statement"], entry["mutated"]
            begin = max(0, len(os.path.commonprefix([was, now])) - 30)
            print(f"{entry['room']} {entry['file']} {entry['function']}: {was[begin:][:60]} => {now[begin:][:60]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", default="/tmp/mutants", help="the working tree whose files are changed")
    commands = parser.add_subparsers(required=True)
    commands.add_parser("draw").set_defaults(run=draw)
    commands.add_parser("table").set_defaults(run=table)
    of_trace = commands.add_parser("trace")
    of_trace.add_argument("files", nargs="*")
    of_trace.set_defaults(run=trace)
    of_try = commands.add_parser("try")
    of_try.add_argument("--survivors", action="store_true")
    of_try.add_argument("--tests", type=int, default=40)
    of_try.add_argument("--seconds", type=float, default=20)
    of_try.add_argument("--rooms", nargs="*")
    of_try.set_defaults(run=attempt)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
