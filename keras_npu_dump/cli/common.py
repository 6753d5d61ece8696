"""What all commands share."""
import argparse
import json
import sys
from typing import Any, NoReturn

from keras_npu_dump import messages
from keras_npu_dump.files import streams
from keras_npu_dump.files.quoting import terminal
from keras_npu_dump.report.printing import put

PROGRAM = "keras-npu-dump"
# In lists with more entries than this, each entry is one line.
_LONG = 64


class Parser(argparse.ArgumentParser):
    """Prints by the house's rules: argparse raises, or takes the other stream."""

    def _print_message(self, message: str, file: Any = None) -> None:
        # --help and --version; what goes to stderr comes by `error`.
        if message:
            put(message, file)

    def error(self, message: str) -> NoReturn:
        """Prints usage and message to stderr, and ends with status 2."""
        streams.say(self.format_usage().rstrip("\n"))
        messages.error("%s", terminal(message))
        sys.exit(2)


def print_json(document: Any, file: Any = None) -> None:
    """Prints a document, indented and in ASCII; each entry of a long list is a line.

    json's own indentation is pure Python and writes in tiny pieces: the statistics of a
    folder would take longer to print than to compute.

    Args:
      document: what json can write.
      file: any object with `write`. Defaults to stdout.

    Raises:
      OutputError: it does not get out.
    """
    put(_text(document, "") + "\n", file)


def _text(value: Any, indent: str) -> str:
    deeper = indent + " "
    if isinstance(value, dict) and value:
        return "{\n%s\n%s}" % (",\n".join(
            "%s%s: %s" % (deeper, json.dumps(key if isinstance(key, str) else json.dumps(key)),
                          _text(inner, deeper))
            for key, inner in value.items()), indent)
    if isinstance(value, (list, tuple)) and value:
        if len(value) > _LONG:
            lines = [deeper + json.dumps(inner) for inner in value]
        else:
            lines = [deeper + _text(inner, deeper) for inner in value]
        return "[\n%s\n%s]" % (",\n".join(lines), indent)
    return json.dumps(value)
