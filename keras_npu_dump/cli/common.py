"""What all commands share."""
import json
import sys
from typing import Any

PROGRAM = "keras-npu-dump"


def print_json(document: Any) -> None:
    """One document on stdout; what JSON has no word for becomes null."""
    json.dump(document, sys.stdout, indent=1)
    sys.stdout.write("\n")
    sys.stdout.flush()
