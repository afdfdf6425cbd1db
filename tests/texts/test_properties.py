"""Java's .properties text. Expected values were printed by java.util.Properties.load for the same lines."""

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.errors import ConfigError
from kafka_tools.texts.properties import load_properties, parse_properties, properties_line, read_properties


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


def test_a_file_is_iso_8859_1(tmp_path, caplog):
    (tmp_path / "latin").write_bytes(b"# \xc3\xa9\npassword=sm\xf8r\nother=\\u20ac\xff")
    assert read_properties(str(tmp_path / "latin")) == {"password": "smør", "other": "€ÿ"}
    assert not caplog.records


@pytest.mark.parametrize(
    ("data", "places"),
    [
        ("a=1\n# é\npassword=gehe\u00efm\n", "line 3: "),
        ("a=1\\\n2\\\né", "line 1: "),
        ("é=1", "line 1: "),
        ("".join(f"k{number}=é\n" for number in range(7)), "line 1, 2, 3, 4, 5 and 2 more: "),
        ("\ufeff# comment\na=1", "line 1: "),
    ],
)
def test_lines_of_utf_8_are_named_and_not_shown(data, places, caplog):
    read = load_properties(data.encode(), "my\nfile")
    assert parse_properties(data.encode().decode("iso-8859-1")) == read
    [record] = caplog.records
    text = record.getMessage()
    assert f"warning: my\\nfile, {places}this looks like UTF-8" in text and "\\uXXXX" in text
    assert ("byte order mark" in text) == data.startswith("\ufeff")
    assert text.isascii() and "gehe" not in text


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
        "é=ÿ\x85\xa0",
        "\ufeffk=v\U0001f600",
    ]
    program = tmp_path / "Load.java"
    program.write_text(
        "import java.util.*; import java.io.*; import java.nio.file.*;"
        "public class Load { public static void main(String[] a) throws Exception { for (String f : a) {"
        "Properties p = new Properties(); p.load(new FileInputStream(f));"
        "StringBuilder b = new StringBuilder(); for (String k : new TreeSet<>(p.stringPropertyNames())) {"
        'for (char c : (k + "\\u0001" + p.getProperty(k) + "\\u0002").toCharArray()) b.append((int) c).append(\' \'); }'
        'p.store(new FileOutputStream(f + ".stored"), null);'
        "System.out.println(b); } } }"
    )
    files = []
    for number, text in enumerate(texts):
        files.append(tmp_path / f"{number}.properties")
        files[-1].write_text(text, newline="", encoding="utf-8")
    run = subprocess.run(["java", str(program), *map(str, files)], capture_output=True, text=True, timeout=90)
    if run.returncode:
        pytest.skip(f"this Java cannot run a source file: {run.stderr[:100]}")
    for file, text, line in zip(files, texts, run.stdout.splitlines(), strict=True):
        joined = "".join(chr(int(number)) for number in line.split())
        expected = dict(pair.split("\x01") for pair in joined.split("\x02") if pair)
        assert load_properties(file.read_bytes()) == expected, repr(text)
        stored = (file.parent / f"{file.name}.stored").read_text("ascii").splitlines(keepends=True)[1:]
        assert sorted(stored) == sorted(properties_line(key, value) for key, value in expected.items()), repr(text)
