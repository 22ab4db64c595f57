"""NLI-XY from its files: the numbers of the real data, the splits, and what is said of what does not fit."""

from pathlib import Path

import pytest

from heedful.datamodules import load_natural_logic
from heedful.datamodules.base.inoculation import Inoculation
from heedful.records import DataError

from changed_examples import sharing
from own_data import configured, context_id, uids
from refusals import refused

BOY, RAP = "s\tboy\tchild\ts\tleq", "m\trap\tfood\tm\tnone"
LIKES = "He likes x.\tup\t\t\tx\t\t"


def write(folder: Path, contexts: list[str], pairs: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    header = "context\tmonotonicity\toperator\tsingular\tmass\tplural\t\n"
    (folder / "contexts.tsv").write_text(header + "".join(f"{row}\n" for row in contexts))
    header = "\tx_grammar\tx\ty\ty_grammar\tinsertion_rel\n"
    (folder / "insertions.tsv").write_text(header + "".join(f"{i}\t{row}\n" for i, row in enumerate(pairs)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a training split of four examples, and a dev split of two."""
    write(tmp_path / "train", ["A x ran.\tup\t\tx\t\t\t", 'No "x" ran.\tdown\tno\tx\t\t\t'], [BOY])
    write(tmp_path / "dev", [LIKES], [RAP])
    return tmp_path


def test_a_split_is_a_folder(folder: Path) -> None:
    data = configured("nlixy", folder)
    up, down = map(context_id, ("A x ran.", 'No "x" ran.'))
    assert [(e.uid, e.label) for e in data.trained] == [
        (f"nlixy/train/{down}/boy|leq|child", "neutral"),
        (f"nlixy/train/{down}/child|geq|boy", "entailment"),
        (f"nlixy/train/{up}/boy|leq|child", "entailment"),
        (f"nlixy/train/{up}/child|geq|boy", "neutral"),
    ]
    assert data.trained[1].parts["premise"] == 'No "child" ran.'
    likes = f"nlixy/validation/{context_id('He likes x.')}"
    assert uids(data.pool) == [f"{likes}/food|none|rap", f"{likes}/rap|none|food"]
    assert sharing(data.trained, 0).tolist() == [0, 1]  # a context is a group
    labels = {"entailment": ["entailment"], "non-entailment": ["non-entailment"]}
    two = configured("nlixy", folder, labels=labels, default_label="non-entailment")
    assert list(two.trained.column("label")) == ["non-entailment", *["entailment"] * 2, "non-entailment"]
    both = configured("nlixy", folder, "validate", splits={"validation": ["train", "dev"]}).pool
    assert all(e.uid.startswith(f"nlixy/{e.meta['split']}/") for e in both)


def test_one_split_is_for_evaluation_unless_some_is_held_out(folder: Path) -> None:
    assert len(configured("nlixy", folder / "train", "validate").pool) == 4
    with refused(DataError, "train", "hold_out N", "validate_on_train true"):
        configured("nlixy", folder / "train")
    data = configured("nlixy", folder / "train", hold_out=1)
    assert (len(data.trained), len(data.pool)) == (2, 2)  # one of two contexts
    inoculation = Inoculation(str(folder), 3)
    assert len(configured("nlixy", folder / "dev", augment="inoculation", inoculation=inoculation).trained) == 3


def test_what_is_wrong_with_a_folder_is_named(folder: Path) -> None:
    with refused(DataError, folder, "test", "contexts.tsv", "insertions.tsv", "dev/, train/"):
        load_natural_logic(folder, split="test")
    with refused(DataError, "nowhere", "contexts.tsv", "insertions.tsv"):
        load_natural_logic(folder / "nowhere", split="test")
    for contexts, facts in (
        ("He likes tax.\tup\t\t\tx\t\t", ["dev/contexts.tsv, row 1"]),
        (LIKES, ["1 word pairs", "1 contexts"]),
    ):
        write(folder / "dev", [contexts], [BOY])
        with refused(DataError, f"{folder}/dev", *facts):
            load_natural_logic(folder, split="dev")
    (folder / "dev" / "insertions.tsv").unlink()
    with refused(DataError, "dev/insertions.tsv"):
        load_natural_logic(folder, split="dev")


def test_what_does_not_fit_is_counted_and_said(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    contexts = ["A x ran.\tup\t\tx\t\t\t", "He likes x.\tup\t\t\t\tx\t"]
    write(folder / "dev", contexts, ["s\tdog\thound\ts\tleq", RAP, "s\thound\tdog\ts\tleq"])
    with caplog.at_level("INFO"):
        assert len(load_natural_logic(folder, split="dev")) == 4
    assert caplog.messages == [f"{folder}/dev: unused, since nothing fits: 1 word pairs, 1 contexts."]
