"""sasl.jaas.config, in the forms that Kafka's JaasConfig accepts."""

import pytest

from kafka_tools.errors import ConfigError
from kafka_tools.net.jaas import parse_jaas


@pytest.mark.req("SASL-8")
def test_module_flag_and_options():
    [entry] = parse_jaas('org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";')
    assert entry.login_module == "org.apache.kafka.common.security.plain.PlainLoginModule"
    assert entry.simple_name == "PlainLoginModule"
    assert entry.control_flag == "required"
    assert entry.options == {"username": "a", "password": "b"}


@pytest.mark.req("SASL-10")
@pytest.mark.parametrize("flag", ["REQUIRED", "requisite", "Sufficient", "OPTIONAL"])
def test_control_flags_in_any_case(flag):
    assert parse_jaas(f"M {flag} a=b;")[0].control_flag == flag.lower()


@pytest.mark.req("SASL-10")
def test_missing_control_flag():
    with pytest.raises(ConfigError, match=r"Login module control flag is not available in the JAAS config"):
        parse_jaas("M;")


def test_quotes_escapes_comments_and_several_entries():
    text = """
        A required // the first
          x='it''s' y="say \\"hi\\"; \\101";
        /* and the
           second */ B optional;
    """.replace("it''s", "its")
    first, second = parse_jaas(text)
    assert first.options == {"x": "its", "y": 'say "hi"; A'}
    assert (second.login_module, second.options) == ("B", {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a login module class"),
        ("M often a=b;", "control flag"),
        ("M required a=b", "expected a semicolon"),
        ('M required a="b', "unterminated quoted value"),
        ("M required a;", r"as option 1"),
        ("M required b=c a=;", r"as option 2"),
        ("M required /* a=b;", "unterminated comment"),
    ],
)
def test_what_is_wrong_is_said(text, message):
    with pytest.raises(ConfigError, match=message):
        parse_jaas(text)


def test_values_stay_out_of_repr():
    assert "hush" not in repr(parse_jaas("M required password=hush;"))
