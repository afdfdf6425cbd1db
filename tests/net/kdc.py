"""A real Kerberos KDC (MIT's krb5kdc) for one realm on loopback, for tests of GSSAPI.

    with Kdc.start(folder) as kdc:
        kdc.add("alice"), kdc.keytab("kafka/127.0.0.1"), kdc.environment

``missing()`` says why there can be none here.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

REALM = "KAFKA-TOOLS.TEST"
_PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/lib/mit/sbin"))
_PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")
_WAIT_S = 60


def missing() -> str | None:
    """What a KDC, or a client of it, lacks on this machine; None if it can be run."""
    absent = [name for name in _PROGRAMS if shutil.which(name, path=_PATH) is None]
    if absent:
        return f"no Kerberos KDC is installed ({', '.join(absent)} not found)"
    return None if find_spec("gssapi") else "the Python package gssapi (extra: kerberos) is not installed"


class Kdc:
    """A running KDC. ``environment`` leads Kerberos libraries to it, ``config`` (a krb5.conf) Java."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.config = folder / "krb5.conf"
        self.environment = {
            "KRB5_CONFIG": str(self.config),
            "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
            "KRB5CCNAME": f"FILE:{folder / 'nobody.cache'}",
            "KRB5RCACHENAME": "none:",
        }
        self.config.write_text(
            f"[libdefaults]\ndefault_realm = {REALM}\ndns_lookup_kdc = false\ndns_lookup_realm = false\n"
            "dns_canonicalize_hostname = false\nrdns = false\nudp_preference_limit = 1\nticket_lifetime = 1h\n"
            f"[realms]\n{REALM} = {{\n  kdc = 127.0.0.1:{port}\n}}\n[domain_realm]\n127.0.0.1 = {REALM}\n"
        )
        (folder / "kdc.conf").write_text(
            f"[kdcdefaults]\nkdc_listen = 127.0.0.1:{port}\nkdc_tcp_listen = 127.0.0.1:{port}\n"
            f"[realms]\n{REALM} = {{\n  database_name = {folder / 'principal'}\n  key_stash_file = {folder / 'stash'}\n"
            f"  acl_file = {folder / 'acl'}\n  max_life = 1h\n}}\n"
            f"[logging]\nkdc = FILE:{folder / 'kdc.log'}\n"
        )

    @classmethod
    @contextmanager
    def start(cls, folder: Path) -> Iterator[Kdc]:
        """A KDC with an empty database, stopped at the end."""
        folder.mkdir(parents=True, exist_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        kdc = cls(folder, port)
        kdc.run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master-secret")
        with open(folder / "krb5kdc.out", "wb") as output:
            process = subprocess.Popen(
                [_found("krb5kdc"), "-n"], env=kdc._env(), stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        try:
            _wait_for(port, process, folder / "krb5kdc.out")
            yield kdc
        finally:
            process.kill()
            process.wait(_WAIT_S)

    def add(self, principal: str, password: str | None = None) -> None:
        """A principal of the realm; with a random key unless a password is given."""
        key = ("-randkey",) if password is None else ("-pw", password)
        self.run("kadmin.local", "-r", REALM, "addprinc", *key, principal)

    def keytab(self, principal: str) -> Path:
        """A file with the keys of a principal, which is made for it."""
        path = self.folder / f"{principal.replace('/', '-')}.keytab"
        self.add(principal)
        self.run("kadmin.local", "-r", REALM, "ktadd", "-k", str(path), "-norandkey", principal)
        return path

    def kinit(self, principal: str, password: str) -> Path:
        """A ticket cache that holds a ticket of a principal."""
        cache = self.folder / f"{principal}.cache"
        self.run("kinit", "-c", f"FILE:{cache}", principal, stdin=f"{password}\n")
        return cache

    def run(self, program: str, *arguments: str, stdin: str = "") -> None:
        done = subprocess.run(
            [_found(program), *arguments], env=self._env(), input=stdin, capture_output=True, text=True, timeout=_WAIT_S
        )
        assert done.returncode == 0, (program, done.stdout, done.stderr)

    def _env(self) -> dict[str, str]:
        return {**os.environ, **self.environment}


def _found(program: str) -> str:
    path = shutil.which(program, path=_PATH)
    assert path is not None, program
    return path


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _WAIT_S
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
        except OSError:
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
    raise AssertionError(f"krb5kdc does not listen: {log.read_text()}")
