"""The frame of all commands: exit status, stderr, --version, help."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest

from kafka_tools import KAFKA_RELEASE, __version__
from kafka_tools.commands import running
from kafka_tools.commands.options.command import Command, CommandGroup, Option, one_of, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.errors import InputError, KafkaToolsError, NetworkError, UsageError

FAILURE: list[BaseException] = []


@click.command(name="kafka-sample", cls=Command)
@option("--list", "list", is_flag=True)
@option("--state", is_flag=False, flag_value="any")
@option("--topic", metavar="NAME")
@click.argument("word", required=False)
@option("--number", type=click.IntRange(0, 99))
@option("--add", multiple=True)
@connection_options(controllers=True)
@output_options("topic-names")
@click.pass_context
def sample(context: click.Context, connection: ConnectionOptions, output_format: str | None, **given: object) -> None:
    """Do something."""
    if FAILURE:
        raise FAILURE[0]
    print(given["topic"], given["state"], connection.bootstrap_server, connection.timeout_s, connection.properties)


def run(*arguments: str, failure: BaseException | None = None) -> int:
    FAILURE[:] = [failure] if failure else []
    return running.run(sample, arguments, "kafka-sample")


@pytest.mark.req("VER-1", "VER-2", "VER-3")
@pytest.mark.parametrize("arguments", [["--version"], ["--topic", "--version"], ["--nonsense", "x", "--version"]])
def test_version_is_printed_at_any_position_before_anything_is_parsed(arguments, capsys) -> None:
    assert run(*arguments) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (f"kafka-tools {__version__} (follows Kafka {KAFKA_RELEASE})\n", "")


@pytest.mark.req("VER-2")
def test_version_with_a_value_is_an_unknown_option(capsys) -> None:
    assert run("--version=2") == 2
    assert "No such option" in capsys.readouterr().err


@pytest.mark.req("CFG-14")
@pytest.mark.parametrize("spelling", ["-h", "--help"])
def test_help_exits_0_and_writes_to_stdout(spelling, capsys) -> None:
    assert run(spelling) == 0
    out, err = capsys.readouterr()
    assert "Usage: kafka-sample" in out
    assert "Connection:" in out
    assert err == ""


@pytest.mark.parametrize(
    "metavar, text, number, told",
    [
        ("MS", "7d", 604_800_000, "7d is 604800000 ms"),
        ("MS", "1.5s", 1500, "1.5s is 1500 ms"),
        ("MS", "-1", -1, ""),
        ("MS", "250", 250, ""),
        ("MINUTES", "2h", 120, "2h is 120 minutes"),
        ("BYTES", "10MB", 10_000_000, "10MB is 10000000 bytes"),
        ("BYTES", "10MiB", 10_485_760, "10MiB is 10485760 bytes"),
        ("BYTES/S", "50MB/s", 50_000_000, "50MB/s is 50000000 bytes per second"),
        ("BYTES/S", "50MB", 50_000_000, "50MB is 50000000 bytes per second"),
    ],
)
def test_a_number_of_ms_minutes_or_bytes_may_have_a_unit(metavar, text, number, told, capsys) -> None:
    asked = Option(["--much"], type=int, metavar=metavar)
    assert asked.type_cast_value(click.Context(click.Command("sample")), text) == number
    assert capsys.readouterr().err == (f"--much {told}\n" if told else "")


@pytest.mark.parametrize(
    "metavar, text, complaint",
    [
        (
            "MS",
            "10MB",
            "'10MB' is not a whole number: invalid unit of time 'MB': expected ms, s, m, h, d or w",
        ),
        ("MS", "0.5ms", "invalid number '0.5ms': expected a whole number of ms"),
        ("BYTES", "10MB/s", "'10MB/s' is not a whole number: invalid unit of bytes 'MB/s'"),
        ("BYTES", "1e3x", "'1e3x' is not a whole number, and not a number with one unit, such as 10MiB"),
        ("MS", "soon", "invalid number 'soon': expected a whole number"),
        ("N", "7d", "invalid number '7d': expected a whole number"),
        ("BYTES", "99999999999TB", "it does not fit in 64 bits"),
    ],
)
def test_a_unit_that_does_not_fit_is_refused(metavar, text, complaint) -> None:
    asked = Option(["--much"], type=int, metavar=metavar)
    with pytest.raises(click.BadParameter) as refused:
        asked.type_cast_value(click.Context(click.Command("sample")), text)
    assert complaint in refused.value.message


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["-b", "::1"], "expected an IPv6 address in brackets, as in [2001:db8::1]:9092"),
        (["--topic", "a", "--topic=b"], "'--topic' is given more than once"),
        (["-ba:1", "-b", "b:1"], "'-b' is given more than once"),
        (["-b", "a:1", "-bb:1"], "'-b' is given more than once"),
        (["--number", "1_0"], "invalid number '1_0': expected a whole number"),
        (["--number", "\u0661"], "invalid number '\u0661': expected a whole number"),
        (["--number", "9" * 30], "it does not fit in 64 bits"),
        (["--topic", ""], "invalid value: it is empty"),
        (["--add", "x", "--add", ""], "invalid value: it is empty"),
        (["--topic", os.fsdecode(b"orders\xff")], "'--topic': invalid value: it is not UTF-8 text"),
        (["--timeout", "soon"], "invalid duration"),
        (["--timeout", "0"], "invalid duration"),
        (["--timeout", "\uff15s"], "invalid duration"),
        (["--timeout", "1e3"], "invalid duration"),
        (["--timeout", "9" * 400], "invalid duration"),
        (["--command-property", "sasl.password"], "invalid value: expected key=value"),
        (["-o", "xml"], "'xml' is not one of"),
        (["--bootstrap-server", "nowhere:x"], "invalid address 'nowhere:x'"),
        (["-b", "a:1,b:99999"], "invalid address 'b:99999'"),
        (["--bootstrap-controller", ","], "empty list of servers"),
        (["extra", "more"], "unexpected extra argument"),
        ([""], "invalid value: it is empty"),
    ],
)
def test_a_wrong_command_line_is_one_line_on_stderr_and_exit_2(arguments, complaint, capsys) -> None:
    assert run(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert complaint in err.splitlines()[0]
    assert err.splitlines()[0].startswith("kafka-sample: ")
    assert "--help" in err.splitlines()[1]


def test_options_that_repeat_may_repeat_and_optional_values_may_be_left_out(capsys) -> None:
    assert run("--add", "a", "--add", "b", "--state", "--topic", "t", "-b", "h:1", "--timeout", "1.5s") == 0
    assert capsys.readouterr().out == "t any h:1 1.5 {}\n"


@pytest.mark.req("CFG-3", "CFG-4", "CFG-5", "CFG-6")
@pytest.mark.parametrize("spelling", ["--bootstrap-server", "--bootstrap-servers", "-b"])
def test_all_spellings_of_the_connection_options_mean_the_same(spelling, capsys) -> None:
    properties = ["--command-property", "a=b=c", "--adminclient-property", "d="]
    assert run(spelling, "h:1", *properties, "--adminclient.config", "f") == 0
    assert capsys.readouterr().out.endswith("h:1 30.0 {'a': 'b=c', 'd': ''}\n")


@pytest.mark.parametrize(
    "text, milliseconds",
    [("250", 250), ("250ms", 250), ("30s", 30_000), ("2m", 120_000), ("1.5s", 1500), ("1H", 3_600_000)],
)
def test_a_timeout_has_units_and_is_milliseconds_without(text, milliseconds) -> None:
    from kafka_tools.commands.options.values import duration_ms

    assert duration_ms(text) == milliseconds


@pytest.mark.parametrize(
    "failure, status, line",
    [
        (KafkaToolsError("no such thing\n at all"), 1, "kafka-sample: no such thing at all"),
        (InputError("bad file"), 1, "kafka-sample: bad file"),
        (UsageError("bad option"), 2, "kafka-sample: bad option"),
        (NetworkError("gone", node="h:1"), 1, "kafka-sample: gone"),
        (
            FileNotFoundError(2, "No such file or directory", "x.json"),
            1,
            "kafka-sample: x.json: No such file or directory",
        ),
        (ZeroDivisionError("division by zero"), 1, "kafka-sample: internal error: ZeroDivisionError: division by zero"),
        (click.UsageError("odd"), 2, "kafka-sample: odd"),
    ],
)
def test_an_error_is_one_line_on_stderr_with_its_status(failure, status, line, capsys) -> None:
    assert run(failure=failure) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[0] == line
    assert "Traceback" not in err


def test_the_hint_is_a_second_line(capsys) -> None:
    assert run(failure=KafkaToolsError("it broke", hint="mend it")) == 1
    assert capsys.readouterr().err == "kafka-sample: it broke\n  mend it\n"


def test_debug_adds_the_traceback(capsys) -> None:
    assert run("--debug", failure=KafkaToolsError("it broke")) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_ctrl_c_and_a_closed_pipe_say_nothing(capsys) -> None:
    assert run(failure=KeyboardInterrupt()) == 130
    assert run(failure=BrokenPipeError()) == 141
    assert capsys.readouterr() == ("", "")


def test_a_reader_that_goes_away_ends_the_process_quietly() -> None:
    code = (
        "import click\n"
        "from kafka_tools.commands import running\n"
        "@click.command()\n"
        "def command():\n"
        "    for _ in range(100_000): print('x' * 100)\n"
        "running.main(command, 'kafka-long')\n"
    )
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run([sys.executable, "-c", code], stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    assert (process.returncode, process.stderr) == (141, b"")


@pytest.mark.parametrize(
    ("closed", "stdout", "stderr"),
    [
        (">&-", "", "kafka-topics: cannot write: standard output is closed; nothing was done"),
        ("2>&-", "", ""),
        ("<&-", "", "kafka-topics: cannot connect to 127.0.0.1:"),
    ],
)
def test_a_closed_standard_stream_is_no_traceback(closed: str, stdout: str, stderr: str, free_port) -> None:
    code = "import sys; sys.argv[0] = 'kafka-topics'; from kafka_tools.scripts import main; main()"
    line = f'exec "$0" -c "$1" --list --bootstrap-server 127.0.0.1:{free_port()} {closed}'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable, code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert done.stdout == stdout
    assert done.stderr.startswith(stderr)
    assert "Traceback" not in done.stderr


def test_nowhere_to_connect_is_a_usage_error_and_two_places_too() -> None:
    with pytest.raises(UsageError, match="--bootstrap-server is required"):
        ConnectionOptions(None, None, None, {}, 1000, False).check()
    with pytest.raises(UsageError, match="cannot be combined"):
        ConnectionOptions("a:1", "b:1", None, {}, 1000, False).check()
    ConnectionOptions(None, None, None, {"bootstrap.servers": "a:1"}, 1000, False).check()


def test_exactly_one_action_is_asked_for(capsys) -> None:
    @click.command(cls=Command)
    @option("--list", "list", is_flag=True)
    @option("--describe", is_flag=True)
    @click.pass_context
    def command(context: click.Context, **_: object) -> None:
        print(one_of(context, "list", "describe"))

    assert running.run(command, ["--list"], "k") == 0
    assert running.run(command, [], "k") == 2
    assert running.run(command, ["--list", "--describe"], "k") == 2
    out, err = capsys.readouterr()
    assert out == "list\n"
    assert "--list and --describe were given" in err


def test_a_group_without_a_subcommand_is_a_usage_error(capsys) -> None:
    @click.group(name="kafka-group", cls=CommandGroup, no_args_is_help=False)
    def command() -> None:
        """Several."""

    assert running.run(command, [], "kafka-group") == 2
    assert capsys.readouterr().err.startswith("kafka-group: Missing command.")


def test_a_name_cannot_command_the_terminal(capsys, monkeypatch) -> None:
    name = "g\x1b]0;owned\x07\x9b31m\n"
    running.emit(name)
    assert capsys.readouterr().out == name
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    running.emit(name)
    running.complain("kafka-x", f"group {name}")
    out, err = capsys.readouterr()
    assert out == "g\\x1b]0;owned\\x07\\x9b31m\n"
    assert err == "kafka-x: group g\\x1b]0;owned\\x07\\x9b31m\n"


def test_a_name_without_end_is_cut_and_a_long_list_is_not(capsys) -> None:
    names = ",".join(f"orders-{number}" for number in range(200))
    running.complain("kafka-x", f"topic {'x' * 5000} is not a name, unlike {names}", f"see {'y' * 301} and {'z' * 300}")
    assert capsys.readouterr().err == (
        f"kafka-x: topic {'x' * 60}... (5000 characters) is not a name, unlike {names}\n"
        f"  see {'y' * 60}... (301 characters) and {'z' * 300}\n"
    )


@pytest.mark.parametrize("mark", [", ", ",", "; "])
def test_a_list_without_end_is_cut_and_what_follows_is_counted(mark: str, capsys) -> None:
    items = [f"orders-{number}" for number in range(60_000)]
    running.complain("kafka-x", f"not found: {mark.join(items)}", f"see {mark.join(items)}")
    for line in capsys.readouterr().err.splitlines():
        assert len(line) < 1100
        shown, _, count = line.removesuffix(" more").partition(f"{mark.strip()} ... and ")
        first = shown.split(": ", 2)[-1].removeprefix("  see ").split(mark)
        assert first == items[: len(first)]
        assert len(first) + int(count) == len(items)


def test_a_text_without_end_that_is_no_list_is_cut(capsys) -> None:
    running.complain("kafka-x", "word " * 1000)
    assert capsys.readouterr().err == f"kafka-x: {('word ' * 1000)[:1000]}... (4999 characters)\n"


def test_ctrl_c_while_modules_are_loaded_is_quiet() -> None:
    program = (
        "import kafka_tools.scripts, kafka_tools.commands.registry as registry\n"
        "def interrupted(_): raise KeyboardInterrupt\n"
        "registry.named_by = interrupted\n"
        "kafka_tools.scripts.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (running.INTERRUPTED, "", "")


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (["kafka-metadata-shell", "-s", "{é}", "ls", "/é"], 1, "contains no metadata records"),
        (["kafka-configs", "--describe", "--entity-type", "topics", "--entity-name", "é", "-b", "é.invalid:1"], 1,
         r"cannot resolve \xe9.invalid:1"),
        (["kafka-dump-log", "{é}"], 0, ""),
        (["kafka-cluster", "cluster-id", "-b", "localhost:1", "--command-property", "security.protocol=SSL",
          "--command-property", "ssl.truststore.location=/é"], 1, "set LC_ALL=C.UTF-8"),
        (["kafka-topics", "--list", "-b", b"\xff:1"], 2, "not UTF-8 text"),
    ],
)  # fmt: skip
def test_names_are_utf_8_in_a_locale_that_lacks_their_letters_too(arguments, status, complaint, tmp_path) -> None:
    log = tmp_path / "00000000000000000000.log"
    log.touch()
    folder = tmp_path / "é-0"
    folder.mkdir()
    (folder / log.name).touch()
    places = {"{log}": str(log), "{é}": str(folder / log.name)}
    name, *words = (places.get(word, word) if isinstance(word, str) else word for word in arguments)
    ended = subprocess.run(
        [sys.executable, "-m", "kafka_tools", name, *words],
        env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True, timeout=60,
    )  # fmt: skip
    said = (ended.stdout + ended.stderr).decode("ascii")
    assert (ended.returncode, complaint in said, "internal" in said) == (status, True, False), said
