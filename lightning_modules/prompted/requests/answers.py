"""The answers of servers, kept in an SQLite file that several processes and several runs share."""

import hashlib
import os
import platform
import re
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from heedful.records import HeedfulError

OURS, VERSION = 0x48656564, 2  # marks the file: four letters of the first name
UNSEALED = 1  # the version whose answers had no checksum
SEAL = re.compile(r"([0-9a-f]{16}) (.*)", re.DOTALL)  # a checksum and an answer
LEASE = 30.0  # seconds after which another process takes a claim over that nobody has renewed
PATIENCE = 60.0  # seconds that a process waits for another one that writes
AT_ONCE = 500  # keys of one statement
TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY,  -- sha256 of the request
    request TEXT NOT NULL,  -- JSON: all that decides the answer
    answer TEXT,  -- a checksum and JSON; NULL while somebody asks
    run TEXT NOT NULL,  -- who asked last: all processes of a command together
    holder TEXT NOT NULL,  -- the process of it
    until REAL NOT NULL,  -- when its claim ends, in seconds since 1970
    sent INTEGER NOT NULL,  -- how often the run sent the request
    read INTEGER NOT NULL DEFAULT 0,  -- tokens, as the server says
    wrote INTEGER NOT NULL DEFAULT 0
)
"""


class Claimed(NamedTuple):
    """What a process gets that wants some answers.

    Attributes:
        answers: Key to answer of those that are there.
        mine: Keys that this process is to ask for.
        over: Whether there are more to ask for than the run may send.
    """

    answers: dict[str, str]
    mine: list[str]
    over: bool


class Totals(NamedTuple):
    """What all processes of a run have sent so far and got an answer to, and the tokens of these answers."""

    requests: int
    read: int
    wrote: int


def sealed(key: str, answer: str) -> str:
    """The answer to a request as the file keeps it, behind a checksum of both."""
    return f"{hashlib.sha256(f'{key} {answer}'.encode('utf-8', 'surrogatepass')).hexdigest()[:16]} {answer}"


def key_of(request: str) -> str:
    """The key of a request."""
    return hashlib.sha256(request.encode("utf-8", "surrogatepass")).hexdigest()


class Answers:
    """The file. A request is asked by whoever claims it first; others wait for the answer, or for the claim to end.

    A claim ends after :data:`LEASE` seconds without :meth:`renew`, or with its process where that runs on this machine.

    Args:
        path: The file; made where there is none.
        run: The name of the run, the same for all of its processes.
        clock: The time in seconds since 1970.

    Raises:
        HeedfulError: The file is damaged, is another one, or cannot be written.
    """

    def __init__(self, path: str | Path, run: str, clock: Callable[[], float] = time.time) -> None:
        self.path = Path(path)
        self.run = run
        self._clock = clock
        self.holder = f"{platform.node()} {os.getpid()} {secrets.token_hex(4)}"
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
        if (tables or mark) and (mark != OURS or version not in (UNSEALED, VERSION)):
            raise HeedfulError(
                f"§model.cache {self.path} is not a file of answers of this version of Heedful: name another file."
            )
        return version if tables else 0

    def _prepare(self) -> None:
        self._file.execute("PRAGMA synchronous = NORMAL")
        for _ in range(int(PATIENCE)):
            try:
                self._file.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:  # which heeds no time-out while another process changes it, too
                if "locked" not in str(error):
                    raise
                time.sleep(0.1)
        with self._writing():
            self._version = self._require_ours(self._file)
            if not self._version:
                self._version = VERSION
                self._file.execute(TABLE)
                self._file.execute("CREATE INDEX of_run ON answers (run)")
                self._file.execute(f"PRAGMA application_id = {OURS}")
                self._file.execute(f"PRAGMA user_version = {VERSION}")

    @contextmanager
    def _said(self) -> Iterator[None]:
        """Name the file in what sqlite raises."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise HeedfulError(f"§model.cache {self.path} cannot be used: {error}.") from None
        except sqlite3.Error as error:
            raise HeedfulError(
                f"§model.cache {self.path} is damaged, or not an SQLite file ({error}): move it away, or name another."
            ) from None
        except OSError as error:
            raise HeedfulError(f"§model.cache {self.path} cannot be used: {error.strerror or error}.") from None

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
        found = {}
        with self._said():
            for start in range(0, len(keys), AT_ONCE):
                some = keys[start : start + AT_ONCE]
                marks = ",".join("?" * len(some))
                query = f"SELECT key, answer FROM answers WHERE answer IS NOT NULL AND key IN ({marks})"
                found |= dict(self._file.execute(query, some))
        return {key: self._opened(key, stored) for key, stored in found.items()}

    def _opened(self, key: str, stored: str) -> str:
        """An answer without its checksum.

        Raises:
            HeedfulError: It is not the answer that was kept.
        """
        found = SEAL.fullmatch(stored)
        if found is None and self._version == UNSEALED:
            return stored
        if found is None or sealed(key, found[2]) != stored:
            raise HeedfulError(
                f"§model.cache {self.path} is damaged: the answer to the request {key[:12]} is not the one that was "
                "kept there. Move the file away, or name another."
            )
        return found[2]

    def claim(self, requests: Mapping[str, str], most: int | None = None) -> Claimed:
        """Get the answers that are there, and claim those that nobody asks for.

        Args:
            requests: Key to request.
            most: How many requests the run may send in all; None for any number.
        """
        answers = self.get(requests)
        wanted = [key for key in requests if key not in answers]
        if not wanted:
            return Claimed(answers, [], False)
        mine, over = [], False
        with self._writing():
            left = self._left(most)
            for key in wanted:
                row = self._file.execute("SELECT answer, holder, until FROM answers WHERE key = ?", (key,)).fetchone()
                if row is not None and row[0] is not None:
                    answers[key] = self._opened(key, row[0])
                elif row is not None and self._is_held(*row[1:]):
                    continue
                elif left is not None and len(mine) >= left:
                    over = True
                else:
                    self._take(key, requests[key])
                    mine.append(key)
        return Claimed(answers, mine, over)

    def _left(self, most: int | None) -> int | None:
        """How many more requests the run may send; what is claimed counts as sent."""
        if most is None:
            return None
        (sent,) = self._file.execute("SELECT TOTAL(sent) FROM answers WHERE run = ?", (self.run,)).fetchone()
        return most - int(sent)

    def _is_held(self, holder: str, until: float) -> bool:
        """Whether somebody asks for it: a process that renews its claim, and that is not known to have ended."""
        if until <= self._clock():
            return False
        node, _, rest = holder.rpartition(" ")[0].rpartition(" ")
        if holder == self.holder or node != platform.node():
            return True
        try:
            os.kill(int(rest), 0)
        except ProcessLookupError:
            return False
        except (OSError, ValueError):  # of another user
            return True
        return True

    def _take(self, key: str, request: str) -> None:
        self._file.execute(
            "INSERT INTO answers (key, request, run, holder, until, sent) VALUES (?, ?, ?, ?, ?, 1) "
            "ON CONFLICT (key) DO UPDATE SET run = excluded.run, holder = excluded.holder, until = excluded.until, "
            "sent = CASE WHEN run = excluded.run THEN sent + 1 ELSE 1 END",
            (key, request, self.run, self.holder, self._clock() + LEASE),
        )

    def again(self, key: str, most: int | None = None) -> bool:
        """Count that a request of mine is sent once more; False, and nothing is counted, where that is too many."""
        with self._writing():
            left = self._left(most)
            if left is not None and left < 1:
                return False
            self._file.execute("UPDATE answers SET sent = sent + 1 WHERE key = ?", (key,))
        return True

    def put(self, key: str, answer: str, read: int = 0, wrote: int = 0) -> None:
        """Keep the answer to a request of mine."""
        with self._said():
            self._file.execute(
                "UPDATE answers SET answer = ?, read = ?, wrote = ? WHERE key = ?",
                (sealed(key, answer), read, wrote, key),
            )

    def forget(self, keys: Sequence[str]) -> set[str]:
        """Drop answers that another run got, so that this one asks anew; returns those that are not there now."""
        if not keys:
            return set()
        with self._writing():
            self._file.executemany(
                "UPDATE answers SET answer = NULL, until = 0 WHERE key = ? AND run != ? AND answer IS NOT NULL",
                [(key, self.run) for key in keys],
            )
            kept = "SELECT 1 FROM answers WHERE key = ? AND answer IS NOT NULL"
            return {key for key in keys if self._file.execute(kept, (key,)).fetchone() is None}

    def renew(self, keys: Sequence[str]) -> None:
        """Keep claims of mine for some time more."""
        self._set_until(keys, self._clock() + LEASE)

    def release(self, keys: Sequence[str]) -> None:
        """Give claims of mine up, so that others ask."""
        self._set_until(keys, 0.0)

    def _set_until(self, keys: Sequence[str], until: float) -> None:
        with self._writing():
            self._file.executemany(
                "UPDATE answers SET until = ? WHERE key = ? AND holder = ? AND answer IS NULL",
                [(until, key, self.holder) for key in keys],
            )

    def totals(self) -> Totals:
        """What the run has sent so far."""
        with self._said():
            query = "SELECT TOTAL(sent), TOTAL(read), TOTAL(wrote) FROM answers WHERE run = ? AND answer IS NOT NULL"
            return Totals(*map(int, self._file.execute(query, (self.run,)).fetchone()))

    def close(self) -> None:
        """Close the file."""
        self._file.close()
