"""SCRAM credentials of users (KIP-554), stored for authentication. No response contains them.

They are stored as Kafka's ``UserScramCredentialRecord``s. The checks and texts are those of ``ScramControlManager`` and
``ScramImage`` of Kafka. The broker never gets passwords: clients send the salted password, and the broker computes the
stored key and the server key from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kafka_tools import scram_math
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import RemoveUserScramCredentialRecord, UserScramCredentialRecord
from kafka_tools.scram_math import ScramCredential

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.journal import Journal


Deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion


class Credentials:
    """Credentials by user and mechanism."""

    def __init__(self, journal: Journal) -> None:
        self._by_user: dict[str, dict[int, UserScramCredentialRecord]] = {}
        journal.on_record(UserScramCredentialRecord, self._apply)
        journal.on_record(RemoveUserScramCredentialRecord, self._apply_remove)
        journal.on_image(self._image)

    def lookup(self, mechanism: str, user: str) -> ScramCredential | None:
        """The credential of a user for "SCRAM-SHA-256" or "SCRAM-SHA-512"."""
        kind = scram_math.MECHANISMS.get(mechanism)
        found = self._by_user.get(user, {}).get(kind.type_id) if kind else None
        if found is None:
            return None
        return ScramCredential(found.salt, found.stored_key, found.server_key, found.iterations)

    def describe(self, users: Sequence[str]) -> list[tuple[str, dict[int, int] | BrokerError]]:
        """(user, mechanism -> iterations, or an error), sorted by user. No users means all users."""
        described: list[tuple[str, dict[int, int] | BrokerError]] = []
        times = Counter(users)
        for user in sorted(times or self._by_user):
            known = self._by_user.get(user)
            if times[user] > 1:
                text = "Cannot describe SCRAM credentials for the same user twice in a single request: "
                described.append((user, error_for(error_codes.DUPLICATE_RESOURCE, text + user)))
            elif known is None:
                text = "Attempt to describe a user credential that does not exist: "
                described.append((user, error_for(error_codes.RESOURCE_NOT_FOUND, text + user)))
            else:
                described.append((user, {kind: known[kind].iterations for kind in sorted(known)}))
        return described

    def changes(
        self, request: AlterUserScramCredentialsRequest
    ) -> tuple[list[UserScramCredentialRecord | RemoveUserScramCredentialRecord], dict[str, BrokerError | None]]:
        """The records of all valid changes, and None or an error for each user, in the request's order.

        A user that occurs twice in a request is refused completely.
        """
        results: dict[str, BrokerError | None] = {}
        records: dict[str, UserScramCredentialRecord | RemoveUserScramCredentialRecord] = {}
        changes: list[Deletion | Upsertion] = [*request.deletions, *request.upsertions]
        for change in changes:
            user = change.name
            if user in results:
                records.pop(user, None)
                if results[user] is None:
                    text = "A user credential cannot be altered twice in the same request"
                    results[user] = error_for(error_codes.DUPLICATE_RESOURCE, text)
                continue
            try:
                records[user] = self._removed(change) if isinstance(change, Deletion) else _stored(change)
                results[user] = None
            except BrokerError as error:
                results[user] = error
        return list(records.values()), results

    def _removed(self, deletion: Deletion) -> RemoveUserScramCredentialRecord:
        _check_name(deletion.name, deletion.mechanism)
        if deletion.mechanism not in self._by_user.get(deletion.name, {}):
            raise error_for(error_codes.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
        return RemoveUserScramCredentialRecord(name=deletion.name, mechanism=deletion.mechanism)

    def _apply(self, record: UserScramCredentialRecord) -> None:
        self._by_user.setdefault(record.name, {})[record.mechanism] = record

    def _apply_remove(self, record: RemoveUserScramCredentialRecord) -> None:
        known = self._by_user.get(record.name, {})
        known.pop(record.mechanism, None)
        if not known:
            self._by_user.pop(record.name, None)

    def _image(self) -> Iterator[Stored]:
        return iter([record for known in self._by_user.values() for record in known.values()])


def _stored(upsertion: Upsertion) -> UserScramCredentialRecord:
    _check_name(upsertion.name, upsertion.mechanism)
    kind = scram_math.BY_TYPE_ID[upsertion.mechanism]
    if upsertion.iterations < kind.min_iterations:
        raise error_for(error_codes.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if upsertion.iterations > kind.max_iterations:
        raise error_for(error_codes.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    if not upsertion.salted_password:  # Java cannot use it as a key: UNKNOWN_SERVER_ERROR
        raise error_for(error_codes.UNACCEPTABLE_CREDENTIAL, "Salted password must not be empty")
    return UserScramCredentialRecord(
        name=upsertion.name,
        mechanism=upsertion.mechanism,
        salt=upsertion.salt,
        stored_key=scram_math.stored_key(kind, scram_math.client_key(kind, upsertion.salted_password)),
        server_key=scram_math.server_key(kind, upsertion.salted_password),
        iterations=upsertion.iterations,
    )


def _check_name(user: str, mechanism: int) -> None:
    if not user:
        raise error_for(error_codes.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if mechanism not in scram_math.BY_TYPE_ID:
        raise error_for(error_codes.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
