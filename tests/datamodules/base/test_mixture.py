"""Training sets with a condition on rows, and mixtures of two: which examples are there, and where they come from."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.datamodules import PairedText, Reading
from heedful.datamodules.base.mixture import Mixture
from heedful.records import DataError, Example, Examples, HeedfulError, SettingError

from refusals import refused

ROOT = Path(__file__).parents[3]
PAIRS = {
    "name": "own",
    "parts": {"first": "first", "second": "second"},
    "labels": {"same": [1], "other": [0]},
    "label": "gold",
    "groups": ["topic"],
    "meta": ["topic"],
}
OTHER_COLUMNS = {"parts": {"first": "left", "second": "right"}, "label": "mark"}


def write(path: Path, n: int, **names: str) -> None:
    """Rows with the columns first, second, gold and topic, or with other names for them."""
    rows = [
        {"first": f"{path.stem} {i}", "second": f"s {i}", "gold": i % 2, "turned": 1 - i % 2, "topic": f"t{i % 4}"}
        for i in range(n)
    ]
    rows = [{names.get(column, column): value for column, value in row.items()} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Training and validation files, more rows of the same kind, and a folder with a file whose columns differ."""
    path = tmp_path_factory.mktemp("own")
    for name, n in (("train", 200), ("validation", 30), ("more", 100)):
        write(path / f"{name}.jsonl", n)
    (path / "elsewhere").mkdir()
    write(path / "elsewhere" / "more.jsonl", 50, first="left", second="right", gold="mark")
    return path


def own(folder: Path, *mixture: Mixture, **settings: Any) -> PairedText:
    """A data module, set up."""
    data = PairedText(**PAIRS | settings, path=str(folder), mixture=mixture)
    data.setup("fit")
    return data


def uids(examples: Examples) -> set[str]:
    return set(examples.column("uid"))


def row_of(example: Example) -> int:
    """The row that an example is from, counted from 0, which its second part names."""
    return int(example.parts["second"].split()[1])


def sources(data: PairedText) -> dict[str, int]:
    """The part of the uids before the row, with how many training examples have it."""
    prefixes = [uid.rpartition("/")[0] for uid in data.train_examples.column("uid")]
    return {prefix: prefixes.count(prefix) for prefix in sorted(set(prefixes))}


def test_a_share_of_the_examples_gives_way(folder: Path) -> None:
    data = own(folder, Mixture(0.1, "more"))
    assert sources(data) == {"own/train": 180, "own/train+more": 20}
    assert len(uids(data.train_examples)) == len(data.train_examples) == 200
    for example in data.train_examples:
        row = row_of(example)
        stem = "more" if "+more" in example.uid else "train"
        assert dict(example.parts) == {"first": f"{stem} {row}", "second": f"s {row}"}
        assert example.label == ("same" if row % 2 else "other")
    assert {row_of(example) for example in data.pool} == set(range(30))


def test_another_label_and_other_columns(folder: Path) -> None:
    turned = own(folder, Mixture(0.2, "more", label="turned"))
    for example in turned.train_examples:
        row = row_of(example)
        assert (example.label == "same") == (row % 2 == (0 if "+more" in example.uid else 1))
    elsewhere = Mixture(0.05, "more", path=str(folder / "elsewhere"), name="far", **OTHER_COLUMNS)
    both = own(folder, elsewhere, Mixture(0.1, "more"))
    assert sources(both) == {"own/train": 170, "own/train+far": 10, "own/train+more": 20}


def test_two_mixtures_of_one_file_share_no_row(folder: Path) -> None:
    data = own(folder, Mixture(0.25, "more"), Mixture(0.25, "more", label="turned"))
    assert sources(data) == {"own/train": 100, "own/train+more": 100}
    assert len(uids(data.train_examples)) == 200
    with refused(DataError, "share 0.25 of 200", "50 of more", 40):
        own(folder, Mixture(0.3, "more"), Mixture(0.25, "more"))


def test_two_names_of_one_file_share_no_row_either(folder: Path) -> None:
    turned = Mixture(0.25, "more", label="turned", name="turned", path=str(folder / "elsewhere" / ".."))
    data = own(folder, Mixture(0.25, "more"), turned)
    assert sources(data) == {"own/train": 100, "own/train+more": 50, "own/train+turned": 50}
    rows = [row_of(example) for example in data.train_examples if "+" in example.uid]
    assert len(set(rows)) == len(rows) == 100


@pytest.mark.slow
@settings(max_examples=20)
@given(st.integers(1, 100), st.integers(1, 100), st.integers(0, 5))
def test_a_smaller_share_is_among_a_larger_one(folder: Path, small: int, large: int, seed: int) -> None:
    small, large = sorted((small, large))
    few, many = (uids(own(folder, Mixture(n / 200, "more"), seed=seed).train_examples) for n in (small, large))
    come = [{uid for uid in of if "+more" in uid} for of in (few, many)]
    assert [len(of) for of in come] == [small, large]
    assert come[0] <= come[1]
    assert few - come[0] >= many - come[1]


def test_the_choice_depends_on_the_seed_alone(folder: Path) -> None:
    of_seeds = [uids(own(folder, Mixture(0.1, "more"), seed=seed).train_examples) for seed in (0, 0, 1)]
    assert of_seeds[0] == of_seeds[1] != of_seeds[2]


def test_shares_are_of_what_is_trained_on(folder: Path) -> None:
    assert sources(own(folder, Mixture(0.1, "more"), max_train=50)) == {"own/train": 45, "own/train+more": 5}
    held_out = own(folder, Mixture(0.1, "more"), hold_out=100, groups=[])
    assert sources(held_out) == {"own/train": 90, "own/train+more": 10}
    assert len(held_out.pool) == 100


def test_conditions_hold_for_both_splits_and_for_mixtures(folder: Path) -> None:
    data = own(folder, Mixture(0.1, "more", where={"topic": "t3"}), where={"topic": ["t0", "t1"]})
    assert sources(data) == {"own/train": 90, "own/train+more": 10}
    assert set(data.pool.column("meta.topic")) == {"t0", "t1"}
    assert {row_of(example) % 4 for example in data.train_examples if "+more" in example.uid} == {3}  # of t3
    of_one = own(folder, where={"validation": {"topic": "t2"}})
    assert (len(of_one.train_examples), set(of_one.pool.column("meta.topic"))) == (200, {"t2"})
    halves = own(folder, where={"topic": ["t0", "t1"]}, hold_out=10)
    assert len(halves.train_examples) + len(halves.pool) == 100


@pytest.mark.parametrize(
    ("mixture", "settings", "error", "facts"),
    [
        ({"share": 0.0}, {}, SettingError, ["share 0.0 of train"]),
        ({"share": 0.001, "split": "more"}, {}, DataError, ["share 0.001 of 200", "0 of more"]),
        ({"share": 0.9, "split": "more"}, {}, DataError, ["share 0.9 of 200", "180 of more", 100]),
        ({"share": 0.1, "split": "nothing"}, {}, DataError, ["'nothing'"]),
        ({"share": 0.1, "name": "a/b"}, {}, SettingError, ["'a/b'"]),
        (
            {"share": 0.1, "parts": {"first": "first"}},
            {},
            DataError,
            ["train has the parts [first]", "first, second"],
        ),
        ({"share": 0.1, "labels": {"equal": [1]}}, {}, DataError, ["train has the label 'equal'", "same, other"]),
        ({"share": 0.1, "split": "more", "label": "gilt"}, {}, DataError, ["'gilt'"]),
        ({"share": 0.1, "split": "more", "where": {"topic": "t9"}}, {}, SettingError, ["topic", "'t9'"]),
        (
            {"share": 0.1},
            {"augment": "counterfactual", "default_label": "other"},
            SettingError,
            ["mixture and augment counterfactual"],
        ),
    ],
)
def test_what_cannot_be_mixed_is_refused(
    folder: Path, mixture: dict, settings: dict, error: type[HeedfulError], facts: list
) -> None:
    with refused(error, *facts):
        own(folder, Mixture(**mixture), **settings)


def test_shares_leave_something_and_names_are_told_apart(folder: Path) -> None:
    with refused(SettingError, "add up to 1.1"):
        own(folder, Mixture(0.5, "more"), Mixture(0.6, "more"))
    with refused(DataError, "mixture", "own"):
        Reading("own", {"text": "a", "question": "b"}, path=str(folder), mixture=[Mixture(0.1)])


@pytest.mark.slow
def test_paws_among_qqp(shared_data: Path) -> None:
    settings = yaml.safe_load((ROOT / "configs" / "data" / "qqp.yaml").read_text())["init_args"] | {"hub": None}
    columns = {"question1": "sentence1", "question2": "sentence2"}
    paws = Mixture(0.02, "validation", path=str(shared_data / "paws"), name="paws", parts=columns)
    data = PairedText(**settings, path=str(shared_data / "qqp"), mixture=[paws], max_validation=10)
    data.setup("fit")
    assert sources(data) == {"qqp/train": 9_800, "qqp/train+paws": 200}


@pytest.mark.slow
def test_hans_by_heuristic(shared_data: Path) -> None:
    settings = yaml.safe_load((ROOT / "configs" / "data" / "hans.yaml").read_text())["init_args"]
    data = PairedText(**settings, path=str(shared_data / "hans"), where={"heuristic": "constituent"})
    data.setup("validate")
    assert len(data.pool) == 10_000
    assert set(data.pool.column("meta.heuristic")) == {"constituent"}
