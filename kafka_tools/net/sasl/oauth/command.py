"""An OAUTHBEARER token from a command, like a credential helper: ``sasl.oauthbearer.token.command``.

The setting contains the command and its arguments; it does not run in a shell. Within ``sasl.login.read.timeout.ms``,
the command has to exit with status 0 and print the token, or a JSON object with an ``access_token`` and optionally
``expires_in`` (seconds). No message repeats its output.
"""

from __future__ import annotations

import json
import os
import shlex
from contextlib import suppress
from typing import TYPE_CHECKING

from kafka_tools.clock import Deadline
from kafka_tools.errors import AuthenticationFailed, ConfigError
from kafka_tools.net.sasl.oauth.refresh import seconds

if TYPE_CHECKING:
    import subprocess

COMMAND_KEY = "sasl.oauthbearer.token.command"
MAX_OUTPUT_BYTES = 512 * 1024


def command_words(text: str) -> list[str]:
    """Command and arguments, quoted as in a shell; ConfigError for an unterminated quote."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ConfigError(f"invalid {COMMAND_KEY}: unterminated quoted word") from error


def run_command(words: list[str], deadline: Deadline) -> tuple[str, float | None]:
    """The token, and its lifetime in seconds if the command prints one.

    Raises AuthenticationFailed, naming the command but neither arguments nor output, when there is no token.
    """
    import subprocess

    name = words[0]
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # its child processes end with it
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a command"
        raise AuthenticationFailed(f"{COMMAND_KEY}: cannot run {name}: {reason}") from error
    try:
        output = _output(process, deadline)
        if output is not None and len(output) > MAX_OUTPUT_BYTES:
            raise AuthenticationFailed(
                f"{COMMAND_KEY}: {name} printed more than {MAX_OUTPUT_BYTES} bytes: expected a token"
            )
        if output is None or not _ended(process, deadline):
            raise AuthenticationFailed(
                f"{COMMAND_KEY}: {name} printed no token within {deadline.timeout_s:g} s",
                hint="raise sasl.login.read.timeout.ms if it needs longer; it cannot read from a terminal",
            )
        status = process.returncode
    finally:
        _end(process)
    if status != 0:
        ended = f"exit status {status}" if status > 0 else f"signal {-status}"
        raise AuthenticationFailed(
            f"{COMMAND_KEY}: {name} failed ({ended})", hint="run it by hand: its output is not shown here"
        )
    return _parsed(output, name)


def _output(process: subprocess.Popen[bytes], deadline: Deadline) -> bytes | None:
    """The command's output, at most slightly more than the limit; None on a timeout."""
    import selectors

    assert process.stdout is not None
    found = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while len(found) <= MAX_OUTPUT_BYTES:
            if not selector.select(deadline.left_s()):
                return None
            data = os.read(process.stdout.fileno(), 65536)
            if not data:
                break
            found += data
    return bytes(found)


def _ended(process: subprocess.Popen[bytes], deadline: Deadline) -> bool:
    import subprocess

    assert process.stdout is not None
    process.stdout.close()
    try:
        process.wait(deadline.left_s())
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the command and its children, and collect its status."""
    import signal

    assert process.stdout is not None
    process.stdout.close()
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _parsed(output: bytes, name: str) -> tuple[str, float | None]:
    text = output.decode("utf-8", "replace").strip()
    if not text.startswith("{"):
        return text, None
    try:
        document = json.loads(text)
        token = document["access_token"]
        lifetime = document.get("expires_in")
        if not isinstance(token, str):
            raise TypeError
        return token.strip(), None if lifetime is None else seconds(lifetime)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise AuthenticationFailed(
            f"{COMMAND_KEY}: {name} printed a JSON object without access_token",
            hint="print the token alone, or an object with access_token and perhaps expires_in (seconds)",
        ) from None
