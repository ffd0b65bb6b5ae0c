"""Models: JSON objects with attributes."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, Literal, Mapping, Type, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
M = TypeVar("M", bound="Model")


class Unset:
    """The type of `UNSET`."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset()
"""The argument is left out: nothing is sent. None is sent as null."""

Maybe = Union[T, Unset]
Given = Union[T, Mapping[str, Any]]
"""A model, or a dict with the names that JSON has."""


class Model:
    """A JSON object. Members that this version does not know are attributes too, and are sent back."""

    @classmethod
    def from_dict(cls: Type[M], data: Mapping[str, Any]) -> M:
        """Makes one of JSON. Nothing is checked; a member that the JSON lacks is None."""
        model = cls.__new__(cls)
        rest = dict(data)
        for field in fields_of(cls):
            setattr(model, field.name, decode(field.hint, rest.pop(field.member, None)))
        vars(model).update(rest)
        return model

    def to_dict(self) -> Dict[str, Any]:
        """The JSON. Optional members that are None are left out."""
        known = {field.name: field for field in fields_of(type(self))}
        result: Dict[str, Any] = {}
        for name, value in vars(self).items():
            field = known.get(name)
            if value is not None or field is None or not field.is_optional:
                result[name if field is None else field.member] = plain(value)
        return result

    def __repr__(self) -> str:
        members = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if value is not None)
        return f"{type(self).__name__}({members})"


@dataclasses.dataclass(frozen=True)
class Field:
    name: str
    #: Its name in JSON.
    member: str
    hint: Any
    is_optional: bool


#: The types of a class are read once.
_FIELDS: Dict[Type[Model], List[Field]] = {}


def fields_of(cls: Any) -> List[Field]:
    if cls not in _FIELDS:
        hints = get_type_hints(cls)
        _FIELDS[cls] = [
            Field(each.name, each.metadata.get("member", each.name), hints[each.name], each.default is None)
            for each in dataclasses.fields(cls)
        ]
    return _FIELDS[cls]


def decode(hint: Any, value: Any) -> Any:
    """Makes models of JSON where the type has some. What does not fit the type stays as it is."""
    origin = get_origin(hint)
    if isinstance(value, dict):
        if isinstance(hint, type) and issubclass(hint, Model):
            return hint.from_dict(value)
        if origin is dict:
            return {name: decode(get_args(hint)[1], each) for name, each in value.items()}
    elif isinstance(value, list) and origin is list:
        return [decode(get_args(hint)[0], each) for each in value]
    if origin is Union and isinstance(value, (dict, list)):
        for is_strict in (True, False):
            for choice in get_args(hint):
                if _fits(choice, value, is_strict):
                    return decode(choice, value)
    return value


def _fits(hint: Any, value: Any, is_strict: bool) -> bool:
    """Whether a member of a union is the one of this value: models are told apart by their constants and members."""
    origin = get_origin(hint)
    if isinstance(value, list) or origin is dict:
        return origin is (list if isinstance(value, list) else dict)
    if not (isinstance(hint, type) and issubclass(hint, Model)):
        return False
    return all(
        value[field.member] in get_args(field.hint)
        if field.member in value and get_origin(field.hint) is Literal
        else field.member in value or field.is_optional or not is_strict
        for field in fields_of(hint)
    )


def plain(value: Any) -> Any:
    """JSON of models, and of lists and dicts of them."""
    if isinstance(value, Model):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def given(**members: Any) -> Dict[str, Any]:
    """A body of the arguments that are not left out."""
    return {name: plain(value) for name, value in members.items() if value is not UNSET}
