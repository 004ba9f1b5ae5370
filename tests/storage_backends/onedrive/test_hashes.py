"""Hashes of the service tell whether bytes arrived whole, and are never taken for their identity."""

import base64
import hashlib
import random

import pytest

from storage_backends.onedrive.hashes import fits, quick_xor
from tests.graph_emulator import hashes as emulated


def by_definition(data: bytes) -> str:
    """Byte i is XORed in, rotated by 11·i bits in a register of 160; the length goes into the last 8 bytes."""
    register = [0] * 160
    for index, byte in enumerate(data):
        for bit in range(8):
            register[(index * 11 + bit) % 160] ^= byte >> bit & 1
    digest = bytearray(sum(register[place * 8 + bit] << bit for bit in range(8)) for place in range(20))
    for place, byte in enumerate(len(data).to_bytes(8, "little")):
        digest[12 + place] ^= byte
    return base64.b64encode(digest).decode()


@pytest.mark.parametrize("size", [0, 1, 7, 19, 20, 21, 159, 160, 161, 320, 1000, 4096, 4097, 9999])
def test_quick_xor_is_what_its_definition_says(size: int) -> None:
    data = random.Random(size).randbytes(size)
    assert quick_xor(data) == emulated.quick_xor(data) == by_definition(data)


def test_quick_xor_cannot_tell_exchanged_blocks_apart() -> None:
    one, two = b"A" * 159 + b"\n", b"B" * 159 + b"\n"
    assert quick_xor(one + two) == quick_xor(two + one) == "AAAAAAAAAAAAAAAAQAEAAAAAYAA="
    assert hashlib.sha256(one + two).digest() != hashlib.sha256(two + one).digest()


def test_the_strongest_hash_that_is_given_decides() -> None:
    data = b"memory"
    right = {"sha256Hash": emulated.sha256(data), "sha1Hash": emulated.sha1(data), "quickXorHash": quick_xor(data)}
    assert fits(data, right)
    assert fits(data, {}) is None
    for name in right:
        assert fits(data, {name: right[name]})
        assert fits(b"memorz", {name: right[name]}) is False
    assert fits(data, {**right, "quickXorHash": "wrong"})
