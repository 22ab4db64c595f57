"""What a run measured after its epochs is kept in its folder."""

from heedful.records import Measurement
from heedful.records.storage.epochs import read_epochs, write_epochs

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
