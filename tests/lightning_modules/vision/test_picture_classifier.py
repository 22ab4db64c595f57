"""Families that read pictures take one text and any pictures."""

import pytest

from heedful.lightning_modules import BlipAnswers, LateFusion, Vilt
from heedful.lightning_modules.vision.picture_classifier import PictureClassifier
from heedful.records import CLASSIFICATION, ModelError, Task

from refusals import refused


@pytest.mark.parametrize("family", [Vilt, LateFusion, BlipAnswers])
def test_a_task_must_have_pictures_and_one_text(family: type[PictureClassifier]) -> None:
    model = family("unused")
    model.require_parts(Task(CLASSIFICATION, ("text",), ("a",)))  # --partial text
    for parts in (("a", "b"), ("image", "a", "b")):
        task = Task(CLASSIFICATION, parts, ("x",), pictures=tuple(p for p in parts if p == "image"))
        with refused(ModelError, f"model {family.__name__}", "a, b"):
            model.require_parts(task)
