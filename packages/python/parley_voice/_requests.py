"""What requests and answers are made of, and when a request is sent again: the same with and without asyncio."""

from __future__ import annotations

import codecs
import dataclasses
import json
import os
import random
import re
import secrets
import time
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Dict, Generic, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union
from urllib.parse import quote, urlsplit

import httpx

from ._errors import ParleyApiError, ParleyConnectionError, ParleyError, ValidationFault
from ._model import UNSET
from .errors import BY_CODE

E = TypeVar("E", bound=str)
T = TypeVar("T")

TIMEOUT_S = 60.0
RETRIES = 2
#: How often a stream is opened again without an event in between: long enough for a restart of the daemon.
REOPENINGS = 8
#: A stream sends a comment after 10 s without an event: one that is silent for this long is broken.
SILENCE_S = 45.0
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
SAFE = frozenset(["GET", "PUT", "DELETE"])

File = Union[str, "os.PathLike[str]", Tuple[str, bytes]]
"""The path of a file, or its name and its content."""


@dataclasses.dataclass(frozen=True)
class Options:
    """Where the daemon is and how to ask it."""

    base_url: str
    api_key: Optional[str]
    timeout: Optional[float]
    #: None = the defaults of requests and of streams.
    max_retries: Optional[int]
    headers: Mapping[str, str]

    def __post_init__(self) -> None:
        url = urlsplit(self.base_url)
        if url.scheme not in ("http", "https") or not url.netloc:
            raise ValueError(f"base_url is the daemon's address, such as http://127.0.0.1:8080, not {self.base_url}")


@dataclasses.dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    #: Sent as JSON.
    body: Any = UNSET
    file: Optional[File] = None
    #: Requests with the same key have one effect; None = the endpoint takes none.
    key: Optional[str] = None
    last_event_id: Optional[str] = None

    @property
    def is_repeatable(self) -> bool:
        return self.method in SAFE or self.key is not None

    def httpx_arguments(self, options: Options, is_stream: bool) -> Dict[str, Any]:
        """Arguments of httpx's `build_request`."""
        headers = dict(options.headers)
        if options.api_key is not None:
            headers["authorization"] = f"Bearer {options.api_key}"
        if self.key is not None:
            headers["idempotency-key"] = self.key
        if self.last_event_id is not None:
            headers["last-event-id"] = self.last_event_id
        timeout = httpx.Timeout(options.timeout, read=SILENCE_S) if is_stream else httpx.Timeout(options.timeout)
        arguments: Dict[str, Any] = {
            "method": self.method,
            "url": re.sub(r"[?#].*", "", options.base_url).rstrip("/") + self.path,
            "params": {name: _text(value) for name, value in self.query.items() if value is not None} or None,
            "headers": headers,
            "timeout": timeout,
        }
        if self.body is not UNSET:
            arguments["json"] = self.body
        if self.file is not None:
            arguments["files"] = {"file": _content(self.file)}
        return arguments


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _content(file: File) -> Tuple[str, bytes]:
    if isinstance(file, tuple):
        return file
    path = Path(file)
    return path.name, path.read_bytes()


def path(template: str, *values: Union[str, int]) -> str:
    """The path of an endpoint: values in place of `{}` are escaped."""
    return template.format(*(quote(str(value), safe="") for value in values))


def key_of(given: Optional[str]) -> str:
    return secrets.token_hex(16) if given is None else given


def error_of(response: httpx.Response) -> ParleyApiError:
    """The error that an answer tells of. Its body has been read."""
    status = response.status_code
    code, faults = f"HTTP_{status}", ()  # type: str, Sequence[ValidationFault]
    detail = response.text[:500] or response.reason_phrase or f"The answer has status {status}"
    request_id = response.headers.get("x-request-id")
    try:
        body = json.loads(response.content)
    except ValueError:
        body = None  # It is not of the daemon.
    if isinstance(body, dict):
        code = str(body.get("code", code))
        request_id = body.get("request_id", request_id)
        told = body.get("detail", detail)
        if isinstance(told, list):
            faults = [ValidationFault(each["loc"], each["msg"], each["type"]) for each in told]
            detail = "; ".join(f"{'.'.join(map(str, each.loc))}: {each.msg}" for each in faults)
        else:
            detail = str(told)
    retry_after = retry_after_of(response.headers.get("retry-after"), time.time())
    return BY_CODE.get(code, ParleyApiError)(status, code, detail, faults, request_id, retry_after)


def retry_after_of(header: Optional[str], now: float) -> Optional[float]:
    """The header `retry-after` in seconds: a number of them or a date (RFC 9110, 10.2.3)."""
    if header is None:
        return None
    if re.fullmatch(r"\s*\d+\s*", header):
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - now)
    except (TypeError, ValueError):
        return None


def connection_error(error: Exception, options: Options) -> ParleyConnectionError:
    if isinstance(error, httpx.TimeoutException):
        return ParleyConnectionError(f"No answer of {options.base_url} in time", is_timeout=True)
    return ParleyConnectionError(f"No answer of {options.base_url}: {error}")


def may_pass(error: ParleyError, is_repeatable: bool) -> bool:
    """
    Whether the same request may succeed later. One that may have had an effect is sent again only if that does no harm:
    429 and 503 with a time to wait come before any effect.
    """
    if not isinstance(error, ParleyApiError):
        return is_repeatable
    is_early = error.status == 429 or (error.status == 503 and error.retry_after is not None)
    return is_early or (is_repeatable and error.status in (502, 503, 504))


def wait_s(error: ParleyError, tries: int, most: int, is_repeatable: bool) -> Optional[float]:
    """How long to wait before a request is sent again; None = it is not."""
    asked = error.retry_after if isinstance(error, ParleyApiError) else None
    # A wait of minutes is the caller's to decide.
    is_too_long = asked is not None and asked > LONGEST_PAUSE_S
    if tries > most or is_too_long or not may_pass(error, is_repeatable):
        return None
    return pause_s(tries, asked, random.random())


def pause_s(tries: int, asked: Optional[float], chance: float) -> float:
    """The wait before the next try: doubles each time, up to 30 s, with a random half. `chance` is 0..1."""
    if asked is not None:
        return min(asked, LONGEST_PAUSE_S)
    return min(FIRST_PAUSE_S * 2.0 ** (tries - 1), LONGEST_PAUSE_S) * (0.5 + chance / 2)


@dataclasses.dataclass(frozen=True)
class NamedEvent(Generic[E, T]):
    """An event of a stream with several kinds of events."""

    event: E
    data: T
    #: For `last_event_id`; None = the event has none.
    id: Optional[str]


@dataclasses.dataclass(frozen=True)
class ServerSentEvent:
    event: str
    data: str
    id: Optional[str]


class EventParser:
    """Makes events of the bytes of a stream (WHATWG HTML, 9.2.6)."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._rest = ""
        self._event = ""
        self._data: List[str] = []
        self._id: Optional[str] = None

    def feed(self, chunk: bytes) -> List[ServerSentEvent]:
        # A line feed behind a carriage return at the end may still come.
        *lines, self._rest = re.split(r"\r\n|\n|\r(?!\Z)", self._rest + self._decoder.decode(chunk))
        return [event for event in map(self._line, lines) if event is not None]

    def _line(self, line: str) -> Optional[ServerSentEvent]:
        """Takes a line. An empty one completes the event."""
        if line == "":
            event = ServerSentEvent(self._event or "message", "\n".join(self._data), self._id) if self._data else None
            self._event, self._data, self._id = "", [], None
            return event
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._event = value
        elif field == "id" and "\0" not in value:
            self._id = value
        return None


def answer_part(response: httpx.Response, event: ServerSentEvent) -> Any:
    """The data of an event of an answer. Raises the error that it may tell of."""
    part = json.loads(event.data)
    if "error" in part:
        code, message = part["error"]["code"], part["error"]["message"]
        raise BY_CODE.get(code, ParleyApiError)(
            response.status_code, code, message, request_id=response.headers.get("x-request-id")
        )
    return part


class Watch:
    """A stream that is opened again behind the last event when it breaks off."""

    def __init__(
        self,
        path: str,
        kinds: Mapping[str, Type[Any]],
        last: Optional[Tuple[str, Sequence[Any]]],
        last_event_id: Optional[str],
        max_retries: Optional[int],
    ) -> None:
        self._path = path
        self._kinds = kinds
        self._last = last
        self._last_id = last_event_id
        self._most = REOPENINGS if max_retries is None else max_retries
        self._failures = 0
        self._is_first = True

    def request(self) -> Request:
        return Request("GET", self._path, last_event_id=self._last_id)

    def retries(self, max_retries: int) -> int:
        """How often a request that fails is sent again: an open stream counts on its own."""
        return max_retries if self._is_first else 0

    def heard(self, event: ServerSentEvent) -> Tuple[Any, Any, bool]:
        """The type of an event's data, the data, and whether the event is the last."""
        self._failures = 0
        if event.id is not None:
            self._last_id = event.id
        data = json.loads(event.data)
        only = next(iter(self._kinds.values())) if len(self._kinds) == 1 else Any
        is_last = self._last is not None and data.get(self._last[0]) in self._last[1]
        return self._kinds.get(event.event, only), data, is_last

    def pause_s(self, fault: Optional[ParleyError]) -> Optional[float]:
        """How long to wait before the stream is opened again; None = it is over. Raises a fault that stays."""
        is_first, self._is_first = self._is_first, False
        is_refusal = isinstance(fault, ParleyApiError)
        if isinstance(fault, ParleyApiError) and fault.status == 404 and not is_first:
            return None  # What it told of has been deleted meanwhile.
        if fault is not None and ((is_first and is_refusal) or not may_pass(fault, True)):
            raise fault
        if self._failures >= self._most:
            raise fault or ParleyConnectionError("The stream ends too early")
        self._failures += 1
        return pause_s(
            self._failures, fault.retry_after if isinstance(fault, ParleyApiError) else None, random.random()
        )
