"""Whether bytes are those that the service describes. Never whether two files are the same: its quickXorHash
collides for texts whose blocks of 160 bytes are exchanged."""

import base64
import hashlib
from collections.abc import Mapping

_BITS, _BYTES = 160, 20
_MASK = (1 << _BITS) - 1


def fits(data: bytes, hashes: Mapping[str, str]) -> bool | None:
    """Whether the strongest hash that is given fits the bytes; None when none is given."""
    if sha256 := hashes.get("sha256Hash"):
        return hashlib.sha256(data).hexdigest() == sha256.lower()
    if sha1 := hashes.get("sha1Hash"):
        return hashlib.sha1(data, usedforsecurity=False).hexdigest() == sha1.lower()
    if quick := hashes.get("quickXorHash"):
        return quick_xor(data) == quick
    return None


def quick_xor(data: bytes) -> str:
    """The service's quickXorHash.

    Byte i is XORed in at bit 11·i mod 160, so bytes that are 160 apart meet at one place: whole blocks
    are folded first, and only 160 positions are left to do one by one.
    """
    folded = 0
    for start in range(0, len(data), _BITS):
        folded ^= int.from_bytes(data[start : start + _BITS], "little")
    register = 0
    for index, byte in enumerate(folded.to_bytes(_BITS, "little")):
        shifted = byte << (index * 11 % _BITS)
        register ^= (shifted & _MASK) | (shifted >> _BITS)
    register ^= len(data) << (_BITS - 64)
    return base64.b64encode(register.to_bytes(_BYTES, "little")).decode()
