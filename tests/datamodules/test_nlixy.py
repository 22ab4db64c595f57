"""NLI-XY from its files: the numbers of the real data, the splits, and what is said of what does not fit."""

import logging
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from heedful.datamodules import NaturalLogic, load_natural_logic
from heedful.interventions import Design, Swap, counterparts
from heedful.records import DataError, Examples, SettingError

from changed_examples import sharing
from content_uids import context_id
from refusals import refused
from tiers import first_tier

ROOT = Path(__file__).parents[2]
SETTINGS = yaml.safe_load((ROOT / "configs" / "data" / "nlixy.yaml").read_text())["init_args"]
CONTEXTS = "context\tmonotonicity\toperator\tsingular\tmass\tplural\t\n"
PAIRS = "\tx_grammar\tx\ty\ty_grammar\tinsertion_rel\n"


def write(folder: Path, contexts: list[str], pairs: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "contexts.tsv").write_text(CONTEXTS + "".join(f"{row}\n" for row in contexts))
    (folder / "insertions.tsv").write_text(PAIRS + "".join(f"{i}\t{row}\n" for i, row in enumerate(pairs)))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a training split of four examples, and a dev split of two."""
    pairs = ["s\tboy\tchild\ts\tleq", "m\trap\tfood\tm\tnone"]
    write(tmp_path / "train", ["A x ran.\tup\t\tx\t\t\t", 'No "x" ran.\tdown\tno\tx\t\t\t'], pairs[:1])
    write(tmp_path / "dev", ["He likes x.\tup\t\t\tx\t\t"], pairs[1:])
    return tmp_path


def module(path: Path | None, **others: Any) -> NaturalLogic:
    return NaturalLogic(**SETTINGS | {"path": None if path is None else str(path)} | others)


def count(examples: Examples) -> tuple[int, ...]:
    """Examples in up and down contexts, those entailed, their distinct texts, those entailed, and all others."""
    names = ("meta.monotonicity", "label", "parts.premise", "parts.hypothesis")
    rows = list(zip(*(examples.column(name) for name in names), strict=True))
    clear = [row for row in rows if row[0] != "neither"]
    entailed = [row for row in clear if row[1] == "entailment"]
    texts = [len({row[2:] for row in found}) for found in (clear, entailed)]
    return len(clear), len(entailed), *texts, len(rows) - len(clear)


# the real data


@pytest.mark.slow
@pytest.mark.parametrize(
    ("split", "expected"),
    first_tier(
        1,
        [
            ("all", (29_298, 11_981, 29_164, 11_920, 138)),
            ("train", (2_894, 1_214, 2_812, 1_214, 0)),  # 82 of the texts stand there with either label
            ("dev", (2_436, 987, 2_436, 987, 0)),
            ("test", (5_226, 2_110, 5_226, 2_110, 0)),
        ],
    ),
)
def test_the_real_files_make_so_many_examples(shared_data: Path, split: str, expected: tuple[int, ...]) -> None:
    examples = load_natural_logic(shared_data / "nlixy", split=split)
    assert count(examples) == expected
    assert examples.parts == ("premise", "hypothesis")
    assert examples.meta == ("context", "insertion", "pair", "monotonicity", "relation", "operator")
    assert all(uid.startswith(f"nlixy/{split}/") for uid in examples.column("uid"))
    assert len(set(examples.column("uid"))) == len(examples)
    assert {label for m, label in zip(*map(examples.column, ("meta.monotonicity", "label")), strict=True)} == {
        "entailment",
        "non-entailment",
    }


@pytest.mark.slow
def test_the_real_contexts_that_are_repeated_are_one(shared_data: Path) -> None:
    examples = load_natural_logic(shared_data / "nlixy" / "all", split="all")  # the folder of one split will do
    context = context_id("I bought a x.")
    uids = [uid for uid in examples.column("uid") if uid.startswith(f"nlixy/all/{context}/girl|leq|person")]
    assert uids == [f"nlixy/all/{context}/girl|leq|person{again}" for again in ("", "#2")]
    for uid in uids:
        assert list(examples[uid].meta.values()) == [context, "girl|person", "girl/person", "up", "leq", ""]
        assert examples[uid].parts == {"premise": "I bought a girl.", "hypothesis": "I bought a person."}


def shuffled(folder: Path, of: Path) -> Path:
    """A copy of a folder whose files have their rows in another order."""
    folder.mkdir()
    for name in ("contexts.tsv", "insertions.tsv"):
        header, *rows = (of / name).read_text().splitlines()
        random.Random(name).shuffle(rows)
        (folder / name).write_text("\n".join([header, *rows]))
    return folder


@pytest.mark.slow
def test_files_whose_rows_are_shuffled_and_a_folder_of_another_name_change_nothing(
    shared_data: Path, tmp_path: Path
) -> None:
    whole = load_natural_logic(shared_data / "nlixy", split="train")  # with pairs that stand both ways
    again = load_natural_logic(shuffled(tmp_path / "other", shared_data / "nlixy" / "train"), split="train")
    assert again.table.equals(whole.table)
    seeds = [[(s.name, s.seeds) for s in counterparts(Design(pool), 50, seed=0)] for pool in (whole, again)]
    assert seeds[0] == seeds[1]


@pytest.mark.slow
def test_what_is_held_out_and_drawn_does_not_depend_on_the_order_of_rows(shared_data: Path, tmp_path: Path) -> None:
    folders = [shared_data / "nlixy" / "dev", shuffled(tmp_path / "dev", shared_data / "nlixy" / "dev")]
    one, other = (module(folder, hold_out=500, max_train=300) for folder in folders)
    for data in (one, other):
        data.setup("fit")
    assert one.train_examples.table.equals(other.train_examples.table)
    assert one.pool.table.equals(other.pool.table)
    of = np.arange(len(one.pool))
    partners = [Swap("premise", None).partners(data.pool, of, 0, seed=0).tolist() for data in (one, other)]
    assert partners[0] == partners[1]


@pytest.mark.slow
def test_the_data_module_reads_the_same_examples(shared_data: Path) -> None:
    data = module(shared_data / "nlixy")
    data.setup("fit")
    assert (len(data.train_examples), len(data.pool)) == (2_894, 2_436)
    loaded = load_natural_logic(shared_data / "nlixy", split="train")
    assert [dict(e.parts) for e in data.train_examples] == [dict(e.parts) for e in loaded]
    assert [dict(e.meta) for e in data.train_examples] == [dict(e.meta) for e in loaded]
    assert [e.replace("non-entailment", "neutral") for e in loaded.column("label")] == list(
        data.train_examples.column("label")
    )


# splits


def test_a_split_is_a_folder(folder: Path) -> None:
    data = module(folder)
    data.setup("fit")
    up, down = map(context_id, ("A x ran.", 'No "x" ran.'))
    assert [(e.uid, e.label) for e in data.train_examples] == [
        (f"nlixy/train/{down}/boy|leq|child", "neutral"),
        (f"nlixy/train/{down}/child|geq|boy", "entailment"),
        (f"nlixy/train/{up}/boy|leq|child", "entailment"),
        (f"nlixy/train/{up}/child|geq|boy", "neutral"),
    ]
    assert data.train_examples[1].parts["premise"] == 'No "child" ran.'
    likes = f"nlixy/validation/{context_id('He likes x.')}"
    assert [e.uid for e in data.pool] == [f"{likes}/food|none|rap", f"{likes}/rap|none|food"]
    assert data.task.labels == ("entailment", "neutral", "contradiction")
    assert sharing(data.train_examples, 0).tolist() == [0, 1]  # a context is a group
    assert "head of three classes" in data.note


def test_two_classes(folder: Path) -> None:
    labels = {"entailment": ["entailment"], "non-entailment": ["non-entailment"]}
    data = module(folder, labels=labels, default_label="non-entailment")
    data.setup("fit")
    assert data.task.labels == ("entailment", "non-entailment")
    assert list(data.train_examples.column("label")) == ["non-entailment", *["entailment"] * 2, "non-entailment"]


def test_one_split_is_for_evaluation_unless_some_is_held_out(folder: Path) -> None:
    data = module(folder / "train")
    data.setup("validate")
    assert len(data.pool) == 4
    with refused(DataError, "train", "hold_out N", "validate_on_train true"):
        module(folder / "train").setup("fit")
    data = module(folder / "train", hold_out=1)
    data.setup("fit")
    assert (len(data.train_examples), len(data.pool)) == (2, 2)  # one of two contexts


def test_inoculation_reads_a_folder_of_this_kind(folder: Path) -> None:
    from heedful.datamodules.base.inoculation import Inoculation

    data = module(folder / "dev", augment="inoculation", inoculation=Inoculation(str(folder), 3))
    data.setup("fit")
    assert (len(data.train_examples), len(data.pool)) == (3, 2)


# mistakes


def test_without_a_path_the_source_is_named() -> None:
    with refused(SettingError, "path"):
        module(None).setup("fit")


def test_a_folder_without_the_split_says_what_it_holds(folder: Path) -> None:
    with refused(DataError, folder, "test", "contexts.tsv", "insertions.tsv", "dev/, train/", "splits"):
        load_natural_logic(folder, split="test")
    with refused(DataError, "nowhere", "contexts.tsv", "insertions.tsv"):
        load_natural_logic(folder / "nowhere", split="test")
    (folder / "dev" / "insertions.tsv").unlink()
    with refused(DataError, "dev/insertions.tsv"):
        load_natural_logic(folder, split="dev")


def test_a_mistake_in_a_file_is_named_with_its_row(folder: Path) -> None:
    write(folder / "dev", ["He likes tax.\tup\t\t\tx\t\t"], ["s\tboy\tchild\ts\tleq"])
    with refused(DataError, "dev/contexts.tsv, row 1"):
        load_natural_logic(folder, split="dev")
    write(folder / "dev", ["He likes x.\tup\t\t\tx\t\t"], ["s\tboy\tchild\ts\tleq"])
    with refused(DataError, f"{folder}/dev", "1 pairs", "1 contexts"):
        load_natural_logic(folder, split="dev")


def test_a_label_that_the_task_has_no_name_for_is_refused(folder: Path) -> None:
    with refused(DataError, "'non-entailment'"):
        module(folder, labels={"entailment": [], "neutral": []}).setup("fit")


def test_what_does_not_fit_is_counted_and_said(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    contexts = ["A x ran.\tup\t\tx\t\t\t", "He likes x.\tup\t\t\t\tx\t"]
    write(folder / "dev", contexts, ["s\tdog\thound\ts\tleq", "m\trap\tfood\tm\tnone", "s\thound\tdog\ts\tleq"])
    with caplog.at_level(logging.INFO):
        examples = load_natural_logic(folder, split="dev")
    assert len(examples) == 4
    said = [record.getMessage().removeprefix(f"{folder}/dev: ") for record in caplog.records]
    assert said == [
        "word pairs that fit no context: 1 (food/rap).",
        "contexts that take none of the word pairs: 1.",
        "4 examples have texts with both labels (from dog/hound).",
    ]
