"""Where the data say that edited versions of examples are, and that no set of them is divided."""

from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.datamodules import PairedImages, PairedText
from heedful.datamodules.base.splits import fold_out, hold_out, limited, sample
from heedful.datamodules.loaders.counterparts import Counterpart
from heedful.interventions.counterparts import pairs_of
from heedful.records import DataError, SettingError
from heedful.records.partners import related

from infotabs_files import module, write_infotabs
from own_data import configured, converted, set_up
from refusals import refused

LABELS = {"a": ["A"], "b": ["B"]}
EDITED = {"parts": {"hypothesis": "new"}, "label": "new_label", "kind": "kind"}


def load(rows, counterpart, **settings):
    parts = {"premise": "premise", "hypothesis": "hypothesis"}
    return set_up(PairedText("d", parts, LABELS, path=rows, counterpart=counterpart, **settings), "validate").pool


def row(i, **more):
    return {
        "id": i,
        "premise": f"p{i}",
        "hypothesis": f"h{i}",
        "label": "ab"[i % 2 if isinstance(i, int) else 0],
        **more,
    }


def test_edits_in_the_same_row_are_columns_of_the_example():
    rows = [row(i, new=("" if i == 2 else f"e{i}"), new_label="BA"[i % 2], kind=["x", None][i % 2]) for i in range(4)]
    rows[3]["new_label"] = "-"
    pool = load(rows, EDITED, uid="id")
    held = {name: list(pool.column(f"edited.{name}")) for name in pool.edited}
    assert held == {
        "hypothesis": ["e0", "e1", None, "e3"],
        "label": ["b", "a", None, None],  # without content or gold label, there is no counterpart
        "kind": ["x", None, "x", None],
    }
    assert list(load(rows, EDITED | {"label": "stays"}, uid="id").column("edited.label")) == ["a", "b", None, "b"]
    renamed = pool.rename_parts(["a", "b"])
    assert renamed.edited == ("b", "label", "kind")
    assert pool.keep_parts(["premise"]).edited == pool.edited
    changed = load([each | {"new": f"{each['new']}!"} for each in rows], EDITED, uid="id")
    assert changed.fingerprint != pool.fingerprint


@given(st.lists(st.integers(0, 3), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_edits_that_name_their_original_are_its_counterparts(edits, random):
    rows = [row(f"a/{i}{k}", original=[None, f"a/{i}0"][k > 0]) for i, n in enumerate(edits) for k in range(n + 1)]
    expected = {(f"{i}0", f"{i}{k}") for i, n in enumerate(edits) for k in range(1, n + 1)}
    random.shuffle(rows)
    for pattern in ("original", "{original?}"):
        pool = load(rows, {"original": pattern}, uid="id")
        found = {tuple(pool.uid(i).rpartition("/")[2] for i in pair) for pair in pairs_of(pool)}
        assert found == expected


@pytest.mark.parametrize("any_order", [True, False])
def test_each_two_members_of_a_group_are_counterparts(any_order):
    keys = ["ab", "ba", "ab", "cd", "ab"]
    rows = [row(i, first=key[0], second=key[1]) for i, key in enumerate(keys)]
    rows[4] |= {"premise": "p0", "hypothesis": "h0"}  # the parts of row 0
    pool = load(rows, {"group": ["first", "second"], "any_order": any_order}, uid="id")
    alike = lambda i, j: sorted(keys[i]) == sorted(keys[j]) if any_order else keys[i] == keys[j]  # noqa: E731
    expected = {pair for pair in permutations(range(5), 2) if alike(*pair) and {*pair} != {0, 4}}
    assert set(pairs_of(pool)) == expected


@pytest.mark.parametrize("form", [{"original": "original"}, {"group": "set"}])
@pytest.mark.parametrize("divide", ["hold_out", "folds", "sample", "limited"])
def test_no_set_is_divided(form, divide):
    rows = [row(i, original=i - i % 3, set=f"s{i // 3}") for i in range(60)]
    pool = load(rows, form, uid="id")
    if divide == "limited":
        chosen, rest = limited(pool, 0.5, 4, 7)[0], None
        some = pool.take(chosen)
    else:
        division = {"hold_out": lambda: hold_out(pool, 10, 0), "folds": lambda: fold_out(pool, 4, 1)}
        rest, some = division[divide]() if divide in division else (None, sample(pool, 31, 7, "max_validation"))
    sizes = np.unique([int(uid.rpartition("/")[2]) // 3 for uid in some.column("uid")], return_counts=True)[1]
    assert set(sizes.tolist()) == {3}
    assert len(some) == {"hold_out": 12, "folds": 15, "sample": 30, "limited": 30}[divide]
    assert rest is None or len(rest) + len(some) == 60


def test_members_of_a_set_are_never_partners():
    pool = load([row(i, set=f"s{i // 3}") for i in range(9)], {"group": "set"}, uid="id")
    for i, j in combinations(range(9), 2):
        assert bool(related(pool.table).share(i, j)) == (i // 3 == j // 3)


def test_edited_pictures_are_read(tmp_path, write_squares):
    folder = write_squares(tmp_path / "squares", 0, 4)
    files = sorted(path.name for path in (folder / "pictures").iterdir())
    rows = [{"id": i, "file": name, "text": "?", "answer": "no", "new": f"pictures/{files[i - 1]}"}
            for i, name in enumerate(files)]  # fmt: skip
    parts = {"image": "pictures/{file}", "question": "text"}
    counterpart = Counterpart({"image": "new"}, "stays")
    data = PairedImages("d", parts, labels={"no": [], "yes": []}, label="answer", path=rows, uid="id",
                        image_folder=str(folder), counterpart=counterpart)  # fmt: skip
    pool = set_up(data, "validate").pool
    keys = [picture.key for picture in pool.column("parts.image")]
    assert [picture.key for picture in pool.column("edited.image")] == [keys[-1], *keys[:-1]]


def test_edited_tables_are_named_by_their_ids(tmp_path):
    folder = module(write_infotabs(tmp_path / "tables")).path
    file = next(path for path in (Path(folder) / "maindata").iterdir() if "dev" in path.name)
    header, *lines = file.read_text().splitlines()
    file.write_text("\n".join([f"{header}\tnew", *(f"{line}\t{'T1' if i else ''}" for i, line in enumerate(lines))]))
    data = module(tmp_path / "tables", counterpart={"parts": {"premise": "new"}, "label": "stays"})
    pool = set_up(data, "validate").pool
    tables = list(pool.column("edited.premise"))
    assert tables.count(None) == 1
    assert {table.title for table in filter(None, tables)} == {"Alpha"}


@pytest.mark.parametrize(
    ("counterpart", "facts"),
    [
        ({}, ["parts", "original", "group"]),
        ({"original": "o", "group": "g"}, ["original", "group"]),
        ({"parts": {"hypothesis": "new"}}, ["label", "stays"]),
        ({"parts": {"text": "new"}, "label": "stays"}, ["text", "hypothesis"]),
        ({"original": "o"}, ["data.uid"]),
    ],
)
def test_settings_that_fit_no_form_are_refused(counterpart, facts):
    with refused(SettingError, "data.counterpart", *facts):
        load([row(0)], counterpart)


def test_mistakes_in_the_data_are_refused():
    with refused(DataError, "row 1", "'new'"):
        load([row(0)], {"parts": {"hypothesis": "new"}, "label": "stays"})
    with refused(DataError, "row 1", "data.counterpart.label", "'C'"):
        load([row(0, new="x", new_label="C", kind="")], EDITED)
    rows = [row(i, set="s", cluster=f"c{i}") for i in range(2)]
    with refused(DataError, "d/validation/0", "d/validation/1", "data.cluster"):
        load(rows, {"group": "set"}, uid="id", groups=["cluster"])
    with refused(DataError, "max_validation 1", "3 examples"):
        load([row(i, set=i // 3) for i in range(9)], {"group": "set"}, uid="id", max_validation=1)


REAL = {  # path in shared data, numbers of examples, of pairs, and of rows without a gold label
    "monli": ("monli", 200, 200, 0),
    "condaqa": ("condaqa/condaqa_dev.json", 1110, 2 * 1449, 0),
    "perspectrum": ("contrast_sets/perspectrum/perspectrum_contrast_sets.csv", 494, 494, 0),
    "boolq": ("contrast_sets/boolq/boolq_perturbed.json", 404, 335, 5),
    "matres": ("contrast_sets/matres", 640, 401, 0),
    "conflictqa": ("conflictqa/conflictQA-strategyQA-chatgpt.json", 1244, 1244, 0),
    "rgb": ("rgb/en_fact.json", 100, 100, 0),
}


@pytest.mark.parametrize("name", REAL)
def test_real_data_have_as_many_counterparts_as_published(name, shared_data, tmp_path):
    path, examples, pairs, no_gold = REAL[name]
    if not (shared_data / path).exists():
        pytest.skip(f"no {path} in {shared_data}")
    data = configured(name, converted(name, shared_data / path, tmp_path), "validate")
    pool = data.pool
    held = len(pool) - pool.table["edited.label"].null_count if "label" in pool.edited else len([*pairs_of(pool)])
    assert (len(pool), held, data.counts.no_gold) == (examples, pairs, no_gold)
