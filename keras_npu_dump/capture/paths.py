"""The dump folder: made, made absolute, and checked as GE will check it."""
import os

from keras_npu_dump.errors import ConfigError


def prepare_dump_path(dump_path: str) -> str:
    """Creates the folder and returns its absolute path.

    GE wants an existing directory that it may read and write, else it fails at the
    first graph (E10001; ge, dump_properties.cc).

    Raises:
      ConfigError: if it cannot be made, is no folder, or may not be read and written.
    """
    path = os.path.abspath(os.path.expanduser(dump_path))
    try:
        # Dump data is private; folders that exist keep the rights they have.
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        what = ("%s is not a folder" % _first_non_folder(path)
                if isinstance(error, (FileExistsError, NotADirectoryError)) else error.strerror)
        raise ConfigError("dump_path: expected a folder, or a place where one can be made."
                          " Received: %r (%s)." % (dump_path, what)) from error
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise ConfigError("dump_path: expected a folder that this user may read and write."
                          " Received: %r." % (dump_path,))
    return path


def _first_non_folder(path: str) -> str:
    while path and not os.path.lexists(path):
        path = os.path.dirname(path)
    return path


def relative_to(path: str, folder: str) -> str:
    """`path` relative to `folder` where it lies inside, else absolute."""
    path = os.path.abspath(path)
    inside = os.path.relpath(path, folder)
    return path if inside.split(os.sep)[0] == os.pardir else inside
