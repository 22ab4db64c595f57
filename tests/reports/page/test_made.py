"""How results were made, without where and by whom."""

import pytest

from heedful.reports.page.made import without_places


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
