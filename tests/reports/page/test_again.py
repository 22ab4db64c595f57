"""Pages of folders that have none: what examples are about is read from their data, as far as that is at hand."""

import json

import pytest
import yaml

from heedful.callbacks import Attentiveness, NaivePartial
from heedful.cli import command
from heedful.datamodules import Planted
from heedful.records.storage.results import write_results
from heedful.reports.page.contents import UNKNOWN
from heedful.reports.page.writing import REPORT, write_page

import oracles
from paged_runs import Page
from written_results import rewrite

SETTINGS = {"n_train": 4, "n_validation": 30}


@pytest.fixture
def folder(tmp_path):
    """A run without a page, as an earlier version has written it."""
    evaluations = [Attentiveness(draws=2), NaivePartial()]
    names = ["accuracy", *(evaluation.name for evaluation in evaluations)]
    engine = oracles.measure(lambda table, text: "entailment", Planted(**SETTINGS), *evaluations, only=names)
    write_results(tmp_path / "run", engine.content, engine.rows)
    model = {"class_path": "heedful.lightning_modules.Encoder", "init_args": {"backbone": "bert"}}
    data = {"class_path": "heedful.datamodules.Planted", "init_args": SETTINGS}
    config = {"seed_everything": 0, "model": model, "data": data, "checkpoint": {"save_last": True}}
    (tmp_path / "run" / "config.yaml").write_text(yaml.safe_dump(config))
    return tmp_path / "run"


def examples_of(path):
    return json.loads(Page(path.read_text()).scripts[0])["examples"]


def whole(content):
    return content if isinstance(content, str) else "".join(text for text, _ in content)


@pytest.mark.slow
def test_texts_come_from_the_data(folder, tmp_path):
    data = Planted(**SETTINGS)
    data.setup("validate")
    premises = dict(zip(data.pool.uids.to_pylist(), data.pool.column("parts.premise"), strict=True))
    examples = examples_of(write_page([folder], tmp_path / "a.html"))
    swapped = [example for example in examples if example["partner"]]
    assert len(swapped) == 30
    for example in swapped:
        premise, hypothesis = example["parts"]
        assert (whole(premise["before"]), whole(premise["after"])) == (
            premises[example["uid"]],
            premises[example["partner"]],
        )
        assert not hypothesis["changed"]
    alone = [example for example in examples if example["change"] == "hypothesis alone"]
    assert {part["after"] for example in alone for part in example["parts"] if part["name"] == "premise"} == {""}
    assert not any(example["missing"] for example in examples)


@pytest.mark.slow
def test_other_data_are_not_taken_for_those_of_the_run(folder, tmp_path):
    path = folder / "config.yaml"
    path.write_text(path.read_text().replace("n_validation: 30", "n_validation: 29"))
    examples = examples_of(write_page([folder], tmp_path / "a.html"))
    assert {example["missing"] for example in examples} == {UNKNOWN}


@pytest.mark.slow
def test_rescore_writes_the_page_again_where_there_is_one(folder, capsys):
    results = folder / "results.json"
    told = results.read_text()
    command.main(["page", str(folder)])
    page = (folder / REPORT).read_text()
    rewrite(folder, note="Old.")
    command.main(["page", str(folder)])
    assert "Old." in (folder / REPORT).read_text()
    command.main(["rescore", str(folder)])
    assert results.read_text() == told
    assert (folder / REPORT).read_text() == page
    (folder / REPORT).unlink()
    rewrite(folder, note="Old.")
    command.main(["rescore", str(folder)])
    assert not (folder / REPORT).exists()
