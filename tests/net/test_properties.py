"""Java's .properties text. Expected values were printed by java.util.Properties.load for the same lines."""

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.errors import ConfigError
from kafka_tools.net.properties import parse_properties, read_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a:b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("a = b", {"a": "b"}),
        ("a  :  b  ", {"a": "b  "}),
        ("a==b", {"a": "=b"}),
        ("a: =b", {"a": "=b"}),
        ("a", {"a": ""}),
        ("# c\n! d\n  # e\na=1", {"a": "1"}),
        ("a=1\\\n   2\\\n\t3", {"a": "123"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\\n# no comment", {"a": "1# no comment"}),
        ("\\\n# a comment\na=1", {"a": "1"}),
        ("a\\ b\\=c\\:d=e", {"a b=c:d": "e"}),
        ('a=\\t\\n\\q\\"', {"a": '\t\nq"'}),
        ("a=\\u00e9\\u20AC", {"a": "é€"}),
        ("a=\\uD83D\\uDE00", {"a": "😀"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=\\", {"a": ""}),
        ("\n\n \t\n", {}),
        ("=b", {"": "b"}),
    ],
)
def test_lines_read_as_java_reads_them(text, expected):
    assert parse_properties(text) == expected


def test_broken_unicode_escape_names_file_and_line():
    with pytest.raises(ConfigError, match=r"my\.properties, line 2: .*hexadecimal"):
        parse_properties("a=1\nb=\\u12", "my.properties")


def test_unreadable_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.properties: No such file"):
        read_properties(str(tmp_path / "absent.properties"))
    (tmp_path / "latin").write_bytes(b"a=\xe9")
    with pytest.raises(ConfigError, match=r"latin: not UTF-8 text at byte 2"):
        read_properties(str(tmp_path / "latin"))


@given(st.text(alphabet="ab=: \\\t\n\r#!u0é", max_size=40))
def test_any_text_parses_or_is_refused_in_one_way(text):
    try:
        assert all(isinstance(value, str) for value in parse_properties(text).values())
    except ConfigError as error:
        assert "hexadecimal" in str(error)


@pytest.mark.skipif(shutil.which("java") is None, reason="compares with java.util.Properties: needs Java")
def test_same_as_java_for_awkward_texts(tmp_path):
    texts = [
        "a\\\n",
        "a\\",
        "x=\\\n\\\n y",
        " : v",
        "k\\\n ey=v",
        "a=b\\ \n c",
        "\\u0061\\u003d=1",
        "a\f=\fb",
        "k\\:=\\ v",
    ]
    program = tmp_path / "Load.java"
    program.write_text(
        "import java.util.*; import java.io.*; import java.nio.file.*;"
        "public class Load { public static void main(String[] a) throws Exception { for (String f : a) {"
        "Properties p = new Properties(); p.load(new StringReader(Files.readString(Path.of(f))));"
        "StringBuilder b = new StringBuilder(); for (String k : new TreeSet<>(p.stringPropertyNames())) {"
        'for (char c : (k + "\\u0001" + p.getProperty(k) + "\\u0002").toCharArray()) b.append((int) c).append(\' \'); }'
        "System.out.println(b); } } }"
    )
    files = []
    for number, text in enumerate(texts):
        files.append(tmp_path / f"{number}.properties")
        files[-1].write_text(text, newline="")
    run = subprocess.run(["java", str(program), *map(str, files)], capture_output=True, text=True, timeout=90)
    if run.returncode:
        pytest.skip(f"this Java cannot run a source file: {run.stderr[:100]}")
    for text, line in zip(texts, run.stdout.splitlines(), strict=True):
        joined = "".join(chr(int(number)) for number in line.split())
        expected = dict(pair.split("\x01") for pair in joined.split("\x02") if pair)
        assert parse_properties(text) == expected, repr(text)
