"""Runs with attributions are ranked on their page, as ``heedful rank`` ranks them."""

import csv
import io
import re
from functools import partial

import pytest

from heedful.metrics.ranking.ranked import ranked
from heedful.reports import ranking as report
from heedful.reports.page.writing import write_page

from paged_runs import Page
from ranking_suites import save

QUALITIES = {"one": 0.9, "two": 0.7, "three": 0.55}


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    monkeypatch.setattr(report, "ranked", partial(ranked, resamples=25))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranked")
    return [save(folder / name, quality, examples=80, population=20) for name, quality in QUALITIES.items()]


def page_of(folders, to):
    return Page(write_page(folders, to).read_text())


@pytest.mark.slow
def test_a_page_has_the_numbers_of_rank(folders, tmp_path, capsys):
    text = page_of(folders, tmp_path / "a.html").text
    report.main([*folders, "--format", "csv"])
    tables = [list(csv.reader(io.StringIO(block))) for block in capsys.readouterr().out.split("\n\n")]
    compared = 0
    for (heading, *_), *rows in tables:
        if heading.startswith(("Few-shot accuracy", "Rankings")):
            about = re.sub(r" \(tables .*?\)", "", heading.replace(", ood,", ", ood, test,"))
            assert about in text
            assert all(" ".join(row) in text for row in rows), rows
            compared += len(rows)
    assert compared == 2 * 11
    assert "Guessing reaches 50 %" in text


def test_a_page_colours_the_words_of_the_first_ten_examples(folders, tmp_path):
    text = write_page(folders[:1], tmp_path / "a.html").read_text()
    assert text.count('<div class="words"><article>') == 10


@pytest.mark.slow
def test_pages_of_one_model_and_of_none_with_attributions_have_no_ranking(folders, tmp_path):
    assert "Ranked by attributions" in page_of(folders[:2], tmp_path / "two.html").text
    assert "Ranked by attributions" not in page_of(folders[:1], tmp_path / "one.html").text
    others = [folders[0], save(tmp_path / "other", 0.8, data="other", examples=80, population=20)]
    assert "Ranked by attributions" not in page_of(others, tmp_path / "apart.html").text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "why"),
    [({"manifest": "otherwise"}, "were not made alike"), ({"methods": ("lime",)}, "were not made alike")],
)
def test_a_page_says_why_runs_are_not_ranked(folders, tmp_path, settings, why):
    other = save(tmp_path / "other", 0.8, examples=80, population=20, **settings)
    text = page_of([folders[0], other], tmp_path / "a.html").text
    assert re.search(rf"The runs on ood, test are not ranked: [^.]*{why}", text)
    assert str(tmp_path) not in text
    assert "Few-shot accuracy" not in text
