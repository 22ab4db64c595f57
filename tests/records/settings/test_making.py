"""Values in Python against type hints, and what is made of them."""

import doctest
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import pytest

from heedful.records import HeedfulError, SettingError
from heedful.records.made import Made
from heedful.records.settings import making
from heedful.records.settings.making import InPython

from refusals import refused


@dataclass(frozen=True)
class Inner:
    """Settings inside of a setting."""

    size: int
    names: list[str] = field(default_factory=list)


class Base:
    """The kind that may be named."""


class Plain(Base):
    """Not made by ours."""

    def __init__(self, rate: float = 0.5, inner: Inner | None = None, others: Sequence[Base] = ()) -> None:
        self.rate = rate
        self.inner = inner
        self.others = others


class Ours(Made, Base):
    """Remembers by itself."""

    def __init__(self, name: str, plain: Plain | str | None = None) -> None:
        self.name = name
        self.plain = plain


class Handed(Protocol):
    """Cannot be asked what it is of."""

    def run(self) -> None: ...


GRAMMAR = InPython((Base,))


@pytest.mark.parametrize(
    ("hint", "taken", "refused_"),
    [
        (Any, [None, 3, "x", [1], {}], []),
        (bool, [True], [1, "true", None]),
        (int, [3, np.int64(3)], [True, 3.0, "3", None, np.bool_(True)]),
        (float, [3, 0.5, np.float32(0.5), np.int8(1)], [True, "0.5"]),
        (str, ["x", Path("x")], [b"x", 3, None, ["x"]]),
        (str | None, ["x", None], [3]),
        (Literal["a", 1], ["a", 1], [True, "b", 1.0, "1"]),
        (list[str], [[], ["x"], ("x",)], ["x", {"x"}, [1], {"x": "y"}, None]),
        (Sequence[int], [[1], (1,)], ["1", [True]]),
        (tuple[int, ...], [(1,), [1]], ["1", 1]),
        (Iterable[str], [["x"]], ["x"]),
        (list, [[1, "x"]], ["x"]),
        (dict[str, int], [{"x": 1}], [{"x": "1"}, [1], "x"]),
        (Mapping[str, Any], [{"x": [1]}], [3]),
        (dict[str, list[str | int]], [{"x": [1, "a"]}], [{"x": [True]}, {"x": 1}]),
        (list[list[int]], [[[1]]], [[["1"]], [1]]),
        (timedelta, [timedelta(1), "1 day, 0:00:03", "0:30:00"], ["soon", 3]),
        (Callable[[], None], [print], ["print", 3]),
        (Inner, [Inner(3)], [3, "x", [3]]),
        (Handed, [3], []),
        (type[Base], [Base], []),
    ],
)
def test_values_of_types(hint: Any, taken: list[Any], refused_: list[Any]) -> None:
    assert [value for value in taken if not GRAMMAR.takes(hint, value)] == []
    assert [value for value in refused_ if GRAMMAR.takes(hint, value)] == []


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (1, float, 1.0),
        (1, int | float, 1),
        (np.int64(3), int | None, 3),
        (np.float32(0.5), float, 0.5),
        (True, bool, True),
        (Path("x"), str, "x"),
        (Path("x"), str | Path, Path("x")),
        (("x",), list[str], ["x"]),
        (["x"], tuple[str, ...], ("x",)),
        ((Path("x"),), Sequence[str], ["x"]),
        ({"x": 1}, dict[str, float], {"x": 1.0}),
        ("1 day, 0:00:03", timedelta | None, timedelta(days=1, seconds=3)),
        ("x", timedelta | str, "x"),
    ],
)
def test_what_values_become(value: Any, hint: Any, expected: Any) -> None:
    found = GRAMMAR.converted(value, hint)
    assert found == expected
    assert type(found) is type(expected)


def test_a_span_of_time_is_written_and_read() -> None:
    for lasts in (timedelta(days=3, seconds=7), timedelta(minutes=30), timedelta(seconds=1.5)):
        assert GRAMMAR.converted(str(lasts), timedelta) == lasts


def test_objects_inside_of_objects() -> None:
    given = {
        "name": "a",
        "plain": {
            "class_path": f"{__name__}.Plain",
            "init_args": {"rate": 1, "inner": {"size": 2}, "others": ["Plain", Plain()]},
        },
    }
    given["plain"]["class_path"] = "Plain"
    made = GRAMMAR.made(Ours, given)
    assert made.made_of == {"name": "a", "plain": made.plain}
    assert made.plain.made_of == {"rate": 1.0, "inner": Inner(2), "others": made.plain.others}
    first, second = made.plain.others
    assert first.made_of == {}
    assert second is given["plain"]["init_args"]["others"][1]
    assert GRAMMAR.made(Ours, {"name": "a", "plain": "nothing of ours"}).plain == "nothing of ours"


@pytest.mark.parametrize(
    ("given", "error", "facts"),
    [
        ({}, SettingError, ["Ours lacks name"]),
        ({"nam": "a"}, SettingError, ["nam.", "name?"]),
        ({"name": 3}, SettingError, ["name 3"]),
        ({"name": "x" * 99, "plain": 3}, SettingError, ["plain 3"]),
        ({"name": "a", "plain": {}}, SettingError, ["class_path"]),
        ({"name": "a", "plain": {"class_path": "Ours"}}, SettingError, ["Ours", "Plain"]),
        ({"name": "a", "plain": {"class_path": "Plain", "init_args": 3}}, SettingError, ["plain 3"]),
        ({"name": "a", "plain": {"class_path": "Plain", "rate": 3}}, SettingError, ["rate"]),
        (
            {"name": "a", "plain": {"class_path": "Plain", "init_args": {"inner": {"sise": 3}}}},
            SettingError,
            ["sise", "size?"],
        ),
        (
            {"name": "a", "plain": {"class_path": "Plain", "init_args": {"inner": {}}}},
            SettingError,
            ["inner {} lacks size"],
        ),
        (
            {"name": "a", "plain": {"class_path": "Plain", "init_args": {"others": ["Plain", "Plane"]}}},
            SettingError,
            ['others "Plane"', "Plain?"],
        ),
    ],
)
def test_the_first_mistake_is_refused(given: dict[str, Any], error: type[HeedfulError], facts: list[str]) -> None:
    with refused(error, *facts):
        GRAMMAR.made(Ours, given, ("ours",))


def test_a_long_value_is_cut() -> None:
    with refused(SettingError, "...") as caught:
        GRAMMAR.made(Plain, {"rate": "x" * 999})
    assert len(str(caught.value)) < 150


def test_some_settings_of_a_class() -> None:
    assert GRAMMAR.checked(Ours, {"plain": "Plain"}).keys() == {"plain"}
    with refused(SettingError, "name 3"):
        GRAMMAR.checked(Ours, {"name": 3}, ("ours",))
    with refused(SettingError, "x"):
        GRAMMAR.checked(Ours, {"x": 3})


def test_examples_in_the_docs_run() -> None:
    assert doctest.testmod(making).attempted
    assert not doctest.testmod(making).failed
