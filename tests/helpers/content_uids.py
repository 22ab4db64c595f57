"""The uids of examples without an id, by their content: written apart from what makes them."""

import hashlib
import unicodedata
from collections.abc import Mapping


def content_uid(prefix: str, label: str | None, parts: Mapping[str, str], repeat: int = 1) -> str:
    """The uid of the n-th example that has this label and these texts."""
    plain = (" ".join(unicodedata.normalize("NFC", parts[name]).split()) for name in sorted(parts))
    told = repr((label, *(hashlib.sha256(text.encode()).hexdigest() for text in plain)))
    number = int.from_bytes(hashlib.blake2b(told.encode(), digest_size=8).digest(), "little")
    return f"{prefix}/{number:016x}" + (f"#{repeat}" if repeat > 1 else "")


def context_id(sentence: str) -> str:
    """The id of a sentence with a hole (NLI-XY)."""
    plain = " ".join(unicodedata.normalize("NFC", sentence).split())
    return hashlib.sha256(plain.encode()).hexdigest()[:16]
