"""``kafka-tools completion install``: where each shell's script goes, and what is left to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafka_tools import cli
from kafka_tools.commands import running
from kafka_tools.commands.registry import COMMANDS, families
from kafka_tools.commands.toolkit.completion import script


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/bin/bash")
    return tmp_path


def install(*words: str) -> int:
    return running.run(cli.root, ["completion", *words], "kafka-tools")


@pytest.mark.parametrize(
    ("shell", "place", "startup"),
    [
        ("bash", ".local/share/kafka-tools/completion.bash", ".bashrc"),
        ("zsh", ".local/share/kafka-tools/zsh/_kafka-tools", ".zshrc"),
        ("fish", ".config/fish/conf.d/kafka-tools.fish", None),
    ],
)
def test_the_script_goes_where_the_shell_looks(
    home: Path, capsys: pytest.CaptureFixture[str], shell: str, place: str, startup: str | None
) -> None:
    assert install("install", shell) == 0
    output = capsys.readouterr().out
    assert (home / place).read_text() == script(shell)
    assert output.startswith(f"Wrote {home / place}.\n")
    if startup is None:
        assert output.count("\n") == 1
        return
    assert f"Add this line to {home / startup}, and start a new shell:\n  " in output
    (home / startup).write_text(f"alias x=y\n{output.splitlines()[-1]}\n")
    assert install("install", shell) == 0
    assert capsys.readouterr().out == f"Wrote {home / place}.\nStart a new shell to use it.\n"
    assert [path.name for path in (home / place).parent.iterdir()] == [(home / place).name]


def test_the_shell_is_that_of_the_user(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert install("install") == 0
    assert (home / ".local/share/kafka-tools/completion.bash").exists()
    monkeypatch.setenv("SHELL", "/bin/csh")
    assert install("install") == running.USAGE
    assert install("bash", "zsh") == running.USAGE


def test_a_folder_that_cannot_be_made_is_one_line(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / ".local").write_text("a file")
    assert install("install", "bash") == running.FAILED
    error = capsys.readouterr().err
    assert error.startswith("kafka-tools: cannot write ") and error.count("\n") == 1


def test_a_script_that_cannot_be_put_in_place_leaves_nothing(home: Path) -> None:
    folder = home / ".local/share/kafka-tools"
    (folder / "completion.bash").mkdir(parents=True)
    assert install("install", "bash") == running.FAILED
    assert os.listdir(folder) == ["completion.bash"]


def test_each_command_is_in_one_family_of_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    listed = [name for names in families().values() for name in names]
    assert sorted(listed) == sorted(COMMANDS)
    assert running.run(cli.root, ["--help"], "kafka-tools") == 0
    output = capsys.readouterr().out
    assert "\nLook at a cluster:\n" in output and "\n  doctor  " in output
