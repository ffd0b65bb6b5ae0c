"""Texts that hold JSON: messages of the daemon to webhooks, and the conversation of a call."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from typing import Any, List, Literal, Mapping, Optional, Sequence, Type, TypeVar, Union, overload

from ._errors import ParleyWebhookError
from ._model import Model, decode
from .models import AssistantMessage, CallHistory, ToolMessage, UserMessage

T = TypeVar("T")
Headers = Mapping[str, Union[str, Sequence[str]]]
ChatMessage = Union[UserMessage, AssistantMessage, ToolMessage]
"""A message of a conversation."""


def messages_of(call: CallHistory) -> List[ChatMessage]:
    """The messages of a call: `chat` has them as JSON text."""
    messages: List[ChatMessage] = decode(List[ChatMessage], json.loads(call.chat))
    return messages


@dataclass(repr=False)
class CallMessage(Model):
    """What the daemon's `callWebhook` receives. An agent's `session_data_webhook` receives the `CallHistory` itself."""

    type: Literal["call.started", "call.ended"]
    timestamp: str
    """ISO 8601."""
    data: CallHistory


@overload
def verify_webhook(
    body: Union[str, bytes],
    headers: Headers,
    secret: Union[str, Sequence[str]],
    *,
    tolerance: float = 300,
    now: Optional[float] = None,
) -> CallMessage: ...


@overload
def verify_webhook(
    body: Union[str, bytes],
    headers: Headers,
    secret: Union[str, Sequence[str]],
    into: Type[T],
    *,
    tolerance: float = 300,
    now: Optional[float] = None,
) -> T: ...


def verify_webhook(
    body: Union[str, bytes],
    headers: Headers,
    secret: Union[str, Sequence[str]],
    into: Type[Any] = CallMessage,
    *,
    tolerance: float = 300,
    now: Optional[float] = None,
) -> Any:
    """
    Checks the signature of a message to a webhook (Standard Webhooks 1.0) and returns its content. Check each
    `webhook-id` against those you know: a message may arrive twice.

    body: the body as it arrived, before it is parsed
    headers: of the request, in any case
    secret: `whsec_…`, the daemon's `webhookSecret`; several while you replace it
    into: what the content becomes, `CallHistory` for `session_data_webhook`
    tolerance: the most that the message's time may differ from now, in seconds
    now: in Unix seconds; None = the time of the machine
    Raises ParleyWebhookError.
    """
    message_id, timestamp, signatures = (
        _header(headers, name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
    )
    is_time = timestamp.isascii() and timestamp.isdigit()
    if not is_time or abs((time.time() if now is None else now) - int(timestamp)) > tolerance:
        raise ParleyWebhookError(f"webhook-timestamp is not within {tolerance:g} s of now")
    content = body.encode() if isinstance(body, str) else body
    signed = f"{message_id}.{timestamp}.".encode() + content
    for each in [secret] if isinstance(secret, str) else secret:
        digest = hmac.new(_key(each), signed, hashlib.sha256).digest()
        wanted = b"v1," + base64.b64encode(digest)
        # The comparison takes the same time for any signature.
        if any(hmac.compare_digest(wanted, signature.encode()) for signature in signatures.split(" ")):
            break
    else:
        raise ParleyWebhookError("No signature of the message is by this secret")
    try:
        return decode(into, json.loads(content))
    except ValueError as error:
        raise ParleyWebhookError("The message is no JSON") from error


def _header(headers: Headers, name: str) -> str:
    value = next((each for key, each in headers.items() if key.lower() == name), "")
    text = value if isinstance(value, str) else " ".join(value)
    if text == "":
        raise ParleyWebhookError(f"The request has no {name}")
    return text


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret[6:] if secret.startswith("whsec_") else secret, validate=True)
    except binascii.Error:
        key = b""
    if key == b"":
        raise ValueError("The secret is whsec_ and base64")
    return key
