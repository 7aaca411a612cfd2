"""Digests of records, value by value: what the vectorised ones have to give."""

import hashlib
import struct
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

Pair = tuple[int, int]


def derive(key: bytes, purpose: str) -> bytes:
    return hashlib.blake2b(purpose.encode(), key=key, digest_size=32).digest()


def mac(message: bytes, key: bytes) -> bytes:
    """CBC-MAC: the last block of the message in cipher block chaining, zeros to fill it up."""
    filled = message + bytes(-len(message) % 16)
    encryptor = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).encryptor()
    return encryptor.update(filled)[-16:]


def hash_value(value: Any, key: bytes, *, as_value: bool) -> Pair:
    if value is None:
        return struct.unpack("<QQ", mac(struct.pack("<QQ", 1, 1), key))
    if isinstance(value, str):
        text, text_key = value.encode(), derive(key, "text")
        if len(text) > 256:
            digest = hashlib.blake2b(text, key=text_key, digest_size=16).digest()
        else:
            digest = mac(struct.pack("<QQ", len(text), 0) + text, text_key)
        return struct.unpack("<QQ", digest)
    if isinstance(value, float):
        word = struct.pack("<d", 0.0 if as_value and value == 0 else value)
    else:
        word = struct.pack("<q", value)
    return struct.unpack("<QQ", mac(word + bytes(8), key))


def add(first: Pair, second: Pair) -> Pair:
    return (first[0] + second[0]) % 2**64, (first[1] + second[1]) % 2**64


def digest(
    rows: list[tuple[Any, ...]], names: tuple[str, ...], as_values: tuple[str, ...], key: bytes
) -> list[Pair]:
    """Sums of whole records, then of each column alone."""
    sums: list[Pair] = [(0, 0)] * (len(names) + 1)
    for row in rows:
        record: Pair = (0, 0)
        for i, (name, value) in enumerate(zip(names, row, strict=True)):
            found = hash_value(value, derive(key, f"column {i}"), as_value=name in as_values)
            sums[i + 1], record = add(sums[i + 1], found), add(record, found)
        whole = mac(struct.pack("<QQ", *record), derive(key, "record"))
        sums[0] = add(sums[0], struct.unpack("<QQ", whole))
    return sums
