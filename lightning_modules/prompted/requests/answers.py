"""The answers of servers, kept in an SQLite file that several commands may share."""

import hashlib
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from heedful.records import HeedfulError, ModelError, RunError

OURS, VERSION = 0x48656564, 3  # marks the file: four letters of the first name
UNSEALED, CLAIMED = 1, 2  # earlier versions: without checksums, and with claims of several processes
KEPT = "the answers so far are kept"
SEAL = re.compile(r"([0-9a-f]{16}) (.*)", re.DOTALL)  # a checksum and an answer
PATIENCE = 60.0  # seconds that a process waits for another one that writes
AT_ONCE = 500  # keys of one statement
TABLE = """
CREATE TABLE answers (
    key TEXT PRIMARY KEY,  -- sha256 of the request
    request TEXT NOT NULL,  -- JSON: all that decides the answer
    answer TEXT NOT NULL  -- a checksum and JSON
)
"""


def sealed(key: str, answer: str) -> str:
    """The answer to a request as the file keeps it, behind a checksum of both."""
    return f"{hashlib.sha256(f'{key} {answer}'.encode('utf-8', 'surrogatepass')).hexdigest()[:16]} {answer}"


def key_of(request: str) -> str:
    """The key of a request."""
    return hashlib.sha256(request.encode("utf-8", "surrogatepass")).hexdigest()


def _resealed(key: str, answer: str) -> str:
    """An answer of a file that took them without checksums, with one."""
    match = SEAL.fullmatch(answer)
    return answer if match and sealed(key, match[2]) == answer else sealed(key, answer)


class Answers:
    """The file. Of two commands that ask the same at once each sends it, and the answer that came first is kept.

    Args:
        path: The file; made where there is none.

    Raises:
        HeedfulError: The file is damaged, is another one, or cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with self._said():
            self._look()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
            self._prepare()

    def _look(self) -> None:
        """Refuse a file of something else before anything in it is changed, its journal included.

        Raises:
            HeedfulError: It is one.
        """
        if not self.path.is_file() or not self.path.stat().st_size:
            return
        is_in_use = any(Path(f"{self.path}{end}").exists() for end in ("-wal", "-journal"))
        mode = "mode=ro" if is_in_use else "mode=ro&immutable=1"  # the latter makes no files beside it
        file = sqlite3.connect(f"{self.path.resolve().as_uri()}?{mode}", timeout=PATIENCE, uri=True)
        try:
            file.execute("BEGIN")
            self._require_ours(file)
        finally:
            file.close()

    def _require_ours(self, file: sqlite3.Connection) -> int:
        """The version of the file, 0 for one without tables; called in a transaction, as others may be making it."""
        (mark,) = file.execute("PRAGMA application_id").fetchone()
        (version,) = file.execute("PRAGMA user_version").fetchone()
        (tables,) = file.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        if (tables or mark) and (mark != OURS or version not in (UNSEALED, CLAIMED, VERSION)):
            raise ModelError(
                f"model.cache {self.path} is not a file of answers of this version of Heedful. Name another file."
            )
        return version if tables else 0

    def _prepare(self) -> None:
        self._file.execute("PRAGMA synchronous = NORMAL")
        for _ in range(int(PATIENCE)):
            try:
                self._file.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:  # which heeds no time-out while another process changes it, too
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                time.sleep(0.1)
        with self._writing():
            version = self._require_ours(self._file)
            if not version:
                self._file.execute(TABLE)
                self._file.execute(f"PRAGMA application_id = {OURS}")
            elif version != VERSION:
                self._take_over(version)
            self._file.execute(f"PRAGMA user_version = {VERSION}")

    def _take_over(self, version: int) -> None:
        """Make a file of an earlier version one of this: what has no answer goes."""
        self._file.create_function("resealed", 2, _resealed)
        answer = "resealed(key, answer)" if version == UNSEALED else "answer"
        self._file.execute("ALTER TABLE answers RENAME TO earlier")
        self._file.execute(TABLE)
        with_answer = f"SELECT key, request, {answer} FROM earlier WHERE answer IS NOT NULL"
        self._file.execute(f"INSERT INTO answers {with_answer}")
        self._file.execute("DROP TABLE earlier")

    @contextmanager
    def _said(self) -> Iterator[None]:
        """Name the file in what sqlite raises."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise self._unusable(error) from None
        except sqlite3.Error as error:
            raise ModelError(
                f"model.cache {self.path} is damaged, or not an SQLite file ({error}). Move the file away, or name "
                "another with model.cache."
            ) from None
        except OSError as error:
            raise self._unusable(error.strerror or error) from None

    def _unusable(self, why: object) -> HeedfulError:
        return RunError(
            f"model.cache {self.path} cannot be used ({why}). Name another file, on a disk of this machine."
        )

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction that others wait for."""
        with self._said():
            self._file.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._file.execute("ROLLBACK")
                raise
            self._file.execute("COMMIT")

    def get(self, keys: Iterable[str]) -> dict[str, str]:
        """The answers that are there, by key."""
        keys = list(keys)
        sealed_answers = {}
        with self._said():
            for start in range(0, len(keys), AT_ONCE):
                some = keys[start : start + AT_ONCE]
                marks = ",".join("?" * len(some))
                sealed_answers |= dict(
                    self._file.execute(f"SELECT key, answer FROM answers WHERE key IN ({marks})", some)
                )
        return {key: self._opened(key, stored) for key, stored in sealed_answers.items()}

    def _opened(self, key: str, stored: str) -> str:
        """An answer without its checksum.

        Raises:
            HeedfulError: It is not the answer that was kept.
        """
        match = SEAL.fullmatch(stored)
        if match is None or sealed(key, match[2]) != stored:
            raise ModelError(
                f"model.cache {self.path} is damaged: the answer to the request {key[:12]} is not the one that was "
                "kept there. Move the file away, or name another with model.cache."
            )
        return match[2]

    def put(self, key: str, request: str, answer: str) -> str:
        """Keep the answer to a request; gives the one that is kept, which another command may have brought first."""
        with self._said():
            self._file.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?)", (key, request, sealed(key, answer)))
        return self.get([key]).get(key, answer)  # another command may forget it meanwhile

    def forget(self, answers: Mapping[str, str]) -> None:
        """Drop these answers, by key, so that they are asked for anew; what another command has put there stays."""
        with self._writing():
            self._file.executemany(
                "DELETE FROM answers WHERE key = ? AND answer = ?",
                [(key, sealed(key, answer)) for key, answer in answers.items()],
            )

    def close(self) -> None:
        """Close the file."""
        self._file.close()
