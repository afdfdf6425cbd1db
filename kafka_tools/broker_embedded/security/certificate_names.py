"""The names in a TLS certificate, as Java writes them: the subject by RFC 2253, and the alternative names.

Principals and ACLs contain this text, so it equals ``X500Principal.getName()`` exactly: the last part comes first, nine
types have short names, all others are numbers with hexadecimal values. The module reads only the necessary parts of DER
(X.690) and RFC 5280, within bounds. It validates no keys and no signatures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kafka_tools.errors import InputError

_KEYWORDS = {
    "2.5.4.3": "CN", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.9": "STREET", "2.5.4.10": "O",
    "2.5.4.11": "OU", "0.9.2342.19200300.100.1.25": "DC", "0.9.2342.19200300.100.1.1": "UID",
}  # fmt: skip
_UTF8, _PRINTABLE, _T61, _IA5, _GENERAL, _BMP = 12, 19, 20, 22, 27, 30
_TEXTS = frozenset({_UTF8, _PRINTABLE, _T61, _IA5, _GENERAL, _BMP})
_SEQUENCE, _SET, _OID, _OCTETS, _TRUE = 0x30, 0x31, 0x06, 0x04, 0x01
_VERSION, _EXTENSIONS = 0xA0, 0xA3
_SUBJECT_ALT_NAME = "2.5.29.17"
_ESCAPED = frozenset(',=+<>#;"\\')
_AT_THE_ENDS = " \r"


class CertificateNames(NamedTuple):
    """The names of a certificate's subject. ``alternatives``: (tag, bytes) as in the certificate."""

    subject: str
    alternatives: frozenset[tuple[int, bytes]]


class _Element(NamedTuple):
    tag: int
    content: bytes
    whole: bytes


def certificate_names(der: bytes) -> CertificateNames:
    """The names in a certificate in DER. InputError if the bytes are not a certificate."""
    try:
        parts = list(_elements(_only(_only(der, _SEQUENCE), _SEQUENCE)))  # of what was signed
        if parts[0].tag == _VERSION:
            del parts[0]
        subject = distinguished_name(parts[4].whole)  # after serial, algorithm, issuer and validity
        extensions = [part for part in parts[5:] if part.tag == _EXTENSIONS]
        return CertificateNames(subject, frozenset(_alternatives(extensions)))
    except (IndexError, ValueError):
        raise InputError("invalid certificate: unexpected structure") from None


def distinguished_name(der: bytes) -> str:
    """A Name of RFC 5280 in DER, in Java's form of RFC 2253. InputError if the bytes are not a Name."""
    try:
        parts = [
            "+".join(_attribute(_expect(pair, _SEQUENCE)) for pair in _elements(_expect(relative, _SET)))
            for relative in _elements(_only(der, _SEQUENCE))
        ]
    except (IndexError, ValueError):
        raise InputError("invalid distinguished name: it is truncated") from None
    return ",".join(reversed(parts))


def _attribute(pair: bytes) -> str:
    kind, value = _elements(pair)
    oid = _oid(_expect(kind, _OID))
    keyword = _KEYWORDS.get(oid)
    if keyword is None or value.tag not in _TEXTS:
        return f"{keyword or oid}=#{value.whole.hex()}"
    # Java decodes all types as UTF-8, so the two bytes of a BMP character become two characters.
    return f"{keyword}={_escaped(value.content.decode('utf-8', 'replace'))}"


def _escaped(text: str) -> str:
    out = "".join("\\" + char if char in _ESCAPED else "\\00" if char == "\0" else char for char in text)
    inner = out.strip(_AT_THE_ENDS)
    if not inner:
        return "".join("\\" + char for char in out)
    begin = len(out) - len(out.lstrip(_AT_THE_ENDS))
    ends = out[:begin], out[begin + len(inner) :]
    before, after = ("".join("\\" + char for char in end) for end in ends)
    return before + inner + after


def _alternatives(extensions: list[_Element]) -> Iterator[tuple[int, bytes]]:
    for wrapper in extensions:
        for extension in _elements(_only(wrapper.content, _SEQUENCE)):
            kind, *rest = _elements(_expect(extension, _SEQUENCE))
            if _oid(_expect(kind, _OID)) != _SUBJECT_ALT_NAME:
                continue
            if rest[0].tag == _TRUE:  # whether the extension is critical
                del rest[0]
            for name in _elements(_only(_expect(rest[0], _OCTETS), _SEQUENCE)):
                yield name.tag, name.content


def _elements(data: bytes) -> Iterator[_Element]:
    """The elements of DER. IndexError for invalid lengths."""
    position = 0
    while position < len(data):
        tag, length = data[position], data[position + 1]
        start = position + 2
        if length & 0x80:
            count = length & 0x7F
            if not 1 <= count <= 4:
                raise IndexError
            length = int.from_bytes(data[start : start + count], "big")
            start += count
        end = start + length
        if end > len(data):
            raise IndexError
        yield _Element(tag, data[start:end], data[position:end])
        position = end


def _only(data: bytes, tag: int) -> bytes:
    """The content of the first element."""
    return _expect(next(_elements(data), _Element(0, b"", b"")), tag)


def _expect(element: _Element, tag: int) -> bytes:
    if element.tag != tag:
        raise IndexError
    return element.content


def _oid(content: bytes) -> str:
    numbers: list[int] = []
    value = 0
    for byte in content[:64]:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(value)
            value = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))
