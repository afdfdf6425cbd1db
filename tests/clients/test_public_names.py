"""The names that programs import from the package itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kafka_tools
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.producer import Producer
from kafka_tools.clients.sharing.consumer import ShareConsumer
from tests.clients import users_program


@pytest.mark.parametrize("client", [Consumer, Producer, ShareConsumer])
def test_clients_are_names_of_the_package(client: type) -> None:
    assert getattr(kafka_tools, client.__name__) is client
    assert client.__name__ in dir(kafka_tools)


def test_importing_the_package_imports_no_client() -> None:
    code = "import sys, kafka_tools; print([name for name in sys.modules if name.startswith('kafka_tools.clients')])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=60, check=True)
    assert ended.stdout.strip() == "[]"


def test_a_typed_program_of_a_user_works() -> None:
    assert users_program.main() == [b"1", b"2", None, b"3", b"4"]
