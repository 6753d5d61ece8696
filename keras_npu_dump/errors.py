"""The exceptions that users of this package may catch.

Everything here is a mistake of input or surroundings, told in one message:
what was expected, what was received, what to do. A bug is never one of these.
"""
from __future__ import annotations

import os
from typing import Any, Iterable, Optional, Tuple, Union


class DumpError(Exception):
    """Base of every error that this package raises on purpose."""


class ConfigError(DumpError, ValueError):
    """A dump setting that GE would reject, or that contradicts another one."""


class UnknownOptionError(ConfigError, TypeError):
    """A keyword argument that is no dump option."""


class DeviceOpenedError(DumpError, RuntimeError):
    """Settings arrived after `npu_device.open()`, which reads them only once."""


class DeviceNotFoundError(DumpError, RuntimeError):
    """Neither npu_device nor its emulator is there."""


class IncompleteDumpError(DumpError, RuntimeError):
    """With `strict`: steps that were asked for and executed are not there, or not whole.

    Raised where a training has ended well, by `on_train_end` of NpuDumpCallback and by
    the end of `with DumpSession`.

    Attributes:
      problems: what `collect` found, each with `code`, `message`, `hint` and `path`.
    """

    def __init__(self, message: str, problems: Iterable[Any] = ()) -> None:
        super().__init__(message)
        self.problems = list(problems)

    def __reduce__(self) -> Tuple[Any, ...]:
        return (type(self), (str(self), self.problems))


class InputError(DumpError):
    """A path or argument that a command cannot work with."""


class OutputError(DumpError):
    """What a command has to say cannot be printed.

    Attributes:
      reader_gone: whether it is a pipe that nobody reads any more, as of `| head -1`.
    """

    def __init__(self, message: str, reader_gone: bool = False) -> None:
        super().__init__(message)
        self.reader_gone = reader_gone


class FormatError(DumpError, ValueError):
    """A file that is not what it claims to be, or not all of it.

    Attributes:
      path: the file.
      reason: what was expected and what was found.
      offset: position in bytes where reading ended, or None.
    """

    def __init__(self, path: Union[str, os.PathLike[str]], reason: str,
                 offset: Optional[int] = None) -> None:
        self.path = str(path)
        self.reason = reason
        self.offset = offset
        where = "" if offset is None else " at byte %d" % offset
        super().__init__("%s%s: %s" % (self.path, where, reason))

    def __reduce__(self) -> Tuple[Any, ...]:
        # args holds the finished message; workers hand errors over by pickle.
        return (type(self), (self.path, self.reason, self.offset))
