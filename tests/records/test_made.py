"""What remembers its settings: by position and by name, through classes of one's own, copies and YAML."""

import copy
import pickle
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.assembly.making import made
from heedful.assembly.record import write_record
from heedful.callbacks import Attentiveness
from heedful.datamodules import PairedData, Planted
from heedful.lightning_modules import Classifier, Encoder
from heedful.records.made import IN_PYTHON, plain, section, settings, settings_of
from heedful.records.storage.yaml_files import SettingsLoader, parse_yaml, read_yaml

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
LOOKS_OTHERWISE = "1 1.0 1e5 1e-5 .5 1_000 0x1F 010 1:30 yes No on null ~ true 2020-01-01 = << {} [] - ? .inf .nan (a)"
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | TEXTS
    | st.sampled_from(LOOKS_OTHERWISE.split()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def same(first: Any, second: Any) -> bool:
    """Equal, and of the same types: True is not 1."""
    return repr(first) == repr(second)


@given(VALUES)
def test_config_yaml_holds_every_value(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    path = tmp_path_factory.mktemp("yaml") / "config.yaml"
    write_record({"value": plain(value)}, path)
    for read in (
        read_yaml(str(path), "x"),
        parse_yaml(path.read_text(encoding="utf-8"), "x", SettingsLoader),
    ):
        assert same(read["value"], value)


@pytest.mark.parametrize(
    "text", ["", "\x85", "\u2028a", "\ufeff", "\x00\x07", "a\r\nb", "\n", " a ", "x" * 5000, "\U0001f600"]
)
def test_texts_that_yaml_would_change(text: str, tmp_path: Path) -> None:
    write_record({"value": text}, tmp_path / "config.yaml")
    assert read_yaml(str(tmp_path / "config.yaml"), "x")["value"] == text


class Text(str):
    """A text of a class of its own."""


@pytest.mark.parametrize(
    ("value", "in_file"),
    [
        (np.float64(1e-5), 1e-5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (Text("a"), "a"),
        (Path("a/b"), "a/b"),
        (timedelta(hours=1), "1:00:00"),
        ((1, (np.int32(2),)), [1, [2]]),
        ({3: Text("b")}, {"3": "b"}),
        ("\udcff", IN_PYTHON),
        (b"x", IN_PYTHON),
        (print, IN_PYTHON),
        (np.zeros(2), IN_PYTHON),
        ([object()], [IN_PYTHON]),
    ],
)
def test_values_of_other_types_as_a_file_has_them(value: Any, in_file: Any, tmp_path: Path) -> None:
    assert same(plain(value), in_file)
    write_record({"value": plain(value)}, tmp_path / "config.yaml")
    assert same(read_yaml(str(tmp_path / "config.yaml"), "x")["value"], in_file)


OF_PLANTED = {
    "shortcut": st.floats(0, 1),
    "n_train": st.integers(1, 9),
    "name": st.from_regex(r"[a-z]{1,9}", fullmatch=True),
    "batch_size": st.integers(1, 64),
    "slices": st.lists(st.sampled_from(["a", "b"]), unique=True),
    "seed": st.integers(0, 2**32 - 1),
}
OF_ENCODER = {
    "backbone": TEXTS.filter(bool),
    "learning_rate": st.floats(1e-9, 1),
    "labels": st.none() | st.lists(TEXTS, min_size=1),
    "collapse": st.sampled_from([None, "sum", "argmax"]),
    "compiled": st.booleans(),
}


def some(strategies: dict[str, Any], *needed: str) -> Any:
    optional = {name: values for name, values in strategies.items() if name not in needed}
    return st.fixed_dictionaries({name: strategies[name] for name in needed}, optional=optional)


@given(some(OF_PLANTED), some(OF_ENCODER, "backbone"))
def test_a_section_makes_the_same_again(of_data: dict[str, Any], of_model: dict[str, Any]) -> None:
    for kind, base, chosen in ((Planted, PairedData, of_data), (Encoder, Classifier, of_model)):
        one = kind(**chosen)
        again = made(section(one), (base,), ("x",))
        assert (type(again), one.made_of, one.given) == (kind, chosen, frozenset(chosen))
        assert same(section(again), section(one))
        assert settings(again).keys() == settings_of(kind).keys()


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_remember(again: Any) -> None:
    for one in (Planted(0.5, n_train=3), Encoder("a/b", 9, learning_rate=1e-3), Attentiveness(draws=2)):
        other = again(one)
        assert (other.made_of, other.given) == (one.made_of, one.given)
        assert other is not one


class Handed(Planted):
    """Hands on all that is not its own."""

    def __init__(self, mine: int = 1, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)


class Named(Planted):
    """Takes its own setting by name alone, and fixes one of the class above."""

    def __init__(self, *, mine: int = 1, **more: Any) -> None:
        super().__init__(n_validation=5, **more)


class Plain(Encoder):
    """Has no ``__init__``."""


class Defaulted(Encoder):
    """Has a default for a setting that is needed, and hands it on."""

    def __init__(self, backbone: str = "a/b", *args: Any, **more: Any) -> None:
        super().__init__(backbone, *args, **more)


class Fixed(Encoder):
    """Is always made of the same backbone."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__("a/b", *args, **more)


@pytest.mark.parametrize(
    ("one", "made_of"),
    [
        (Handed(2, 0.5, n_train=7), {"mine": 2, "shortcut": 0.5, "n_train": 7}),
        (Handed(), {}),
        (Named(mine=3, shortcut=0.5), {"mine": 3, "shortcut": 0.5}),
        (Plain("a/b", 9), {"backbone": "a/b", "max_length": 9}),
        (Plain(Path("a/b")), {"backbone": Path("a/b")}),
        (Defaulted("c/d", 9), {"backbone": "c/d", "max_length": 9}),
        (Defaulted(), {}),
        (Fixed(9), {"max_length": 9}),
    ],
)
def test_classes_of_ones_own(one: Any, made_of: dict[str, Any]) -> None:
    assert one.made_of == made_of
    written = section(one)
    again = made(written, (PairedData, Classifier), ("x",))
    assert type(again) is type(one)
    assert same(section(again), written)
    assert "dict_kwargs" not in written
    names = set(settings_of(type(one)))
    assert ("n_validation" in names) == isinstance(one, Handed)
    changed = one.with_settings(**{"seed": 4} if isinstance(one, PairedData) else {"max_length": 7})
    assert changed.given == one.given | {"seed" if isinstance(one, PairedData) else "max_length"}
    assert one.made_of == made_of


def test_what_was_typed_at_a_prompt_remembers() -> None:
    typed: dict[str, Any] = {"Encoder": Encoder, "__name__": "__main__"}
    exec("class Mine(Encoder):\n    def __init__(self, *a, extra=1, **k): super().__init__(*a, **k)", typed)
    one = typed["Mine"]("a/b", 9, extra=2)
    assert one.made_of == {"backbone": "a/b", "max_length": 9, "extra": 2}
    assert section(one)["class_path"] == "__main__.Mine"
    assert section(one)["init_args"]["max_length"] == 9
