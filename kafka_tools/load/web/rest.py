"""The part of REST that coordinator and agents share, without a web server: routes, the token, errors as JSON.

Statuses and error bodies are those of Trogdor's ``RestExceptionMapper``.
"""

from __future__ import annotations

import hmac
import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn
from urllib.parse import parse_qs

from kafka_tools.errors import InputError, KafkaToolsError
from kafka_tools.load.specs.classes import UnknownTaskClass
from kafka_tools.load.specs.members import JsonMembers
from kafka_tools.load.states.workers import Conflict

log = logging.getLogger(__name__)

LARGEST_BODY_BYTES = 1024 * 1024
_MOST_PARAMETERS = 1_000
SHORTEST_TOKEN = 16


class RestRequest(NamedTuple):
    """A request. ``path`` is percent-decoded, ``query`` is not."""

    method: str
    path: str
    query: str = ""
    body: bytes = b""
    authorization: str = ""


class RestAnswer(NamedTuple):
    """A status and a JSON value."""

    status: int
    value: Any


class Called(NamedTuple):
    """What a route's function gets."""

    members: JsonMembers
    """The body; an empty object if there is none."""
    query: Mapping[str, Sequence[str]]
    rest: str
    """The end of the path for a route that ends with ``/*``."""

    def parameter(self, name: str, default: str = "") -> str:
        """The first value of a query parameter."""
        return self.query.get(name, [default])[0]

    def number(self, name: str) -> int:
        """A whole number of the query, 0 if it is missing. Raises InputError."""
        text = self.parameter(name, "0")
        if not re.fullmatch(r"-?[0-9]{1,18}", text):
            raise InputError(f"invalid {name} '{text[:40]}': expected a whole number")
        return int(text)


class NoSuchResource(KafkaToolsError):
    """There is nothing at the path."""


Route = Callable[[Called], Any]
"""Returns the answer's JSON value. Raises KafkaToolsError."""


class RestApplication:
    """Routes requests. ``routes``: ``"GET /agent/status"`` -> function; a path may end with ``/*``."""

    def __init__(self, token: str, routes: Mapping[str, Route]) -> None:
        self._token = token.encode()
        self._routes = routes

    def answer(self, request: RestRequest) -> RestAnswer:
        """The answer to a request. Never raises."""
        scheme, _, given = request.authorization.partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self._token):
            return _failed(401, "the request has no valid token: send it as Authorization: Bearer")
        try:
            return RestAnswer(200, self._routed(request))
        except (Conflict, NoSuchResource, UnknownTaskClass) as error:
            status = {Conflict: 409, NoSuchResource: 404, UnknownTaskClass: 501}[type(error)]
            return _failed(status, _text(error))
        except InputError as error:
            return _failed(400, _text(error))
        except KafkaToolsError as error:
            return _failed(500, _text(error))
        except Exception:
            log.exception("internal error in %s %s", request.method, request.path[:200])
            return _failed(500, "internal error: the log has the reason")

    def _routed(self, request: RestRequest) -> Any:
        wanted = f"{request.method} {request.path.rstrip('/')}"
        for name, route in self._routes.items():
            start = name.removesuffix("*")
            if wanted == name or (start != name and wanted.startswith(start)):
                rest = wanted[len(start) :]
                return route(Called(_members(request.body), _query(request.query), rest))
        raise NoSuchResource(f"there is no {request.method} {request.path[:200]}")


def _members(body: bytes) -> JsonMembers:
    if len(body) > LARGEST_BODY_BYTES:
        raise InputError(f"the body has more than {LARGEST_BODY_BYTES} bytes")
    try:
        value = json.loads(body, parse_constant=_not_json) if body.strip() else {}
    except (ValueError, RecursionError):
        raise InputError("invalid body: expected JSON") from None
    return JsonMembers({} if value is None else value, "body")


def _not_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _query(text: str) -> dict[str, list[str]]:
    try:
        return parse_qs(text, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)
    except ValueError:
        raise InputError(f"more than {_MOST_PARAMETERS} parameters") from None


def _text(error: KafkaToolsError) -> str:
    return f"{error}; {error.hint}" if error.hint else str(error)


def _failed(status: int, message: str) -> RestAnswer:
    return RestAnswer(status, {"code": status, "message": message})


def check_token(token: str, place: str) -> str:
    """The token without white space around it. Raises InputError if it is too short or not printable ASCII."""
    token = token.strip()
    if not token.isascii() or not token.isprintable() or " " in token or len(token) < SHORTEST_TOKEN:
        raise InputError(
            f"invalid token in {place}: expected at least {SHORTEST_TOKEN} printable ASCII characters",
            hint="make one with: openssl rand -hex 16",
        )
    return token
