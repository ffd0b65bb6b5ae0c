"""What goes wrong. `errors.py` adds a class for each code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Sequence, Union


class ParleyError(Exception):
    """Base class of the errors of this package."""


@dataclass(frozen=True)
class ValidationFault:
    """A fault of the request, as answers with status 422 list them."""

    #: The place: `body`, `query` or `path`, then names and indexes.
    loc: Sequence[Union[str, int]]
    msg: str
    #: A stable code.
    type: str


class ParleyApiError(ParleyError):
    """The daemon refuses a request or fails. Each code has a class of its own in `parley_voice.errors`."""

    #: The HTTP status. An error in the middle of a stream has 200, the status of the stream.
    status: int
    #: A code of docs/errors.md, or `HTTP_` and the status if the answer comes from something else, such as a proxy.
    code: str
    #: What is wrong, in a sentence.
    detail: str
    #: Each fault of a request that is not valid; empty with other errors.
    faults: Sequence[ValidationFault]
    #: The request's id in the daemon's log; None = the answer has none.
    request_id: Optional[str]
    #: How many seconds the daemon asks to wait; None = it does not say.
    retry_after: Optional[float]

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        faults: Sequence[ValidationFault] = (),
        request_id: Optional[str] = None,
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(status, code, detail, faults, request_id, retry_after)
        self.status = status
        self.code = code
        self.detail = detail
        self.faults = faults
        self.request_id = request_id
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.detail} ({self.code}, status {self.status})"


class ParleyConnectionError(ParleyError):
    """No answer: the daemon cannot be reached, does not answer in time, or the connection breaks. See `__cause__`."""

    #: Whether the time for an answer is over.
    is_timeout: bool

    def __init__(self, message: str, is_timeout: bool = False) -> None:
        super().__init__(message)
        self.is_timeout = is_timeout


class ParleyWebhookError(ParleyError):
    """A message that is not from the daemon, too old, or changed on the way. Answer it with status 400 or 401."""
