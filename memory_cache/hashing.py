"""This project's identity of content."""

import hashlib


def content_hash(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()
