"""Tokens from a command: its output, its failures, its time; when a token is renewed."""

from __future__ import annotations

import base64
import json
import shlex
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.clock import ManualClock, SystemClock
from kafka_tools.errors import AuthenticationFailed, ConfigError, KafkaToolsError
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.sasl.oauth.refresh import RefreshWindow, refresh_at_ms
from kafka_tools.net.sasl.oauth.tokens import Tokens

MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
PLANTED = "planted-secret"


def config(command: str, **more: str) -> ClientConfig:
    values = {
        "bootstrap.servers": "a:1",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": MODULE,
        "sasl.oauthbearer.token.command": command,
    }
    return ClientConfig({**values, **{name.replace("__", "."): value for name, value in more.items()}})


def script(folder: Path, body: str, *arguments: str) -> str:
    """The setting for a Python script of that body."""
    path = folder / "token helper.py"
    path.write_text(body, encoding="utf-8")
    return shlex.join([sys.executable, str(path), *arguments])


def jwt(**claims: object) -> str:
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in ({}, claims))
    return ".".join((*parts, "c2ln"))


def counting(folder: Path, output: str) -> str:
    """A command that prints ``output`` and leaves a mark for each run."""
    return script(folder, f"import sys; open(sys.argv[1], 'a').write('x'); print({output!r})", str(folder / "runs"))


def runs(folder: Path) -> int:
    return len((folder / "runs").read_text())


def test_words_reach_the_command_without_a_shell(tmp_path: Path) -> None:
    command = script(tmp_path, "import sys; print(sys.argv[1].replace('$', '').replace('; ', '.'))", "$HOME; a b")
    with pytest.raises(ConfigError, match="contains no token"):
        Tokens(config(command), ManualClock()).token()
    command = script(tmp_path, "import sys; print(sys.argv[1].replace('$', ''))", "$HOME")
    assert Tokens(config(command), ManualClock()).token() == "HOME"


def test_the_login_uses_what_the_command_prints() -> None:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.broker_embedded import EmbeddedBroker
    from kafka_tools.net.sasl.unsecured_jws import make_token

    token = make_token({"unsecuredLoginStringClaim_sub": "alice"}, SystemClock().now_ms())
    properties = {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": MODULE,
    }
    with EmbeddedBroker(listeners=["SASL_PLAINTEXT://127.0.0.1:0"], config=properties) as broker:
        settings = config(f"echo {token}", bootstrap__servers=broker.bootstrap_servers)
        with AdminClient(settings) as admin:
            assert admin.describe_cluster().cluster_id == broker.cluster_id


def test_a_token_without_times_is_asked_for_at_each_login(tmp_path: Path) -> None:
    tokens = Tokens(config(counting(tmp_path, "opaque")), ManualClock())
    assert [tokens.token() for _ in range(3)] == ["opaque"] * 3
    assert runs(tmp_path) == 3


@pytest.mark.req("OA-36")
@pytest.mark.parametrize("stated", ["by itself", "by the command"])
def test_a_token_with_times_is_kept_until_it_should_be_renewed(tmp_path: Path, stated: str) -> None:
    clock = ManualClock()
    now_s = clock.now_ms() // 1000
    output = jwt(iat=now_s, exp=now_s + 3600)
    if stated == "by the command":
        output = json.dumps({"access_token": "opaque", "expires_in": "3600"})
    tokens = Tokens(config(counting(tmp_path, output)), clock)
    for seconds, expected in ((0, 1), (2879, 1), (182, 2), (50, 2)):
        clock.advance(seconds)
        tokens.token()
        assert runs(tmp_path) == expected, seconds


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            f"import sys; print('{PLANTED}'); print('{PLANTED}', file=sys.stderr); sys.exit(3)",
            r"failed \(exit status 3\)",
        ),
        ("import os; os.kill(os.getpid(), 15)", r"failed \(signal 15\)"),
        (f"print('{PLANTED}', 'more')", r"contains no token"),
        ("pass", r"contains no token"),
        (f"print('{PLANTED}' * 100_000)", r"printed more than 524288 bytes"),
        ("import sys\nwhile True: sys.stdout.write('x' * 10_000)", r"printed more than 524288 bytes"),
        (f'print(\'{{"token": "{PLANTED}"}}\')', r"a JSON object without access_token"),
        (f'print(\'{{"access_token": "{PLANTED}", "expires_in": NaN}}\')', r"a JSON object without access_token"),
        (f"print('{{{PLANTED}')", r"a JSON object without access_token"),
        ("print('{\"a\":' * 100_000)", r"a JSON object without access_token"),
    ],
)
def test_what_is_wrong_is_said_without_a_word_of_its_output(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(KafkaToolsError, match=message) as caught:
        Tokens(config(script(tmp_path, body, "--secret", PLANTED)), ManualClock()).token()
    assert "\n" not in str(caught.value)
    assert PLANTED not in f"{caught.value} {caught.value.hint}"


def test_a_command_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    body = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "open(sys.argv[1], 'w').write(str(child.pid))\n"
        "time.sleep(600)"
    )
    clock = SystemClock()
    settings = config(script(tmp_path, body, str(tmp_path / "pid")), sasl__login__read__timeout__ms="1500")
    with pytest.raises(AuthenticationFailed, match=r"printed no token within 1\.5 s"):
        Tokens(settings, clock).token()
    if not (tmp_path / "pid").exists():
        return  # the machine was too slow to start the child at all
    status = Path(f"/proc/{(tmp_path / 'pid').read_text()}/status")
    for _ in range(1000):
        if not status.exists() or "State:\tZ" in status.read_text():
            return
        clock.sleep(0.01)
    pytest.fail("the child lives on")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("/no/such/helper --secret planted-secret", r"cannot run /no/such/helper: No such file"),
        ("'planted-secret", r"unterminated quoted word"),
    ],
)
def test_commands_that_cannot_be_run(command: str, message: str) -> None:
    with pytest.raises(KafkaToolsError, match=message) as caught:
        Tokens(config(command), ManualClock()).token()
    assert PLANTED not in str(caught.value)
    assert PLANTED not in repr(config(command))


def test_there_is_one_source_of_tokens() -> None:
    both = config("helper", sasl__oauthbearer__token__endpoint__url="file:///a")
    with pytest.raises(ConfigError, match="cannot be combined"):
        Tokens(both, ManualClock()).token()


@pytest.mark.req("OA-34")
def test_settings_of_the_renewal_have_kafka_s_defaults_and_bounds() -> None:
    assert RefreshWindow.of(config("helper")) == RefreshWindow(0.8, 0.05, 60, 300)
    prefix = "sasl__login__refresh__"
    names = ("window__factor", "window__jitter", "min__period__seconds", "buffer__seconds")
    for values in (("0.5", "0", "0", "0"), ("1.0", "0.25", "900", "3600")):
        given_values = {prefix + name: value for name, value in zip(names, values, strict=True)}
        assert RefreshWindow.of(config("helper", **given_values)) == RefreshWindow(*map(float, values))
    outside = zip(names * 2, ("0.49", "-0.1", "-1", "-1", "1.1", "0.26", "901", "3601"), strict=True)
    for name, value in (*outside, (names[0], "nan"), (names[0], "x")):
        with pytest.raises(ConfigError, match=(prefix + name).replace("__", r"\.")):
            config("helper", **{prefix + name: value})


@pytest.mark.req("OA-35")
def test_the_buffer_s_setting_has_its_real_name() -> None:
    assert config("helper", sasl__login__refresh__buffer__seconds="7").unknown == ()
    wrong = "sasl__login__refresh__min__buffer__seconds"
    assert config("helper", **{wrong: "7"}).unknown == (wrong.replace("__", "."),)


@pytest.mark.req("OA-36")
@pytest.mark.parametrize(
    ("start_s", "expires_s", "now_s", "luck", "expected_s"),
    [
        (0, 3600, 0, 0.0, 2880),
        (0, 3600, 0, 1.0, 3060),
        (0, 1000, 0, 1.0, 700),  # not later than 300 s before the end
        (0, 3600, 2900, 0.0, 2960),  # not sooner than 60 s from now
        (0, 300, 0, 0.5, 247.5),  # no room for 60 s and 300 s: neither counts
    ],
)
def test_the_moment_of_renewal(start_s: int, expires_s: int, now_s: int, luck: float, expected_s: float) -> None:
    found = refresh_at_ms(start_s * 1000, expires_s * 1000, now_s * 1000, RefreshWindow(), luck)
    assert found == expected_s * 1000


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.floats(0, 1))
def test_a_token_is_always_renewed_before_its_end(life_ms: int, used_ms: int, luck: float) -> None:
    now_ms = min(used_ms, life_ms)
    found = refresh_at_ms(0, life_ms, now_ms, RefreshWindow(), luck)
    assert found <= life_ms
