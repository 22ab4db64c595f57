"""Cache of replies in a SQLite file, which several commands may use at once."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from threading import Lock

from heedful.lightning_modules.prompted.requests.replies import Reply
from heedful.records import RunError

PATIENCE = 60.0  # seconds to wait for the lock of another process
AT_ONCE = 500  # keys per statement
TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY,  -- sha256 of the request
    reply TEXT NOT NULL,  -- JSON: answer, scores and name of the model
    at TEXT DEFAULT CURRENT_TIMESTAMP
)
"""


class Answers:
    """A file that stores the reply to each request under the key of the request.

    A reply is on disk when :meth:`put` returns; later replies with the same key are ignored.

    Args:
        path: The file, which is created if it does not exist.

    Raises:
        RunError: The file is damaged, is not a file of answers, or cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = Lock()
        with self._explained():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(self.path, PATIENCE, isolation_level=None, check_same_thread=False)
            self._file.execute("PRAGMA synchronous = NORMAL")
            self._file.execute(TABLE)
            if self._file.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("SELECT key, reply FROM answers LIMIT 1")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Context manager that converts errors of SQLite to a ``RunError`` with the name of the file."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise RunError(
                f"cache {self.path} cannot be used ({error}). Move it away if it is damaged or from another version, "
                "or name another file with cache, on a disk of this machine."
            ) from None

    def get(self, keys: Iterable[str]) -> dict[str, Reply]:
        """Return the stored replies to the requests with these keys, by key; keys without a reply are left out."""
        keys, rows = list(keys), []
        with self._lock, self._explained():
            for start in range(0, len(keys), AT_ONCE):
                batch = keys[start : start + AT_ONCE]
                marks = ",".join("?" * len(batch))
                rows += self._file.execute(f"SELECT key, reply FROM answers WHERE key IN ({marks})", batch).fetchall()
        return {key: Reply(**json.loads(reply)) for key, reply in rows}

    def put(self, key: str, reply: Reply) -> Reply:
        """Store a reply, and return the stored reply, which another command may have written first."""
        entry = {name: value for name, value in asdict(reply).items() if name in ("text", "scores", "model")}
        with self._lock, self._explained():
            text = json.dumps(entry, ensure_ascii=False)
            self._file.execute("INSERT OR IGNORE INTO answers (key, reply) VALUES (?, ?)", (key, text))
        return self.get([key]).get(key, reply)

    def remove(self, keys: Iterable[str]) -> None:
        """Remove the replies with these keys, so that they are requested again."""
        with self._lock, self._explained():
            self._file.executemany("DELETE FROM answers WHERE key = ?", [(key,) for key in keys])
