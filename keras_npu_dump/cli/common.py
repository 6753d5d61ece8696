"""What all commands share."""
import json
import sys
from typing import Any

PROGRAM = "keras-npu-dump"
# More than this many entries in one list are one line each.
_LONG = 64


def print_json(document: Any) -> None:
    """One document on stdout, indented; entries of long lists are one line each.

    json's indentation is pure Python and writes in tiny pieces: the statistics of a
    folder would take longer to print than to compute.
    """
    sys.stdout.write(_text(document, "") + "\n")
    sys.stdout.flush()


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
