"""The kind of data of docs/new_data_set.md is whole, short, and trains."""

import re
from pathlib import Path

import pytest

from heedful.assembly.loading import class_of, section_of
from heedful.records import DataError, SettingError

from refusals import refused

PAGE = (Path(__file__).parents[2] / "docs" / "new_data_set.md").read_text()
PROBLEM = """<problem id="{i}" fracas_answer="{answer}"><p idx="1">Every {noun}
 sings.</p>{more}<q>Does it?</q><h>A {noun} sings.</h></problem>"""


def test_the_page_shows_a_whole_kind_of_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (module,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    *_, config = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert len(module.splitlines()) < 60
    (tmp_path / "fracas.py").write_text(module)
    (tmp_path / "configs" / "data").mkdir(parents=True)
    (tmp_path / "configs" / "data" / "fracas.yaml").write_text(config)
    problems = [
        PROBLEM.format(
            i=i, noun=noun, answer=["yes", "no", "undef", "unknown"][i % 4], more="<p>So.</p>" if i == 7 else ""
        )
        for i, noun in enumerate(["dog", "cat", "tenor", "bird", "frog", "crow", "tree", "wolf"])
    ]
    text = "<fracas>" + "".join(f"<comment>S {i // 4}</comment>{one}" for i, one in enumerate(problems)) + "</fracas>"
    (tmp_path / "train.xml").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    section = section_of("data", "fracas")
    kind = class_of("data", section["class_path"])
    data = kind(**section["init_args"], path=str(tmp_path), augment="counterfactual")
    data.setup("fit")
    assert (len(data.trained), len(data.pool), len({*data.pool.column("cluster")})) == (3, 4, 1)
    whole = {e.uid: e for pool in (data.trained, data.pool) for e in pool}
    assert whole.keys() == {f"fracas/train/{i}" for i in range(7)}
    assert dict(whole["fracas/train/2"].parts) == {"premise": "Every tenor sings.", "hypothesis": "A tenor sings."}
    assert (whole["fracas/train/2"].label, whole["fracas/train/2"].meta["section"]) == ("unknown", "S 0")
    assert len(data.training_set()) > 3
    with_more = kind(**section["init_args"], path=str(tmp_path), most_premises=2)
    with_more.setup("fit")
    assert len(with_more.trained) + len(with_more.pool) == 8
    with refused(DataError, "train.xml, row 2", "'no'"):
        kind(**section["init_args"] | {"labels": {"yes": [], "unknown": []}}, path=str(tmp_path)).setup("fit")
    with refused(SettingError, "data.path"):
        kind(**section["init_args"]).setup("fit")
