"""The REST client of the parley daemon."""

from . import errors, models
from ._async_resources import AsyncParley
from ._errors import ParleyApiError, ParleyConnectionError, ParleyError, ParleyWebhookError, ValidationFault
from ._http import AsyncPages, Pages
from ._messages import CallMessage, ChatMessage, messages_of, verify_webhook
from ._model import UNSET, Model
from ._requests import NamedEvent
from ._resources import Parley
from ._version import __version__

__all__ = [
    "AsyncPages",
    "AsyncParley",
    "CallMessage",
    "ChatMessage",
    "Model",
    "NamedEvent",
    "Pages",
    "Parley",
    "ParleyApiError",
    "ParleyConnectionError",
    "ParleyError",
    "ParleyWebhookError",
    "UNSET",
    "ValidationFault",
    "__version__",
    "errors",
    "messages_of",
    "models",
    "verify_webhook",
]
