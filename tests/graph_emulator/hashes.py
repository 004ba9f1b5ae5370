"""Content hashes as the service shows them."""

import base64
import hashlib
from functools import lru_cache


@lru_cache(maxsize=20_000)
def quick_xor(data: bytes) -> str:
    """The service's quickXorHash: 160 bits, each byte XORed in at 11 bits further than the one before."""
    mask = (1 << 160) - 1
    register = 0
    # Bytes that are 160 apart meet at one place, so what is long is folded first.
    folded = data
    if len(data) > 4096:
        total = 0
        for start in range(0, len(data), 160):
            total ^= int.from_bytes(data[start : start + 160].ljust(160, b"\0"), "big")
        folded = total.to_bytes(160, "big")
    for index, byte in enumerate(folded):
        shifted = byte << (index * 11 % 160)
        register ^= (shifted & mask) | (shifted >> 160)
    digest = bytearray(register.to_bytes(20, "little"))
    for index, byte in enumerate(len(data).to_bytes(8, "little")):
        digest[12 + index] ^= byte
    return base64.b64encode(bytes(digest)).decode()


def sha1(data: bytes) -> str:
    """SHA-1 in upper-case hex, as personal accounts once gave it."""
    return hashlib.sha1(data, usedforsecurity=False).hexdigest().upper()


def sha256(data: bytes) -> str:
    """SHA-256 in upper-case hex, as personal accounts give it now and then."""
    return hashlib.sha256(data).hexdigest().upper()
