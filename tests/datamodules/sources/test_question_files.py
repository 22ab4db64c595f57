"""Questions about texts: spans that are not where MRQA has them."""

from typing import Any

import pytest

from heedful.datamodules.sources.question_files import questions
from heedful.records import DataError

from refusals import refused


@pytest.mark.parametrize("spans", [[], [3], [[]], [{"start": 3}]])
def test_an_answer_without_a_span_is_refused(spans: Any) -> None:
    answer = {"text": "Rome", "char_spans": spans}
    text = {"context": "In Rome.", "qas": [{"qid": "q", "answers": ["Rome"], "detected_answers": [answer]}]}
    with refused(DataError, "f, row 2, question 'q'", "char_spans", spans):
        list(questions(iter([(2, text)]), "f"))
