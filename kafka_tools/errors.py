"""The whole exception tree of kafka_tools.

``str(error)`` is one line for an operator: what happened, to what, and where. ``error.hint`` is an
optional second line that says what to do next. This module imports nothing, so every package can
use it at no cost. Failures of single keys in a call are values (``admin.outcomes``), not exceptions.
"""

from __future__ import annotations

from typing import Any


class KafkaToolsError(Exception):
    """Base class of all errors that the product reports on purpose. Commands exit with ``exit_status``.

    ``item``: the one thing that failed, if the code that raises the error or passes it on knows it.
    """

    exit_status = 1
    item: str | None = None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class InputError(KafkaToolsError):
    """A value or document from the user is invalid. The message contains the file and the place."""


class ContradictoryInput(InputError):
    """The parts of a document are valid, but contradict each other: duplicates, lists of different lengths.

    Kafka raises AdminCommandFailedException for these documents. It raises AdminOperationException for text that is not
    JSON, another version or a missing field.
    """


class UsageError(InputError):
    """The command line itself is wrong (exit status 2)."""

    exit_status = 2


class ConfigError(InputError):
    """client.properties, TLS files or server.properties are wrong."""


class OutputError(KafkaToolsError):
    """Writing to standard output failed, for example because the disk is full."""


class NetworkError(KafkaToolsError):
    """Communication with a node failed. ``node`` is ``host:port`` or ``host:port (id N)``, None if unknown."""

    def __init__(self, message: str, *, node: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.node = node


class ConnectFailed(NetworkError):
    """The connection failed. The message names the stage (resolve, connect, TLS, versions)."""


class Disconnected(NetworkError):
    """The connection ended before the response was complete."""


class LoginWanted(Disconnected):
    """Several connections ended at their first request: the listener requires a login. Do not retry."""


class DeadlineExceeded(NetworkError):
    """The deadline of the call passed. The message says what the call waited for."""


class SecurityError(KafkaToolsError):
    """Authentication or the TLS handshake failed."""


class AuthenticationFailed(SecurityError):
    """SASL failed. The message contains the mechanism and the broker's own text."""

    @property
    def reason(self) -> AuthenticationFailed:
        """The detailed error if the peer gets a less specific one. Other causes stay hidden: they may contain bytes."""
        return self.__cause__ if isinstance(self.__cause__, AuthenticationFailed) else self


class TlsFailed(SecurityError):
    """The TLS handshake failed (certificate, host name, protocol version)."""


class WireError(KafkaToolsError):
    """Reading or writing a message of the protocol failed.

    ``api`` is the struct's name, ``position`` a byte offset into the given buffer, ``field`` a path
    such as ``topics[3].partitions[0].name``. Each is None where it has no meaning.
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
    """Received bytes are not a valid message. ``position`` and ``field`` are always set."""


class TooManyElements(DecodeError):
    """A message, which may be valid, has more elements than its reader accepts."""


class EncodeError(WireError):
    """A message cannot be written in the requested version."""


class UnsupportedVersion(WireError):
    """Both sides have no version of an API in common, or a struct does not have a version."""


class BrokerError(KafkaToolsError):
    """A broker returned an error code. ``code`` is the row of ``protocol.error_codes``."""

    def __init__(self, code: Any, message: str | None = None, *, hint: str | None = None) -> None:
        super().__init__(f"{code.name}: {message or code.text}", hint=hint)
        self.code = code
        self.broker_message = message


class AuthorizationFailed(BrokerError):
    """The principal is not authorized for the operation."""


class NotFound(BrokerError):
    """The topic, group, id or other resource does not exist."""


class AlreadyExists(BrokerError):
    """The resource exists already."""


class InvalidRequest(BrokerError):
    """The broker refused the values of the request."""


class PartialFailure(KafkaToolsError):
    """Some keys of a call failed. ``outcomes`` contains the outcomes of all keys, in order."""

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
    """The length, CRC, counts or contents of a batch are invalid."""


class DecompressesToMore(CorruptBatch):
    """The decompressed records of a batch have more bytes than their reader accepts."""


class CorruptIndex(LogError):
    """An index, snapshot or checkpoint file is invalid."""


class NewerFile(CorruptIndex):
    """The version of a file is newer than the newest release known here. The file may be valid."""


class UnknownMagic(CorruptBatch):
    """A batch of a magic other than 0, 1 and 2."""


class UnsupportedCodec(CorruptBatch):
    """A compression codec id that Kafka does not define, or a codec whose library is not installed."""


class StoreError(KafkaToolsError):
    """An operation on ZooKeeper failed."""
