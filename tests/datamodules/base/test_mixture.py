"""Mixtures: which examples give way and which come, and that conditions on rows hold for each source."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.datamodules import PairedText
from heedful.datamodules.base.mixture import Mixture
from heedful.records import DataError, Example

from own_data import set_up, uids, write_jsonl
from refusals import refused

PAIRS = {
    "name": "own",
    "parts": {"first": "first", "second": "second"},
    "labels": {"same": [1], "other": [0]},
    "label": "gold",
    "groups": ["topic"],
    "meta": ["topic"],
}


def write(path: Path, n: int, **names: str) -> None:
    """Rows with the columns first, second, gold, turned and topic, or with other names for them."""
    rows = [
        {"first": f"{path.stem} {i}", "second": f"s {i}", "gold": i % 2, "turned": 1 - i % 2, "topic": f"t{i % 4}"}
        for i in range(n)
    ]
    write_jsonl(path, [{names.get(column, column): value for column, value in row.items()} for row in rows])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Training and validation files, more rows of the same kind, and a folder with a file whose columns differ."""
    path = tmp_path_factory.mktemp("own")
    for name, n in (("train", 200), ("validation", 30), ("more", 100)):
        write(path / f"{name}.jsonl", n)
    write(path / "elsewhere" / "more.jsonl", 50, first="left", second="right", gold="mark")
    return path


def own(folder: Path, *mixture: Mixture, **settings: Any) -> PairedText:
    return set_up(PairedText(**PAIRS | settings, path=str(folder), mixture=mixture))


def row_of(example: Example) -> int:
    """The row of the file, counted from 0, which the second part names."""
    return int(example.parts["second"].split()[1])


def sources(data: PairedText) -> dict[str, int]:
    """Prefix of the uids to the number of training examples that have it."""
    prefixes = [uid.rpartition("/")[0] for uid in data.train_examples.column("uid")]
    return {prefix: prefixes.count(prefix) for prefix in sorted(set(prefixes))}


def test_a_share_of_the_examples_gives_way(folder: Path) -> None:
    data = own(folder, Mixture(0.1, "more"))
    assert sources(data) == {"own/train": 180, "own/train+more": 20}
    assert len({*uids(data.train_examples)}) == 200
    for example in data.train_examples:
        row = row_of(example)
        stem = "more" if "+more" in example.uid else "train"
        assert dict(example.parts) == {"first": f"{stem} {row}", "second": f"s {row}"}
        assert example.label == ("same" if row % 2 else "other")
    assert {row_of(example) for example in data.pool} == {*range(30)}
    assert data.regime == "mixture"


def test_another_label_and_other_columns(folder: Path) -> None:
    for example in own(folder, Mixture(0.2, "more", label="turned")).train_examples:
        assert (example.label == "same") == (row_of(example) % 2 == (0 if "+more" in example.uid else 1))
    columns = {"parts": {"first": "left", "second": "right"}, "label": "mark"}
    elsewhere = Mixture(0.05, "more", path=str(folder / "elsewhere"), name="far", **columns)
    assert sources(own(folder, elsewhere, Mixture(0.1, "more"))) == {
        "own/train": 170,
        "own/train+far": 10,
        "own/train+more": 20,
    }


@pytest.mark.parametrize("others", [{}, {"name": "turned", "path": "elsewhere/.."}])
def test_two_mixtures_of_one_file_share_no_row(folder: Path, others: dict[str, str]) -> None:
    others = others | ({"path": str(folder / others["path"])} if others else {})
    data = own(folder, Mixture(0.25, "more"), Mixture(0.25, "more", label="turned", **others))
    rows = [row_of(example) for example in data.train_examples if "+" in example.uid]
    assert (len(rows), len({*rows}), len({*uids(data.train_examples)})) == (100, 100, 200)
    with refused(DataError, "share 0.25 of 200", "50 of more", 40):
        own(folder, Mixture(0.3, "more"), Mixture(0.25, "more"))


@pytest.mark.slow
@settings(max_examples=20)
@given(st.integers(1, 100), st.integers(1, 100), st.integers(0, 5))
def test_a_smaller_share_is_among_a_larger_one(folder: Path, small: int, large: int, seed: int) -> None:
    small, large = sorted((small, large))
    few, many = ({*uids(own(folder, Mixture(n / 200, "more"), seed=seed).trained)} for n in (small, large))
    come = [{uid for uid in examples if "+more" in uid} for examples in (few, many)]
    assert [len(one) for one in come] == [small, large]
    assert come[0] <= come[1]
    assert few - come[0] >= many - come[1]


def test_the_choice_depends_on_the_seed_and_shares_are_of_the_training_set(folder: Path) -> None:
    by_seed = [{*uids(own(folder, Mixture(0.1, "more"), seed=seed).trained)} for seed in (0, 0, 1)]
    assert by_seed[0] == by_seed[1] != by_seed[2]
    assert sources(own(folder, Mixture(0.1, "more"), max_train=50)) == {"own/train": 45, "own/train+more": 5}
    held_out = own(folder, Mixture(0.1, "more"), hold_out=100, groups=[])
    assert (sources(held_out), len(held_out.pool)) == ({"own/train": 90, "own/train+more": 10}, 100)


def test_conditions_hold_for_both_splits_and_for_mixtures(folder: Path) -> None:
    data = own(folder, Mixture(0.1, "more", where={"topic": "t3"}), where={"topic": ["t0", "t1"]})
    assert sources(data) == {"own/train": 90, "own/train+more": 10}
    assert {*data.pool.column("meta.topic")} == {"t0", "t1"}
    assert {row_of(example) % 4 for example in data.train_examples if "+more" in example.uid} == {3}  # of t3
    validation = own(folder, where={"validation": {"topic": "t2"}})
    assert (len(validation.train_examples), {*validation.pool.column("meta.topic")}) == (200, {"t2"})
    halves = own(folder, where={"topic": ["t0", "t1"]}, hold_out=10)
    assert len(halves.train_examples) + len(halves.pool) == 100
