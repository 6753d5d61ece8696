"""`global_options().op_debug_config`: a file whose switches change how operators are compiled.

Its text is `op_debug_config = ccec_g,oom`; other lines may name operators (documentation of
GE's OP_DEBUG_CONFIG).
"""
import re
from typing import List, Optional

from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.read_limited import read_record

_MAX_FILE = 1 << 16
# These only keep files of the compiler.
_HARMLESS = frozenset(("dump_bin", "dump_cce", "dump_loc"))


def switches(path: Optional[str]) -> List[str]:
    """The switches of such a file that change operators.

    Args:
      path: of the file; None or empty where the option is not set.

    Returns:
      Their names in order. Where the file cannot be read, what would be said of it.
    """
    if not path:
        return []
    try:
        text = read_record(path, _MAX_FILE).decode("utf-8", "replace")
    except (OSError, FormatError):
        return ["what %s says (it cannot be read here)" % path]
    found = re.findall(r"^\s*op_debug_config\s*=\s*(.*?)\s*$", text, re.MULTILINE)
    names = [name.strip() for line in found for name in line.split(",")]
    return [name for name in names if name and name not in _HARMLESS]
