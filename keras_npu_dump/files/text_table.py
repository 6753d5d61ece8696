"""Tables as plain text. Nothing here prints."""
from typing import Any, Sequence

from keras_npu_dump.files.quoting import terminal


def render_table(headers: Sequence[str], rows: Sequence[Sequence[Any]],
                 right: Sequence[int] = ()) -> str:
    """Columns of text, as wide as their longest cell: a path that is cut is of no use.

    Args:
      headers: the title of each column.
      rows: as many cells each. A cell is a line of text whatever it holds: line breaks
        and what else a terminal would obey are shown by their codes.
      right: which columns are aligned right, from 0.

    Returns:
      Lines without blanks at their ends: the titles, a rule, the rows.
    """
    lines = [list(headers)] + [[terminal(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("  ".join(
        cell.rjust(width) if column in right and number else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(line, widths))).rstrip()
        for number, line in enumerate(lines))


def indent(text: str) -> str:
    """The text with each line two blanks to the right, and none behind it.

    Args:
      text: lines.
    """
    return "\n".join(("  " + line).rstrip() for line in text.split("\n"))
