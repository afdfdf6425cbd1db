"""The broker's state of one client connection, without its socket: its listener, and the principal logged in on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.values import host_address

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.security.authentication import Login


class Connection:
    """What the broker knows about one client connection. ``principal`` changes when SASL is done."""

    def __init__(self, connection_id: str, listener: str, client_host: str) -> None:
        self.id = connection_id
        self.listener = listener
        self.client_host = client_host
        self.kafka_host = host_address(client_host)
        """The same as Kafka spells it: what ACLs name and groups tell."""
        self.principal = "User:ANONYMOUS"
        self.protocol = "PLAINTEXT"
        """The listener's security protocol."""
        self.token_authenticated = False
        """Whether the login was with a delegation token."""
        self.login: Login | None = None
        """The SASL stage, on listeners that have one."""
        self.close_after_reply = False
        self.login_failed = False
        """Whether a login was refused: the answer, if there is one, and the end come after a delay."""
        self.muted_until_s = 0.0
        """The time on the monotonic clock (s) until which this connection is muted by a quota."""
        self.local_host = client_host
        """The address the client reached, told back when a listener is bound to every address."""

    def take_login(self) -> None:
        """Take the principal that the SASL login has established so far."""
        login = self.login
        if login is not None and login.done:
            self.principal = login.principal
            self.token_authenticated = login.token is not None
