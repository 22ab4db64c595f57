"""A hub on this machine: it creates repositories, and keeps what is committed to them."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from huggingface_hub import constants


class Hub(ThreadingHTTPServer):
    """What was asked of it.

    Attributes:
        private: Name of each repository to whether nobody else sees it.
        files: Path to content of what was committed.
        commits: How often.
        refuses: What it says to every request instead.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.private: dict[str, bool] = {}
        self.files: dict[str, bytes] = {}
        self.commits = 0
        self.refuses = ""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answers(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""

    @property
    def _name(self) -> str:
        """USER/NAME in /api/models/USER/NAME/..."""
        return "/".join(self.path.split("/")[3:5])

    def do_GET(self) -> None:
        name = self._name
        if name not in self.server.private:
            self._send({"error": f"there is no {self.path}"}, 404)
            return
        self._send({"id": name, "modelId": name, "private": self.server.private[name], "siblings": [], "tags": []})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.refuses:
            self._send({"error": self.server.refuses}, 403)
        elif self.path == "/api/validate-yaml":
            known = json.loads(body)["content"].startswith("---\n")
            self._send({"errors": [], "warnings": []} if known else {"error": "no metadata"}, 200 if known else 400)
        elif self.path == "/api/repos/create":
            self._create(json.loads(body))
        elif "/preupload/" in self.path:
            files = [
                {"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in json.loads(body)["files"]
            ]
            self._send({"files": files})
        elif "/commit/" in self.path:
            self._commit([json.loads(line) for line in body.splitlines()])

    def _create(self, asked: dict[str, Any]) -> None:
        name = f"{asked['organization']}/{asked['name']}"
        if is_there := name in self.server.private:
            self._send({"error": "exists", "url": f"{self.server.address}/{name}"}, 409)
        self.server.private.setdefault(name, asked.get("private", asked.get("visibility") == "private"))
        if not is_there:
            self._send({"url": f"{self.server.address}/{name}"})

    def _commit(self, entries: list[dict[str, Any]]) -> None:
        for entry in entries:
            if entry["key"] == "file":
                assert entry["value"]["encoding"] == "base64"
                self.server.files[entry["value"]["path"]] = base64.b64decode(entry["value"]["content"])
        self.server.commits += 1
        self._send({"commitUrl": f"{self.server.address}/{self._name}/commit/1", "commitOid": "1" * 40})

    def _send(self, content: dict[str, Any], status: int = 200) -> None:
        text = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@contextmanager
def fake_hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub that huggingface_hub takes for its own."""
    with Hub() as hub:
        threading.Thread(target=hub.serve_forever, daemon=True).start()
        monkeypatch.setattr(constants, "ENDPOINT", hub.address)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setenv("HF_TOKEN", "hf_of_nobody")
        yield hub
        hub.shutdown()
