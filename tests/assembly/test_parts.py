"""The arguments of train and evaluate: what is of another type is refused by its name, and nothing is left."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_runs import ONCE, QUIET, config, pairs, small

import heedful
from heedful.assembly.parts import allowing
from heedful.callbacks import Attentiveness
from heedful.lightning_modules.pretrained.backbones import allowed_packages
from heedful.records import HeedfulError
from heedful.records.refusals import REFUSALS

from refusals import refused

NEITHER = (
    3,
    1.5,
    float("nan"),
    b"x",
    ["x", 3],
    {"a": 1},
    {"x"},
    object(),
    type,
    print,
)  # nor a text or a list of texts
TEXTS = (*NEITHER, [], {}, True)
BOTH: dict[str, tuple[Any, ...]] = {
    "model": TEXTS,
    "partial": (*TEXTS, Path("x")),
    "slices": (*(value for value in NEITHER if not isinstance(value, list)), ["x", 3], True, Path("x")),
    "evaluations": (*NEITHER, True, Path("x"), [Attentiveness], [None]),
    "trainer": (*(value for value in NEITHER if not isinstance(value, dict)), [], "x", True),
    "seed": ("x", 1.5, -1, 2**32, [], {}, b"x", float("nan"), "3"),
    "output": TEXTS,
    "allow_package": (*(value for value in NEITHER if not isinstance(value, list)), True, Path("x"), [3]),
    "attentiveness": (3, "x", [], True, Attentiveness, ["x"]),
    "config": TEXTS,
    "data": (3, True, b"x", [], {}, object(), type),
    "nonsense": (None, 3, {}),
}
OF_TRAINING = {"augment": TEXTS, "checkpoint": (3, "x", [], True), "init_from": TEXTS, "resume": TEXTS}
OF_TRAINING |= {"ckpt_path": TEXTS, "allow_changed_data": (None, 3, "x", [], np.True_)}
OF_EVALUATION = {"checkpoint": TEXTS, "prompt": (3, "x", [], True), "dry_run": (None, 3, "yes", {})}


@pytest.mark.parametrize(
    ("function", "name", "values"),
    [
        *((heedful.train, name, values) for name, values in (BOTH | OF_TRAINING).items()),
        *((heedful.evaluate, name, values) for name, values in (BOTH | OF_EVALUATION).items()),
    ],
)
def test_an_argument_of_another_type(
    function: Callable[..., Any], name: str, values: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    packages = set(allowed_packages)
    for value in values:
        with pytest.raises(HeedfulError) as caught:
            function(**{"output": tmp_path / "run", "trainer": QUIET, name: value})
        said = str(caught.value)
        assert caught.value.code in REFUSALS, said
        assert caught.value.code in {"bad-setting", "unknown-setting", "missing-setting", "foreign-class"}, said
        assert name in said
        assert not [mark for mark in ("--", "§") if mark in said], said
    assert not [*tmp_path.iterdir()]
    assert allowed_packages == packages


def test_packages_are_allowed_for_one_call() -> None:
    before = set(allowed_packages)
    with allowing("a"), allowing(["b", "a"]):
        assert {"a", "b"} <= allowed_packages
    assert allowed_packages == before


@pytest.mark.slow
def test_numbers_and_paths_of_other_kinds(tiny_bert: Path, tmp_path: Path) -> None:
    model = small(tiny_bert, learning_rate=np.float64(1e-4))
    data = pairs(n_train=np.int64(32))
    run = heedful.train(model, data, seed=np.int64(3), trainer=ONCE, evaluations=("accuracy",), output=tmp_path / "run")
    assert config(run.folder)["model"]["init_args"]["learning_rate"] == 1e-4
    assert config(run.folder)["data"]["init_args"]["n_train"] == 32
    assert config(run.folder)["seed_everything"] == 3


@pytest.mark.slow
def test_a_call_after_a_refusal(tiny_bert: Path, tmp_path: Path) -> None:
    data = pairs()
    with refused("missing-column"):
        heedful.train(small(tiny_bert), data, slices="x", trainer=ONCE, output=tmp_path / "a" / "run")
    with refused("bad-monitor"):
        heedful.train(small(tiny_bert), data, checkpoint={"monitor": "x"}, trainer=ONCE, output=tmp_path / "a" / "run")
    assert not [*tmp_path.iterdir()]
    run = heedful.train(
        small(tiny_bert), data, trainer=ONCE, evaluations=["accuracy"], output=str(tmp_path / "a" / "run")
    )
    assert run.folder == tmp_path / "a" / "run"
    with refused("folder-taken"):
        heedful.train(small(tiny_bert), data, trainer=ONCE, output=run.folder)


@pytest.mark.slow
def test_a_draw_of_a_seed(tiny_bert: Path, tmp_path: Path) -> None:
    seeds = [
        config(
            heedful.train(
                small(tiny_bert), pairs(), seed=True, trainer=ONCE, evaluations=["accuracy"], output=tmp_path / name
            ).folder
        )["seed_everything"]
        for name in ("a", "b")
    ]
    assert seeds[0] != seeds[1]
