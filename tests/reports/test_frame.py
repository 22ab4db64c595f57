"""The long frame of numbers: each number is a row, and comes back from it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.records import Measurement, MetricName
from heedful.reports.frame import COLUMNS, entries_of, frame_of
from heedful.reports.tables import number, tabulate

shares = st.floats(0, 1)
measurements = st.builds(
    Measurement,
    value=st.none() | shares,
    n=st.integers(0, 10**6),
    draws=st.none() | st.integers(1, 9),
    std=st.none() | shares,
    ci95=st.none() | st.tuples(shares, shares),
    flags=st.sampled_from([(), ("one_sided",), ("few_examples", "no_answers")]),
    reason=st.none() | st.just("none, or few"),
    clusters=st.none() | st.integers(1, 9),
    unit=st.sampled_from(["percent", "ratio"]),
)
names = st.builds(
    MetricName, st.sampled_from("ab"), st.just("d"), st.sampled_from(["", "premise"]), st.sampled_from("xy")
)


@given(st.dictionaries(st.sampled_from(["r/1", "r/2"]), st.dictionaries(names, measurements), min_size=1))
def test_numbers_come_back_from_the_frame(runs):
    frame = frame_of(runs.items())
    assert tuple(frame.columns) == COLUMNS
    expected = [(run, *name, m) for run, numbers in runs.items() for name, m in numbers.items()]
    for entry, (run, family, data, part, statistic, _, m) in zip(entries_of(frame), expected, strict=True):
        keys = [entry[key] for key in ("run", "evaluation", "data", "part", "statistic")]
        assert keys == [run, family, data, part, statistic]
        kept = ("value", "n", "ci95", "draws", "std", "clusters", "reason")
        assert {key: entry[key] for key in kept} == {key: getattr(m, key) for key in kept}
        assert entry["flags"] == list(m.flags)
        assert entry["unit"] == {"percent": "share"}.get(m.unit, m.unit)
        assert number(entry, std=True, ci95=True) == number(m, std=True, ci95=True)


def test_a_table_has_a_cell_for_each_row_and_column_and_the_first_number_counts():
    numbers = {MetricName("f", "d", part): Measurement(value, 20) for part, value in (("a", 0.5), ("b", 0.25))}
    frame = frame_of([("one", numbers), ("two", {MetricName("f", "d", "b"): Measurement(1.0, 20)}), ("one", numbers)])
    frame.loc[3:, "value"] = 0.0
    table = tabulate(frame, "run", "part", heading="h")
    assert (table.heading, table.header) == ("h", ["run", "a", "b"])
    assert table.rows == [["one", "50.0", "25.0"], ["two", "", "100.0"]]
    with pytest.raises(KeyError):
        tabulate(frame, "run", "title")
