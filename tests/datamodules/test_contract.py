"""What holds for each data set of configs/data, tried on its tiny twin; a YAML without a twin fails."""

import json
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from heedful.datamodules import Planted
from heedful.datamodules.sources.readers import read
from heedful.datamodules.sources.source import stem
from heedful.interventions import Swap
from heedful.records import Example, SettingError

from changed_examples import made
from own_data import CONFIGS, GENERATED, LABELS, OF_TWIN, configured, everything, twin_path, uids
from refusals import refused

OF_ROWS = [  # data whose rows may be held in memory
    name
    for name, config in CONFIGS.items()
    if config["class_path"] not in ("PairedTables", "NaturalLogic") and name not in ("easy_vqa", "nlvr", *GENERATED)
]
SWAPPED = [name for name in CONFIGS if name != "msgs"]  # of two parts or more
FOR_EVALUATION = ("PairedText", "PairedImages", "PairedTables")  # these may lack gold labels


def twin(name: str, stage: str = "fit", path: Any = None, **settings: Any) -> Any:
    return configured(name, twin_path(name) if path is None else path, stage, **OF_TWIN.get(name, {}) | settings)


def unrelated(one: Example, other: Example) -> bool:
    return all(one.groups[group] != other.groups[group] for group in one.groups)


@pytest.mark.parametrize("name", CONFIGS)
def test_examples_are_named_labelled_and_read_once(name: str) -> None:
    config, data = CONFIGS[name]["init_args"], twin(name)
    found = everything(data)
    data.setup("validate")
    data.setup("fit")
    assert everything(data) == found == everything(twin(name))
    named = [*uids(data.trained), *uids(data.pool)]
    assert len(set(named)) == len(named)
    assert all(uid.startswith(f"{data.name}/") for uid in named)
    assert data.task.parts == tuple(data.columns.parts)
    for examples in (data.trained, data.pool):
        assert examples.parts == data.task.parts
        assert all(all(example.parts.values()) for example in examples)
        golds = list(examples.column("label"))
        assert {*golds} <= {*data.task.labels} or not data.task.kind.exclusive
        assert name != "vqa2" or all(map(json.loads, golds))
        assert {*config.get("meta", ()), *config.get("slices", ())} <= {*examples.meta, "split"}
        assert examples.has_clusters == (data.columns.clustered_by is not None or data.task.kind.has_spans)
    assert data.regime == "plain"
    assert data.task.default_label in (None, *data.task.labels, data.default_label)


@pytest.mark.parametrize("name", SWAPPED)
def test_swaps_take_a_part_of_an_unrelated_example_and_make_no_real_pair(name: str) -> None:
    data = twin(name, "validate")
    pool = data.pool
    contents = {tuple(example.groups[part] for part in pool.parts) for example in pool}
    for part in data.swap:
        swapped = part.split("+")
        for change in made(Swap(part, data.task.default_gold), pool):
            base, partner = pool[change.position], pool[change.partner]
            assert unrelated(base, partner)
            lender = {name: partner if name in swapped else base for name in pool.parts}
            assert change.example.parts == {name: lender[name].parts[name] for name in pool.parts}
            assert tuple(lender[name].groups[name] for name in pool.parts) not in contents


NO_DEFAULT = "easy_vqa", "vqa2", "planted-options", "boolq", "conflictqa", "matres"  # no default label


@pytest.mark.parametrize("name", [name for name in SWAPPED if name not in NO_DEFAULT])
def test_counterfactuals_follow_the_training_examples(name: str) -> None:
    """One with the default label for each example of another, if some unrelated example can lend its part."""
    data = twin(name, augment="counterfactual")
    both, n = data.training_set(), len(data.trained)
    assert data.regime == "counterfactual"
    assert [both[i] for i in range(n)] == list(data.train_examples)
    swapped = data.swap[0].split("+")
    for i in range(n, len(both)):
        base, lender = (data.trained[int(positions[i])] for positions in (both.positions, both.lenders[swapped[0]]))
        assert unrelated(base, lender)
        assert base.label != both[i].label == data.task.default_gold
        assert both[i].groups == {group: (lender if group in swapped else base).groups[group] for group in base.groups}
        assert both[i].parts == {part: (lender if part in swapped else base).parts[part] for part in base.parts}
    assert len({both[i].uid for i in range(n, len(both))}) == len(both) - n
    for part in data.trained.parts:  # without making an example
        assert list(both.column(f"parts.{part}")) == [example.parts[part] for example in both]
    assert list(both.column("label")) == [example.label for example in both]
    assert data.resample_counterfactuals or list(both) == list(data.training_set())


@pytest.mark.parametrize("name", [name for name in SWAPPED if name != "rag"])
def test_one_side_alone_is_read(name: str) -> None:
    others = {"splits": {"validation": "train"}, "validate_on_train": True} if name == "squad2" else {}  # two articles
    whole = twin(name, "validate", **others)
    for side in whole.sides:
        data = twin(name, partial=side, **others)
        assert data.regime == f"partial-{side}"
        assert data.swap == []
        assert data.whole.fingerprint == whole.whole.fingerprint
        if data.task.kind.has_spans:  # the other part is another example's
            assert data.task.parts == whole.task.parts
            assert list(data.pool.column(f"parts.{side}")) == list(whole.pool.column(f"parts.{side}"))
            assert data.pool.fingerprint != whole.pool.fingerprint
        else:
            assert data.task.parts == data.pool.parts == data.train_examples.parts == tuple(side.split("+"))
            assert data.task.pictures == tuple(part for part in data.task.parts if part in whole.task.pictures)
        assert data.pool.groups == whole.pool.groups


@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "msgs"])
@pytest.mark.parametrize("held_out", [{"hold_out": 3}, {"folds": 2, "fold": 1, "hold_out": None}])
def test_what_is_held_out_shares_no_cluster_and_no_content(name: str, held_out: dict[str, Any]) -> None:
    whole = twin(name)
    splits = {"splits": whole.splits | ({} if name == "med" else {"validation": "validation"})}
    data, again = (twin(name, seed=seed, **held_out, **splits) for seed in (0, 1))
    assert uids(again.pool) == uids(data.pool)
    assert data.regime == ("plain-fold-1" if "fold" in held_out else "plain")
    assert data.evaluated == ("fold-1" if "fold" in held_out else "validation")
    assert len(data.pool) >= 3
    trained, pool = data.trained, data.whole
    assert {*uids(trained), *uids(pool)} >= {*uids(whole.trained)}
    assert not {*trained.content_keys(trained.parts)} & {*pool.content_keys(pool.parts)}
    if pool.has_clusters:
        assert not {*trained.column("cluster")} & {*pool.column("cluster")}


def shuffled(rows: list[Any]) -> list[Any]:
    return random.Random(0).sample(rows, len(rows))


def shuffled_folder(folder: Path, path: Path) -> Path:
    """A copy of files whose rows stand in another order."""
    shutil.copytree(folder, path)
    for within in [path, *(child for child in path.iterdir() if child.is_dir())]:
        (within / "README.md").write_text("about")
    for file in [file for file in path.rglob("*") if file.is_file()]:
        if file.suffix in (".jsonl", ".tsv"):
            header, *lines = [*([] if file.suffix == ".tsv" else [""]), *file.read_text().splitlines(keepends=True)]
            file.write_text("".join([header, *shuffled(lines)]))
        elif file.name == "questions.json":
            file.write_text(json.dumps(shuffled(json.loads(file.read_text()))))
    return path


@pytest.mark.parametrize("name", [name for name in CONFIGS if name not in (*OF_ROWS, *GENERATED)])
def test_the_order_of_rows_and_the_name_of_the_folder_decide_nothing(name: str, tmp_path: Path) -> None:
    again = twin(name, path=shuffled_folder(twin_path(name), tmp_path / "elsewhere"))
    assert everything(again) == everything(twin(name))


@pytest.mark.parametrize("name", OF_ROWS)
def test_rows_in_memory_in_any_order_are_the_examples_of_files(name: str) -> None:
    """Rows by split; those of a single file alone."""
    folder, data = twin_path(name) / (CONFIGS[name]["init_args"].get("task") or ""), twin(name)
    files = {stem(file.name): file for file in folder.iterdir()}
    held = {split: read(file, quoting=name not in ("help", "med")) for split, file in files.items()}
    rows = {split: shuffled([row for _, row in some]) for split, some in held.items()}
    assert everything(twin(name, path=rows if len(rows) > 1 else rows.popitem()[1])) == everything(data)
    assert data.fingerprints().keys() == {"validation", "train"}


@pytest.mark.parametrize("name", [name for name in CONFIGS if name not in GENERATED])
def test_gold_labels_may_be_missing_where_an_accuracy_is_not_all_there_is(name: str) -> None:
    if CONFIGS[name]["class_path"] not in FOR_EVALUATION:
        assert twin(name, "validate").loader.needs_gold
        if CONFIGS[name]["class_path"] in ("NaturalLogic", "Msgs"):
            with refused(SettingError, "data.label", name):
                twin(name, "validate", label=None)
        return
    labelled, data = twin(name, "validate"), twin(name, "validate", label=None)
    assert data.pool.is_unlabelled
    assert not labelled.pool.is_unlabelled
    of_labelled, found = (Counter(pool.content_keys(pool.parts).tolist()) for pool in (labelled.pool, data.pool))
    assert of_labelled <= found
    if name != "boolq":  # 6 examples are held out, with and without labels
        assert found.total() == of_labelled.total() + labelled.counts.no_gold


@pytest.mark.parametrize(
    ("name", "wording", "targets"),
    [
        *(
            (name, "mnli hypothesis: {hypothesis} premise: {premise}", LABELS)
            for name in ("mnli", "infotabs", "snli", "wanli", "help", "med")
        ),
        ("rte", "rte sentence1: {sentence1} sentence2: {sentence2}", ("entailment", "not_entailment")),
        ("qqp", "qqp question1: {question1} question2: {question2}", ("not_duplicate", "duplicate")),
        ("paws", "paws sentence1: {sentence1} sentence2: {sentence2}", ("not_paraphrase", "paraphrase")),
        ("hans", "rte sentence1: {premise} sentence2: {hypothesis}", ("entailment", "not_entailment")),
    ],
)
def test_the_words_of_each_task_are_those_of_t5(name: str, wording: str, targets: tuple[str, ...]) -> None:
    """Raffel et al. 2020, appendix D; the keys of GLUE by the alphabet."""
    task = twin(name).task
    assert (task.wording, task.targets) == (wording, targets)


def test_without_a_template_the_name_and_the_parts_by_the_alphabet() -> None:
    assert Planted().task.wording == "planted hypothesis: {hypothesis} premise: {premise}"
    assert twin("hans", template=None).task.wording.startswith("hans hypothesis: {hypothesis} ")
    assert twin("rte", partial="sentence2").task.wording == "rte sentence2: {sentence2}"  # without the key of the other
    assert twin("mnli", partial="premise").task.wording == "mnli premise: {premise}"
    assert twin("paws", verbalisers={"paraphrase": "yes"}).task.targets == ("not_paraphrase", "yes")
