"""The broker's state of one client connection, without its socket: its listener, and the principal logged in on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.values import host_address

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.security.authentication import Login


class Connection:
    """State of one client connection. ``principal`` changes when the SASL login is complete."""

    def __init__(self, connection_id: str, listener: str, client_host: str) -> None:
        self.id = connection_id
        self.listener = listener
        self.client_host = client_host
        self.kafka_host = host_address(client_host)
        """``client_host`` as Kafka spells it, as in ACLs and in descriptions of groups."""
        self.client_port = 0
        """The client's port, 0 if it is unknown."""
        self.software_name = self.software_version = "unknown"
        """The client's library, from ApiVersions v3 and later (KIP-511)."""
        self.principal = "User:ANONYMOUS"
        self.protocol = "PLAINTEXT"
        """The listener's security protocol."""
        self.token_authenticated = False
        """Whether the client logged in with a delegation token."""
        self.login: Login | None = None
        """The SASL login, on listeners with SASL."""
        self.close_after_reply = False
        self.login_failed = False
        """Whether the broker refused a login. It answers, if it does, and closes the connection after a delay."""
        self.muted_until_s = 0.0
        """The time on the monotonic clock (s) until which a quota mutes this connection."""
        self.local_host = client_host
        """The broker's address of the connection. Metadata contains it if the listener is bound to every address."""

    def take_login(self) -> None:
        """Set the principal of the SASL login if the login is complete."""
        login = self.login
        if login is not None and login.done:
            self.principal = login.principal
            self.token_authenticated = login.token is not None
