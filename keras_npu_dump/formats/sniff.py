"""What a file may be that is not part of a dump: told from its first bytes, for messages."""
from __future__ import annotations

from typing import Optional

# How much of a file `looks_like` wants to see.
ENOUGH = 512
_STARTS = (
    (b"\x89PNG", "a PNG image"), (b"\xff\xd8\xff", "a JPEG image"), (b"GIF8", "a GIF image"),
    (b"\x93NUMPY", "a numpy file"), (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "a gzip archive"), (b"\x89HDF", "an HDF5 file"), (b"%PDF", "a PDF document"),
    (b"\x7fELF", "a program"), (b"#!", "a script"))
_GRAPHS = (b'name: "', b"graph {", b"graph: {", b"ir_version:", b"op {", b"node {")


def looks_like(head: bytes) -> Optional[str]:
    """What a file looks like.

    Args:
      head: the first bytes of the file, `ENOUGH` of them or all.

    Returns:
      "a text file", "JSON", "a graph file" and so on, to follow "it looks like";
      None where the bytes tell nothing.
    """
    for start, what in _STARTS:
        if head.startswith(start):
            return what
    if not _is_text(head[:ENOUGH]):
        return None
    text = (head[3:] if head.startswith(b"\xef\xbb\xbf") else head).lstrip()
    if text.startswith(_GRAPHS):
        return "a graph file"
    if text[:1] in (b"{", b"["):
        return "JSON"
    return "a text file"


def _is_text(head: bytes) -> bool:
    if not head or any(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in head):
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        # A letter may be cut by the end of what is at hand.
        return len(head) == ENOUGH and error.start > len(head) - 4
    return True
