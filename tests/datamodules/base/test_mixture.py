"""Mixtures: which examples give way and which come, and that conditions on rows hold for each source."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.datamodules import PairedText
from heedful.datamodules.base.mixture import Mixture
from heedful.records import DataError

from own_data import LABELS, nli_rows, own, uids, write_jsonl
from refusals import refused

ROWS = {  # the number in a premise tells the split: 0 to 199, 1000 to 1029, 2000 to 2099
    name: [row | {"turned": LABELS[i % 2], "topic": f"t{i % 4}"} for i, row in enumerate(nli_rows(n, 1000 * k))]
    for k, (name, n) in enumerate({"train": 200, "validation": 30, "more": 100}.items())
}


def mixed(*mixture: Mixture, path: Any = ROWS, **settings: Any) -> PairedText:
    return own(path, mixture=mixture, **{"groups": ["topic"], "meta": ["topic"]} | settings)


def numbers(examples: Any) -> dict[str, list[int]]:
    """Prefix of the uids to the numbers of the examples that have it."""
    found: dict[str, list[int]] = {}
    for example in examples:
        found.setdefault(example.uid.rpartition("/")[0], []).append(int(example.parts["premise"].split()[1]))
    return found


def sources(data: PairedText) -> dict[str, int]:
    return {prefix: len(found) for prefix, found in numbers(data.train_examples).items()}


def test_a_share_of_the_examples_gives_way() -> None:
    data = mixed(Mixture(0.1, "more"))
    assert sources(data) == {"own/train": 180, "own/train+more": 20}
    found = numbers(data.train_examples)
    assert {*found["own/train"]} < {*range(200)}
    assert {*found["own/train+more"]} < {*range(2000, 2100)}
    assert len({*uids(data.train_examples)}) == len({*sum(found.values(), [])}) == 200
    for example in data.train_examples:
        premise, number = example.parts["premise"].split()
        assert (example.parts["hypothesis"], example.label) == (f"h {number}", LABELS[int(number) % 3])
    assert sorted(*numbers(data.pool).values()) == [*range(1000, 1030)]
    assert data.regime == "mixture"


def test_another_label_and_other_columns(tmp_path: Path) -> None:
    for example in mixed(Mixture(0.2, "more", label="turned")).train_examples:
        number = int(example.parts["premise"].split()[1])
        assert example.label == LABELS[number % (2 if number >= 2000 else 3)]
    rows = [
        {"left": row["premise"], "right": row["hypothesis"], "mark": row["label"], "topic": "t"} for row in ROWS["more"]
    ]
    path = str(write_jsonl(tmp_path / "more.jsonl", rows))
    columns = {"parts": {"premise": "left", "hypothesis": "right"}, "label": "mark"}
    data = mixed(Mixture(0.05, "more", path=path, name="far", **columns), Mixture(0.1, "more"))
    assert sources(data) == {"own/train": 170, "own/train+far": 10, "own/train+more": 20}


@pytest.mark.parametrize("others", [{}, {"name": "turned", "path": "elsewhere/.."}])
def test_two_mixtures_of_one_file_share_no_row(tmp_path: Path, others: dict[str, str]) -> None:
    for name, rows in ROWS.items():
        write_jsonl(tmp_path / f"{name}.jsonl", rows)
    (tmp_path / "elsewhere").mkdir()
    others = others | ({"path": str(tmp_path / others["path"])} if others else {})
    data = mixed(Mixture(0.25, "more"), Mixture(0.25, "more", label="turned", **others), path=tmp_path)
    come = [number for found in numbers(data.train_examples).values() for number in found if number >= 2000]
    assert (len(come), len({*come}), len({*uids(data.train_examples)})) == (100, 100, 200)
    with refused(DataError, "share 0.25 of 200", "50 of more", 40):
        mixed(Mixture(0.3, "more"), Mixture(0.25, "more"))


@pytest.mark.slow
@settings(max_examples=20)
@given(st.integers(1, 100), st.integers(1, 100), st.integers(0, 5))
def test_a_smaller_share_is_among_a_larger_one(small: int, large: int, seed: int) -> None:
    small, large = sorted((small, large))
    few, many = ({*uids(mixed(Mixture(n / 200, "more"), seed=seed).trained)} for n in (small, large))
    come = [{uid for uid in examples if "+more" in uid} for examples in (few, many)]
    assert [len(one) for one in come] == [small, large]
    assert come[0] <= come[1]
    assert few - come[0] >= many - come[1]


def test_the_choice_depends_on_the_seed_and_shares_are_of_the_training_set() -> None:
    by_seed = [{*uids(mixed(Mixture(0.1, "more"), seed=seed).trained)} for seed in (0, 0, 1)]
    assert by_seed[0] == by_seed[1] != by_seed[2]
    assert sources(mixed(Mixture(0.1, "more"), max_train=50)) == {"own/train": 45, "own/train+more": 5}
    held_out = mixed(Mixture(0.1, "more"), hold_out=100, groups=[])
    assert (sources(held_out), len(held_out.pool)) == ({"own/train": 90, "own/train+more": 10}, 100)


def test_conditions_hold_for_both_splits_and_not_for_mixtures() -> None:
    data = mixed(Mixture(0.1, "more"), where={"topic": ["t0", "t1"]})
    assert sources(data) == {"own/train": 90, "own/train+more": 10}
    assert {*data.pool.column("meta.topic")} == {"t0", "t1"}
    assert {number % 4 for number in numbers(data.train_examples)["own/train+more"]} & {2, 3}
    validation = mixed(where={"validation": {"topic": "t2"}})
    assert (len(validation.train_examples), {*validation.pool.column("meta.topic")}) == (200, {"t2"})
    halves = mixed(where={"topic": ["t0", "t1"]}, hold_out=10)
    assert len(halves.train_examples) + len(halves.pool) == 100
