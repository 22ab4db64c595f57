"""How results were made, without where and by whom."""

import json

import pytest

from heedful.reports.page.made import without_places
from heedful.reports.page.writing import write_page

import paged_runs
from paged_runs import Page
from tiers import first_tier


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/jo/data/mnli", "mnli"),
        ("--data.path=/home/jo/data/mnli/", "--data.path=mnli"),
        ("~/data/a.csv", "a.csv"),
        ("../../else/b.csv", "b.csv"),
        ("runs/mnli/minilm/plain", "runs/mnli/minilm/plain"),
        ("FacebookAI/roberta-large-mnli", "FacebookAI/roberta-large-mnli"),
        ("{'snli': '/srv/x/snli.jsonl', 'med': None}", "{'snli': 'snli.jsonl', 'med': None}"),
        ("[/srv/x, /srv/y/z]", "[x, z]"),
        ("package:gt/model", "package:gt/model"),
        ("3 / 4", "3 / 4"),
    ],
)
def test_paths_that_lead_elsewhere_are_their_last_names(text, expected):
    assert without_places(text) == expected


def test_paths_in_the_working_folder_are_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert without_places(f"--output {tmp_path}/runs/a") == "--output runs/a"


@pytest.mark.parametrize(
    ("command", "again"),
    first_tier(
        1,
        [
            (["train.py", "--output", "a"], "python train.py --config config.yaml"),
            (["evaluate.py"], "python evaluate.py --config config.yaml"),
            (["heedful", "evaluate", "--model", "x"], "heedful evaluate --config config.yaml"),
            (["mine.py"], ""),
            ([], ""),
        ],
    ),
)
def test_a_command_that_repeats_it_is_named_where_one_is_known(tmp_path, command, again):
    model = {"class_path": "heedful.lightning_modules.Encoder", "init_args": {"backbone": "bert"}}
    data = {"class_path": "heedful.datamodules.Planted", "init_args": {"name": "d"}}
    folder = paged_runs.saved(tmp_path / "run", paged_runs.rows(8), model=model, data=data, checkpoint={})
    (folder / "run.json").write_text(json.dumps({"command": command}))
    page = Page(write_page([folder], tmp_path / "a.html").read_text())
    assert ("To repeat it" in page.text) == bool(again)
    assert again in page.text
