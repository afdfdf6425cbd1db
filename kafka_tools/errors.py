"""The whole exception tree of kafka_tools.

``str(error)`` is one line for an operator: what happened, to what, and where. ``error.hint`` is an
optional second line that says what to do next. Nothing here imports anything, so every package may
use it for free. Failures of single keys in a call are values (``admin.outcomes``), not exceptions.
"""

from __future__ import annotations

from typing import Any


class KafkaToolsError(Exception):
    """Anything the product reports on purpose; commands exit with ``exit_status``.

    ``item``: what failed, where a call is about one thing and the code that raises it or passes it on knows which.
    """

    exit_status = 1
    item: str | None = None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class InputError(KafkaToolsError):
    """A value or document that the user gave is wrong; the message names file and place."""


class ContradictoryInput(InputError):
    """A document whose parts are valid one by one and not together: duplicates, lists of different lengths.

    Kafka has two kinds of errors here as well: AdminCommandFailedException for these, AdminOperationException for text
    that is not JSON, another version, a field that is missing.
    """


class UsageError(InputError):
    """The command line itself is wrong (exit status 2)."""

    exit_status = 2


class ConfigError(InputError):
    """client.properties, TLS files or server.properties are wrong."""


class OutputError(KafkaToolsError):
    """Standard output takes no more (a full disk): nothing can be shown any further."""


class NetworkError(KafkaToolsError):
    """Talking to a node failed. ``node`` is ``host:port`` or ``host:port (id N)``, None if unknown."""

    def __init__(self, message: str, *, node: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.node = node


class ConnectFailed(NetworkError):
    """No connection: the message names the stage (resolve, connect, TLS, versions)."""


class Disconnected(NetworkError):
    """The connection ended before the answer was complete."""


class LoginWanted(Disconnected):
    """Connections ended at their first request, again and again: the listener wants a login. Do not try again."""


class DeadlineExceeded(NetworkError):
    """The deadline of the call passed; the message says what was being waited for."""


class SecurityError(KafkaToolsError):
    """Authentication or TLS was refused."""


class AuthenticationFailed(SecurityError):
    """SASL failed; the message holds the mechanism and the broker's own text."""

    @property
    def reason(self) -> AuthenticationFailed:
        """What is wrong, where the other side is told less: of other causes neither learns, for they may show bytes."""
        return self.__cause__ if isinstance(self.__cause__, AuthenticationFailed) else self


class TlsFailed(SecurityError):
    """The TLS handshake failed (certificate, host name, protocol version)."""


class WireError(KafkaToolsError):
    """Bytes and messages of the protocol disagree.

    ``api`` is the struct's name, ``position`` a byte offset into the buffer given, ``field`` a path
    such as ``topics[3].partitions[0].name``; each is None where it has no meaning.
    """

    def __init__(
        self,
        message: str,
        *,
        api: str | None = None,
        version: int | None = None,
        position: int | None = None,
        field: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.api = api
        self.version = version
        self.position = position
        self.field = field


class DecodeError(WireError):
    """Foreign bytes are not a valid message; always has position and field."""


class TooManyElements(DecodeError):
    """A message that may be valid, but has more elements than its reader wants to hold at once."""


class EncodeError(WireError):
    """A message cannot be written in the version asked for."""


class UnsupportedVersion(WireError):
    """No version of an API that both sides speak, or a version that a struct does not have."""


class BrokerError(KafkaToolsError):
    """A broker answered with an error code. ``code`` is the row of ``protocol.error_codes``."""

    def __init__(self, code: Any, message: str | None = None, *, hint: str | None = None) -> None:
        super().__init__(f"{code.name}: {message or code.text}", hint=hint)
        self.code = code
        self.broker_message = message


class AuthorizationFailed(BrokerError):
    """The principal may not do this."""


class NotFound(BrokerError):
    """The topic, group, id or other resource does not exist."""


class AlreadyExists(BrokerError):
    """The resource exists already."""


class InvalidRequest(BrokerError):
    """The broker refused the values of the request."""


class PartialFailure(KafkaToolsError):
    """Some keys of a call failed; ``outcomes`` holds all of them, in order."""

    def __init__(self, message: str, outcomes: Any, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.outcomes = outcomes


class LogError(KafkaToolsError):
    """Data on disk is damaged. ``path`` is the file, ``position`` the byte offset in it, if known."""

    def __init__(
        self, message: str, *, path: str | None = None, position: int | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.path = path
        self.position = position


class CorruptBatch(LogError):
    """A batch's length, CRC, counts or contents are impossible."""


class DecompressesToMore(CorruptBatch):
    """The records of a batch are more bytes, once decompressed, than their reader takes."""


class CorruptIndex(LogError):
    """An index, snapshot or checkpoint file is impossible."""


class NewerFile(CorruptIndex):
    """A file whose version came after the newest release known here; nothing is known to be wrong with it."""


class UnknownMagic(CorruptBatch):
    """A batch of a magic other than 0, 1 and 2."""


class UnsupportedCodec(CorruptBatch):
    """A compression codec id that no Kafka knows, or whose library is missing."""


class StoreError(KafkaToolsError):
    """ZooKeeper, or what stands in its place, failed."""
