"""Names of folders, and which of several versions counts."""

from pathlib import Path

from heedful.records.storage.folder_names import newest_versions


def test_of_the_versions_of_an_evaluation_the_newest_alone_counts() -> None:
    prompts = [Path(f"run/evaluations/dev/version_{n}/plain-k{k}") for n in (9, 10) for k in (1, 2)]
    others = [Path(f"run/evaluations/test/version_{n}") for n in (0, 1)]
    trained = [Path(f"runs/mnli/minilm/plain/version_{n}") for n in (0, 1)]  # of different seeds
    assert newest_versions([*prompts, *others, *trained]) == [*prompts[2:], others[1], *trained]
