"""Secrets of the environment: they reach no file, no log and no message."""

import base64
import json
import logging
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, quote_plus, unquote

HIDDEN = "***"
SHORTEST = 8  # characters; shorter ones, such as "EMPTY", are placeholders, and may stand in an answer by chance
WORD = "(?:[a-z]{1,20}|[A-Z][a-z]{0,19}|[A-Z]{1,20})"
PLAIN = re.compile(rf"{WORD}(?:[ _.-]{WORD})*|[0-9 :.,/-]{{1,15}}")  # words, a number or a date: no good key
LIBRARIES = "openai", "httpx2", "httpcore2", "httpx", "httpcore"  # which may log what a server sends


class Secrets:
    """Texts that are hidden wherever they occur, in each form in which they are sent.

    Args:
        secrets: A key, or "user:password".

    Example:
        >>> Secrets(["sk-1234567890"]).hide("Incorrect API key: sk-1234567890.")
        'Incorrect API key: ***.'
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        forms: set[str] = set()
        for secret in secrets:
            for text in {secret, *secret.split(":", 1), unquote(secret), *unquote(secret).split(":", 1)}:
                forms |= _forms(text) | _forms(text.strip(" \t\r\n'\""))
        # the longest first: to replace a form that is a part of another one would leave the rest of that one in sight
        self._forms = sorted((form for form in forms if len(form) >= SHORTEST), key=len, reverse=True)

    def hide(self, text: str) -> str:
        """A text with each secret in it replaced by stars."""
        return _replaced(text, self._forms)

    def hide_inside(self, value: Any) -> Any:
        """JSON with each secret in its texts replaced: however they were escaped, they are plain once it is decoded.

        A secret that is a common word, or a number, stays: it may be the answer.
        """
        if isinstance(value, str):
            return _replaced(value, [form for form in self._forms if not PLAIN.fullmatch(form)])
        if isinstance(value, list):
            return [self.hide_inside(one) for one in value]
        if isinstance(value, dict):
            return {self.hide_inside(name): self.hide_inside(one) for name, one in value.items()}
        return value

    def hide_in_logs(self) -> None:
        """From now on, the loggers of the libraries that send requests hide them."""
        for name in (*LIBRARIES, *logging.root.manager.loggerDict):
            if name.split(".")[0] in LIBRARIES:
                logging.getLogger(name).addFilter(self._shown)

    def _shown(self, record: logging.LogRecord) -> bool:
        record.msg = self.hide(_message(record))
        record.args = ()
        record.exc_info = record.exc_text = None  # a traceback may quote what was sent
        return True


def _forms(text: str) -> set[str]:
    """A text in each form in which people, programs and servers write it."""
    raw = text.encode("utf-8", "surrogatepass")
    base64_ = {base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()}
    percent = {quote(raw, safe=""), quote(raw), quote_plus(raw), "".join(f"%{byte:02X}" for byte in raw)}
    escaped = {repr(text)[1:-1], ascii(text)[1:-1], repr(raw)[2:-1], json.dumps(text)[1:-1]}
    escaped |= {json.dumps(text, ensure_ascii=False)[1:-1], raw.hex()}
    lower = {re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), form) for form in percent}
    return {text, *base64_, *(form.rstrip("=") for form in base64_), *percent, *lower, *escaped}


def _replaced(text: str, forms: Iterable[str]) -> str:
    for form in forms:
        text = text.replace(form, HIDDEN)
    return text


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # a library that formats its own line wrongly ends no run
        return str(_plain(record.msg))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else type(value).__name__
