"""Tables on a terminal: with rich where it is installed, plain otherwise.

Rich is not installed below Python 3.9, where it would move versions that
TensorFlow 2.6.5 pins; the plain table says the same.
"""
import sys
from typing import Any, List, Sequence


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


def printable(text: str, file: Any) -> str:
    """The text, with `\\xe4` for what the file's encoding does not have.

    A path may hold any letter, and where stdout is ASCII that must not be the
    end of a command.
    """
    encoding = getattr(file, "encoding", None)
    if not isinstance(encoding, str):
        return text
    try:
        text.encode(encoding, getattr(file, "errors", None) or "strict")
        return text
    except UnicodeEncodeError:
        return text.encode(encoding, "backslashreplace").decode(encoding)


def print_text(text: str, styles: Any = (), file: Any = None) -> None:
    """Prints text; on a terminal, words that `styles` names are coloured by rich.

    Args:
      text: what is printed, unchanged where there is no terminal or no rich.
      styles: pairs of (word, rich style).
      file: defaults to stdout.
    """
    file = sys.stdout if file is None else file
    text = printable(text, file)
    if getattr(file, "isatty", lambda: False)():
        try:
            from rich.console import Console
            from rich.text import Text
        except ImportError:
            pass
        else:
            styled = Text(text)
            for word, style in styles:
                styled.highlight_words([word], style)
            Console(file=file).print(styled, soft_wrap=True)
            return
    print(text, file=file, flush=True)
