import pickle
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from heedful.datamodules.base import processes
from heedful.records import DataError, RunError

from refusals import refused


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Stands for the other process: it gets what the first one sends, or sends what is given."""
    sent: list[bytes] = []

    def broadcast(told: list[Any], group: Any = None) -> None:
        if processes.is_first():
            sent.append(pickle.dumps(told))
        else:
            told[:] = pickle.loads(sent[-1])

    def between(rank: int, other: Any = None) -> None:
        monkeypatch.setattr(processes, "is_first", lambda: rank == 0)
        monkeypatch.setattr(processes, "gather", lambda value: pickle.loads(pickle.dumps([value, other])))

    monkeypatch.setattr(processes, "is_alone", lambda: False)
    monkeypatch.setattr(torch.distributed, "broadcast_object_list", broadcast)
    return between


refuse = Mock(side_effect=DataError("data.csv, row 3: data.slices a has 60 values. Name a column with fewer values."))
break_down = Mock(side_effect=ZeroDivisionError)


def test_the_others_get_the_value_the_refusal_or_the_end_of_the_first_process(between: Callable[..., None]) -> None:
    for make, error in ((refuse, DataError), (break_down, ZeroDivisionError), (lambda: 3, None)):
        for rank in (0, 1):
            between(rank)
            if error is None:
                assert processes.by_first(make if rank == 0 else break_down) == 3
                continue
            expected = RunError if rank and error is ZeroDivisionError else error
            with pytest.raises(expected) as caught:
                processes.by_first(make if rank == 0 else refuse)
            assert {DataError: "data.csv, row 3", RunError: "Process 0"}.get(expected, "") in str(caught.value)


def test_who_waits_hears_why_another_does_not_come(
    between: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(processes, "gather", told.append)
    processes.send_error(DataError("data.csv, row 3: no."))
    between(0, *told)
    for wait in (lambda: processes.gather_patiently(1), processes.keep_waiting_alive):
        with refused(DataError, "data.csv, row 3"):
            wait()
    between(0, (processes.HERE, 2))
    assert processes.gather_patiently(1) == [1, 2]


def test_processes_with_other_values_are_named(between: Callable[..., None]) -> None:
    between(0, "x")
    processes.require_alike("x", "weights")
    with refused(DataError, "The weights of process 1", "process 0"):
        processes.require_alike("y", "weights")
