"""Settings of a run: one parser for words and for Python, and a config.yaml that is read back to the same values."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonargparse import Namespace
from pytorch_lightning.callbacks import EarlyStopping

from heedful.assembly.config import assemble
from heedful.assembly.job import Job
from heedful.assembly.loading import load_data, load_model, section_of
from heedful.assembly.trainers import session
from heedful.callbacks import Attentiveness
from heedful.datamodules import PairedText
from heedful.lightning_modules import Encoder
from heedful.parser import class_parser, constructor_value, dump, parsed
from heedful.records import SettingError
from heedful.records.arguments import IN_MEMORY, expressible
from heedful.records.storage.named_configs import names
from heedful.records.storage.yaml_files import parse_yaml

from refusals import refused

OWN = {"name": "m", "parts": {"a": "x", "b": "y"}, "labels": {"u": [0], "v": [1]}}


def again(job: Job) -> Job:
    """Parse the content of config.yaml."""
    return assemble(job.stage, {}, [("", parse_yaml(dump(job.record), "config.yaml"))])


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (["--data.hold_out", "3"], {"data": {"hold_out": 3}}),
        (["--data.labels", "{yes: [1], no: ['0', no]}", "--data.default_label", "no"],
         {"data": {"labels": {"yes": [1], "no": ["0", "no"]}, "default_label": "no"}}),
        (["--data.max_train=7", "--attentiveness.draws=2"],
         {"data": {"max_train": 7}, "attentiveness": {"draws": 2}}),
        (["--trainer.limit_train_batches", "1", "--trainer.devices", "2"],
         {"trainer": {"limit_train_batches": 1, "devices": 2}}),
        (["--trainer.limit_train_batches", "1.0"], {"trainer": {"limit_train_batches": 1.0}}),
        (["--model.learning_rate", "1e-5", "--seed_everything", "3"],
         {"model": {"learning_rate": 1e-5}, "seed_everything": 3}),
        (["--data.template", "null"], {"data": {"template": None}}),
        (["--data.template", "{premise} {hypothesis}"], {"data": {"template": "{premise} {hypothesis}"}}),
        (["--evaluations", "accuracy,attentiveness"], {"evaluations": ["accuracy", "attentiveness"]}),
        (["--trainer.callbacks", "EarlyStopping", "--trainer.callbacks.monitor", "loss"],
         {"trainer": {"callbacks": {"class_path": "EarlyStopping", "init_args": {"monitor": "loss"}}}}),
    ],
)  # fmt: skip
def test_words_and_python_are_the_same_settings(words: list[str], settings: Mapping[str, Any]) -> None:
    by_words = assemble("fit", {"data": "mnli"}, words=words)
    by_python = assemble("fit", {}, [("", {"data": "mnli"}), ("", settings)])
    assert dump(by_words.record) == dump(by_python.record)
    assert again(by_words).record == by_words.record


def read_back(owner: type, name: str, settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings of a class after parsing, and after parsing their dump."""
    parser = class_parser(owner, name)
    values = constructor_value(parsed(parser, {name: settings}, Namespace(), ""))
    return values, constructor_value(parsed(parser, parse_yaml(dump(values), "config.yaml"), Namespace(), ""))


@given(
    st.text(max_size=8) | st.sampled_from(["null", "yes", "no", "123", "1e5", "0x1f", "1_0", "~", "true", "-", ".5"])
)
def test_texts_from_python_stay_texts_and_read_back(text: str) -> None:
    settings = {"note": text, "labels": {text or "a": [text, 3]}}
    values, again = read_back(PairedText, "data", settings)
    assert values == again == {"data": settings}


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 2**31))
def test_numbers_read_back(x: float, n: int) -> None:
    values, again = read_back(Encoder, "model", {"learning_rate": x, "max_length": n})
    assert values == again == {"model": {"learning_rate": x, "max_length": n}}


def test_one_batch_is_not_a_share_of_all_batches() -> None:
    assert Union[float, int, None] == Union[int, float, None]  # noqa: UP007  # typing may return either for the other
    assert type(assemble("fit", {}, words=["--trainer.limit_train_batches", "1"]).trainer["limit_train_batches"]) is int


def test_layers_win_in_their_order_and_a_named_class_replaces_the_saved_one() -> None:
    saved = "run", {"data": {"class_path": "Planted", "init_args": {"n_train": 5, "n_validation": 6}}}
    file = "config f.yaml", {"data": {"init_args": {"n_train": 7}}, "attentiveness": {"draws": 4}}
    job = assemble("fit", {"attentiveness": {"draws": 2}}, [file], saved=saved)
    assert (*map(job.data.arguments.get, ("n_train", "n_validation")), job.record["attentiveness"]["draws"]) == (
        7,
        6,
        2,
    )
    assert type(assemble("fit", {"data": "mnli"}, saved=saved).data) is PairedText


def test_named_data_replace_the_whole_section_of_a_file() -> None:
    file = "config c.yaml", {"data": {"class_path": "PairedText", "init_args": {**OWN, "path": "mine", "hold_out": 3}}}
    job = assemble("fit", {"data": "rte"}, [file])
    assert (job.data.name, job.data.path, job.data.hold_out) == ("rte", None, None)


def test_each_split_may_have_a_file_of_its_own() -> None:
    files = {"train": "a.csv", "validation": "b.csv"}
    job = assemble("fit", {}, [("config", {"data": {"class_path": "PairedText", "init_args": {**OWN, "path": files}}})])
    assert job.data.path == again(job).data.path == files


def test_a_class_that_only_a_saved_run_names_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text("open('was_imported', 'w')\n")
    saved = "run/config.yaml", {"data": {"class_path": "evil.Data", "init_args": {}}}
    for words in ([], ["--data.path", "evil.csv"], ["--output=evil.out"]):
        with refused(SettingError, "run/config.yaml", "evil.Data", "allow_package evil"):
            assemble("fit", {}, words=words, saved=saved)
    both = "run/config.yaml", saved[1] | {"model": {"class_path": "worse.Model"}}
    with refused(SettingError, "allow_package evil, allow_package worse"):
        assemble("fit", {}, saved=both)
    callback = "run/config.yaml", {"trainer": {"callbacks": [{"class_path": "evil.Callback"}]}}
    with refused(SettingError, "evil.Callback"):
        assemble("fit", {}, saved=callback)
    assert not (tmp_path / "was_imported").exists()
    for packages in ("evil", "worse,evil", ["evil"]):
        with session(packages), refused(SettingError, "there is no class evil.Data"):
            assemble("fit", {}, saved=saved)
    assert (tmp_path / "was_imported").exists()


def test_a_class_of_the_working_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_bag.py").write_text("from heedful.datamodules import Planted\n\nclass Bag(Planted):\n    pass\n")
    assert type(assemble("fit", {"data": "my_bag.Bag"}).data).__name__ == "Bag"
    (tmp_path / "broken_bag.py").write_text("import nowhere_to_be_found\n")
    with pytest.raises(ImportError, match="nowhere_to_be_found"):
        assemble("fit", {"data": "broken_bag.Bag"})


@pytest.mark.parametrize("setting", ["trainer.logger", "trainer.callbacks"])
def test_no_function_is_called_because_a_setting_names_it(setting: str) -> None:
    with refused(SettingError, setting):
        assemble("fit", {}, words=[f"--{setting}", "os.system"])


def test_objects_and_rows_pass_through_and_are_in_memory_in_the_record() -> None:
    rows = [{"x": "null", "y": "b", "label": i % 2} for i in range(50_000)]
    data = load_data(rows, **OWN)
    assert data.path is rows
    stopping = EarlyStopping("accuracy/m", mode="max")
    job = assemble("fit", {"data": data, "trainer": {"callbacks": [stopping]}})
    assert job.data is data
    assert job.trainer["callbacks"] == [stopping]
    assert job.record["data"]["init_args"]["path"] == IN_MEMORY
    assert job.record["trainer"]["callbacks"] == [IN_MEMORY]


@pytest.mark.parametrize("setting", [{"partial": "a"}, {"slices": ["x"]}, {"augment": "counterfactual"}])
def test_no_setting_changes_an_object_that_was_passed(setting: dict[str, Any]) -> None:
    data = load_data([{"x": "a", "y": "b", "label": 0}], **OWN)
    with refused(SettingError, f"{next(iter(setting))} would change the data", "load_data("):
        assemble("fit", {"data": data, **setting})
    with refused(SettingError, "config c.yaml: data.batch_size would", "load_data("):
        assemble("fit", {"data": data}, [("config c.yaml", {"data": {"init_args": {"batch_size": 3}}})])
    with refused(SettingError, "model: Reading needs Reader, not Encoder"):
        assemble("fit", {"data": "squad2", "model": load_model("minilm")})


def test_a_live_evaluation_keeps_its_settings_wherever_it_is_given() -> None:
    one = Attentiveness(draws=4)
    for call in ({"attentiveness": one}, {"evaluations": ["accuracy", one]}):
        job = assemble("fit", call)
        assert one in job.evaluations
        assert job.record["attentiveness"]["draws"] == 4
    with refused(SettingError, "trainer.callbacks", "not a callback"):
        assemble("fit", {"trainer": {"callbacks": [one]}})
    with refused(SettingError, "two evaluations", "attentiveness"):
        assemble("fit", {"evaluations": [one], "attentiveness": {"draws": 2}})


def test_an_evaluation_of_a_class_runs_and_its_class_is_recorded_and_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_one.py").write_text("from heedful.callbacks import Attentiveness\nclass One(Attentiveness): ...\n")
    job = assemble("fit", {"evaluations": "own_one.One"})
    (one,) = (item for item in job.evaluations if item.name == "attentiveness")
    assert (type(one).__name__, job.only, job.record["evaluations"]) == ("One", ["attentiveness"], ["own_one.One"])
    assert type(again(job).evaluations[job.evaluations.index(one)]).__name__ == "One"
    with refused(SettingError, "run/config.yaml names own_one.One", "allow_package own_one"):
        assemble("fit", {}, saved=("run/config.yaml", job.record))
    assert assemble("fit", {"attentiveness": one}).record["attentiveness"] == IN_MEMORY


@pytest.mark.parametrize("mode", [None, "max"])
def test_callbacks_follow_the_direction_of_what_they_monitor(mode: str | None) -> None:
    settings = {"monitor": "accuracy/x"} | ({} if mode is None else {"mode": mode})
    trainer = {"callbacks": {"class_path": "EarlyStopping", "init_args": settings}}
    (stopping,) = assemble("fit", {"trainer": trainer}).trainer["callbacks"]
    assert stopping.mode == "max"


@pytest.mark.parametrize("name", names("data"))
def test_data_by_each_short_name(name: str, tmp_path: Path) -> None:
    (tmp_path / "answers.txt").write_text("yes\nno\n")
    data = load_data(name, **({"batch_size": 7} if name == "planted" else {"batch_size": 7, "path": tmp_path}))
    assert data.batch_size == 7
    assert expressible(load_data(expressible(data))) == expressible(data)


@pytest.mark.parametrize("name", names("model"))
def test_models_by_each_short_name(name: str) -> None:
    model = load_model(name, **({"name": "gpt"} if name == "endpoint" else {}))
    assert type(model).__name__ == section_of("model", name)["class_path"].rpartition(".")[2]
