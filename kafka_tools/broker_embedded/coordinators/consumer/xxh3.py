"""XXH3 with 64 bits and seed 0, by which Kafka tells whether what a group reads has changed (hash4j's ``xxh3_64``).

Written from the algorithm's specification. Plain Python: topics are hashed once, when they change.
"""

from __future__ import annotations

from struct import Struct as Layout
from struct import unpack_from

_MASK = 2**64 - 1
_PRIME32_1, _PRIME32_2, _PRIME32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_PRIME64_1, _PRIME64_2, _PRIME64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_PRIME64_4, _PRIME64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_PRIME_MX1, _PRIME_MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25

_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_LONG, _INT, _EIGHT = Layout("<Q"), Layout("<I"), Layout("<8Q")
_STRIPE = 64
_STRIPES_OF_BLOCK = (len(_SECRET) - _STRIPE) // 8
_SECRET_LONGS = [unpack_from("<8Q", _SECRET, at) for at in range(0, len(_SECRET) - _STRIPE + 1, 8)]


def xxh3_64(data: bytes) -> int:
    """The hash, signed as Java has it."""
    length = len(data)
    if length <= 16:
        value = _short(data, length)
    elif length <= 128:
        value = _up_to_128(data, length)
    elif length <= 240:
        value = _up_to_240(data, length)
    else:
        value = _long(data, length)
    return value - 2**64 if value >> 63 else value


def _at(data: bytes, position: int) -> int:
    found: int = _LONG.unpack_from(data, position)[0]
    return found


def _int_at(data: bytes, position: int) -> int:
    found: int = _INT.unpack_from(data, position)[0]
    return found


def _folded(left: int, right: int) -> int:
    product = left * right
    return (product & _MASK) ^ (product >> 64)


def _avalanche(value: int) -> int:
    value ^= value >> 37
    value = value * _PRIME_MX1 & _MASK
    return value ^ (value >> 32)


def _avalanche_64(value: int) -> int:
    value ^= value >> 33
    value = value * _PRIME64_2 & _MASK
    value ^= value >> 29
    value = value * _PRIME64_3 & _MASK
    return value ^ (value >> 32)


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & _MASK


def _short(data: bytes, length: int) -> int:
    if length > 8:
        low = _at(data, 0) ^ (_at(_SECRET, 24) ^ _at(_SECRET, 32))
        high = _at(data, length - 8) ^ (_at(_SECRET, 40) ^ _at(_SECRET, 48))
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche((length + swapped + high + _folded(low, high)) & _MASK)
    if length >= 4:
        both = _int_at(data, length - 4) + (_int_at(data, 0) << 32)
        value = both ^ (_at(_SECRET, 8) ^ _at(_SECRET, 16))
        value ^= _rotated(value, 49) ^ _rotated(value, 24)
        value = value * _PRIME_MX2 & _MASK
        value ^= (value >> 35) + length
        value = value * _PRIME_MX2 & _MASK
        return value ^ (value >> 28)
    if length:
        both = data[0] << 16 | data[length >> 1] << 24 | data[length - 1] | length << 8
        return _avalanche_64(both ^ (_int_at(_SECRET, 0) ^ _int_at(_SECRET, 4)))
    return _avalanche_64(_at(_SECRET, 56) ^ _at(_SECRET, 64))


def _mixed(data: bytes, position: int, secret: int) -> int:
    return _folded(
        _at(data, position) ^ _at(_SECRET, secret),
        _at(data, position + 8) ^ _at(_SECRET, secret + 8),
    )


def _up_to_128(data: bytes, length: int) -> int:
    value = length * _PRIME64_1
    for pair in range((length - 1) // 32, -1, -1):
        value += _mixed(data, pair * 16, pair * 32)
        value += _mixed(data, length - 16 - pair * 16, pair * 32 + 16)
    return _avalanche(value & _MASK)


def _up_to_240(data: bytes, length: int) -> int:
    value = length * _PRIME64_1
    for at in range(8):
        value += _mixed(data, at * 16, at * 16)
    value = _avalanche(value & _MASK)
    for at in range(8, length // 16):
        value += _mixed(data, at * 16, (at - 8) * 16 + 3)
    value += _mixed(data, length - 16, 136 - 17)
    return _avalanche(value & _MASK)


def _long(data: bytes, length: int) -> int:
    lanes = [
        _PRIME32_3, _PRIME64_1, _PRIME64_2, _PRIME64_3, _PRIME64_4, _PRIME32_2, _PRIME64_5, _PRIME32_1,
    ]  # fmt: skip
    stripes = (length - 1) // _STRIPE
    for stripe in range(stripes):
        of_block = stripe % _STRIPES_OF_BLOCK
        _accumulate(lanes, _EIGHT.unpack_from(data, stripe * _STRIPE), _SECRET_LONGS[of_block])
        if of_block == _STRIPES_OF_BLOCK - 1:
            _scramble(lanes)
    last = len(_SECRET) - _STRIPE - 7
    _accumulate(lanes, _EIGHT.unpack_from(data, length - _STRIPE), _EIGHT.unpack_from(_SECRET, last))
    value = length * _PRIME64_1
    for pair in range(4):
        value += _folded(
            lanes[2 * pair] ^ _at(_SECRET, 11 + 16 * pair), lanes[2 * pair + 1] ^ _at(_SECRET, 19 + 16 * pair)
        )
    return _avalanche(value & _MASK)


def _accumulate(lanes: list[int], stripe: tuple[int, ...], secret: tuple[int, ...]) -> None:
    for lane, value in enumerate(stripe):
        keyed = value ^ secret[lane]
        lanes[lane ^ 1] = (lanes[lane ^ 1] + value) & _MASK
        lanes[lane] = (lanes[lane] + (keyed & 0xFFFFFFFF) * (keyed >> 32)) & _MASK


def _scramble(lanes: list[int]) -> None:
    secret = _SECRET_LONGS[-1]
    for lane, value in enumerate(lanes):
        lanes[lane] = ((value ^ (value >> 47)) ^ secret[lane]) * _PRIME32_1 & _MASK
