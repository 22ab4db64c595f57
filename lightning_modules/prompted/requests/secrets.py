"""Secrets of the environment: they reach no file, no log and no message."""

import base64
import json
import logging
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, unquote

HIDDEN = "***"
SHORTEST = 8  # characters; shorter ones, such as "EMPTY", are placeholders, and may stand in an answer by chance
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
                encoded = base64.b64encode(text.encode()).decode()
                forms |= {text, quote(text, safe=""), encoded, encoded.rstrip("="), json.dumps(text)[1:-1]}
        self._forms = sorted((form for form in forms if len(form) >= SHORTEST), key=len, reverse=True)

    def hide(self, text: str) -> str:
        """A text with each secret in it replaced by stars."""
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        return text

    def hide_inside(self, value: Any) -> Any:
        """JSON with each secret in its texts replaced: however they were escaped, they are plain once it is decoded."""
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, list):
            return [self.hide_inside(one) for one in value]
        if isinstance(value, dict):
            return {self.hide(name): self.hide_inside(one) for name, one in value.items()}
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


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # a library that formats its own line wrongly ends no run
        return str(_plain(record.msg))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else type(value).__name__
