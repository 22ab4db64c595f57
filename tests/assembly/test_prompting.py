"""The prompts of an evaluation, and the folders of their results."""

from types import SimpleNamespace
from typing import Any

import pytest

from heedful.assembly.evaluation import each_prompt
from heedful.assembly.prompting import prompts_of
from heedful.callbacks.engine.evaluation import Plan, Planned, Plans
from heedful.datamodules import Planted
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules.predictor import Capabilities
from heedful.records import Context, Example, ExamplesBuilder
from heedful.records.prompts import Prompt

from oracles import Oracle


class InContext(Oracle):
    """An oracle that needs a prompt, and records its prompts."""

    capabilities = Capabilities(prompts="needed")

    def __init__(self) -> None:
        super().__init__(lambda table, hypothesis: "neutral")
        self.asked: list[Prompt] = []

    def prompt_with(self, prompt: Prompt) -> None:
        self.asked.append(prompt)

    def sent(self, example: Example) -> dict[str, Any]:
        return {"text": self.asked[-1].text(example.parts["hypothesis"])}


class Trained(InContext):
    """An oracle that reads prompts, and does not need one."""

    capabilities = Capabilities(prompts="optional")


@pytest.fixture(scope="module")
def data() -> Planted:
    planted = Planted(n_train=40, n_validation=6)
    planted.setup("validate")
    return planted


def plans(data: Planted) -> Plans:
    """Plans of an evaluation of no example and of an evaluation of all examples."""
    pools = (ExamplesBuilder(data.task.parts).finish(), data.pool)
    planned = [Planned(None, Plan(pool, ()), Context(data.name)) for pool in pools]
    return Plans(dict(zip("ab", planned, strict=True)))


# which prompts


def test_a_model_that_needs_a_prompt_has_one_without_any_setting(data: Planted) -> None:
    model = InContext()
    (prompt,) = prompts_of(Prompting(), model, data)
    assert (prompt.name, prompt.tuples) == ("plain", 0)
    assert model.asked == [prompt]  # so that it can refuse a prompt before a measurement


def test_a_model_that_may_be_asked_either_way_is_prompted_where_settings_ask_for_it(data: Planted) -> None:
    assert prompts_of(Prompting(), Trained(), data) == []
    assert prompts_of(Prompting(wordings=[]), Trained(), data) == []  # as parsed
    assert len(prompts_of(Prompting(wordings=["plain"]), Trained(), data)) == 1
    assert len(prompts_of(Prompting(tuples=1, seeds=2), Trained(), data)) == 2


# where results lie


def prepared(prompts: list[Prompt], data: Planted) -> SimpleNamespace:
    """The attributes of a plan that concern prompts."""
    return SimpleNamespace(model=InContext(), prompts=prompts, plans=plans(data))


def test_several_prompts_have_a_folder_each(data: Planted) -> None:
    prompts = Prompting(2, 2, "extra_tuple").prompts(data)
    plan = prepared(prompts, data)
    names = []
    for prompt, (name, about) in zip(prompts, each_prompt(plan), strict=False):
        assert plan.model.asked[-1] == prompt
        assert about["prompt"]["sent"] == {"text": prompt.text(data.pool[0].parts["hypothesis"])}
        assert about["prompt"]["example"] == data.pool[0].uid
        names.append(name)
    assert names == [f"plain-extra_tuple-k2-seed{seed}" for seed in range(2)]


def test_one_prompt_and_none_have_the_folder_of_the_command(data: Planted) -> None:
    ((name, about),) = each_prompt(prepared(Prompting(1).prompts(data), data))
    assert (name, about["prompt"]["seed"]) == ("", 0)
    assert list(each_prompt(prepared([], data))) == [("", {})]  # measured once
