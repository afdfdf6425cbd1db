"""The tour: the whole product, end to end, and what it says when a step is not what it should be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_tools.commands.registry import COMMANDS
from kafka_tools.commands.toolkit import tour
from kafka_tools.commands.toolkit.further_steps import further_steps
from kafka_tools.commands.toolkit.step_checks import CommandResult, Step, StepFailed, has, lists
from kafka_tools.commands.toolkit.tour_steps import TourPlace, audit_step, format_step, steps

pytestmark = pytest.mark.timeout(400)


def run_tour(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kafka_tools", "tour", *options],
        env=os.environ | {"TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=360,
        check=False,
    )


def count(folder: Path) -> int:
    """How many steps there are without the audit."""
    return 1 + len(steps(place(folder)))


def place(folder: Path) -> TourPlace:
    return TourPlace(folder, folder / "data", "127.0.0.1:9092", "id", "127.0.0.1:9094")


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith("kafka-tools-")]


def commands(listed: list[Step]) -> set[str]:
    """The names in the table of commands that are shown."""
    return {step.command[1] if step.command[0] == "kafka-tools" else step.command[0][6:] for step in listed}


def test_all_shows_every_command_and_the_usual_tour_every_family(tmp_path: Path) -> None:
    at = place(tmp_path)
    usual = [format_step(tmp_path / "server.properties", "id"), *steps(at), audit_step(at)]
    started = {"broker", "tour"}
    shares = {"console-share-consumer", "share-consumer-perf-test", "verifiable-share-consumer"}
    assert commands([*usual, *further_steps(at)]) | started == set(COMMANDS) - shares  # the broker has no share groups
    families = {row.module.partition(".")[0] for name, row in COMMANDS.items() if name in commands(usual) | started}
    assert families == {row.module.partition(".")[0] for row in COMMANDS.values()} - {"performance", "verifiable"}


def test_every_step_does_what_it_should(tmp_path: Path) -> None:
    done = run_tour(tmp_path, "--no-audit", "--all")
    assert done.returncode == 0, done.stdout + done.stderr
    number = count(tmp_path) + len(further_steps(place(tmp_path)))
    assert f"\nAll {number} steps succeeded, in " in done.stdout
    assert "$ kafka-topics --bootstrap-server 127.0.0.1:" in done.stdout
    assert "Created topic orders." in done.stdout
    assert "partition: orders-0\tlow_watermark: 100" in done.stdout
    assert "wonderland" not in done.stdout + done.stderr
    assert done.stderr == ""
    assert leftovers(tmp_path) == []


@pytest.mark.xdist_group("spark")
def test_the_last_step_audits_with_spark(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the Spark packages are not installed")
    pytest.importorskip("pyarrow", reason="the Spark packages are not installed")
    from kafka_tools.errors import KafkaToolsError
    from kafka_tools.spark.java import find_java

    try:
        find_java()
    except KafkaToolsError as error:
        pytest.skip(str(error))
    done = run_tour(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"\n{count(tmp_path) + 1}. Audit the broker's data directory with Spark\n" in done.stdout
    assert ", no problems found" in done.stdout
    assert f"\nAll {count(tmp_path) + 1} steps succeeded, in " in done.stdout
    assert leftovers(tmp_path) == []


def test_keep_keeps_the_data_and_says_where(tmp_path: Path) -> None:
    done = run_tour(tmp_path, "--no-audit", "--keep")
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = tmp_path.glob("kafka-tools-tour-*")
    assert f"kept: {folder}" in done.stdout
    assert (folder / "data" / "orders-0" / "00000000000000000000.log").stat().st_size > 0


@pytest.mark.parametrize("until", ["Start the bundled broker", "3. "])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_tour_that_is_ended_takes_its_broker_and_its_folder_along(tmp_path: Path, until: str, number: int) -> None:
    running = subprocess.Popen(
        [sys.executable, "-u", "-m", "kafka_tools", "tour", "--no-audit"],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert running.stdout is not None
        assert any(line.startswith(until) for line in running.stdout)
        running.send_signal(number)
        running.communicate(timeout=120)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 128 + number
    assert leftovers(tmp_path) == []
    assert str(tmp_path) not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


def test_a_wrong_output_ends_the_tour_with_the_step_and_what_is_missing() -> None:
    step = Step("Show the version", ["kafka-tools", "--version"], has("kafka-tools", "version of tomorrow"))
    with pytest.raises(StepFailed) as caught:
        tour._take(step, 7)
    assert str(caught.value) == "step 7 (show the version): the output should contain 'version of tomorrow'"
    assert caught.value.exit_status == 1


def test_a_command_that_fails_ends_the_tour_with_its_status() -> None:
    step = Step("Do the impossible", ["kafka-topics", "--no-such-option"], has())
    with pytest.raises(StepFailed) as caught:
        tour._take(step, 1)
    assert str(caught.value) == "step 1 (do the impossible): 'kafka-topics --no-such-option' ended with exit status 2"


def test_a_broker_that_does_not_start_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = [sys.executable, "-c", "import sys; sys.exit('the disk is full')"]
    monkeypatch.setattr(tour, "_program", lambda arguments: program)
    with pytest.raises(StepFailed) as caught, tour._running_broker(tour.BrokerSettings.write(tmp_path)):
        pass
    assert str(caught.value) == "cannot start the broker: the disk is full"


def test_lines_are_compared_in_any_order_and_counted() -> None:
    check = lists("a", "b", "b")
    check(CommandResult(0, "b\na\nb\n", ""))
    with pytest.raises(StepFailed, match=r"1 of 3 lines are missing, for example 'b'"):
        check(CommandResult(0, "a\nb\n", ""))
    with pytest.raises(StepFailed, match=r"1 lines are unexpected, for example 'c'"):
        check(CommandResult(0, "a\nb\nb\nc\n", ""))


def test_an_audit_that_misses_records_is_noticed(tmp_path: Path) -> None:
    audit = audit_step(place(tmp_path))
    heading = "TOPIC PARTITION RECORDS CODECS CORRUPT\n__consumer_offsets 0 5 none 0\n"
    rows = "orders 0 400 zstd 0\norders 1 400 zstd 0\norders 2 {last} zstd {corrupt}\n"
    audit.check(CommandResult(0, heading + rows.format(last=400, corrupt=0), ""))
    with pytest.raises(StepFailed, match="1200 records of orders should be counted, not 1199"):
        audit.check(CommandResult(0, heading + rows.format(last=399, corrupt=0), ""))
    with pytest.raises(StepFailed, match="no batch should be corrupt, 2 are"):
        audit.check(CommandResult(0, heading + rows.format(last=400, corrupt=2), ""))
