"""The dump folder: made, made absolute, and checked as GE will check it."""
import os

from keras_npu_dump.capture.device import guards
from keras_npu_dump.errors import ConfigError


def prepare_dump_path(dump_path: str) -> str:
    """Creates the folder and returns its absolute path.

    GE wants an existing directory that it may read and write, else it fails at the
    first graph (E10001; ge, dump_properties.cc).

    Raises:
      ConfigError: if it cannot be made, is no folder, or may not be read and written.
    """
    path = absolute(dump_path, current_folder())
    expected = guards.too_long(path)
    if expected is not None:
        raise ConfigError("dump_path: expected %s. Received: %r."
                          % (expected, guards.shortened(path)))
    try:
        # Dump data is private; folders that exist keep the rights they have.
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        what = ("%s is not a folder" % _first_non_folder(path)
                if isinstance(error, (FileExistsError, NotADirectoryError)) else error.strerror)
        raise ConfigError("dump_path: expected a folder, or a place where one can be made."
                          " Received: %r (%s)." % (guards.shortened(dump_path), what)) from error
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise ConfigError("dump_path: expected a folder that this user may read and write."
                          " Received: %r." % (dump_path,))
    return path


def absolute(path: str, cwd: str) -> str:
    """The absolute form of a folder that a user has named.

    Args:
      path: with or without `~`.
      cwd: what it is relative to, see `current_folder`.

    Raises:
      ConfigError: it is relative to a working directory that is gone.
    """
    path = os.path.expanduser(path)
    if not os.path.isabs(path) and not cwd:
        raise ConfigError("dump_path: expected an absolute path, as the working directory was"
                          " deleted. Received: %r." % (path,))
    return os.path.normpath(os.path.join(cwd, path))


def current_folder() -> str:
    """The working directory, "" where it was deleted or cannot be named."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _first_non_folder(path: str) -> str:
    while path and not os.path.lexists(path):
        path = os.path.dirname(path)
    return path


def relative_to(path: str, folder: str) -> str:
    """`path` relative to `folder` where it lies inside, else absolute."""
    if not path:
        return path
    path = os.path.abspath(path)
    inside = os.path.relpath(path, folder)
    return path if inside.split(os.sep)[0] == os.pardir else inside
