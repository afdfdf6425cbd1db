"""The only module that uses kazoo: a ZooKeeper session for a command, whose errors are one clear line.

It handles connections, TLS, authentication and node ACLs; ``configs`` interprets the nodes. Node ACLs are those of
Kafka's ``ZkData.defaultAcls``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from kafka_tools.errors import ConfigError, StoreError
from kafka_tools.zookeeper.configs import Changed, ConfigNode, SessionLost
from kafka_tools.zookeeper.nodes import CONFIG_ROOT, SENSITIVE

TIMEOUT_S = 30.0


class ZooKeeperSettings(NamedTuple):
    """The connection settings of an ensemble. ``connect``: host:port,host:port/chroot. ``repr`` contains no secrets.

    ``ca_file``, ``certificate_file``, ``key_file`` are PEM. ``digest`` is "user:password" for digest authentication.
    With ``set_acl`` only the writer of new nodes may change them, as with ``zookeeper.set.acl`` in brokers.
    """

    connect: str
    timeout_s: float = TIMEOUT_S
    tls: bool = False
    check_hostname: bool = True
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    key_password: str | None = None
    digest: str | None = None
    set_acl: bool = False

    @property
    def servers(self) -> str:
        """The addresses of ``connect``."""
        return self.connect.partition("/")[0]

    @property
    def chroot(self) -> str:
        """The path of ``connect``: "" or /a/b."""
        names = [name for name in self.connect.partition("/")[2].split("/") if name]
        return "".join(f"/{name}" for name in names)

    def __repr__(self) -> str:
        return f"ZooKeeperSettings({self.connect}, tls={self.tls})"


class ZooKeeperStore:
    """A session, and the path to which its paths are relative: "" or a chroot. Created by ``open_store``."""

    def __init__(self, client: Any, settings: ZooKeeperSettings, chroot: str = "") -> None:
        self._client = client
        self._settings = settings
        self._chroot = chroot

    def below(self, chroot: str) -> ZooKeeperStore:
        """The same session, with paths relative to ``chroot``."""
        return ZooKeeperStore(self._client, self._settings, self._chroot + chroot)

    def exists(self, path: str) -> bool:
        with _one_line(self._settings, path):
            return self._client.exists(self._chroot + path) is not None

    def get(self, path: str) -> ConfigNode | None:
        from kazoo.exceptions import NoNodeError

        with _one_line(self._settings, path):
            try:
                data, stat = self._client.get(self._chroot + path)
            except NoNodeError:
                return None
        return ConfigNode(data, stat.version)

    def children(self, path: str) -> list[str]:
        from kazoo.exceptions import NoNodeError

        with _one_line(self._settings, path):
            try:
                return sorted(self._client.get_children(self._chroot + path))
            except NoNodeError:
                return []

    def ensure(self, path: str) -> None:
        from kazoo.exceptions import NodeExistsError

        with _one_line(self._settings, path):
            names = (self._chroot + path).strip("/").split("/")
            for depth in range(1, len(names) + 1):
                part = "/" + "/".join(names[:depth])
                if self._client.exists(part) is None:
                    try:
                        self._client.create(part, b"", acl=self._acl(part))
                    except NodeExistsError:
                        continue  # another client created it at the same time

    def write_and_notify(self, path: str, data: bytes, version: int | None, prefix: str, change: bytes) -> None:
        from kazoo.exceptions import BadVersionError, KazooException, NodeExistsError, NoNodeError, RolledBackError

        with _one_line(self._settings, path):
            transaction = self._client.transaction()
            full, changes = self._chroot + path, self._chroot + prefix
            if version is None:
                transaction.create(full, data, acl=self._acl(full))
            else:
                transaction.set_data(full, data, version=version)
            transaction.create(changes, change, acl=self._acl(changes), sequence=True)
            for result in transaction.commit():
                if isinstance(result, BadVersionError | NodeExistsError | NoNodeError):
                    raise Changed
                if isinstance(result, KazooException) and not isinstance(result, RolledBackError):
                    raise result

    def _acl(self, path: str) -> list[Any]:
        from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

        if not self._settings.set_acl:
            return list(OPEN_ACL_UNSAFE)
        sensitive = any(path.startswith(f"{self._chroot}{CONFIG_ROOT}/{kind}") for kind in SENSITIVE)
        return list(CREATOR_ALL_ACL) if sensitive else [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE]


@contextmanager
def open_store(settings: ZooKeeperSettings) -> Iterator[ZooKeeperStore]:
    """A session for the ``with`` block. Its paths are relative to the ensemble's root.

    Raises StoreError if no server can be reached (immediately if possible), and ConfigError for invalid settings.
    """
    try:
        from kazoo.client import KazooClient
        from kazoo.exceptions import ConfigurationError

        from kafka_tools.zookeeper.attempts import Attempts
    except ImportError as error:
        raise ConfigError(f"ZooKeeper needs kazoo: {error}", hint="pip install kazoo") from error
    for name in ("kazoo", "kazoo.client"):
        logging.getLogger(name).addHandler(logging.NullHandler())  # do not print its warnings
    attempts = Attempts()
    try:
        client = KazooClient(
            hosts=settings.servers,
            timeout=settings.timeout_s,
            auth_data=[("digest", settings.digest)] if settings.digest else None,
            use_ssl=settings.tls,
            check_hostname=settings.check_hostname,
            ca=settings.ca_file,
            certfile=settings.certificate_file,
            keyfile=settings.key_file,
            keyfile_password=settings.key_password,
            connection_retry={"max_tries": -1, "delay": 0.1, "max_delay": 1.0},
            command_retry={"max_tries": 3, "delay": 0.1},
            handler=attempts,
            logger=logging.getLogger("kazoo"),
        )
    except (ConfigurationError, ValueError) as error:
        raise ConfigError(
            f"invalid --zookeeper '{settings.connect}': expected host:port,.../chroot: {error}"
        ) from error
    try:
        attempts.begin(client, settings.servers, settings.timeout_s)
        yield ZooKeeperStore(client, settings)
    finally:
        client.stop()
        client.close()


@contextmanager
def _one_line(settings: ZooKeeperSettings, path: str) -> Iterator[None]:
    """Convert kazoo's exceptions to StoreError: the operation, the place and a hint."""
    from kazoo.exceptions import AuthFailedError, ConnectionLoss, KazooException, NoAuthError, SessionExpiredError
    from kazoo.handlers.threading import KazooTimeoutError
    from kazoo.retry import RetryFailedError

    try:
        yield
    except (NoAuthError, AuthFailedError) as error:
        raise StoreError(
            f"ZooKeeper node {path}: access denied", hint="log in as the user who created the node: it has an ACL"
        ) from error
    except (ConnectionLoss, SessionExpiredError, KazooTimeoutError, RetryFailedError) as error:
        raise SessionLost(
            f"the session with ZooKeeper at {settings.connect} was lost at node {path}",
            hint="check the stored values before you try again: the last change may have been made",
        ) from error
    except KazooException as error:
        raise StoreError(f"ZooKeeper node {path}: {type(error).__name__.removesuffix('Error')}") from error
