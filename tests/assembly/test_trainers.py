"""The Trainer that every run is built with."""

import pytest

from heedful.assembly.trainers import make_trainer
from heedful.records import SettingError

from refusals import refused


def test_a_variable_of_slurm_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"NTASKS": "2", "NTASKS_PER_NODE": "2", "JOB_NAME": "x", "JOB_ID": "1"}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    settings = {"accelerator": "cpu", "devices": 2, "strategy": "ddp", "logger": False}
    with refused(SettingError, "SLURM_NODEID"):
        make_trainer([], settings, evaluating=True)
