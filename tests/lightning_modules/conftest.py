"""Models of all families, built or trained once a session."""

import pytest
import tiny_models
from families import Zoo

from heedful.datamodules import Planted


@pytest.fixture(scope="session")
def zoo(request, tmp_path_factory):
    return Zoo(request, tmp_path_factory.mktemp("zoo"))


@pytest.fixture(scope="session")
def tiny_switch(tiny_t5, tmp_path_factory):
    return tiny_models.switch(tmp_path_factory.mktemp("tiny_switch"), tiny_t5)


@pytest.fixture(scope="session")
def untied_t5(tiny_t5, tmp_path_factory):
    return tiny_models.untied_t5(tmp_path_factory.mktemp("untied_t5"), tiny_t5)


@pytest.fixture(scope="session")
def tiny_bart(tmp_path_factory):
    sentences = [text for e in Planted(n_validation=8).load("validation") for text in e.parts.values()]
    return tiny_models.bart(tmp_path_factory.mktemp("tiny_bart"), sentences, positions=200)
