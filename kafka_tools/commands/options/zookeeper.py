"""Connects to ZooKeeper: options, the TLS file of Kafka's own tools, the session.

``--zk-tls-config-file`` accepts the properties of Kafka 2.5 to 3.9 (``zookeeper.ssl.*``, KIP-515), with key stores of
every type.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kafka_tools.commands import running
from kafka_tools.commands.options.command import connection_option
from kafka_tools.commands.options.values import read_text
from kafka_tools.errors import InputError, UsageError

if TYPE_CHECKING:
    from kafka_tools.zookeeper.configs import ZooKeeperConfigs

_PREFIX = "zookeeper.ssl."
_UNSUPPORTED = ("protocol", "enabled.protocols", "cipher.suites", "crl.enable", "ocsp.enable", "context.supplier.class")


def zookeeper_options(function: Any) -> Any:
    """Add the options for a ZooKeeper ensemble. Pass their values to ``open_configs``."""
    for add in (
        connection_option(
            "--zk-new-chroot",
            is_flag=True,
            help="Use the chroot of --zookeeper even if no broker is registered there and the brokers use a "
            "different one.",
        ),
        connection_option(
            "--zk-digest-file", metavar="FILE", help="File with user:password for digest authentication to ZooKeeper."
        ),
        connection_option(
            "--zk-tls-config-file",
            metavar="FILE",
            help="Properties file for TLS to ZooKeeper: zookeeper.ssl.client.enable=true and other zookeeper.ssl.* "
            "settings.",
        ),
        connection_option(
            "--zookeeper",
            metavar="HOST:PORT/CHROOT",
            help="ZooKeeper of a cluster older than 4.0, instead of a broker. Use the brokers' zookeeper.connect.",
        ),
    ):
        function = add(function)
    return function


def refuse_without_zookeeper(given: Mapping[str, Any]) -> None:
    """Raise UsageError for an option of ZooKeeper if the command uses brokers."""
    for name in ("zk_release", "zk_new_chroot", "zk_digest_file", "zk_tls_config_file"):
        if given.get(name):
            raise UsageError(f"--{name.replace('_', '-')} can only be used with --zookeeper")


@contextmanager
def open_configs(given: Mapping[str, Any], timeout_s: float, *, changing: bool) -> Iterator[ZooKeeperConfigs]:
    """The configs in the ensemble of the options, for the ``with`` block.

    ``changing``: whether the command changes configs, which is also possible before a cluster's first start. Raises
    StoreError, ConfigError, InputError.
    """
    from kafka_tools.texts.properties import read_properties
    from kafka_tools.zookeeper import chroots
    from kafka_tools.zookeeper.configs import ZooKeeperConfigs
    from kafka_tools.zookeeper.store import ZooKeeperSettings, open_store

    connect, tls_file, digest_file = given["zookeeper"], given["zk_tls_config_file"], given["zk_digest_file"]
    digest = None
    if digest_file:
        digest = read_text(digest_file, "digest file").strip()
        if ":" not in digest:
            raise InputError(f"invalid {digest_file}: expected user:password")
    values = read_properties(tls_file, "TLS config file") if tls_file else {}
    settings = ZooKeeperSettings(
        connect, timeout_s, digest=digest, set_acl=values.get("zookeeper.set.acl", "").lower() == "true"
    )
    with tempfile.TemporaryDirectory(prefix="kafka-tools-") as folder:
        if values.get(_PREFIX + "client.enable", "").lower() == "true":
            settings = settings._replace(tls=True, **_tls(values, tls_file or "", folder))
        with open_store(settings) as store:
            chroots.check(store, settings.servers, settings.chroot, given["zk_new_chroot"], changing, running.note)
            yield ZooKeeperConfigs(store.below(settings.chroot))


def _tls(values: Mapping[str, str], source: str, folder: str) -> dict[str, Any]:
    """Settings of TLS. Files for kazoo are written into ``folder``, which only this user can read."""
    from kafka_tools.net.key_stores import read_key_store, read_trust_store

    given = {name.removeprefix(_PREFIX): value for name, value in values.items() if name.startswith(_PREFIX)}
    ignored = [_PREFIX + name for name in _UNSUPPORTED if name in given]
    if ignored:
        running.note(f"warning: {source}: {', '.join(ignored)} is ignored; the TLS library decides")
    algorithm = given.get("endpoint.identification.algorithm", given.get("hostnameVerification", "https"))
    found: dict[str, Any] = {"check_hostname": algorithm.lower() in ("https", "true")}
    if given.get("truststore.location"):
        found["ca_file"] = _written(
            folder, "ca.pem", read_trust_store(given["truststore.location"], given.get("truststore.password"))
        )
    if given.get("keystore.location"):
        password = given.get("keystore.password")
        material = read_key_store(given["keystore.location"], password, password)
        found["certificate_file"] = _written(folder, "certificate.pem", material.chain)
        found["key_file"] = _written(folder, "key.pem", material.key)
        found["key_password"] = material.password
    return found


def _written(folder: str, name: str, text: str) -> str:
    path = os.path.join(folder, name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return path
