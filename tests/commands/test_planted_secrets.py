"""No secret shows: every command, every way that a secret comes in, success and failure, with --trace and --debug.

Commands are found in ``cli.COMMANDS``; one without a line in ``WORDS`` is missed by a test.
"""

from __future__ import annotations

import base64
import io
import logging
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from kafka_tools import cli
from kafka_tools.commands import running
from tests.commands.planted import PLAIN, Place, Plants, Way, as_file, bad_ways, good_ways, prints_of
from tests.commands.planted import WORDS as SECRETS
from tests.net import stores
from tests.output.contract_cases import CASES, FAILING

pytestmark = pytest.mark.xdist_group("planted secrets")  # one broker for all of them

OWN_WORDS = {
    "request": "DescribeCluster",
    "dump-log": "--files {folder}/client.properties --print-data-log",
    "storage info": "--config {folder}/client.properties",
    "storage format": "--config {folder}/client.properties --cluster-id x --add-scram SCRAM-SHA-256=[name=a,b]",
    "storage random-uuid": "",
    "storage version-mapping": "",
    "storage feature-dependencies": "--feature share.version=1",
    "metadata-shell": "--snapshot {folder}/client.properties ls",
    "console-producer": "--topic orders",
    "console-consumer": "--topic orders --from-beginning --max-messages 1 --timeout-ms 200",
    "console-share-consumer": "--topic orders --max-messages 1 --timeout-ms 200",
    "verifiable-share-consumer": "--topic orders --group-id secrets --max-messages 0",
    "verifiable-producer": "--topic orders --max-messages 1",
    "verifiable-consumer": "--topic orders --group-id secrets --max-messages 1",
    "audit": "{folder}/no-such-directory",
    "broker run": "{folder}/client.properties",
    "broker mend": "--data-dir {folder}",
    "load run": "{folder}/client.properties",
    "load agent": "-c {folder}/client.properties -n node0 --token-file {folder}/client.properties",
    "load coordinator": "-c {folder}/client.properties -n node0 --token-file {folder}/client.properties",
    "load client": "127.0.0.1:1 --status --token-file {folder}/client.properties",
    "tour": "--help",
    "completion": "bash",
    "install-scripts": "{folder}/scripts",
}
"""Commands that the contract of -o has no cases for -> words that make them do something."""


def leaves(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        aliases = getattr(command, "aliases", {})
        for name in (*command.commands, *aliases):
            yield from leaves(command.commands[aliases.get(name, name)], f"{path} {name}")
    else:
        yield path, command


LEAVES = dict(leaf for name in cli.COMMANDS for leaf in leaves(cli.load(name), name))
LINES: dict[str, list[str]] = {}
for _case in (*CASES, *FAILING):
    LINES.setdefault(_case.command, []).append(_case.arguments)
for _path, _words in OWN_WORDS.items():
    LINES.setdefault(_path, []).append(_words)


class Terminal(io.TextIOWrapper):
    """Standard input, of which a test says whether somebody sits there."""

    def isatty(self) -> bool:
        return False


class Ended(NamedTuple):
    status: int
    out: str
    err: str
    log: str


Run = Callable[..., Ended]


def options(path: str) -> set[str]:
    return {name for parameter in LEAVES[path].params for name in parameter.opts}


CONNECTED = [path for path in LEAVES if "--command-config" in options(path)]
FILES = [
    (path, max(parameter.opts, key=len))
    for path, command in LEAVES.items()
    for parameter in command.params
    if isinstance(parameter, click.Option) and (parameter.metavar or "").startswith("FILE")
]


@pytest.fixture(scope="module")
def plants() -> Plants:
    found = Plants()
    found.add("store password", stores.PASSWORD)
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, plants: Plants) -> Iterator[Place]:
    """A bundled broker with every kind of listener, and files with secrets; the broker's own settings hold some."""
    from kafka_tools.admin.client import AdminClient, NewTopic, ScramUpsertion
    from kafka_tools.broker_embedded import EmbeddedBroker
    from kafka_tools.net.config import ClientConfig

    folder = tmp_path_factory.mktemp("planted")
    stores.write_stores(folder)
    for name in ("operator", "stranger", "server"):
        text = (folder / f"{name}.pem").read_text()
        body = "".join(text.split("-----")[2].split())
        for number in range(0, len(body) - 40, 40):  # any part of a key is one too many
            plants.add(f"key of {name}", body[number : number + 40])
    (folder / "operator-key.pem").write_text((folder / "operator.pem").read_text().split("-----BEGIN CERT")[0])
    (folder / "fails").write_text(f"#!/bin/sh\necho {SECRETS['printed']}\necho {SECRETS['printed']} >&2\nexit 3\n")
    (folder / "fails").chmod(0o755)
    (folder / "digest").write_text(f"operator:{SECRETS['digest']}\n")
    (folder / "client.properties").write_text(
        f'sasl.jaas.config={PLAIN} username="lisa" password="{SECRETS["password"]}";\n{SECRETS["option"]}\n'
        f'{{"password": "{SECRETS["digest"]}"\n\\u00zz\n'
    )
    names = ("PLAINTEXT", "SSL", "SASL_SSL", "SASL_PLAINTEXT")
    config = {
        "ssl.keystore.location": str(folder / "server.p12"),
        "ssl.keystore.password": stores.PASSWORD,
        "ssl.truststore.location": str(folder / "trust.jks"),
        "ssl.truststore.password": stores.PASSWORD,
        "listener.name.ssl.ssl.client.auth": "required",
        "plain.sasl.jaas.config": f'{PLAIN} user_lisa="{SECRETS["password"]}";',
        "oauthbearer.sasl.jaas.config": "OAuthBearerLoginModule required;",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        "delegation.token.secret.key": SECRETS["master-key"],
    }
    with EmbeddedBroker(listeners=[f"{name}://127.0.0.1:0" for name in names], config=config) as broker:
        endpoints = broker.call(lambda core: core.registration.endpoints)
        addresses = {name: f"127.0.0.1:{endpoints[name][1]}" for name in names}
        with AdminClient(ClientConfig.load(addresses["PLAINTEXT"]), timeout_s=60) as admin:
            admin.create_topics([NewTopic("orders", 1, 1)]).raise_any()
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
                admin.alter_user_scram_credentials([ScramUpsertion("lisa", mechanism, SECRETS["scram"])]).raise_any()
        login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
        login["sasl.jaas.config"] = f'{PLAIN} username="lisa" password="{SECRETS["password"]}";'
        with AdminClient(ClientConfig.load(addresses["SASL_PLAINTEXT"], properties=login), timeout_s=60) as admin:
            token = admin.create_delegation_token(max_lifetime_ms=3_600_000)
        plants.add("token's HMAC", token.hmac)
        plants.add("token's HMAC as text", token.hmac_text)
        with socket.create_server(("127.0.0.1", 0)) as closed:
            dead = f"127.0.0.1:{closed.getsockname()[1]}"
        yield Place(folder, {**addresses, "dead": dead}, (token.token_id, token.hmac_text), dead)


@pytest.fixture
def run(
    place: Place,
    plants: Plants,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Run:
    """``run(path, words, stdin)``: the command with --trace and --debug; fails if a secret shows anywhere."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLANTED_PASSWORD", SECRETS["password"])

    def ended(path: str, words: list[str], stdin: str = "", *, shown: tuple[str, ...] = ()) -> Ended:
        """``shown``: secrets that are the result itself, so that stdout may hold them."""
        monkeypatch.setattr(sys, "stdin", Terminal(io.BytesIO(stdin.encode()), encoding="utf-8"))
        name, *below = path.split()
        diagnosis = [flag for flag in ("--trace", "--debug") if flag in options(path) and flag not in words]
        caplog.clear()
        status = running.run(cli.load(name), [*below, *words, *diagnosis], f"kafka-{name}")
        out, err = capsys.readouterr()
        log = "\n".join(f"{record.getMessage()} {record.exc_text or ''}" for record in list(caplog.records))
        assert plants.found_in(err) == [], (path, words, err)
        assert plants.found_in(log) == [], (path, words, log)
        assert [name for name in plants.found_in(out) if name not in shown] == [], (path, words, out)
        return Ended(status, out, err, log)

    return ended


def words_of(place: Place, line: str) -> list[str]:
    return [word.replace("{folder}", str(place.folder)).replace("{n}", "1") for word in line.split()]


def test_every_command_is_swept() -> None:
    assert set(LINES) == set(LEAVES)


def test_traces_are_recognised(plants: Plants) -> None:
    secret = SECRETS["password"]
    plain = base64.b64encode(f"\0alice\0{secret}".encode()).decode()
    for text in (
        f"a {secret} b",
        secret.encode().hex(),
        plain,
        base64.b64encode(b"x" + secret.encode() + b"yz").decode(),
    ):
        assert plants.found_in(text) == ["password"], text
    assert plants.found_in(f"{secret[:-2]} {plain[:10]}") == []
    assert all(len(each) > 10 for each in prints_of(secret.encode()))


@pytest.mark.parametrize("path", CONNECTED)
def test_ways_in_that_fail(run: Run, place: Place, path: str, tmp_path: Path) -> None:
    for way in bad_ways(place):
        _tried(run, place, path, LINES[path][0], way, tmp_path, by_file=len(way.name) % 2 == 0)


@pytest.mark.parametrize("path", CONNECTED)
def test_ways_in_that_work(run: Run, place: Place, plants: Plants, path: str, tmp_path: Path) -> None:
    ways = good_ways(place, plants)
    lines = LINES[path]
    for number in range(max(len(ways), len(lines))):
        way, line = ways[number % len(ways)], lines[number % len(lines)]
        ended = _tried(run, place, path, line, way, tmp_path, by_file=number % 2 == 0)
        if path in ("topics", "cluster cluster-id", "broker-api-versions") and line in ("", "--list"):
            assert ended.status == 0, (way.name, ended.err)


def _tried(run: Run, place: Place, path: str, line: str, way: Way, tmp_path: Path, *, by_file: bool) -> Ended:
    """A command line over one way, whose settings stand in a file or on the command line."""
    address = place.addresses[way.listener]
    words = ["--bootstrap-server", address] if "--bootstrap-server" in options(path) else []
    if by_file:
        file = tmp_path / "settings.properties"
        file.write_text(as_file(way.settings), encoding="utf-8")
        words += ["--command-config", str(file)]
    else:
        words += [word for name, value in way.settings.items() for word in ("--command-property", f"{name}={value}")]
    hmacs = ("token's HMAC", "token's HMAC as text") if path == "delegation-tokens" else ()
    return run(path, [*words_of(place, line), *words], "hello\n", shown=hmacs)


@pytest.mark.parametrize(("path", "option"), FILES)
def test_files_that_are_something_else(run: Run, place: Place, path: str, option: str) -> None:
    words = words_of(place, LINES[path][0])
    if option.startswith("--zk"):
        words += ["--zookeeper", f"{place.dead}/kafka", "--timeout", "100ms"]
    elif "--bootstrap-server" in options(path):
        words += ["--bootstrap-server", place.addresses["PLAINTEXT"]]
    for name in ("client.properties", "operator.pem", "operator.p12", "digest"):
        # dump-log and console-producer show what a file holds: that is what they are for.
        shown = (*SECRETS, "key of operator") if path == "dump-log" else ()
        run(path, [*words, option, str(place.folder / name)], shown=shown)


USERS = ("--entity-type", "users", "--entity-name", "bob")
BROKER = ("--entity-type", "brokers", "--entity-name", "0")
NEW, VALUE, TYPED = SECRETS["new"], SECRETS["config-value"], SECRETS["typed"]
ON_COMMAND_LINES: list[tuple[str, tuple[str, ...]]] = [
    *(
        ("configs", (*USERS, "--alter", "--add-config", text, *more))
        for more in ((), ("--dry-run",), ("-o", "json"))
        for text in (
            f"SCRAM-SHA-256=[password={NEW}]",
            f"SCRAM-SHA-256=[iterations=5000,password={NEW}],producer_byte_rate=5",
            f"SCRAM-SHA-256=[iterations=x,password={NEW}]",
            f"SCRAM-SHA-256=[iterations=1,password={NEW}]",
            f"SCRAM-SHA-256=[password={NEW}",
            f"SCRAM-SHA-256=[password={NEW}]]",
            f"SCRAM-SHA-256=[pasword={NEW}]",
            f"SCRAM-SHA-256={NEW}",
            f"SCRAM-SHA-999=[password={NEW}]",
            f"SCRAM-SHA-256=[password={NEW},{NEW}]",
        )
    ),
    *(
        ("configs", (*entity, "--alter", "--add-config", f"{key}={VALUE}", *more))
        for more in ((), ("--dry-run",), ("-o", "yaml"), ("--dry-run", "-o", "json"))
        for entity in (BROKER, ("--topic", "orders"), USERS, ("--broker-defaults",))
        for key in (
            "listener.name.ssl.ssl.keystore.password",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config",
            "ssl.key.password",
            "sasl.jaas.config",
            "my.own.plugin.password",
        )
    ),
    ("configs", (*BROKER, "--describe", "--all")),
    ("configs", (*BROKER, "--describe", "--all", "-o", "json")),
    ("configs", (*USERS, "--describe", "-o", "yaml")),
    ("configs", (*USERS, "--alter", "--delete-config", "SCRAM-SHA-256")),
    *(
        ("scram", ("--username", "bob", "--add", text, *more))
        for more in ((), ("--dry-run",), ("-o", "json"))
        for text in (
            f"SCRAM-SHA-256=[password={NEW}]",
            f"SCRAM-SHA-512=[iterations=99999999,password={NEW}]",
            f"SCRAM-SHA-512=[password={NEW}",
            f"SCRAM-SHA-512=[{NEW}]",
            f"SCRAM-SHA-1=[password={NEW}]",
            f"SCRAM-SHA-512:[password={NEW}]",
        )
    ),
    ("scram", ("--describe", "-o", "wide")),
    ("scram", ("--username", "bob", "--delete", "SCRAM-SHA-256")),
    *(
        ("delegation-tokens", (action, period, "-1", "--hmac", text))
        for action, period in (("--renew", "--renew-time-period"), ("--expire", "--expiry-time-period"))
        for text in (base64.b64encode(NEW.encode()).decode(), NEW, f"@/no/such/{'x'}", "-")
    ),
    ("topics", ("--create", "--topic", "t", "--config", f"sasl.jaas.config={VALUE}")),
    ("topics", ("--list", "--command-property", TYPED)),
    # Quotes that are missing make several words of one.
    ("scram", ("--username", "bob", "--add", "SCRAM-SHA-256=[password=a", f"{NEW}]")),
    ("scram", ("--username", "bob", "--add", "SCRAM-SHA-256=[password=a", f"--{NEW}]")),
    ("configs", (*USERS, "--alter", "--add-config", "SCRAM-SHA-256=[password=a", f"-{NEW}]")),
    ("topics", ("--list", "--command-property", "sasl.jaas.config=PlainLoginModule", f'password="{TYPED}";')),
    ("delegation-tokens", ("--renew", "--hmac", "a", NEW)),
]
"""Secrets on the command line itself, right and wrong in every way that a parser knows."""


def test_secrets_on_the_command_line(run: Run, place: Place) -> None:
    done = 0
    for path, words in ON_COMMAND_LINES:
        ended = run(path, [*words, "--bootstrap-server", place.addresses["PLAINTEXT"]], SECRETS["stdin"])
        done += ended.status == 0
    assert done > 10


def test_secrets_from_files_and_standard_input(run: Run, place: Place, tmp_path: Path) -> None:
    server = ["--bootstrap-server", place.addresses["PLAINTEXT"]]
    secret = SECRETS["stdin"]
    wrong_files = [str(place.folder / name) for name in ("client.properties", "operator.pem")]
    add = ["--username", "carol", "--add", "SCRAM-SHA-256"]
    assert run("scram", [*add, "--password-file", "-", *server], f"{secret}\n").status == 0
    file = tmp_path / "secret"
    file.write_text(secret)
    assert run("scram", [*add, "--password-file", str(file), *server]).status == 0
    run("scram", [*add, *server], secret)
    users = ["--alter", "--entity-type", "users", "--entity-name", "carol"]
    assert run("configs", [*users, "--add-config-file", "-", *server], "producer_byte_rate=5\n").status == 0
    lines = (
        f"SCRAM-SHA-256=[password={secret}]",
        f"SCRAM-SHA-256=password={secret}",
        f"SCRAM-SHA-256=[password={secret}",
        f"\\u00zz {secret}",
        f"ssl.key.password={secret}",
        secret,
    )
    for entity in (users, ["--alter", "--topic", "orders"], ["--alter", "--broker", "0"], ["--alter", "--broker", "9"]):
        for more in ([], ["--dry-run"]):
            for wrong in lines:
                run("configs", [*entity, *more, "--add-config-file", "-", *server], wrong)
            for path in wrong_files:
                run("configs", [*entity, *more, "--add-config-file", path, *server])
    for action, period in (("--renew", "--renew-time-period"), ("--expire", "--expiry-time-period")):
        words = [action, period, "-1", "--hmac"]
        for hmac in (secret, base64.b64encode(secret.encode()).decode()):
            file.write_text(hmac)
            run("delegation-tokens", [*words, "-", *server], hmac)
            run("delegation-tokens", [*words, f"@{file}", *server])


def test_a_password_that_is_asked_for(run: Run, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("click.termui.hidden_prompt_func", lambda text: asked.append(text) or SECRETS["typed"])
    monkeypatch.setattr(Terminal, "isatty", lambda _: True)
    ended = run("scram", ["--username", "dave", "--add", "SCRAM-SHA-256", "-b", place.addresses["PLAINTEXT"]])
    assert len(asked) == 2
    assert ended.status == 0, ended.err


def test_tokens_that_are_made_show_only_as_the_result(run: Run, place: Place, plants: Plants, tmp_path: Path) -> None:
    way = next(way for way in good_ways(place, plants) if way.name == "PLAIN")
    for words in (["--create", "--max-life-time-period", "-1"], ["--describe"], ["--describe", "-o", "json"]):
        ended = _tried(run, place, "delegation-tokens", " ".join(words), way, tmp_path, by_file=True)
        assert ended.status == 0, ended.err
    file = tmp_path / "hmac"
    file.write_text(place.token[1])
    line = f"--renew --renew-time-period -1 --hmac @{file}"
    assert _tried(run, place, "delegation-tokens", line, way, tmp_path, by_file=False).status == 0


def test_a_broker_that_does_not_start_shows_no_secret(run: Run, place: Place, tmp_path: Path) -> None:
    secret = SECRETS["password"]
    listeners = "listeners=SASL_PLAINTEXT://127.0.0.1:0\nsasl.enabled.mechanisms=PLAIN\n"
    texts = [
        f'{listeners}plain.sasl.jaas.config={PLAIN} user_a="{secret}"\n',
        f"{listeners}plain.sasl.jaas.config={secret}\n",
        f"{listeners}plain.sasl.jaas.confg={secret}\n",
        f"listeners=SSL://127.0.0.1:0\nssl.keystore.location={place.folder}/server.p12\nssl.keystore.password={secret}\n",
        f"listeners=SSL://127.0.0.1:0\nssl.keystore.key={secret}\nssl.keystore.certificate.chain={secret}\n",
        f"delegation.token.secret.key={secret}\nlisteners=NOWHERE\n",
    ]
    for text in texts:
        file = tmp_path / "server.properties"
        file.write_text(text, encoding="utf-8")
        ended = run("broker run", ["--data-dir", str(tmp_path / "data"), "--log-level", "debug", str(file)])
        assert ended.status != 0, text
