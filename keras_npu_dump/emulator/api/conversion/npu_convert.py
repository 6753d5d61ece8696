"""The stand-in for `npu_device.train.npu_convert`: replaces functions of TensorFlow, by version.

Names, what counts as a version and what does not, and that ranges add up over the life of the
process are the adapter's (npu_convert.py), as are defaults that are types, which no call uses:

    2.6.2         that version          2.6.1~2.6.5   those and what lies between
    2.6.*, 2.*, * 0 to 999 for each part that is left open
"""
from __future__ import annotations

import functools
from typing import Any, Callable, List

import tensorflow as tf
from absl import logging
from tensorflow.python.eager import context

from keras_npu_dump.emulator.api.conversion import convert_dropout
from keras_npu_dump.emulator.api.npu_device import global_npu_ctx
from keras_npu_dump.emulator.operators.keras_tensors import unconverted

_version_range: List[List[List[int]]] = []
_DOTS = 2


def _numbers(version: str) -> List[int]:
    return [int(part) for part in version.split(".")]


def parse_star_ver(ver: Any = str) -> bool:
    """Notes the range that a version with a star at its end stands for.

    Args:
      ver: as "2.6.*".
    """
    low, high = ver.replace("*", "0"), ver.replace("*", "999")
    missing = _DOTS - low.count(".")
    _version_range.append([_numbers(low + ".0" * missing), _numbers(high + ".999" * missing)])
    return True


def parse_range_version(ver: Any = str) -> bool:
    """Notes a range of versions, if it is one: both with three parts, the lower first.

    Args:
      ver: as "2.6.1~2.6.5".
    """
    low, high = ver.split("~")[:2]
    if low.count(".") != _DOTS or high.count(".") != _DOTS or _numbers(low) > _numbers(high):
        return False
    _version_range.append([_numbers(low), _numbers(high)])
    return True


def parse_version(ver: Any = str) -> bool:
    """Notes a single version.

    Args:
      ver: as "2.6.2".
    """
    _version_range.append([_numbers(ver), _numbers(ver)])
    return True


def check_version_format(version: Any = str) -> bool:
    """Whether a text can be a version, or a range of them.

    Args:
      version: the text.
    """
    if not version.replace(".", "0").replace("~", "0").replace("*", "0").isdecimal():
        return False
    if "*" in version and ("~" in version or not version.endswith("*")):
        return False
    return not (version.startswith(("~", ".")) or version.endswith(("~", "."))
                or version.count("*") > 1 or version.count("~") > 1)


def parse_version_range(version: Any = str) -> bool:
    """Notes what a text stands for; False for one that is neither range nor version.

    Args:
      version: the text. A range that is none is left out without a word, as in the adapter.
    """
    if "*" in version:
        parse_star_ver(version)
    elif "~" in version:
        parse_range_version(version)
    elif version.count(".") == _DOTS:
        parse_version(version)
    else:
        return False
    return True


def verify_version() -> bool:
    """Whether this TensorFlow is in one of the ranges that were noted."""
    version = _numbers(tf.__version__)
    return any(low <= version <= high for low, high in _version_range)


def judge_version_support(version_list: Any = list) -> bool:
    """Whether this TensorFlow is among versions, and all of them can be read.

    Args:
      version_list: the texts.
    """
    for version in version_list:
        if not check_version_format(version) or not parse_version_range(version):
            logging.error("Parse version error, %s", version)
            return False
    return verify_version()


def api_func_convert(wrapfunc: Callable[..., Any], **kwargs: Any) -> Callable[..., Any]:
    """A decorator that puts a function in the place of another once the NPU is the default.

    Args:
      wrapfunc: the function that takes the place. The last one replaced is its attribute
        `__OriginCall__`.
      kwargs: `version`, the versions of TensorFlow; `mode`, of "graph" and "eager" where it
        takes the place.

    Raises:
      Exception: `wrapfunc` cannot be called.
    """
    if wrapfunc is None or not callable(wrapfunc):
        raise Exception("Input New Function is None")
    versions, modes = kwargs.get("version", ""), kwargs.get("mode", "")

    def convert(original: Any) -> Any:
        if not judge_version_support(versions):
            return original
        eager = wrapfunc if "eager" in modes else original
        graph = wrapfunc if "graph" in modes else original
        # What it calls where it does not do the work itself.
        wrapfunc.__OriginCall__ = original.__call__  # type: ignore[attr-defined]

        @unconverted
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if global_npu_ctx() is None:
                return original(*args, **kwargs)
            return (eager if context.executing_eagerly() else graph)(*args, **kwargs)

        return wrapper

    return convert


dropout_convert = functools.partial(api_func_convert, ToolType="ApiConvert")


def npu_convert_api() -> None:
    """Converts what the adapter converts: dropout."""
    convert_dropout.dropout_api_convert()
