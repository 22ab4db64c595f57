"""What a run measured after its epochs is kept in its folder."""

import pytest

from heedful.records import HeedfulError, Measurement, write_json
from heedful.records.storage.epochs import EPOCHS, read_epochs, write_epochs
from heedful.records.storage.run_files import hashes_of

HISTORY = {
    "attentiveness": [
        (1, {"premise": Measurement(0.5, 10, draws=2, std=0.1, ci95=(0.2, 0.8), per_draw=(0.4, 0.6), flags=("few",))}),
        (2, {"premise": Measurement(None, 0, reason="no example is eligible")}),
    ]
}


def plain(history):
    return {
        name: [(epoch, {curve: m.as_dict() for curve, m in of.items()}) for epoch, of in points]
        for name, points in history.items()
    }


def test_what_is_written_is_read(tmp_path):
    assert read_epochs(tmp_path) == {}
    write_json(tmp_path / "run.json", {"id": "a"})
    write_epochs(tmp_path, "a", HISTORY)
    assert plain(read_epochs(tmp_path)) == plain(HISTORY)


def test_epochs_of_another_run_are_refused(tmp_path):
    write_json(tmp_path / "run.json", {"id": "a"})
    write_epochs(tmp_path, "b", HISTORY)
    with pytest.raises(HeedfulError, match="is of another run"):
        read_epochs(tmp_path)


def test_epochs_that_were_edited_after_the_run_are_refused(tmp_path):
    write_json(tmp_path / "run.json", {"id": "a"})
    write_epochs(tmp_path, "a", HISTORY)
    write_json(tmp_path / "run.json", {"id": "a", "files": hashes_of(tmp_path, [tmp_path / EPOCHS])})
    assert read_epochs(tmp_path)
    write_epochs(tmp_path, "a", {})
    with pytest.raises(HeedfulError, match="is not the file that the run wrote"):
        read_epochs(tmp_path)


@pytest.mark.parametrize("content", ["[]", "{", '{"id": "a", "figures": {"f": [[1, {"c": {"no": 1}}]]}}', '{"id": 1}'])
def test_a_damaged_file_is_named(tmp_path, content):
    write_json(tmp_path / "run.json", {"id": "a"})
    (tmp_path / EPOCHS).parent.mkdir()
    (tmp_path / EPOCHS).write_text(content)
    with pytest.raises(HeedfulError, match=r"epochs\.json"):
        read_epochs(tmp_path)
