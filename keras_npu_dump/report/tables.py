"""Tables on a terminal: with rich where it is installed, plain otherwise.

Rich is not installed below Python 3.9, where it would move versions that
TensorFlow 2.6.5 pins; the plain table says the same.
"""
import sys
from typing import Any, List, Sequence

from keras_npu_dump.errors import OutputError
from keras_npu_dump.files import streams
from keras_npu_dump.files.quoting import terminal_lines


def render_table(headers: Sequence[str], rows: Sequence[Sequence[str]],
                 right: Sequence[int] = ()) -> str:
    """Columns of text, as wide as their longest cell: a path that is cut is of no use.

    Args:
      headers: one a column.
      rows: as many cells each; a cell may hold several lines.
      right: numbers of the columns that are aligned right.
    """
    cells = [[str(cell).split("\n") for cell in row] for row in rows]
    widths = [max([len(header)] + [len(line) for row in cells for line in row[column]])
              for column, header in enumerate(headers)]
    lines = [_line([[header] for header in headers], 0, widths, ()),
             "  ".join("-" * width for width in widths)]
    for row in cells:
        for number in range(max(len(cell) for cell in row)):
            lines.append(_line(row, number, widths, right))
    return "\n".join(line.rstrip() for line in lines)


def _line(row: Sequence[List[str]], number: int, widths: Sequence[int],
          right: Sequence[int]) -> str:
    texts = [cell[number] if number < len(cell) else "" for cell in row]
    return "  ".join(text.rjust(width) if column in right else text.ljust(width)
                     for column, (text, width) in enumerate(zip(texts, widths)))


def put(text: str, file: Any = None) -> None:
    """Prints the answer of a command, as it is.

    Args:
      file: defaults to stdout.

    Raises:
      OutputError: if it does not get out.
    """
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


def print_text(text: str, styles: Any = (), file: Any = None) -> None:
    """Prints text; on a terminal, words that `styles` names are coloured by rich.

    Args:
      text: what is printed, unchanged where there is no terminal or no rich, but for
        what a terminal would obey: names and paths were written by others.
      styles: pairs of (word, rich style).
      file: defaults to stdout.

    Raises:
      OutputError: if it does not get out.
    """
    put(styled(text, styles, sys.stdout if file is None else file) + "\n", file)


def tell_text(text: str, styles: Any = ()) -> None:
    """The same to stderr; lost where that takes nothing."""
    streams.say(styled(text, styles, sys.stderr))


def styled(text: str, styles: Any, file: Any) -> str:
    """The text as it is printed there: with rich's colours on a terminal."""
    text = terminal_lines(text)
    if streams.is_terminal(file):
        try:
            from rich.console import Console
            from rich.text import Text
        except ImportError:
            pass
        else:
            coloured = Text(streams.printable(text, file))
            for word, style in styles:
                coloured.highlight_words([word], style)
            console = Console(file=file)
            # What rich writes itself would stay in the stream's buffer where it fails.
            with console.capture() as captured:
                console.print(coloured, soft_wrap=True, end="")
            return captured.get()
    return text
