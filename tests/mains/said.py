"""What a main and we have said on stderr, to be compared with a kept text.

`KEEP_TEXTS=1 python -m pytest tests/mains` writes the texts in `kept/` anew; read the difference.
"""
import functools
import importlib.metadata
import os
import pathlib
import re

_KEPT = pathlib.Path(__file__).resolve().parent / "kept"
_BEGIN = re.compile(r"^keras-npu-dump: ")
_NUMBERED = re.compile(r"(?<=function)_[0-9]+|(?<=step)_[0-9]+")
# Said of the machine that tests run on, not of the main.
_OF_THE_MACHINE = "The dump folder lies inside this container"
# What differs from run to run, or with the size of a TensorFlow's graphs.
_VARIES = ((re.compile(r"(?<!\d)\d{14}(?!\d)"), "TIME"), (re.compile(r"pid\d+"), "pidN"),
           (re.compile(r"\b[\d.]+ ([KMGT]?B|bytes|files)\b"), r"N \1"))
# Whether it is seen before the end is a matter of time.
_OF_TIME = "The first dump is there"


def said(done, folder):
    """All lines of stderr in order, without what each message of ours begins with.

    Args:
      done: the completed process.
      folder: where it ran; its path is "HERE" in what is returned, as the number of a
        function is N.
    """
    text = _NUMBERED.sub("_N", done.stderr.replace(str(folder), "HERE"))
    return [_BEGIN.sub("", line) for line in text.splitlines() if _OF_THE_MACHINE not in line]


def check_kept(done, folder, name):
    """Compares all that we have said on stderr with the text `kept/{name}.txt`.

    A text `kept/{name}.keras3.txt` is for Keras 3, where that says something else. What the
    script itself and TensorFlow have said, such as a traceback, is not compared.

    Args:
      done: the completed process.
      folder: where it ran.
      name: of the text.
    """
    lines, ours = [], False
    for line in _NUMBERED.sub("_N", done.stderr.replace(str(folder), "HERE")).splitlines():
        # The hint of a problem stands below it.
        ours = line.startswith("keras-npu-dump: ") or (ours and line.startswith("  "))
        if ours and _OF_THE_MACHINE not in line and _OF_TIME not in line:
            lines.append(functools.reduce(
                lambda text, one: one[0].sub(one[1], text), _VARIES, line) + "\n")
    path, own = _KEPT / (name + ".txt"), _KEPT / (name + ".keras3.txt")
    keras_3 = int(importlib.metadata.version("keras").split(".")[0]) >= 3
    if os.environ.get("KEEP_TEXTS") == "1":
        if not keras_3:
            path.write_text("".join(lines), encoding="utf-8")
        elif "".join(lines) != path.read_text(encoding="utf-8"):
            own.write_text("".join(lines), encoding="utf-8")
        elif own.exists():
            own.unlink()
    if keras_3 and own.exists():
        path = own
    assert "".join(lines) == path.read_text(encoding="utf-8")
