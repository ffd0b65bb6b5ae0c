"""Sends requests, again where that is safe, and reads answers: with and without asyncio."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
from types import TracebackType
from typing import (
    Any,
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Dict,
    Generator,
    Generic,
    Iterator,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
)

import httpx

from ._errors import ParleyConnectionError, ParleyError
from ._model import UNSET, Maybe, decode
from ._requests import (
    RETRIES,
    TIMEOUT_S,
    EventParser,
    NamedEvent,
    Options,
    Request,
    ServerSentEvent,
    Watch,
    answer_part,
    connection_error,
    error_of,
    wait_s,
)

T = TypeVar("T")
Item = TypeVar("Item")
Page = TypeVar("Page")
Cursor = Union[str, int, float, None]
#: The members of a page and of the query: the cursor of the query, the items, the next cursor. No items = a list.
Shape = Tuple[str, Optional[str], str]


def _json(response: httpx.Response) -> Any:
    try:
        return json.loads(response.content)
    except ValueError as error:
        raise ParleyConnectionError("The answer is no JSON") from error


def _items(page: Any, shape: Shape) -> Any:
    return page if shape[1] is None else getattr(page, shape[1])


def _next(page: Any, shape: Shape, cursor: Cursor) -> Cursor:
    """The cursor of the next page. Lists end with the cursor 0, or with an empty page."""
    holder = page if shape[1] is not None else page[-1] if page else None
    following: Cursor = getattr(holder, shape[2], None) or None
    # The same cursor twice would never end.
    return None if following == cursor else following


class Pages(Generic[Item, Page]):
    """A list that comes in pages. Iterating goes through the items of all pages, and asks for a page when needed."""

    def __init__(self, http: Http, request: Request, hint: Type[Page], shape: Shape) -> None:
        self._http = http
        self._request = request
        self._hint = hint
        self._shape = shape

    def page(self) -> Page:
        """The first page alone, or the one behind the cursor of the query."""
        return self._http.json(self._request, self._hint)

    def pages(self) -> Iterator[Page]:
        """One page after the other."""
        page = self.page()
        yield page
        cursor = _next(page, self._shape, None)
        while cursor is not None:
            page = self._http.json(_behind(self._request, self._shape, cursor), self._hint)
            yield page
            cursor = _next(page, self._shape, cursor)

    def __iter__(self) -> Iterator[Item]:
        for page in self.pages():
            yield from _items(page, self._shape)


class AsyncPages(Generic[Item, Page]):
    """A list that comes in pages. Iterating goes through the items of all pages, and asks for a page when needed."""

    def __init__(self, http: AsyncHttp, request: Request, hint: Type[Page], shape: Shape) -> None:
        self._http = http
        self._request = request
        self._hint = hint
        self._shape = shape

    async def page(self) -> Page:
        """The first page alone, or the one behind the cursor of the query."""
        return await self._http.json(self._request, self._hint)

    async def pages(self) -> AsyncIterator[Page]:
        """One page after the other."""
        page = await self.page()
        yield page
        cursor = _next(page, self._shape, None)
        while cursor is not None:
            page = await self._http.json(_behind(self._request, self._shape, cursor), self._hint)
            yield page
            cursor = _next(page, self._shape, cursor)

    async def __aiter__(self) -> AsyncIterator[Item]:
        async for page in self.pages():
            for item in _items(page, self._shape):
                yield item


def _behind(request: Request, shape: Shape, cursor: Cursor) -> Request:
    return dataclasses.replace(request, query={**request.query, shape[0]: cursor})


class Http:
    """The requests of `Parley`."""

    def __init__(self, options: Options, client: httpx.Client) -> None:
        self.options = options
        self.client = client

    def json(self, request: Request, hint: Type[T]) -> T:
        answer: T = decode(hint, self._send(request, _json))
        return answer

    def text(self, request: Request) -> str:
        return self._send(request, lambda response: response.text)

    def content(self, request: Request) -> bytes:
        return self._send(request, lambda response: response.content)

    def pages(self, request: Request, hint: Type[Page], shape: Shape) -> Pages[Any, Page]:
        return Pages(self, request, hint, shape)

    def answer(self, request: Request, hint: Type[T]) -> Generator[T, None, None]:
        """The data of one answer's events, up to `[DONE]`."""
        response = self._send(request, lambda each: each, is_stream=True)
        try:
            for event in self._events(response):
                if event.data == "[DONE]":
                    return
                yield decode(hint, answer_part(response, event))
            raise ParleyConnectionError("The answer broke off")
        finally:
            response.close()

    def events(
        self,
        path: str,
        kinds: Mapping[str, Type[Any]],
        last: Optional[Tuple[str, Sequence[Any]]],
        last_event_id: Optional[str],
    ) -> Generator[NamedEvent[Any, Any], None, None]:
        """The events of a stream. A stream that breaks off is opened again behind the last event."""
        watch = Watch(path, kinds, last, last_event_id, self.options.max_retries)
        while True:
            fault: Optional[ParleyError] = None
            response: Optional[httpx.Response] = None
            try:
                most = watch.retries(self._retries)
                response = self._send(watch.request(), lambda each: each, is_stream=True, most=most)
                for event in self._events(response):
                    hint, data, is_last = watch.heard(event)
                    yield NamedEvent(event.event, decode(hint, data), event.id)
                    if is_last:
                        return
            except ParleyError as error:
                fault = error
            finally:
                if response is not None:
                    response.close()
            pause = watch.pause_s(fault)
            if pause is None:
                return
            time.sleep(pause)

    def data(
        self,
        path: str,
        kind: Mapping[str, Type[T]],
        last: Optional[Tuple[str, Sequence[Any]]],
        last_event_id: Optional[str],
    ) -> Generator[T, None, None]:
        """The data of the events of a stream with one kind of events."""
        events = self.events(path, kind, last, last_event_id)
        try:
            for event in events:
                yield event.data
        finally:
            events.close()

    @property
    def _retries(self) -> int:
        return RETRIES if self.options.max_retries is None else self.options.max_retries

    def _events(self, response: httpx.Response) -> Iterator[ServerSentEvent]:
        parser = EventParser()
        try:
            for chunk in response.iter_bytes():
                yield from parser.feed(chunk)
        except httpx.RequestError as error:
            raise connection_error(error, self.options) from error

    def _send(
        self,
        request: Request,
        read: Callable[[httpx.Response], T],
        *,
        is_stream: bool = False,
        most: Optional[int] = None,
    ) -> T:
        tries = 1
        arguments = request.httpx_arguments(self.options, is_stream)
        while True:
            try:
                return self._once(self.client.build_request(**arguments), read, is_stream)
            except ParleyError as error:
                pause = wait_s(error, tries, self._retries if most is None else most, request.is_repeatable)
                if pause is None:
                    raise
            time.sleep(pause)
            tries += 1

    def _once(self, request: httpx.Request, read: Callable[[httpx.Response], T], is_stream: bool) -> T:
        try:
            response = self.client.send(request, stream=is_stream, follow_redirects=True)
            if response.is_success:
                return read(response)
            response.read()
        except httpx.RequestError as error:
            raise connection_error(error, self.options) from error
        raise error_of(response)


class AsyncHttp:
    """The requests of `AsyncParley`."""

    def __init__(self, options: Options, client: httpx.AsyncClient) -> None:
        self.options = options
        self.client = client

    async def json(self, request: Request, hint: Type[T]) -> T:
        answer: T = decode(hint, await self._send(request, _json))
        return answer

    async def text(self, request: Request) -> str:
        return await self._send(request, lambda response: response.text)

    async def content(self, request: Request) -> bytes:
        return await self._send(request, lambda response: response.content)

    def pages(self, request: Request, hint: Type[Page], shape: Shape) -> AsyncPages[Any, Page]:
        return AsyncPages(self, request, hint, shape)

    async def answer(self, request: Request, hint: Type[T]) -> AsyncGenerator[T, None]:
        """The data of one answer's events, up to `[DONE]`."""
        response = await self._send(request, lambda each: each, is_stream=True)
        try:
            async for event in self._events(response):
                if event.data == "[DONE]":
                    return
                yield decode(hint, answer_part(response, event))
            raise ParleyConnectionError("The answer broke off")
        finally:
            await response.aclose()

    async def events(
        self,
        path: str,
        kinds: Mapping[str, Type[Any]],
        last: Optional[Tuple[str, Sequence[Any]]],
        last_event_id: Optional[str],
    ) -> AsyncGenerator[NamedEvent[Any, Any], None]:
        """The events of a stream. A stream that breaks off is opened again behind the last event."""
        watch = Watch(path, kinds, last, last_event_id, self.options.max_retries)
        while True:
            fault: Optional[ParleyError] = None
            response: Optional[httpx.Response] = None
            try:
                most = watch.retries(self._retries)
                response = await self._send(watch.request(), lambda each: each, is_stream=True, most=most)
                async for event in self._events(response):
                    hint, data, is_last = watch.heard(event)
                    yield NamedEvent(event.event, decode(hint, data), event.id)
                    if is_last:
                        return
            except ParleyError as error:
                fault = error
            finally:
                if response is not None:
                    await response.aclose()
            pause = watch.pause_s(fault)
            if pause is None:
                return
            await asyncio.sleep(pause)

    async def data(
        self,
        path: str,
        kind: Mapping[str, Type[T]],
        last: Optional[Tuple[str, Sequence[Any]]],
        last_event_id: Optional[str],
    ) -> AsyncGenerator[T, None]:
        """The data of the events of a stream with one kind of events."""
        events = self.events(path, kind, last, last_event_id)
        try:
            async for event in events:
                yield event.data
        finally:
            await events.aclose()

    @property
    def _retries(self) -> int:
        return RETRIES if self.options.max_retries is None else self.options.max_retries

    async def _events(self, response: httpx.Response) -> AsyncIterator[ServerSentEvent]:
        parser = EventParser()
        try:
            async for chunk in response.aiter_bytes():
                for event in parser.feed(chunk):
                    yield event
        except httpx.RequestError as error:
            raise connection_error(error, self.options) from error

    async def _send(
        self,
        request: Request,
        read: Callable[[httpx.Response], T],
        *,
        is_stream: bool = False,
        most: Optional[int] = None,
    ) -> T:
        tries = 1
        arguments = request.httpx_arguments(self.options, is_stream)
        while True:
            try:
                return await self._once(self.client.build_request(**arguments), read, is_stream)
            except ParleyError as error:
                pause = wait_s(error, tries, self._retries if most is None else most, request.is_repeatable)
                if pause is None:
                    raise
            await asyncio.sleep(pause)
            tries += 1

    async def _once(self, request: httpx.Request, read: Callable[[httpx.Response], T], is_stream: bool) -> T:
        try:
            response = await self.client.send(request, stream=is_stream, follow_redirects=True)
            if response.is_success:
                return read(response)
            await response.aread()
        except httpx.RequestError as error:
            raise connection_error(error, self.options) from error
        raise error_of(response)


def _changed(
    options: Options,
    timeout: Maybe[Optional[float]],
    max_retries: Maybe[Optional[int]],
    headers: Maybe[Mapping[str, str]],
) -> Options:
    given: Dict[str, Any] = {"timeout": timeout, "max_retries": max_retries, "headers": headers}
    return dataclasses.replace(options, **{name: each for name, each in given.items() if each is not UNSET})


C = TypeVar("C", bound="Client")
A = TypeVar("A", bound="AsyncClient")


class Client:
    """
    A client of the daemon. Close it, or use it in a `with` statement.

    base_url: the daemon's address, such as `https://calls.example.com`; a path before its endpoints may follow
    api_key: a private key, or a token where an endpoint takes one
    timeout: how many seconds the connection and each part of an answer may take; None = for ever
    max_retries: how often a request is sent again after a failure that may pass; None = 2, and 8 for open streams
    headers: headers of each request
    http_client: a client of httpx with settings of its own, such as a proxy; you close it
    """

    def __init__(
        self,
        base_url: str,
        api_key: Optional[str] = None,
        *,
        timeout: Optional[float] = TIMEOUT_S,
        max_retries: Optional[int] = None,
        headers: Optional[Mapping[str, str]] = None,
        http_client: Optional[httpx.Client] = None,
    ) -> None:
        options = Options(base_url, api_key, timeout, max_retries, headers or {})
        self._owned = httpx.Client() if http_client is None else None
        self._use(Http(options, http_client or self._owned or httpx.Client()))

    def _use(self, http: Http) -> None:
        self._http = http

    def with_options(
        self: C,
        *,
        timeout: Maybe[Optional[float]] = UNSET,
        max_retries: Maybe[Optional[int]] = UNSET,
        headers: Maybe[Mapping[str, str]] = UNSET,
    ) -> C:
        """The same client with other options, on the same connections."""
        other = type(self).__new__(type(self))
        other._owned = None
        other._use(Http(_changed(self._http.options, timeout, max_retries, headers), self._http.client))
        return other

    def close(self) -> None:
        if self._owned is not None:
            self._owned.close()

    def __enter__(self: C) -> C:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()


class AsyncClient:
    """
    A client of the daemon for asyncio. Close it, or use it in an `async with` statement.

    base_url: the daemon's address, such as `https://calls.example.com`; a path before its endpoints may follow
    api_key: a private key, or a token where an endpoint takes one
    timeout: how many seconds the connection and each part of an answer may take; None = for ever
    max_retries: how often a request is sent again after a failure that may pass; None = 2, and 8 for open streams
    headers: headers of each request
    http_client: a client of httpx with settings of its own, such as a proxy; you close it
    """

    def __init__(
        self,
        base_url: str,
        api_key: Optional[str] = None,
        *,
        timeout: Optional[float] = TIMEOUT_S,
        max_retries: Optional[int] = None,
        headers: Optional[Mapping[str, str]] = None,
        http_client: Optional[httpx.AsyncClient] = None,
    ) -> None:
        options = Options(base_url, api_key, timeout, max_retries, headers or {})
        self._owned = httpx.AsyncClient() if http_client is None else None
        self._use(AsyncHttp(options, http_client or self._owned or httpx.AsyncClient()))

    def _use(self, http: AsyncHttp) -> None:
        self._http = http

    def with_options(
        self: A,
        *,
        timeout: Maybe[Optional[float]] = UNSET,
        max_retries: Maybe[Optional[int]] = UNSET,
        headers: Maybe[Mapping[str, str]] = UNSET,
    ) -> A:
        """The same client with other options, on the same connections."""
        other = type(self).__new__(type(self))
        other._owned = None
        other._use(AsyncHttp(_changed(self._http.options, timeout, max_retries, headers), self._http.client))
        return other

    async def close(self) -> None:
        if self._owned is not None:
            await self._owned.aclose()

    async def __aenter__(self: A) -> A:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()
