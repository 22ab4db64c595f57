"""What a run measured after its epochs is kept in its folder."""

import pytest

from heedful.records import HeedfulError, Measurement
from heedful.records.storage.epochs import EPOCHS, read_epochs, write_epochs

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
    write_epochs(tmp_path, HISTORY)
    assert plain(read_epochs(tmp_path)) == plain(HISTORY)


@pytest.mark.parametrize("content", ["[]", "{", '{"f": [[1, {"c": {"no": 1}}]]}', '{"f": 1}'])
def test_a_damaged_file_is_named(tmp_path, content):
    (tmp_path / EPOCHS).parent.mkdir()
    (tmp_path / EPOCHS).write_text(content)
    with pytest.raises(HeedfulError, match=r"epochs\.json"):
        read_epochs(tmp_path)
