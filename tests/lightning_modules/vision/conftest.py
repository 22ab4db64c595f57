"""Pictures for the tests of picture families."""

import noise
import pytest


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    return noise.write(tmp_path_factory.mktemp("noise"))
