"""Values of a dump on their way into something that is obeyed: quoted, or refused.

Names of operators, paths in records and names of files were written by others, and may
hold anything. A flag file, a shell, a spreadsheet, a browser and a terminal each obey
other characters, so each has a function of its own here, and nothing else puts such a
value into one of them. Where a value cannot be written as it is, the function refuses
(`UnwritableError`) and the caller tells it; nothing is altered in silence.

What only people read (`terminal`, `html_text`) shows the code of a character instead.
"""
from __future__ import annotations

import html
import json
import os
import re
import shlex
from typing import Any, List, Optional

from keras_npu_dump.errors import DumpError

# Control characters of ASCII and of Latin-1, what turns the direction of writing, line and
# paragraph separators, invisible signs, and halves of characters: bytes that were no UTF-8.
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_UNSEEN = "\u00ad\u180e\u200b\u2028\u2029\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb"
_NOT_PLAIN = re.compile("[\x00-\x1f\x7f-\x9f%s%s\ud800-\udfff]" % (_BIDI, _UNSEEN))
_NOT_LINES = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f%s%s\ud800-\udfff]" % (_BIDI, _UNSEEN))
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|[+-]?(nan|inf)$", re.ASCII)


class UnwritableError(DumpError, ValueError):
    """A value that its target cannot hold as it is.

    Attributes:
      value: the value. reason: why.
    """

    def __init__(self, value: str, reason: str):
        self.value = value
        self.reason = reason
        super().__init__("%s: %s" % (terminal(value), reason))

    def __reduce__(self) -> Any:
        return (type(self), (self.value, self.reason))


def unplain(text: str) -> Optional[str]:
    """Why a text is not safe in a line of a file or terminal.

    Args:
      text: any text.

    Returns:
      None where it is safe; else "a line break", "a control character (U+001B)",
      "half a character (U+DC80)", ...
    """
    found = _NOT_PLAIN.search(text)
    if found is None:
        return None
    sign = found.group()
    if sign in "\n\r\x0b\x0c\x85\u2028\u2029":
        return "a line break (U+%04X)" % ord(sign)
    if "\ud800" <= sign <= "\udfff":
        return "half a character (U+%04X)" % ord(sign)
    if sign < " " or "\x7f" <= sign <= "\x9f":
        return "a control character (U+%04X)" % ord(sign)
    return "an invisible character (U+%04X)" % ord(sign)


# absl reads a flag file line by line, in universal newlines; takes blanks off both ends of
# a line; leaves out lines of blanks and those that begin with # or //; reads other files
# where a line is --flagfile; and takes every other line for an argument, so that what does
# not begin with a dash is the script (absl-py, flags/_flagvalues.py).


def flag_line(name: str, value: str) -> str:
    """The line `--name=value` of an absl flag file, without its line end.

    Args:
      name: of the flag, without dashes.
      value: of the flag.

    Raises:
      UnwritableError: absl would read another value.
    """
    reason = unplain(value)
    if reason is not None:
        raise UnwritableError(value, "%s in a flag file" % reason)
    if value != value.rstrip():
        raise UnwritableError(value, "blanks at the end of a line of a flag file are lost")
    return "--%s=%s" % (name, value)


def flag_comment(text: str) -> str:
    """A comment line of a flag file.

    Args:
      text: any text; it becomes one line.
    """
    return "# " + terminal(" ".join(text.split()))


def layer_name(name: str) -> str:
    """A name for `dump_layer`, where blanks separate names.

    Args:
      name: of an operator.

    Returns:
      The name as it is.

    Raises:
      UnwritableError: GE, or DumpConfig, would read another name or several.
    """
    reason = unplain(name)
    if reason is not None:
        raise UnwritableError(name, "%s cannot stand in dump_layer" % reason)
    if name.split() != [name]:
        raise UnwritableError(name, "blanks separate the names in dump_layer" if name
                              else "an empty name cannot stand in dump_layer")
    return name


def shell_word(text: str) -> str:
    """One word of a command line of bash that means exactly `text`, and can be looked at.

    What a terminal would obey is written as bash's `$'\\x1b'`.

    Args:
      text: the word.

    Raises:
      UnwritableError: a NUL, or half a character that stands for no byte.
    """
    if "\0" in text:
        raise UnwritableError(text, "a NUL cannot stand in a command line")
    if _NOT_PLAIN.search(text) is None:
        return shlex.quote(text)
    parts: List[str] = []
    for sign in text:
        if _NOT_PLAIN.match(sign):
            parts += ["\\x%02x" % byte for byte in _bytes(text, sign)]
        elif sign in "\\'":
            parts.append("\\" + sign)
        else:
            parts.append(sign)
    # Bash takes two digits behind \\x at most, so that what follows is safe.
    return "$'%s'" % "".join(parts)


def _bytes(text: str, sign: str) -> bytes:
    try:
        return os.fsencode(sign)
    except UnicodeEncodeError:
        raise UnwritableError(text, "%s in a command line" % unplain(sign)) from None


def shell_command(*words: str) -> str:
    """A command line of these words."""
    return " ".join(map(shell_word, words))


def csv_cell(text: str) -> str:
    """A cell of a csv file of ours, which people open with a spreadsheet.

    What a spreadsheet would take for a formula gets an apostrophe in front; numbers stay
    numbers. CANN's own csv files have no quoting: see `mapping_line`.

    Args:
      text: what the cell holds.

    Returns:
      The cell, quoted where commas, line breaks or blanks at its ends would be lost.
    """
    if text.startswith(_FORMULA) and not _NUMBER.match(text):
        text = "'" + text
    if any(sign in text for sign in ',;"\n\r\t') or text != text.strip():
        return '"%s"' % text.replace('"', '""')
    return text


def mapping_line(short: str, name: str) -> bytes:
    """A line of mapping.csv in CANN's form, `short,name`, which knows no quoting.

    Args:
      short: the name on disk.
      name: the name that it stands for.

    Returns:
      The line with its line end.

    Raises:
      UnwritableError: a comma or a line break, which end a name there.
    """
    if any(sign in name for sign in ",\n\r"):
        raise UnwritableError(name, "a comma or a line break cannot stand in mapping.csv")
    return b"%s,%s\n" % (os.fsencode(short), os.fsencode(name))


def html_text(text: str) -> str:
    """Text between the tags of HTML, and in an attribute within quotes.

    Args:
      text: any text; line ends and tabs stay.
    """
    return html.escape(terminal_lines(text), quote=True)


def script_json(document: Any) -> str:
    """A JSON document inside <script> of HTML: nothing in it ends the element.

    Args:
      document: what json can write.
    """
    text = json.dumps(document, ensure_ascii=True)
    for sign in "<>&\x7f":
        text = text.replace(sign, "\\u%04x" % ord(sign))
    return text


def terminal(text: str) -> str:
    """One line for people to read: what a terminal would obey is shown by its code.

    Args:
      text: a name, a path, or a line with such in it.

    Returns:
      Printable characters: `\\n` for a line break, `\\x1b`, `\\u202e` and so on. Doing it
      twice changes nothing.
    """
    return _NOT_PLAIN.sub(_shown, text)


def terminal_lines(text: str) -> str:
    """`terminal` of a text whose line ends and tabs are ours.

    Args:
      text: lines; names within them went through `terminal` before.
    """
    return _NOT_LINES.sub(_shown, text)


def _shown(found: Any) -> str:
    sign = found.group()
    if sign in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[sign]
    return ("\\x%02x" if sign < "\x80" else "\\u%04x") % ord(sign)
