"""Sends requests to coordinator and agents."""

from __future__ import annotations

import json
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from kafka_tools.errors import ConnectFailed, InputError, KafkaToolsError
from kafka_tools.load.states.workers import Conflict
from kafka_tools.load.web.rest import NoSuchResource
from kafka_tools.shown_text import one_line
from kafka_tools.values import format_address, parse_address

_TIMEOUT_S = 10.0
LARGEST_ANSWER_BYTES = 64 * 1024 * 1024


class _NoRedirects(HTTPRedirectHandler):
    """A redirect would carry the token to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


class RestClient:
    """The client of one server. ``address`` is ``host:port``. Raises InputError for another text."""

    def __init__(self, address: str, token: str) -> None:
        self.address = format_address(*parse_address(address))
        self._token = token
        self._opener = build_opener(ProxyHandler({}), _NoRedirects())

    def send(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """The JSON value of the answer. ``query`` values of None are left out; lists are repeated.

        Raises ConnectFailed, Conflict (409), NoSuchResource (404), InputError (400, 501), KafkaToolsError.
        """
        given = {name: value for name, value in query.items() if value is not None}
        url = f"http://{self.address}{quote(path)}" + (f"?{urlencode(given, doseq=True)}" if given else "")
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = Request(url, data, headers, method=method)
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                return _json(answer.read(LARGEST_ANSWER_BYTES + 1), self.address)
        except HTTPError as error:
            with error:
                raise self._refused(error.code, error.read(LARGEST_ANSWER_BYTES)) from None
        except (TimeoutError, URLError, OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, URLError) else error
            text = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
            raise ConnectFailed(f"cannot reach {self.address}: {one_line(str(text))}", node=self.address) from error

    def _refused(self, status: int, body: bytes) -> KafkaToolsError:
        try:
            message = one_line(str(json.loads(body)["message"]))
        except (ValueError, KeyError, TypeError, RecursionError):
            message = f"HTTP status {status}"
        if status == 401:
            return InputError(f"{self.address} refused the token", hint="give the server's own token with --token-file")
        kind = {400: InputError, 404: NoSuchResource, 409: Conflict, 501: InputError}.get(status, KafkaToolsError)
        return kind(f"{self.address}: {message}")


def _json(body: bytes, address: str) -> Any:
    if len(body) > LARGEST_ANSWER_BYTES:
        raise KafkaToolsError(f"the answer of {address} has more than {LARGEST_ANSWER_BYTES} bytes")
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise KafkaToolsError(f"the answer of {address} is not JSON: is it a coordinator or an agent?") from None
