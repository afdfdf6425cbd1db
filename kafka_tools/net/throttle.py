"""When a client must hold back after a throttled answer (KIP-219).

Until a certain version of each API a broker delayed the answer itself; from that version on it answers at once and
the client keeps quiet for ``throttle_time_ms``. Source: ``shouldClientThrottle`` of Kafka's response classes.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Response

FROM_VERSION: dict[int, int] = {
    0: 6, 1: 8, 2: 3, 3: 6, 8: 4, 9: 4, 10: 2, 11: 3, 12: 2, 13: 2, 14: 2, 15: 2, 16: 2, 18: 2, 19: 3, 20: 2, 21: 1,
    22: 1, 24: 1, 25: 1, 26: 1, 28: 1, 29: 1, 30: 1, 31: 1, 32: 2, 33: 1, 34: 1, 35: 1, 37: 1, 38: 1, 39: 1, 40: 1,
    41: 1, 42: 1, 43: 0, 44: 0, 45: 0, 46: 0, 47: 0, 50: 0, 51: 0, 64: 0, 75: 0,
}  # fmt: skip
"""API key -> first version in which the client must throttle itself; absent: never."""


def client_must_wait_ms(response: Response, version: int) -> int:
    """Milliseconds that the connection must stay quiet after this response; 0 for none."""
    first = FROM_VERSION.get(response.API_KEY)
    if first is None or version < first:
        return 0
    return max(0, int(getattr(response, "throttle_time_ms", 0)))
