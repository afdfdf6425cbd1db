"""The broker's stories: every script of tests/scripts tells what happens now (``stories/files.py`` for how)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.broker_embedded.stories import files


def scripts() -> list[object]:
    """Each script with the requirements that it names as marks."""
    return [
        pytest.param(path, id=path.stem, marks=[pytest.mark.req(*ids)] if (ids := files.requirements(path)) else [])
        for path in files.paths()
    ]


@pytest.mark.parametrize("path", scripts())
def test_a_script_tells_what_happens(path: Path) -> None:
    assert files.played(path) == path.read_text(encoding="utf-8"), "python -m tests.regen scripts; then read the change"


def test_every_command_is_in_some_script_and_says_how_it_is_written() -> None:
    lines = [line for path in files.paths() for line in path.read_text(encoding="utf-8").splitlines()]
    used = {line.split()[0] for line in lines if line}
    assert files.table().keys() - used == set()
    assert [verb for verb, run in files.table().items() if f"``{verb}" not in (run.__doc__ or "")] == []


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("jion group=g member=a", "no command is called jion; there are add-offsets, add-partitions"),
        ("produce t", "produce t: 't' is not a partition such as t-0"),
        ("advance 3 s", "advance 3 s: advance() takes 2 positional arguments but 3 were given"),
        ("advance 3", "'3' is not a time such as 500ms, 10s, 5m, 3h or 7d"),
        ("topic t\ntopic u", "two commands without an empty line between them"),
        ("fault error produse NOT_COORDINATOR", "unknown API 'produse'; did you mean produce?"),
        ("sync member=a", "nobody is called a"),
    ],
)
def test_a_line_that_cannot_be_run_is_told(tmp_path: Path, line: str, told: str) -> None:
    script = tmp_path / "wrong.txt"
    script.write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(files.WrongLine) as caught:
        files.played(script)
    assert "wrong.txt: " in str(caught.value) and told in str(caught.value)


def test_what_happens_now_takes_the_place_of_what_stands_there(tmp_path: Path) -> None:
    script = tmp_path / "story.txt"
    script.write_text(
        "# A reader's line.\n# req: GC-1\n\ntopic t\n----\nclient: nonsense\nand more\n", encoding="utf-8"
    )
    assert files.requirements(script) == ["GC-1"]
    assert files.played(script) == "# A reader's line.\n# req: GC-1\n\ntopic t\n----\nclient: ok\n"
