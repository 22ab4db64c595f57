"""Models of all families, built or trained once a session."""

import pytest
from families import Zoo


@pytest.fixture(scope="session")
def zoo(request, tmp_path_factory):
    return Zoo(request, tmp_path_factory.mktemp("zoo"))
