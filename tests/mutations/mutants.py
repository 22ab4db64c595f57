"""What can be changed in a file of Python, so that a test should notice."""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

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
JOINED = {ast.And: ("and", "or"), ast.Or: ("or", "and")}
TEXTS = ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp
DEFS = ast.FunctionDef | ast.AsyncFunctionDef
UNCHANGED = ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.Try | ast.Global | ast.Nonlocal | ast.Pass
BLOCKS = {"body", "orelse", "finalbody", "handlers", "cases", "annotation"}
SYMMETRIC = {"isinstance", "issubclass", "min", "max", "maximum", "minimum", "hasattr", "getattr", "cast"}
MESSAGES = re.compile(r"\w+Error|\w*[wW]arn\w*|inform|print|debug|info|TypeVar|NewType")

Place = tuple[int, int]  # bytes of a file: begin and end
Found = Iterator[tuple[Place, bytes]]  # a place and what stands there instead


class Mutation(NamedTuple):
    """One change of one statement; of a compound statement, the text is its head.

    Attributes:
        operator: What kind of change.
        function: The qualified name, without the module; "" for a statement of the module.
        statement: Its text with single spaces and no comments.
        mutated: The same after the change.
        file: In a working tree.
        place: Of the change in the file.
        new: What stands there instead.
        lines: First and last line that shows the change when it runs.
        names: Of a statement that runs on import, what it defines: whoever reads these shows the change.
    """

    operator: str
    function: str
    statement: str
    mutated: str
    file: str
    place: Place
    new: bytes
    lines: tuple[int, int]
    names: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str, str]:
        return self.function, self.statement, self.mutated


class Source:
    """A file and its mutations."""

    def __init__(self, root: Path, file: str) -> None:
        self.file = file
        self.text = (root / file).read_bytes()
        self._starts = [0]
        for line in self.text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def place(self, node: Any) -> Place:
        begin = self._starts[node.lineno - 1] + node.col_offset
        return begin, self._starts[node.end_lineno - 1] + node.end_col_offset

    def segment(self, node: Any) -> bytes:
        begin, end = self.place(node)
        return self.text[begin:end]

    def mutations(self) -> list[Mutation]:
        """All of the file, but those whose function and texts are those of another one."""
        found = list(self._of_body(ast.parse(self.text).body, (), on_import=True))
        often = Counter(mutation.key for mutation in found)
        return [mutation for mutation in found if often[mutation.key] == 1]

    def _of_body(self, body: list[Any], scope: tuple[str, ...], on_import: bool) -> Iterator[Mutation]:
        for node in body:
            is_def = isinstance(node, DEFS)
            inner = (*scope, node.name) if is_def or isinstance(node, ast.ClassDef) else scope
            if isinstance(node, ast.If) and re.search(rb"TYPE_CHECKING|__name__", self.segment(node.test)):
                continue
            if not isinstance(node, ast.ClassDef):
                yield from self._of_statement(node, inner, on_import)
            blocks = [getattr(node, part, []) for part in ("body", "orelse", "finalbody")]
            blocks += [part.body for part in (*getattr(node, "handlers", []), *getattr(node, "cases", []))]
            for block in blocks:
                yield from self._of_body(block, inner, on_import and not is_def)

    def _of_statement(self, node: Any, scope: tuple[str, ...], on_import: bool) -> Iterator[Mutation]:
        names: tuple[str, ...] = ()
        if on_import and not isinstance(node, DEFS):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = tuple(target.id for target in targets if isinstance(target, ast.Name))
            if not names or names[0] == "__all__":
                return
        (begin, end), last = self._head(node)
        for operator, place, new in of_statement(node, self):
            if names and new in {b"|", b"&"}:
                continue  # a union of types
            before, after = self.text[begin : place[0]], self.text[place[1] : end]
            texts = self.text[begin:end], before + new + after
            plain = [" ".join(re.sub(r"(?m)\s+#( .*)?$", "", text.decode()).split()) for text in texts]
            yield Mutation(operator, ".".join(scope), *plain, self.file, place, new, (node.lineno, last), names)

    def _head(self, node: Any) -> tuple[Place, int]:
        """Of a compound statement, the place before its block, and its last line; of a function, that of its block."""
        begin, end = self.place(node)
        if isinstance(node, ast.Match):
            return (begin, self.place(node.subject)[1]), node.subject.end_lineno
        if not getattr(node, "body", None):
            return (begin, end), node.end_lineno
        last = node.end_lineno if isinstance(node, DEFS) else max(node.lineno, node.body[0].lineno - 1)
        return (begin, self.place(node.body[0])[0]), last


def of_statement(node: Any, source: Source) -> Iterator[tuple[str, Place, bytes]]:
    """The operator, the place and what stands there instead, for a statement but those in its blocks."""
    if isinstance(node, UNCHANGED):
        return
    if isinstance(node, DEFS):
        for default in filter(None, [*node.args.defaults, *node.args.kw_defaults]):
            yield from (("default", place, new) for _, place, new in of_expression(default, source))
        return
    yield from ((operator, source.place(node), new) for operator, new in of_whole(node))
    if isinstance(node, ast.If | ast.While):
        yield from (("condition negated", *change) for change in negated(node.test, source))
    for field, value in ast.iter_fields(node):
        for part in value if isinstance(value, list) else [value]:
            if field not in BLOCKS and isinstance(part, ast.AST):
                yield from of_expression(part, source)


def of_whole(node: Any) -> Iterator[tuple[str, bytes]]:
    """What a statement as a whole becomes."""
    match node:
        case ast.Break():
            yield "break/continue", b"continue"
        case ast.Continue():
            yield "break/continue", b"break"
        case ast.Return(value=ast.Constant(value=None) | None):
            pass
        case ast.Return():
            yield "return dropped", b"return None"
        case ast.Expr(value=ast.Call() as call) if not MESSAGES.fullmatch(name_of(call)):
            yield "statement removed", b"pass"
        case ast.AugAssign() | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "statement removed", b"pass"


def of_expression(node: Any, source: Source) -> Iterator[tuple[str, Place, bytes]]:
    """The changes of an expression and of what is inside it, but for messages."""
    match node:
        case ast.JoinedStr() | ast.arguments() | ast.keyword(arg="strict" | "stacklevel"):
            return
        case ast.Call() if MESSAGES.fullmatch(name_of(node)):
            return
    for operator, find in OPERATORS.items():
        yield from ((operator, *change) for change in find(node, source))
    for part in ast.iter_child_nodes(node):
        yield from of_expression(part, source)


def name_of(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def between(left: ast.expr, right: ast.expr, words: tuple[str, str], source: Source) -> Found:
    """Between two expressions, one word for another."""
    begin, end = source.place(left)[1], source.place(right)[0]
    at = source.text[begin:end].find(words[0].encode())
    if b"#" not in source.text[begin:end]:
        yield (begin + at, begin + at + len(words[0])), words[1].encode()


def negated(test: ast.expr, source: Source) -> Found:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield source.place(test), b"(" + source.segment(test.operand) + b")"
    elif not isinstance(test, ast.Compare) or len(test.ops) > 1:  # else its comparison is swapped
        yield source.place(test), b"(not (" + source.segment(test) + b"))"


def negated_inside(node: Any, source: Source) -> Found:
    tests = [node.test] if isinstance(node, ast.IfExp) else getattr(node, "ifs", [])
    for test in tests:
        yield from negated(test, source)


def compared(node: Any, source: Source) -> Found:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from between(node.left, node.comparators[0], COMPARED[type(node.ops[0])], source)


def computed(node: Any, source: Source) -> Found:
    if isinstance(node, ast.BinOp) and type(node.op) in COMPUTED and not is_text(node.left) and not is_text(node.right):
        yield from between(node.left, node.right, COMPUTED[type(node.op)], source)


def is_text(node: ast.expr) -> bool:
    return isinstance(node, TEXTS) or (isinstance(node, ast.Constant) and not isinstance(node.value, int | float))


def joined(node: Any, source: Source) -> Found:
    if isinstance(node, ast.BoolOp):
        yield from between(node.values[0], node.values[1], JOINED[type(node.op)], source)


def constants(node: Any, source: Source) -> Found:
    match node:
        case ast.Constant(value=bool() as value):
            yield source.place(node), str(not value).encode()
        case ast.Constant(value=int() | float() as value):
            yield source.place(node), repr(value + 1 if abs(value) < 10 else value * 2).encode()


def bounds(node: Any, source: Source) -> Found:
    for bound in filter(None, [node.lower, node.upper]) if isinstance(node, ast.Slice) else ():
        if not any(isinstance(part, ast.Constant) for part in ast.walk(bound)):  # else a constant changes
            yield source.place(bound), source.segment(bound) + b" + 1"


def swapped(node: Any, source: Source) -> Found:
    """The first two arguments, where both are names: else they hardly ever have one type."""
    match node:
        case ast.Call(args=[ast.Name() | ast.Attribute() as first, ast.Name() | ast.Attribute() as second, *_]):
            texts = source.segment(first), source.segment(second)
            if name_of(node) not in SYMMETRIC and texts[0] != texts[1]:
                middle = source.text[source.place(first)[1] : source.place(second)[0]]
                yield (source.place(first)[0], source.place(second)[1]), texts[1] + middle + texts[0]


OPERATORS: dict[str, Callable[[Any, Source], Found]] = {
    "comparison": compared,
    "arithmetic": computed,
    "and/or": joined,
    "condition negated": negated_inside,
    "constant": constants,
    "slice": bounds,
    "arguments swapped": swapped,
}
