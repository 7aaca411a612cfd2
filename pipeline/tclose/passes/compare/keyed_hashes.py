"""Keyed 128-bit hashes of many values at once.

CBC-MAC with AES-256 is a pseudo-random function of messages of one length, and of messages of any
length that begin with it (Bellare, Kilian and Rogaway 2000). Whoever lacks the key can build no
values whose hashes, or sums of hashes, are related. The same step is done for all values together:
of ten million it takes a twentieth of a second.
"""

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from tclose.model.array_types import Int64, UInt64

KEY_BYTES = 32
BLOCK_BYTES = 16
SHORT_BYTES = 256  # longer texts are hashed one by one


def derive_key(key: bytes, purpose: str) -> bytes:
    """A key of its own for a purpose."""
    return hashlib.blake2b(purpose.encode(), key=key, digest_size=KEY_BYTES).digest()


def hash_words(words: UInt64, key: bytes) -> UInt64:
    """Hashes (n, 2) of messages of w words each: uint64 (n, w)."""
    encryptor, n_words = _encryptor(key), words.shape[1]
    state = np.zeros((len(words), 2), dtype=np.uint64)
    for first in range(0, n_words, 2):
        part = words[:, first : first + 2]
        state[:, : part.shape[1]] ^= part
        state = _encrypt(encryptor, state)
    return state


def hash_texts(texts: pa.Array, key: bytes) -> UInt64:
    """Hashes (n, 2) of the bytes of texts; those of nulls are of no text in particular."""
    wide = texts.cast(pa.large_string())
    if not len(wide):
        return np.empty((0, 2), dtype=np.uint64)
    ends = np.frombuffer(wide.buffers()[1], dtype=np.int64)[wide.offset :][: len(wide) + 1]
    content = wide.buffers()[2]
    held = b"" if content is None else memoryview(content)[ends[0] : ends[-1]]
    data = np.zeros(len(held) + BLOCK_BYTES, dtype=np.uint8)
    data[: len(held)] = np.frombuffer(held, dtype=np.uint8)
    starts, sizes = ends[:-1] - ends[0], np.diff(ends)
    hashes = _hash_short(data, starts, np.where(sizes > SHORT_BYTES, 0, sizes), key)
    for i in np.flatnonzero(sizes > SHORT_BYTES).tolist():
        text = data[starts[i] : starts[i] + sizes[i]]
        digest = hashlib.blake2b(text.data, key=key, digest_size=BLOCK_BYTES).digest()
        hashes[i] = np.frombuffer(digest, dtype=np.uint64)
    return hashes


def _hash_short(data: NDArray[np.uint8], starts: Int64, sizes: Int64, key: bytes) -> UInt64:
    """Hashes of byte strings: their length, then their bytes, zeros after the last."""
    encryptor = _encryptor(key)
    lengths = np.zeros((SHORT_BYTES + 1, 2), dtype=np.uint64)
    lengths[:, 0] = np.arange(SHORT_BYTES + 1)
    state = _encrypt(encryptor, lengths).take(sizes, axis=0)
    blocks: Any = np.ndarray(
        data.size - BLOCK_BYTES + 1, dtype=f"V{BLOCK_BYTES}", buffer=data, strides=(1,)
    )
    for first in range(0, int(sizes.max()), BLOCK_BYTES):
        active = np.flatnonzero(sizes > first)
        # by index: take would copy the overlapping blocks, sixteen times the texts, each time
        block = blocks[starts[active] + first].view(np.uint64).reshape(-1, 2)
        block &= _MASKS.take(np.minimum(sizes[active] - first, BLOCK_BYTES), axis=0)
        block ^= state.take(active, axis=0)
        state[active] = _encrypt(encryptor, block)
    return state


_BYTES = np.arange(BLOCK_BYTES) < np.arange(BLOCK_BYTES + 1)[:, None]
_MASKS: UInt64 = (_BYTES * np.uint8(255)).view(np.uint64)  # keep the first 0, 1, ... 16 bytes


def _encryptor(key: bytes) -> CipherContext:
    # Each block is encrypted by itself: the chaining of a message's blocks is done outside.
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # noqa: S305


def _encrypt(encryptor: CipherContext, blocks: UInt64) -> UInt64:
    """Each row encrypted: uint64 (n, 2)."""
    n_bytes = blocks.size * blocks.itemsize
    out = np.empty(n_bytes + BLOCK_BYTES - 1, dtype=np.uint8)
    encryptor.update_into(np.ascontiguousarray(blocks).view(np.uint8).reshape(-1).data, out.data)
    return out[:n_bytes].view(np.uint64).reshape(-1, 2)
