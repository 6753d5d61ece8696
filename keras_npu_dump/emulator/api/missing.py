"""What is said of a name that the emulator does not have: who uses it, and what to do."""
from __future__ import annotations

import dis
import os
import sys
from typing import Any, Optional

_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_LIBRARIES = ("/tensorflow/python/", "/site-packages/keras/")
_IMPORT_FROM = dis.opmap["IMPORT_FROM"]


def error(place: str, name: str, known: bool) -> Exception:
    """The error for `place.name`, to be raised by a module's `__getattr__`.

    Args:
      place: module of npu_device, by its full name.
      name: what was asked for in it.
      known: whether the adapter has the name.

    Returns:
      An AttributeError, so that `hasattr` says no; an ImportError for `from place import name`,
      where Python would put a text of its own in place of an AttributeError's.
    """
    if name.startswith("__"):  # Python's own questions, which nobody reads the answer of
        return AttributeError("%s.%s" % (place, name))
    frame = _caller()
    if known:
        what = ("the emulator does not have it%s. Put TensorFlow's own in its place to rehearse,"
                " or run this part on the device." % _where(frame))
    else:
        what = ("npu_device has no such name (adapter of 2026)%s. Correct the import or the"
                " attribute." % _where(frame))
    text = "%s.%s: %s" % (place, name, what)
    if frame is not None and _imports(frame, name):
        return ImportError(text, name=place)
    return AttributeError(text)


def needs(what: str, reason: str, advice: str) -> Exception:
    """The error for something that cannot be done here.

    Args:
      what: the vendor's name, in full.
      reason: why it cannot be done.
      advice: what to do.
    """
    return NotImplementedError("%s: %s%s. %s" % (what, reason, _where(_caller()), advice))


def used_at() -> str:
    """`file, line N` of the script's line that runs now; empty where there is none."""
    frame = _caller()
    return "" if frame is None else "%s, line %d" % (frame.f_code.co_filename, frame.f_lineno)


def _where(frame: Optional[Any]) -> str:
    return "" if frame is None else " (used in %s, line %d)" % (
        frame.f_code.co_filename, frame.f_lineno)


def _caller() -> Optional[Any]:
    """The innermost frame that is neither ours, nor Python's import, nor TensorFlow's."""
    frame: Optional[Any] = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        inside = (file.startswith("<frozen") or "/importlib/" in file
                  or file.startswith(_OURS + os.sep)
                  or any(part in file for part in _LIBRARIES)
                  or "ag__" in frame.f_code.co_freevars)  # code that AutoGraph has written
        if not inside:
            return frame
        frame = frame.f_back
    return None


def _imports(frame: Any, name: str) -> bool:
    """Whether the frame is at `from ... import name`."""
    code: bytes = frame.f_code.co_code
    place: int = frame.f_lasti
    return (name in frame.f_code.co_names and 0 <= place < len(code)
            and code[place] == _IMPORT_FROM)
