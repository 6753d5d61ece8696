"""The first comment of a flag file of ours names the run which its flags continue.

    # ...; continues {"dump_path": "/data/job", "run_id": "20300317174640_rank0_pid42"}

absl passes over it. What stands there may have been written by anybody, so a reader takes names
of a folder and of a run from it and nothing else, and believes only what the record there says.
"""
import json
import os
from typing import NamedTuple, Optional

_MARK = "; continues "


class Origin(NamedTuple):
    """The run that the flags of a file continue.

    Attributes:
      dump_path: absolute path of its dump folder, as triage found it.
      run_id: name of its folder in `runs` there.
    """

    dump_path: str
    run_id: str


def origin_text(origin: Origin) -> str:
    """The end of the line, ASCII, whatever is in the path.

    Args:
      origin: what it names.
    """
    text = json.dumps(origin._asdict())
    # One bracket opens, so that a reader finds it from behind.
    return _MARK + text[0] + text[1:].replace("{", "\\u007b")


def read_origin(text: str) -> Optional[Origin]:
    """What the first such comment of a flag file names.

    Args:
      text: of the file; others may have written more comments into it.

    Returns:
      None where there is none that names an absolute path and a folder in `runs`.
    """
    for line in text.split("\n"):
        before, bracket, document = line.rpartition("{")
        if before.startswith("#") and before.endswith(_MARK):
            found = _parsed(bracket + document)
            if found is not None:
                return found
    return None


def _parsed(text: str) -> Optional[Origin]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    path, run_id = found.get("dump_path"), found.get("run_id")
    if not isinstance(path, str) or not isinstance(run_id, str):
        return None
    if not os.path.isabs(path) or not is_name(run_id):
        return None
    return Origin(path, run_id)


def is_name(text: str) -> bool:
    """Whether a text can be the name of an entry of a folder, and leads nowhere else.

    Args:
      text: any text.
    """
    return text not in ("", os.curdir, os.pardir) and not set(text) & {os.sep, "\0"}
