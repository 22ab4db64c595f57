"""The identity of a run has the commit of a hub model; a local folder has none."""

import shutil
from pathlib import Path

import huggingface_hub
import pytest
from live_runs import QUIET, pairs, small

import heedful

COMMIT = "0123456789" * 4


@pytest.fixture
def hub_id(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A model in the cache of the hub."""
    folder = tmp_path / "hub" / "models--org--tiny"
    shutil.copytree(tiny_bert, folder / "snapshots" / COMMIT)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(COMMIT)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return "org/tiny"


@pytest.mark.slow
def test_the_commit_of_a_hub_model_stays_with_its_checkpoint(hub_id: str, tiny_bert: Path, tmp_path: Path) -> None:
    identities = []
    for backbone, folder in ((hub_id, tmp_path / "of_hub"), (tiny_bert, tmp_path / "local")):
        settings = {"trainer": QUIET, "evaluations": ["accuracy"]}
        run = heedful.train(small(backbone), pairs(), output=folder, **settings)
        again = heedful.evaluate(checkpoint=run.checkpoint, output=folder / "again", **settings)
        identities += [run.content["identity"], again.content["identity"]]
    assert [identity.get("revision") for identity in identities] == [COMMIT, COMMIT, None, None]
    assert [identity["steps"] for identity in identities] == [run.content["identity"]["steps"]] * 4
    assert identities[0]["steps"] > 0
    assert [identity["model"] for identity in identities[:2]] == ["org-tiny"] * 2
