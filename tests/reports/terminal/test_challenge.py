"""What the report shows of challenge examples, at 80 columns."""

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from records import Measurement
from reports import compare as report
from reports.terminal.challenge import in_order, row_label

WIDE = Measurement(1.0, 12345, ci95=(0.12345, 1.0), flags=("few_tables", "interval_without_width"))
KINDS = ("negation", "nominal_modifiers")
SHOWN = [
    *(f"hypotheses{place}/original" for place in ("", "/split=alpha1", "/split=alpha2")),
    *(f"hypotheses{place}/preserved" for place in ("", *(f"/kind={k}" for k in KINDS), "/split=alpha1")),
    *(f"hypotheses{place}/flipped" for place in ("", *(f"/kind={k}" for k in KINDS), "/split=alpha1")),
    *(f"titles{place}/{way}" for way in ("original", "preserved") for place in ("", "/split=alpha1")),
    *("original", "flipped", "flipped/cells/right_right_wrong"),  # of an evaluation that brings its own
]
HIDDEN = ["hypotheses/original/subsamples", "hypotheses/flipped/drop", "hypotheses/kind=negation/flipped/every"]
HIDDEN += ["hypotheses/kind=negation/original", "original/every", "titles/split=alpha1/preserved/drop"]


def printed(runs: int) -> list[str]:
    names = sorted(f"challenge/infotabs/{name}" for name in SHOWN + HIDDEN)
    metrics = dict.fromkeys(["accuracy/infotabs", *names, "null/infotabs/flips"], WIDE.as_dict())
    file = io.StringIO()
    found = {"data": "infotabs", "metrics": metrics, "note": None}
    report.print_table({f"run{i}": found for i in range(runs)}, Console(width=80, file=file))
    lines = file.getvalue().splitlines()
    assert all(len(line) <= 80 for line in lines)
    return lines


def test_one_run_shows_every_kind_and_split_below_its_total():
    lines = printed(1)
    labels = [line.split("100.00")[0].rstrip() for line in lines if "100.00" in line]
    kinds, split = ["  negation", "  nominal modifiers"], ["  alpha1"]
    assert labels[:2] == ["accuracy", "null flips"]
    assert labels[2:-3] == [
        *["hypotheses: original", "  alpha1", "  alpha2"],
        *["hypotheses: preserved", *kinds, *split],
        *["hypotheses: flipped", *kinds, *split],
        *["titles: original", *split, "titles: preserved", *split],
    ]
    assert labels[-3:] == ["infotabs: original", "infotabs: flipped", "  right, right; alone: wrong"]
    assert any("100.00 [12.3, 100.0] n=12345 (f) (b)" in line for line in lines)
    assert "(f) fewer than 30 tables: the interval is too narrow." in lines


def test_several_runs_show_the_totals_side_by_side():
    labels = [line.split("100.00")[0].rstrip() for line in printed(2) if "100.00" in line]
    totals = [f"hypotheses: {way}" for way in ("original", "preserved", "flipped")]
    assert labels[1:] == [*totals, "titles: original", "titles: preserved", "infotabs: original", "infotabs: flipped"]


def test_other_metrics_are_left_alone():
    others = ["accuracy/d", "null/d/flips", "transitions/d/delete/invalid", "natural_logic/nlixy/context/tce"]
    assert [row_label(name) for name in others] == [None] * 4
    assert in_order(others) == others


@given(st.permutations([f"challenge/infotabs/{name}" for name in SHOWN + HIDDEN]))
def test_the_order_does_not_hang_on_that_of_the_metrics(names):
    shown = [name for name in in_order(names) if row_label(name)]
    assert shown == [name for name in in_order(sorted(names)) if row_label(name)]
    assert len(shown) == len(SHOWN)
