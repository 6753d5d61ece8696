"""What stands in a record is checked here, once, where it is read.

A record may have been written by another version, damaged, or made by others. Every field
has a kind; a value that is none of it is a fault, which is told, and the field is missing.
"""
from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Mapping, Sequence

from keras_npu_dump.files.timestamps import parse_offset, parse_time
from keras_npu_dump.records.problems import Problems

MAX_COUNT = (1 << 63) - 1
# Of a record so many faults are told one by one.
MOST_FAULTS = 5
_SHOWN = 40


class Invalid(Exception):
    """A value that is none of its kind; the argument says what was expected."""


# From what a record holds to what is believed; raises Invalid.
Kind = Callable[[Any], Any]


class Faults:
    """The faults of one record, in the order in which they were found.

    Attributes:
      texts: the first of them, each as a sentence.
      count: how many there are.
    """

    def __init__(self) -> None:
        self.texts: List[str] = []
        self.count = 0

    def __bool__(self) -> bool:
        return bool(self.count)

    def add(self, where: str, expected: str, received: Any) -> None:
        """Notes a fault.

        Args:
          where: the field, or the place in the record.
          expected: the kind in words.
          received: the value.
        """
        self.count += 1
        if len(self.texts) < MOST_FAULTS:
            self.texts.append("%s: expected %s, received %s" % (where, expected, shown(received)))

    def take(self, document: Mapping[str, Any], name: str, kind: Kind, where: str = "") -> Any:
        """The value of a field; None where it is missing, null, or none of its kind.

        Args:
          document: the object that has the field.
          name: of the field.
          kind: what its value has to be.
          where: the place of the object in the record, for the fault.
        """
        value = document.get(name)
        if value is None:
            return None
        try:
            return kind(value)
        except Invalid as error:
            self.add(where + name, str(error), value)
            return None

    def fields(self, document: Any, schema: Mapping[str, Kind], where: str) -> Dict[str, Any]:
        """The fields of an object that are there and of their kinds; others are left out.

        Args:
          document: what should be an object.
          schema: kinds by name.
          where: as for `take`.
        """
        if not isinstance(document, dict):
            self.add(where.rstrip(".") or "all of it", "an object", document)
            return {}
        found = {}
        for name, kind in schema.items():
            if name in document:
                value = self.take(document, name, kind, where)
                if value is not None or document[name] is None:
                    found[name] = value
        return found

    def tell(self, problems: Problems, path: str, most: int = MOST_FAULTS) -> None:
        """One problem for each fault, the last of them for all that are left.

        Args:
          problems: get them.
          path: of the record.
          most: how many problems there may be.
        """
        for number, text in enumerate(self.texts[:most], 1):
            more = self.count - most if number == most else 0
            problems.add("record-invalid", "%s in %s: it counts as missing%s" % (
                text, os.path.basename(path), ", and so do %d more values" % more if more > 0
                else ""), path=path)


def shown(value: Any) -> str:
    """A value of a record in a few letters that any stream can take."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str) and len(value) > _SHOWN:
        value = value[:_SHOWN] + "..."
    return ascii(value) if value is not None else "null"


def whole_number(low: int, high: int, what: str) -> Kind:
    """Whole numbers from `low` to `high`; true and 1.0 are none."""
    def kind(value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise Invalid(what)
        return value
    return kind


count = whole_number(0, MAX_COUNT, "a whole number from 0 to 2**63-1")
# Zero and below mean groups of processes to os.kill, and Linux has no more than 2**22.
process_id = whole_number(1, (1 << 31) - 1, "a process id")


def flag(value: Any) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise Invalid("true or false")
    return value


def text(value: Any) -> str:
    """Text that can be a path: half characters only as file names that are not UTF-8 have
    them (PEP 383), and no NUL."""
    if not isinstance(value, str):
        raise Invalid("text")
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise Invalid("text without half characters") from None
    if "\0" in value:
        raise Invalid("text without NUL")
    return value


def name(value: Any) -> str:
    """Text that is not empty."""
    if not text(value):
        raise Invalid("text that is not empty")
    return text(value)


def word(allowed: Sequence[str]) -> Kind:
    """One of a few words."""
    def kind(value: Any) -> str:
        if value not in allowed:
            raise Invalid("one of %s" % ", ".join(allowed))
        return str(value)
    return kind


def time(value: Any) -> str:
    """The text of a time that exists, ISO 8601."""
    if parse_time(value) is None:
        raise Invalid("a time such as 2030-03-17T17:46:40+00:00")
    return text(value)


def offset(value: Any) -> str:
    """The text of a time zone's offset."""
    if parse_offset(value) is None:
        raise Invalid("an offset such as +0800")
    return text(value)


def either(*kinds: Kind) -> Kind:
    """What is of any of these kinds."""
    def kind(value: Any) -> Any:
        expected = []
        for one in kinds:
            try:
                return one(value)
            except Invalid as error:
                expected.append(str(error))
        raise Invalid(" or ".join(expected))
    return kind


def list_of(inner: Kind) -> Kind:
    """A list of which every item is of a kind."""
    def kind(value: Any) -> List[Any]:
        if not isinstance(value, list):
            raise Invalid("a list")
        try:
            return [inner(one) for one in value]
        except Invalid as error:
            raise Invalid("a list in which each is %s" % error) from None
    return kind


def map_of(inner: Kind) -> Kind:
    """An object of which every value is of a kind."""
    def kind(value: Any) -> Dict[str, Any]:
        if not isinstance(value, dict):
            raise Invalid("an object")
        try:
            return {text(key): inner(one) for key, one in value.items()}
        except Invalid as error:
            raise Invalid("an object in which each is %s" % error) from None
    return kind


def object_of(schema: Mapping[str, Kind]) -> Kind:
    """An object with all of these fields, of these kinds; others are dropped."""
    def kind(value: Any) -> Dict[str, Any]:
        if not isinstance(value, dict):
            raise Invalid("an object")
        found = {}
        for key, inner in schema.items():
            try:
                found[key] = inner(value.get(key))
            except Invalid as error:
                raise Invalid("an object with %s, %s" % (key, error)) from None
        return found
    return kind


def optional(inner: Kind) -> Kind:
    """null, or what is of a kind."""
    return lambda value: None if value is None else inner(value)


plain = either(flag, whole_number(-MAX_COUNT - 1, MAX_COUNT, "a number"), text)
iteration = object_of({"fit": count, "epoch": count, "batch": count})
