"""Names in certificates and the rules that make principals of them. The expected names were printed by Java 17's
``X500Principal.getName()``; the rules are Kafka's own examples (``SslPrincipalMapperTest``)."""

from __future__ import annotations

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.broker_embedded.security.certificate_names import certificate_names, distinguished_name
from kafka_tools.broker_embedded.security.principal_rules import PrincipalRules
from kafka_tools.errors import ConfigError, InputError

JAVAS_NAMES = {
    (
        "3073310b3009060355040613024445310f300d06035504080c064265726c696e310e300c06035504070c054d69747465"
        "31133011060355040a0c0a41434d452c20496e632e311d301b060355040b0c145226443b20227822203c613e202b2062"
        "205c2063310f300d06035504030c066b61666b6131"
    ): 'CN=kafka1,OU=R&D\\; \\"x\\" \\<a\\> \\+ b \\\\ c,O=ACME\\, Inc.,L=Mitte,ST=Berlin,C=DE',
    "301b3119301706035504030c10206c65616420616e6420747261696c20": "CN=\\ lead and trail\\ ",
    "3010310e300c06035504030c05613d622363": "CN=a\\=b\\#c",
    "3010310e300c06035504030c052368617368": "CN=\\#hash",
    "301c311a301806035504030c114ac3bc7267656e20c39620e6bca2e5ad97": "CN=Jürgen Ö 漢字",
    "30223114301206092a864886f70d01090116056140622e63310a300806035504030c0178": (
        "CN=x,1.2.840.113549.1.9.1=#16056140622e63"
    ),
    (
        "305631133011060a0992268993f22c6401191603636f6d31173015060a0992268993f22c64011916076578616d706c65"
        "31123010060a0992268993f22c6401010c0275313112301006035504090c094d61696e2053742031"
    ): "STREET=Main St 1,UID=u1,DC=example,DC=com",
    "30163114300806035504030c01783008060355040b0c0179": "CN=x+OU=y",
    (
        "3027310c300a06035504051303313233310b3009060355040c0c024472310a300806035504030c0178"
    ): "CN=x,2.5.4.12=#0c024472,2.5.4.5=#1303313233",
    (
        "3048310f300d06035504031e060062006d0070310c300a060355040a1403743631310c300a060355040b160369613531"
        "19301706035504071c10000000750000006e0000006900000076"
    ): "L=#1c10000000750000006e0000006900000076,OU=ia5,O=t61,CN=\\00b\\00m\\00p",
    "30133111300f06035504030c08612020620a630964": "CN=a  b\nc\td",
    "3000": "",
    "3010310e300c06035504030c050d2078200d": "CN=\\\r\\ x\\ \\\r",
    "3020311e301c06035504030c15612a625f63216440657c66272867292f683a693f6a": "CN=a*b_c!d@e|f'(g)/h:i?j",
}


@pytest.mark.parametrize(("der", "name"), JAVAS_NAMES.items())
def test_names_are_written_as_java_writes_them(der: str, name: str) -> None:
    assert distinguished_name(bytes.fromhex(der)) == name


@pytest.mark.parametrize("der", ["", "30", "3005", "31003000", "300331013000", "3084ffffffff", "308000", "0400"])
def test_bytes_that_are_no_name_are_refused(der: str) -> None:
    with pytest.raises(InputError, match="invalid distinguished name: "):
        distinguished_name(bytes.fromhex(der))


@given(st.binary(max_size=80))
def test_no_bytes_do_harm(data: bytes) -> None:
    for read in (distinguished_name, certificate_names):
        try:
            read(data)
        except InputError:
            continue


def test_the_names_of_a_certificate() -> None:
    issued = trustme.CA().issue_cert(
        "kafka.example.org", "10.0.0.1", common_name="broker", organization_name="ops, inc", organization_unit_name="u"
    )
    certificate = x509.load_pem_x509_certificate(issued.cert_chain_pems[0].bytes())
    names = certificate_names(certificate.public_bytes(Encoding.DER))
    assert names.subject == "CN=broker,OU=u,O=ops\\, inc"
    assert names.alternatives == {(0x82, b"kafka.example.org"), (0x87, bytes((10, 0, 0, 1)))}


EXAMPLE = ", ".join(
    (
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L",
        "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L",
        "RULE:^cn=(.*?),ou=(.*?),dc=(.*?),dc=(.*?)$/$1@$2/U",
        "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U",
        "DEFAULT",
    )
)


@pytest.mark.parametrize(
    ("rules", "name", "principal"),
    [
        (None, "CN=a,O=b", "CN=a,O=b"),
        (EXAMPLE, "CN=Duke,OU=ServiceUsers,O=Org,C=US", "duke"),
        (EXAMPLE, "CN=Duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke@sme"),
        (EXAMPLE, "cn=duke,ou=sme,dc=mycp,dc=com", "DUKE@SME"),
        (EXAMPLE, "cN=duke,OU=JavaSoft,O=Sun Microsystems", "DUKE"),
        (EXAMPLE, "OU=JavaSoft,O=Sun Microsystems,C=US", "OU=JavaSoft,O=Sun Microsystems,C=US"),
        (r"RULE:^CN=((\\, *|\w)+)(,.*|$)/$1/,DEFAULT", "CN=Tkac\\, Adam,OU=ITZ,DC=geodis,DC=cz", "Tkac\\, Adam"),
        ("RULE:^CN=(.*?),.*$/$1@$2-$12/", "CN=a,O=b", "a@$2-a2"),
        ("RULE:^CN=(?<who>.*?),.*$/${who}\\$1/", "CN=a,O=b", "a$1"),
        (",, RULE:x/y/ , ,DEFAULT,,", "CN=a", "CN=a"),
    ],
)
def test_rules_make_principals(rules: str | None, name: str, principal: str) -> None:
    assert PrincipalRules(rules).name(name) == principal


@pytest.mark.parametrize(
    "rules",
    [
        "default", "DEFAUL", "DEFAULT/L", "DEFAULT/U", "RULE:CN=(.*?),OU=ServiceUsers.*/$1",
        "rule:^CN=(.*?),OU=ServiceUsers.*$/$1/", "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L/U",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/L", "RULE:^CN=(.*?),OU=ServiceUsers.*$/LU", "RULE:(/x/", "RULE:(a)/${b}/",
    ],
)  # fmt: skip
def test_wrong_rules_are_told(rules: str) -> None:
    with pytest.raises(ConfigError, match=r"ssl\.principal\.mapping\.rules"):
        PrincipalRules(rules)


def test_a_name_that_no_rule_fits_is_refused() -> None:
    with pytest.raises(InputError, match="no rule of"):
        PrincipalRules("RULE:^OU=(.*)$/$1/").name("CN=a")
    with pytest.raises(InputError, match="too long"):
        PrincipalRules(None).name("CN=" + "a" * 20_000)
