"""What stands where a file is named: FIFOs, devices, directories, files without end: one line, in time and memory."""

from __future__ import annotations

import itertools
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kafka_tools import given_files
from kafka_tools.clock import Deadline, SystemClock
from tests.corpus.golden import golden_root

WAIT_S = 60
MEMORY_BYTES = 1 << 30
LOG = min(path for path in golden_root().rglob("*.log") if path.stat().st_size)
BOOT = "-b 127.0.0.1:1"
SSL = f"topics --list {BOOT} --command-property security.protocol=SSL --command-property"
PROVIDER = (
    f"topics --list {BOOT} --command-property config.providers=p "
    "--command-property config.providers.p.class=org.apache.kafka.common.config.provider.FileConfigProvider"
)
OAUTH = (
    "topics --list --timeout {wait} -b {broker} --command-property security.protocol=SASL_PLAINTEXT "
    "--command-property sasl.mechanism=OAUTHBEARER --command-property sasl.jaas.config=OAuthBearerLoginModule~required;"
)
PLACES = {
    "command config": f"topics --list {BOOT} --timeout {{wait}} --command-config {{path}}",
    "console consumer's config": f"console-consumer --topic t {BOOT} --command-config {{path}}",
    "formatter config": f"console-consumer --topic t {BOOT} --formatter-config {{path}}",
    "reader config": f"console-producer --topic t {BOOT} --reader-config {{path}}",
    "offsets": f"delete-records {BOOT} --timeout {{wait}} --offset-json-file {{path}}",
    "reset plan": f"consumer-groups {BOOT} --timeout {{wait}} --reset-offsets --group g --from-file {{path}} --dry-run",
    "configs": f"configs {BOOT} --timeout {{wait}} --alter --topic t --add-config-file {{path}}",
    "password": f"scram {BOOT} --timeout {{wait}} --add SCRAM-SHA-256 --username u --password-file {{path}}",
    "HMAC": f"delegation-tokens {BOOT} --timeout {{wait}} --renew --renew-time-period -1 --hmac @{{path}}",
    "token key": "broker run --listen 127.0.0.1:0 --delegation-token-key {path}",
    "server.properties": "broker run {path}",
    "file provider": f"{PROVIDER} --timeout {{wait}} --command-property client.id=${{{{p:{{path}}:k}}}}",
    "trust store": f"{SSL} ssl.truststore.location={{path}} --timeout {{wait}}",
    "key store": f"{SSL} ssl.keystore.location={{path}} --timeout {{wait}}",
    "token": f"{OAUTH} --command-property sasl.oauthbearer.token.endpoint.url=file://{{path}}",
    "ZooKeeper's TLS": "scram --zookeeper 127.0.0.1:1 --timeout {wait} --describe --zk-tls-config-file {path}",
    "ZooKeeper's digest": "scram --zookeeper 127.0.0.1:1 --timeout {wait} --describe --zk-digest-file {path}",
}


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def run(line: str, **options: object) -> subprocess.CompletedProcess[str]:
    words = [word.replace("~", " ") for word in line.split()]
    return subprocess.run(
        [sys.executable, "-m", "kafka_tools", *words],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        preexec_fn=limit_memory,
        **{"stdin": subprocess.DEVNULL} | options,  # type: ignore[call-overload]
    )


def refused(done: subprocess.CompletedProcess[str], path: str, says: str) -> None:
    assert done.returncode == 1, done
    (line, *_) = [each for each in done.stderr.splitlines() if "Processed a total" not in each]
    assert path in line and says in line, done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def silent() -> object:
    """A broker for logins, which read their token only once they are connected."""
    from kafka_tools.broker_embedded.broker import EmbeddedBroker

    config = {"sasl.enabled.mechanisms": "OAUTHBEARER"}
    jaas = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
    config["listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config"] = jaas
    with EmbeddedBroker(listeners=["PLAINTEXT://127.0.0.1:0", "SASL_PLAINTEXT://127.0.0.1:0"], config=config) as broker:
        endpoints = broker.call(lambda core: core.registration.endpoints)
        yield f"127.0.0.1:{endpoints['SASL_PLAINTEXT'][1]}"


@pytest.mark.parametrize("place", PLACES)
def test_what_is_not_a_file_is_told_in_one_line(place: str, tmp_path: Path, silent: str) -> None:
    for path, says in (("/dev/zero", "file too large"), (str(tmp_path), "directory")):
        refused(run(PLACES[place].format(path=path, wait="20s", broker=silent)), path, says)


@pytest.mark.parametrize("place", [name for name, line in PLACES.items() if "{wait}" in line])
def test_a_fifo_that_nobody_writes_to_ends_with_the_timeout(place: str, tmp_path: Path, silent: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    path = str(tmp_path / "fifo")
    limit_s = 5 if place == "token" else 0.3  # which is read once a connection stands
    done = run(PLACES[place].format(path=path, wait=f"{limit_s}s", broker=silent))
    refused(done, path, f"timed out after {limit_s} s waiting for the end of the input")


def test_standard_input_without_an_end_ends_with_the_timeout() -> None:
    ours, theirs = os.pipe()
    for line in ("delete-records --offset-json-file -", "scram --add SCRAM-SHA-256 --username u --password-file -"):
        done = run(f"{line} {BOOT} --timeout 300ms", stdin=ours)
        assert done.returncode == 1
        assert "timed out after 0.3 s waiting for the end of the input" in done.stderr
    os.close(ours)
    os.close(theirs)
    with open("/dev/zero", "rb") as zeros:
        assert "file too large" in run(f"delete-records --offset-json-file - {BOOT}", stdin=zeros).stderr


def test_what_a_shell_substitutes_is_read_like_a_file(tmp_path: Path) -> None:
    offsets = '{"partitions": [], "version": 1}'
    for words in ("echo client.id=x", "sleep 0.5; echo client.id=x"):
        line = f'"$0" -m kafka_tools delete-records {BOOT} --command-config <({words}) '
        line += f"--offset-json-file <(echo '{offsets}')"
        done = subprocess.run(["bash", "-c", line, sys.executable], capture_output=True, text=True, timeout=WAIT_S)
        assert "Connection refused" in done.stderr or done.returncode == 0, done


def test_a_fifo_that_somebody_writes_to_slowly_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)

    def write() -> None:
        with open(path, "wb", buffering=0) as file:
            for _ in range(5):
                file.write(b"x" * 100_000)
                time.sleep(0.02)

    writer = threading.Thread(target=write)
    writer.start()
    assert given_files.read_given(str(path)) == b"x" * 500_000
    writer.join()


def test_a_name_that_no_file_has_is_told() -> None:
    with pytest.raises(OSError, match="it contains a null character"):
        given_files.read_given("/etc/a\0b")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match="at most 4 MiB"):
        given_files.read_given(str(tmp_path / "huge"))


def test_a_drip_does_not_put_the_end_off(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    stop = threading.Event()

    def drip() -> None:
        with open(path, "wb", buffering=0) as file:
            for _ in itertools.takewhile(lambda _: not stop.wait(0.01), itertools.count()):
                try:
                    file.write(b"x")
                except BrokenPipeError:
                    return

    writer = threading.Thread(target=drip)
    writer.start()
    deadline = Deadline(SystemClock(), 0.3)
    with given_files.within(lambda: deadline), pytest.raises(TimeoutError, match=r"after 0\.3 s"):
        given_files.read_given(str(path))
    stop.set()
    writer.join()


def test_a_question_is_not_waited_for_without_end(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    os.write(theirs, b"yes\nno\n")
    deadline = Deadline(SystemClock(), 0.3)
    with open(ours) as stream, pytest.MonkeyPatch.context() as patch, given_files.within(lambda: deadline):
        patch.setattr("sys.stdin", stream)
        assert [given_files.read_answer(), given_files.read_answer()] == ["yes", "no"]
        with pytest.raises(TimeoutError):
            given_files.read_answer()
    os.close(theirs)


@pytest.mark.parametrize("kind", ["log", "index", "timeindex"])
def test_kafka_dump_log_reads_files_only(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"00000000000000000000.{kind}"
    os.mkfifo(path)
    refused(run(f"dump-log --files {path}"), str(path), "not a file")
    path.unlink()
    path.symlink_to("/dev/zero")
    refused(run(f"dump-log --files {path}"), str(path), "not a file")
    refused(run(f"dump-log -o json --files {path}"), str(path), "not a file")
    assert run(f"dump-log --files {LOG}").returncode == 0
