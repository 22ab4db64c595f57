"""Sentence pairs: each config reads the real files, and a new data set is a few lines of YAML."""

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value

from heedful.datamodules import PairedText
from heedful.datamodules.base.inoculation import Inoculation
from heedful.datamodules.base.mixture import Mixture
from heedful.datamodules.base.sampler import TrainingSampler
from heedful.datamodules.base.splits import limited
from heedful.interventions import Swap
from heedful.interventions.demonstrations import demonstrations
from heedful.records import DataError, Examples, HeedfulError, SettingError

from changed_examples import sharing
from content_uids import content_uid
from refusals import refused

ROOT = Path(__file__).parents[2]
NLI = {
    "name": "own",
    "parts": {"premise": "premise", "hypothesis": "hypothesis"},
    "labels": {"entailment": [0], "neutral": [1], "contradiction": [2]},
    "default_label": "neutral",
}


def from_config(name: str, path: Path, **others: Any) -> PairedText:
    """The data module of a config, over local files."""
    arguments = yaml.safe_load((ROOT / "configs" / "data" / f"{name}.yaml").read_text())["init_args"]
    return PairedText(**arguments | {"hub": None, "path": str(path)} | others)


def rows(n: int, start: int = 0, labels: list[Any] | None = None) -> list[dict[str, Any]]:
    labels = labels or ["entailment", "neutral", "contradiction"]
    numbers = range(start, start + n)
    return [{"premise": f"p {i}", "hypothesis": f"h {i}", "label": labels[i % len(labels)]} for i in numbers]


def write(path: Path, found: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in found))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with 60 training and 30 validation pairs."""
    write(tmp_path / "train.jsonl", rows(60))
    write(tmp_path / "validation.jsonl", rows(30, start=1000))
    return tmp_path


def uids(examples: Examples) -> list[str]:
    return list(examples.column("uid"))


# real files

REAL = {
    "mnli": (18_839, 9_815, {}),
    "rte": (2_490, 277, {}),
    "qqp": (10_000, 20_215, {}),
    "paws": (2_000, 2_000, {"splits": {"train": "validation", "validation": "test"}}),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["rte", "paws", *(pytest.param(name, marks=pytest.mark.slow) for name in ("mnli", "qqp"))]
)
def test_each_config_reads_the_real_files(name: str, shared_data: Path) -> None:
    n_train, n_validation, others = REAL[name]
    data = from_config(name, shared_data / name, **others, max_train=150, max_validation=100)
    data.setup("fit")
    assert (len(data.train_examples), len(data.pool)) == (150, 100)
    assert set(data.train_examples.column("label")) == set(data.task.labels)
    assert all(uid.startswith(f"{name}/validation/") for uid in uids(data.pool))
    assert data.counts.no_gold == 0
    whole = data.load("validation")
    assert len(whole) == n_validation
    assert set(uids(data.pool)) < set(uids(whole))
    assert len(data.load("train")) == n_train


@pytest.mark.slow
def test_rows_of_the_real_files_are_taken_over_to_the_letter(shared_data: Path) -> None:
    path = shared_data / "snli" / "validation.jsonl"
    data = from_config("snli", shared_data / "snli")
    data.setup("validate")
    assert len(data.pool) == 9_842
    lines = path.read_text(encoding="utf-8").split("\n")
    for i in (0, 4_999, 9_841):
        row = json.loads(lines[i])
        parts = {"premise": row["premise"], "hypothesis": row["hypothesis"]}
        example = data.pool[content_uid("snli/validation", row["label"], parts)]
        assert dict(example.parts) == parts
        assert example.label == row["label"]
    assert "70 %" in data.note


def test_rte_labels_mean_what_glue_says(shared_data: Path) -> None:
    """0 is entailment: weapons found where none were found is not."""
    data = from_config("rte", shared_data / "rte", max_validation=10)
    data.setup("fit")
    (found,) = (
        e for e in data.train_examples if e.parts["sentence1"].startswith("No Weapons of Mass Destruction Found")
    )
    assert found.label == "not_entailment"


def test_wanli_holds_out_the_same_examples_in_every_run(shared_data: Path) -> None:
    runs = []
    for seed in (0, 1):
        data = from_config("wanli", shared_data / "wanli", hold_out=20, splits={"train": "train_sample"}, seed=seed)
        data.setup("fit")
        assert (len(data.train_examples), len(data.pool)) == (80, 20)
        assert not set(uids(data.train_examples)) & set(uids(data.pool))
        runs.append(uids(data.pool))
    assert runs[0] == runs[1]
    assert "wanli/train/" in runs[0][0]


def test_snli_without_a_training_file_says_so(shared_data: Path) -> None:
    with refused(DataError, "'train'", "validation.jsonl"):
        from_config("snli", shared_data / "snli", max_validation=5).setup("fit")


# the order of the files


def trained_and_evaluated(data: PairedText) -> dict[str, Any]:
    """All that depends on an order: what is read, who lends to whom, the batches, what is shown in context."""
    data.setup("fit")
    examples = data.training_set(1)
    lengths = np.array([sum(map(len, e.parts.values())) for e in examples])
    sampler = TrainingSampler(lengths, 8, data.seed, rank=1, world=2)
    sampler.set_epoch(3)
    batches = [[(examples[i].uid, dict(examples[i].parts)) for i in batch] for batch in sampler]
    partners = Swap("premise", None, 3).changes(data.pool, np.arange(len(data.pool)), data.seed).partner.to_pylist()
    limit = limited(data.pool, 2, 8, data.seed)[0].tolist()
    shown = demonstrations(data.train_examples, data.task, 1, 0, 1, "matched_labels", "premise")
    return {"pool": list(data.pool), "partners": partners, "batches": batches, "limit": limit, "shown": list(shown)}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_train": 31, "max_validation": 17, "seed": 3, "resample_counterfactuals": True},
        {"hold_out": 20, "groups": ["topic"]},
        {"folds": 3, "fold": 1},
        {"mixture": [Mixture(0.3, "validation")], "augment": None},
        {"augment": "inoculation", "inoculation": Inoculation("more.jsonl", 30)},
        {"uid": "id", "hold_out": 20},
    ],
)
def test_the_order_of_the_rows_decides_nothing(
    tmp_path: Path, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for turn in range(2):
        folder = tmp_path / str(turn)
        folder.mkdir()
        for name, start in (("train", 0), ("validation", 1000), ("more", 2000)):
            of_file = [row | {"topic": f"t {row['premise'][-1]}"} for row in rows(60, start)]
            of_file += [
                row | {"topic": f"u {k}"} for k, row in enumerate(of_file[:4] * 2)
            ]  # repeats, but for the topic
            of_file = [row | {"id": f"{name} {i}"} for i, row in enumerate(of_file)]
            random.Random(turn).shuffle(of_file)
            write(folder / f"{name}.jsonl", of_file)
        monkeypatch.chdir(folder)
        arguments = NLI | {"path": str(folder), "meta": ["topic"], "augment": "counterfactual"} | settings
        found.append(trained_and_evaluated(PairedText(**arguments)))
    assert found[0] == found[1]


def test_equal_examples_are_held_out_together_and_counted(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever their labels, their ids and their blanks."""
    own = [row | {"id": i} for i, row in enumerate(rows(60))]
    again = [row | {"id": 100 + i, "premise": f" {row['premise']}", "label": "neutral"} for i, row in enumerate(own)]
    write(folder / "train.jsonl", own + again)
    for split in ({"hold_out": 20}, {"folds": 4, "fold": 2}):
        for uid in ("id", None):
            data = PairedText(**NLI, path=str(folder), uid=uid, **split)
            with caplog.at_level("INFO"):
                data.setup("fit")
            trained, held = ({e.parts["premise"].strip() for e in pool} for pool in (data.train_examples, data.pool))
            assert not trained & held
            assert len(data.pool) == 2 * len(held)
            assert f"{len(held)} validation examples have the parts of another one." in caplog.text
            clusters = data.pool.clusters(["premise", "hypothesis"]).to_pylist()
            assert len(set(clusters)) == len(held)


def test_what_differs_in_blanks_or_in_composed_letters_is_one_content(folder: Path) -> None:
    """For partners, for overlaps, for groups and for ids alike; case tells texts apart."""
    texts = ["caf\u00e9", "cafe\u0301 ", "caf\u00e9\u00a0", " caf\u00e9"]
    here = [{"premise": text, "hypothesis": f"h {i}", "label": 0, "topic": text} for i, text in enumerate(texts)]
    there = [{"premise": "Caf\u00e9", "hypothesis": "h 9", "label": 0, "topic": "Caf\u00e9"}]
    write(folder / "validation.jsonl", here + there)
    write(folder / "train.jsonl", [here[1] | {"hypothesis": "h  0", "topic": "x"}, there[0]])
    data = PairedText(**NLI, path=str(folder), groups=["topic"], validate_on_train=True)
    data.setup("fit")
    partners = data.pool.partners(["premise"]).counts.tolist()
    found = {e.parts["hypothesis"]: n for e, n in zip(data.pool, partners, strict=True)}
    assert found == {"h 0": 1, "h 1": 1, "h 2": 1, "h 3": 1, "h 9": 4}
    assert len(set(data.pool.column("groups.topic"))) == 2
    assert data.counts.seen == 2


# splits and regimes


def test_for_evaluation_no_training_data_are_read(folder: Path) -> None:
    (folder / "train.jsonl").unlink()
    data = PairedText(**NLI, path=str(folder))
    data.setup("validate")
    assert len(data.pool) == 30
    assert data.train_examples is None


def test_setting_up_twice_reads_once(folder: Path) -> None:
    data = PairedText(**NLI, path=str(folder))
    data.setup("fit")
    train, pool = data.train_examples, data.pool
    data.setup("validate")
    data.setup("fit")
    assert data.train_examples is train
    assert data.pool is pool


def test_rows_without_gold_are_counted_by_split(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", rows(12, labels=[0, 1, 2, -1]))
    write(tmp_path / "dev.jsonl", rows(10, labels=["neutral", "-"]))
    data = PairedText(**NLI, path=str(tmp_path))
    data.setup("fit")
    assert data.counts.no_gold == 5
    assert (len(data.train_examples), len(data.pool)) == (9, 5)


def test_samples_are_those_of_the_seed_and_nested(folder: Path) -> None:
    def chosen(n: int, seed: int = 0) -> tuple[set[str], set[str]]:
        data = PairedText(**NLI, path=str(folder), max_train=n, max_validation=n // 2, seed=seed)
        data.setup("fit")
        return set(uids(data.train_examples)), set(uids(data.pool))

    few, many = chosen(20), chosen(40)
    assert [len(found) for found in (*few, *many)] == [20, 10, 40, 20]
    assert few[0] < many[0]
    assert few[1] < many[1]
    assert chosen(20) == few != chosen(20, seed=1)


def test_a_most_that_is_more_than_there_are_takes_all(folder: Path) -> None:
    data = PairedText(**NLI, path=str(folder), max_train=10_000, max_validation=10_000)
    data.setup("fit")
    assert (len(data.train_examples), len(data.pool)) == (60, 30)


@pytest.mark.parametrize("option", ["max_train", "max_validation", "hold_out"])
def test_a_negative_number_of_examples_is_refused(folder: Path, option: str) -> None:
    with refused(SettingError, f"{option} -1", 1):
        PairedText(**NLI, path=str(folder), **{option: -1}).setup("fit")


@pytest.mark.parametrize("part", ["premise", "hypothesis"])
def test_partial_leaves_one_part_for_training_and_evaluation(folder: Path, part: str) -> None:
    data = PairedText(**NLI, path=str(folder), partial=part)
    data.setup("fit")
    assert data.task.parts == data.pool.parts == data.train_examples.parts == (part,)
    assert data.full_task.parts == ("premise", "hypothesis")
    assert data.swap == []
    assert data.regime == f"partial-{part}"
    assert list(data.training_set()[0].parts) == [part]


def test_counterfactual_adds_one_instance_for_each_pair_of_another_label(folder: Path) -> None:
    data = PairedText(**NLI, path=str(folder), augment="counterfactual")
    data.setup("fit")
    both = data.training_set()
    assert (len(data.training_set()), data.regime) == (100, "counterfactual")
    assert [e.label for e in both].count("neutral") == 60
    assert list(both) == list(data.training_set())
    assert list(both) != list(data.training_set(draw=1))
    assert len(data.pool) == 30
    assert all(e.parts["hypothesis"].startswith("h") and e.parts["premise"].startswith("p") for e in both)


def test_a_swap_of_the_second_part_changes_the_second_part(folder: Path) -> None:
    data = PairedText(**NLI, path=str(folder), augment="counterfactual", swap=["hypothesis"])
    data.setup("fit")
    both = data.training_set()
    assert both[60].uid == both[0].uid
    assert both[60].parts["premise"] == both[0].parts["premise"]
    assert both[60].parts["hypothesis"] != both[0].parts["hypothesis"]


def test_partial_and_counterfactual_exclude_each_other() -> None:
    with refused(SettingError, "partial", "augment counterfactual"):
        PairedText(**NLI, path="x", partial="premise", augment="counterfactual")


@pytest.mark.parametrize(("option", "value"), [("partial", "title"), ("swap", ["premise", "title"])])
def test_an_unknown_part_is_refused_with_the_known_ones(option: str, value: Any) -> None:
    with refused(SettingError, f"{option} title", "own", "premise, hypothesis"):
        PairedText(**NLI, path="x", **{option: value})


def test_a_part_to_swap_is_named_once() -> None:
    with refused(SettingError, "swap", "premise"):
        PairedText(**NLI, path="x", swap=["premise", "hypothesis", "premise"])


@pytest.mark.parametrize("swap", ["premise+hypothesis", "hypothesis+premise"])
def test_a_swap_of_all_parts_is_refused(swap: str) -> None:
    """The changed input would be another example, with an answer of its own."""
    with refused(SettingError, f"data.swap {swap}", "Leave one part out"):
        PairedText(**NLI, path="x", swap=[swap])


def test_labels_that_no_example_has_are_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for split, labels in (("train", ["yes"]), ("validation", ["yes", "no"])):
        rows = [{"premise": f"{split} {i}", "hypothesis": "h", "label": labels[i % len(labels)]} for i in range(4)]
        (tmp_path / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    labels = {"yes": [], "no": [], "perhaps": [], "never": []}
    with caplog.at_level("INFO"):
        PairedText(**NLI | {"labels": labels, "default_label": None}, path=str(tmp_path)).setup("fit")
    assert [message for message in caplog.messages if "has the label" in message] == [
        "own: no validation example has the label perhaps, never.",
        "own: no training example has the label no, which validation examples have.",
    ]


def test_counterfactuals_without_a_part_to_swap_are_refused(folder: Path) -> None:
    with refused(SettingError, "augment counterfactual", "swap"):
        PairedText(**NLI, path=str(folder), augment="counterfactual", swap=[])


def test_counterfactuals_without_a_default_label_are_refused(folder: Path) -> None:
    data = PairedText(**NLI | {"default_label": None}, path=str(folder), augment="counterfactual")
    with refused(SettingError, "augment counterfactual", "own", "default_label"):
        data.setup("fit")


def test_a_default_label_that_is_none_of_the_labels_is_refused() -> None:
    with refused(SettingError, "'unrelated'"):
        PairedText(**NLI | {"default_label": "unrelated"}, path="x")


# inoculation


def inoculated(folder: Path, challenge: Path | None, n: int, **others: Any) -> PairedText:
    settings = Inoculation(None if challenge is None else str(challenge), n)
    data = PairedText(**NLI, path=str(folder), augment="inoculation", inoculation=settings, **others)
    data.setup("fit")
    return data


def test_inoculation_trains_on_a_few_nested_challenge_examples(folder: Path) -> None:
    challenge = write(folder / "challenge.jsonl", rows(50, start=5000))
    chosen = [inoculated(folder, challenge, n) for n in (10, 20, 50)]
    found = [set(uids(data.train_examples)) for data in chosen]
    assert [len(f) for f in found] == [10, 20, 50]
    assert found[0] < found[1] < found[2]
    assert all(uid.startswith("own/challenge/") for uid in found[2])
    assert len(chosen[0].pool) == 30
    assert all(uid.startswith("own/validation/") for uid in uids(chosen[0].pool))
    assert chosen[0].regime == "inoculation-10"
    assert set(uids(inoculated(folder, challenge, 10, seed=1).train_examples)) != found[0]


def test_a_challenge_set_may_be_a_folder_and_read_one_part(folder: Path) -> None:
    (folder / "challenge").mkdir()
    write(folder / "challenge" / "train.jsonl", rows(5, start=5000))
    data = inoculated(folder, folder / "challenge", 3, partial="hypothesis")
    assert data.train_examples.parts == ("hypothesis",)
    assert len(data.train_examples) == 3


def test_inoculation_needs_a_file_with_enough_examples(folder: Path) -> None:
    with refused(SettingError, "augment inoculation", "path"):
        inoculated(folder, None, 3)
    with refused(DataError, 31, 30):
        inoculated(folder, folder / "validation.jsonl", 31)


# one source for both splits


def test_a_single_file_is_for_evaluation(folder: Path) -> None:
    data = PairedText(**NLI, path=str(folder / "train.jsonl"))
    data.setup("validate")
    assert len(data.pool) == 60


def test_training_on_a_single_file_is_refused_unless_some_is_held_out(folder: Path) -> None:
    with refused(DataError, f"path {folder}/train.jsonl", "hold_out N", "validate_on_train true"):
        PairedText(**NLI, path=str(folder / "train.jsonl")).setup("fit")
    data = PairedText(**NLI, path=str(folder / "train.jsonl"), hold_out=20)
    data.setup("fit")
    assert (len(data.train_examples), len(data.pool)) == (40, 20)


def saved(n: int) -> Dataset:
    text = Value("string")
    schema = Features({"premise": text, "hypothesis": text, "label": ClassLabel(names=list(NLI["labels"]))})
    return Dataset.from_list(rows(n, labels=[0, 1, 2]), features=schema)


def test_training_on_a_saved_data_set_without_splits_is_refused(tmp_path: Path) -> None:
    """It would be trained and validated on the same examples."""
    saved(30).save_to_disk(tmp_path / "one")
    with refused(DataError, f"path {tmp_path}/one", "hold_out N", "validate_on_train true"):
        PairedText(**NLI, path=str(tmp_path / "one")).setup("fit")


def test_a_saved_data_set_is_trained_on_with_splits_or_with_a_hold_out(tmp_path: Path) -> None:
    saved(30).save_to_disk(tmp_path / "one")
    DatasetDict(train=saved(24), validation=saved(6)).save_to_disk(tmp_path / "two")
    for name, others in (("one", {"hold_out": 6}), ("two", {})):
        data = PairedText(**NLI, path=str(tmp_path / name), **others)
        data.setup("fit")
        assert (len(data.train_examples), len(data.pool)) == (24, 6)


def test_a_mistyped_validation_split_never_becomes_the_training_file(tmp_path: Path) -> None:
    """Other names of a split must not lead to the file that the other split was given."""
    write(tmp_path / "validation.jsonl", rows(30))
    write(tmp_path / "test.jsonl", rows(30, start=1000))
    with refused(DataError, "'tset'"):
        PairedText(**NLI, path=str(tmp_path), splits={"train": "validation", "validation": "tset"}).setup("fit")


def test_the_files_of_help_and_med_are_read(shared_data: Path) -> None:
    """The first column of HELP's files has no name."""
    data = from_config("help", shared_data / "help" / "leskexppmb_or.tsv", hold_out=100, meta=["monotonicity"])
    data.setup("fit")
    assert (len(data.train_examples), len(data.pool)) == (338, 100)
    assert set(data.pool.column("meta.monotonicity")) == {"disjunction"}
    med = from_config("med", shared_data / "med" / "MED.tsv", meta=["genre"])
    med.setup("validate")
    assert len(med.pool) == 5_382
    assert list(med.pool.column("label")).count("entailment") == 2_705
    assert "paper:FraCaS_GQ:upward_monotone" in set(med.pool.column("meta.genre"))
    with refused(DataError, "MED.tsv"):
        from_config("med", shared_data / "med" / "MED.tsv").setup("fit")


@pytest.mark.slow
def test_hans_is_read_with_its_heuristics(shared_data: Path) -> None:
    data = from_config("hans", shared_data / "hans", max_train=10, max_validation=10)
    data.setup("fit")
    assert set(data.load("validation").column("meta.heuristic")) == {"lexical_overlap", "subsequence", "constituent"}
    assert set(data.pool.column("label")) == {"entailment", "non-entailment"}
    assert (data.task.labels, data.task.default_label) == (("entailment", "non-entailment"), "non-entailment")


@pytest.mark.parametrize("name", ["hans", "hans-three"])
def test_intervals_on_hans_resample_templates(name: str, tmp_path: Path) -> None:
    columns = from_config(name, tmp_path).columns
    assert (columns.clustered_by, columns.groups) == ("template", ())


@pytest.mark.slow
def test_each_template_of_hans_has_one_label_and_partners_are_of_any(shared_data: Path) -> None:
    """Swaps stay those of single examples: two sentences of one template have no more to do with each other."""
    data = from_config("hans", shared_data / "hans")
    data.setup("validate")
    of_templates = {*zip(data.pool.column("cluster"), data.pool.column("label"), strict=True)}
    assert len(of_templates) == len({*data.pool.column("cluster")}) == 60
    alone = Examples(data.pool.table.drop_columns(["cluster"]))
    assert data.pool.fingerprint == alone.fingerprint
    some = np.arange(0, 30_000, 500)
    found, before = (Swap("premise", None, 1).partners(pool, some, 0, seed=0) for pool in (data.pool, alone))
    assert found.tolist() == before.tolist()


# columns that results are broken down by


def test_meta_columns_come_along_as_text(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("premise,hypothesis,label,genre,length\na,b,0,fiction,3\nc,d,1, ,\n")
    (tmp_path / "dev.csv").write_text("premise,hypothesis,label,genre,length\ne,f,2,travel,5\n")
    data = PairedText(**NLI, path=str(tmp_path), meta=["length", "genre"], partial="premise")
    data.setup("fit")
    assert {e.parts["premise"]: dict(e.meta) for e in data.train_examples} == {
        "a": {"length": "3", "genre": "fiction"},
        "c": {"length": "", "genre": ""},
    }
    assert dict(data.pool[0].meta) == {"length": "5", "genre": "travel"}


def test_a_meta_column_that_is_not_there_or_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dev.csv").write_text("premise,hypothesis,label,genre\na,b,0,fiction\n")
    with refused(DataError, "dev.csv, row 1", "'topic'"):
        PairedText(**NLI, path=str(tmp_path), meta=["genre", "topic"]).setup("validate")
    with refused(SettingError, "meta", "'genre'"):
        PairedText(**NLI, path=str(tmp_path), meta=["genre", "genre"])


@pytest.mark.parametrize(
    ("settings", "error", "facts"),
    [
        ({"columns": ["premise", "premise"]}, SettingError, ["columns [premise, premise]"]),
        ({"columns": ["premise", ""]}, SettingError, ["columns [premise, ]"]),
        ({"name": "../own"}, SettingError, ["name '../own'"]),
        ({}, SettingError, ["path"]),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    settings: dict[str, Any], error: type[HeedfulError], facts: list[str]
) -> None:
    with refused(error, *facts):
        PairedText(**NLI | settings).setup("fit")


def test_each_process_needs_a_batch(folder: Path) -> None:
    data = PairedText(**NLI, path=str(folder), max_train=40, batch_size=20)
    data.setup("fit")
    encoded = SimpleNamespace(lengths=np.ones(40, dtype=np.int64), statistics=None)
    module = SimpleNamespace(encode=lambda examples: encoded, require_known=lambda *_: None)
    data.trainer = SimpleNamespace(lightning_module=module, current_epoch=0, world_size=3, global_rank=0)
    with refused(DataError, 40, 20, 3, "batch_size"):
        data.train_dataloader()


# a data set of one's own

TEN_LINES = """
class_path: heedful.datamodules.PairedText
init_args:
  name: claims
  path: {path}
  parts: {{evidence: text, claim: statement}}
  label: verdict
  labels: {{supported: [1, "yes"], refuted: [0, "no"], unrelated: [2]}}
  default_label: unrelated
  uid: id
  groups: [article]
"""


def test_ten_lines_of_yaml_are_a_new_data_set(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text(
        'id,article,text,statement,verdict\n7,A,"Snow, everywhere.",It snowed.,yes\n9,B,Rain.,It was dry.,no\n'
        "11,A,Hail.,It hailed.,1\n13,C,Wind.,Cats sleep.,2\n15,D,Sun.,?,-\n"
    )
    (tmp_path / "dev.csv").write_text("id,article,text,statement,verdict\n1,E,Fog.,Birds sing.,unrelated\n")
    config = yaml.safe_load(TEN_LINES.format(path=tmp_path))
    assert len(TEN_LINES.strip().splitlines()) == 10
    data = PairedText(**config["init_args"], augment="counterfactual")
    data.setup("fit")
    assert uids(data.train_examples) == [f"claims/train/{i}" for i in (11, 13, 7, 9)]
    assert data.train_examples[2].parts == {"evidence": "Snow, everywhere.", "claim": "It snowed."}
    assert list(data.train_examples.column("label")) == ["supported", "unrelated", "supported", "refuted"]
    assert sharing(data.train_examples, 0).tolist() == [0, 2]
    assert data.swap == ["evidence"]
    assert (len(data.training_set()), len(data.pool)) == (7, 1)
    assert data.counts.no_gold == 0


# training and validation are two things


def write_same(folder: Path, how: str) -> dict[str, Any]:
    """Files of which training and validation would read the same rows; returns the arguments."""
    if how == "one split":
        return {"path": str(folder), "splits": {"train": "train", "validation": "train"}}
    if how == "one of several":
        return {"path": str(folder), "splits": {"train": "train", "validation": ["validation", "train"]}}
    if how == "one file":
        return {"path": str(folder / "train.jsonl")}
    (folder / "dev.jsonl").unlink(missing_ok=True)
    if how == "link":
        (folder / "dev.jsonl").symlink_to(folder / "train.jsonl")
    else:
        (folder / "dev.jsonl").write_bytes((folder / "train.jsonl").read_bytes())
    return {"path": str(folder), "splits": {"train": "train", "validation": "dev"}}


@pytest.mark.parametrize("how", ["one file", "one split", "one of several", "link", "copy"])
def test_validating_on_what_is_trained_on_has_to_be_asked_for(folder: Path, how: str) -> None:
    arguments = write_same(folder, how)
    with refused(DataError, f"path {folder}", "hold_out N", "validate_on_train true"):
        PairedText(**NLI, **arguments).setup("fit")
    PairedText(**NLI, **arguments).setup("validate") if how != "one of several" else None  # nothing is trained
    data = PairedText(**NLI, **arguments, validate_on_train=True)
    data.setup("fit")
    assert data.counts.seen == len(data.train_examples) == 60
    if how != "one of several":
        held_out = PairedText(**NLI, path=str(folder / "train.jsonl"), hold_out=20)
        held_out.setup("fit")
        assert held_out.counts.seen == 0


class NoTruncation:
    truncated = unknown = 0


def test_validation_examples_that_are_trained_on_are_counted(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """By the content of all parts together, whatever the label."""
    seen = [row | {"label": "neutral"} for row in rows(7)]
    half = [{**rows(1)[0], "hypothesis": "another"}]
    write(folder / "validation.jsonl", rows(30, start=1000) + seen + half)
    data = PairedText(**NLI, path=str(folder))
    data.setup("fit")
    assert data.counts.seen == 7
    with caplog.at_level("INFO"):
        data.announce_evaluation(np.arange(38), NoTruncation)
    assert "7 of them stand among the training examples as well." in caplog.text
    write(folder / "validation.jsonl", rows(30, start=1000))
    data = PairedText(**NLI, path=str(folder))
    data.setup("fit")
    assert data.counts.seen == 0


# names


@pytest.mark.parametrize(
    ("option", "given", "error", "facts"),
    [
        ("labels", {True: [1], False: [0]}, SettingError, ["True", "quotes"]),
        ("labels", {None: [1], "b": [0]}, SettingError, ["None", "null"]),
        ("labels", {1: [], 2: []}, SettingError, ["1"]),
        ("labels", {"": [], "b": []}, SettingError, ["''"]),
        ("labels", {" a": [], "a": []}, SettingError, ["' a'"]),
        ("labels", {"a\x1b[2J": [], "b": []}, SettingError, [r"'a\x1b[2J'"]),
        ("labels", {"Yes": [], "yes": [], "no": []}, SettingError, ["'Yes' and 'yes'"]),
        ("labels", {"a": []}, SettingError, ["'a'"]),
        ("labels", {"majority": [], "b": []}, SettingError, ["'majority'"]),
        ("labels", {}, SettingError, []),
        ("parts", {}, SettingError, []),
        ("parts", {"a": "premise", "b": "label"}, SettingError, ["b is the column 'label'"]),
        ("parts", {"a": "premise", "b": "premise"}, SettingError, ["a and b", "'premise'"]),
        ("parts", {True: "a", "b": "b"}, SettingError, ["True"]),
        ("parts", {"a/b": "a", "c": "c"}, SettingError, ["'a/b'", "+ / { }"]),
        ("parts", {"{a}": "a", "c": "c"}, SettingError, ["'{a}'", "+ / { }"]),
        ("parts", {"a\n": "a", "c": "c"}, SettingError, [r"'a\n'"]),
    ],
)
def test_names_that_a_yaml_file_did_not_mean_are_refused(
    folder: Path, option: str, given: dict[Any, Any], error: type[HeedfulError], facts: list[str]
) -> None:
    with refused(error, option, *facts):
        PairedText(**NLI | {"default_label": None, "path": str(folder), option: given}).setup("fit")


def test_a_row_without_a_label_says_so_by_a_hyphen_where_a_label_is_called_none(tmp_path: Path) -> None:
    settings = {"labels": {"None": [], "nan": []}, "default_label": None, "path": str(tmp_path)}
    for missing in (None, float("nan")):
        write(tmp_path / "dev.jsonl", rows(8, labels=["None", missing, "nan", "-"]))
        with refused(DataError, "row 2", "None"):
            PairedText(**NLI | settings).setup("validate")
    labels = ["None", "-", "nan", "-"]
    write(tmp_path / "train.jsonl", rows(8, labels=labels))
    write(tmp_path / "dev.jsonl", rows(8, start=50, labels=labels))
    data = PairedText(**NLI | settings)
    data.setup("fit")
    assert sorted(data.pool.column("label")) == ["None", "None", "nan", "nan"]
    assert data.counts.no_gold == 4
