"""Where answers leave for stdout: nothing in them commands a terminal, or is left in a buffer."""
import os
import re
import sys
from typing import Any, Mapping, Optional

from keras_npu_dump.errors import OutputError
from keras_npu_dump.files import streams
from keras_npu_dump.files.quoting import terminal_lines

GREEN, YELLOW, RED = "32", "33", "1;31"  # numbers of ANSI, as `ESC [ number m` takes them


def put(text: str, file: Any = None) -> None:
    """Prints the answer of a command; what a terminal would obey is shown by its code.

    Args:
      text: with its line ends.
      file: any object with `write`. Defaults to stdout.

    Raises:
      OutputError: if it does not get out.
    """
    _put(terminal_lines(text), file)


def print_text(text: str, colours: Optional[Mapping[str, str]] = None, file: Any = None) -> None:
    """`put` of a text and a line end; on a terminal some words have a colour.

    Args:
      text: without the last line end.
      colours: from a word to GREEN, YELLOW or RED. Not used where NO_COLOR is set.
      file: any object with `write`. Defaults to stdout.

    Raises:
      OutputError: if it does not get out.
    """
    file = sys.stdout if file is None else file
    _put(_coloured(terminal_lines(text), colours or {}, file) + "\n", file)


def _put(text: str, file: Any) -> None:
    file = sys.stdout if file is None else file
    if file is None:
        raise OutputError("stdout: expected a place to print to. Received: a closed descriptor.")
    try:
        streams.write(file, text, patient=True)
    except ConnectionError as error:
        raise OutputError("stdout: its reader has left (%s)" % error, reader_gone=True) from None
    except Exception as error:  # pylint: disable=broad-except
        # A script may have put any object there.
        raise OutputError("stdout: expected a place to print to. Received: %s." % (
            getattr(error, "strerror", None) or str(error) or type(error).__name__)) from None


def _coloured(text: str, colours: Mapping[str, str], file: Any) -> str:
    if (not colours or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
            or not streams.is_terminal(file)):
        return text
    # Whole words, and no parts of paths and names.
    words = re.compile(r"(?<![\w/.:-])(%s)(?![\w/.-])" % "|".join(map(re.escape, colours)))
    return words.sub(lambda found: "\x1b[%sm%s\x1b[0m" % (colours[found[0]], found[0]), text)
