"""The visible text of a page answers the questions of a reader."""

import json
import re

import pytest

from heedful.records import read_json
from heedful.reports.page.writing import write_page

import paged_runs
import written_results
from paged_runs import Page

MODEL = {"class_path": "heedful.lightning_modules.Encoder", "init_args": {"backbone": written_results.MINILM}}
DATA = {"class_path": "heedful.datamodules.Planted", "init_args": {"name": "d"}}
QUESTIONS = {
    "which model?": r"^minilm on d",
    "how was it trained?": r"minilm: trained on d with seed 7, 46 training steps;",
    "on which data was it evaluated, and how?": r"on 30 examples of d, validation, with seed 0",
    "what is the headline, and its interval?": r"attentiveness premise not above majority (\S+ ± \S+ %) (\[\S+, \S+\])",
    "on how many examples does it rest?": r"20 of 30 examples count, those not predicted as “neutral”",
    "in how many clusters?": r"20 in 5 clusters",
    "with what should it be compared?": r"one constant answer would reach \S+ %",
    "what can it not say?": r"What it cannot say A changed prediction need not be right",
    "which command makes it again?": r"python train.py --config config.yaml",
    "how is it cited?": r"@software\{heedful",
    "what moved between two runs, and how surely?": r"Each run minus .*not above majority \+?0\.0 \[-\S+, \+\S+\]",
    "do the runs differ in something else?": r"different training steps, 46 and 94",
}
OF_TWO = list(QUESTIONS)[-2:]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The text of a page about one run, and of a page about two runs."""
    place = tmp_path_factory.mktemp("runs")
    rows = paged_runs.rows()
    groups = [f"g{int(uid.rpartition('/')[2]) // 6}" for uid in rows["uid"].to_pylist()]
    rows = rows.set_column(rows.schema.get_field_index("group"), "group", [groups])
    folders = []
    for name, seed, steps in (("a", 7, 46), ("b", 8, 94)):
        config = {"model": MODEL, "data": DATA, "checkpoint": {"save_last": True}, "seed_everything": seed}
        folders.append(paged_runs.saved(place / name, rows, **config))
        identity = read_json(folders[-1] / "results.json")["identity"]
        written_results.rewrite(folders[-1], identity=identity | {"steps": steps, "weights": name})
        (folders[-1] / "run.json").write_text(json.dumps({"command": ["train.py", "--seed_everything", str(seed)]}))
    return [Page(write_page(runs, place / "a.html").read_text()).text for runs in (folders[:1], folders)]


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_page_answers(pages, question):
    text = pages[question in OF_TWO]
    assert re.search(QUESTIONS[question], text), text[:3000]
