"""What a main and we have said on stderr, to be compared with a kept text."""
import re

_BEGIN = re.compile(r"^keras-npu-dump: ")
_NUMBERED = re.compile(r"(?<=function)_[0-9]+|(?<=step)_[0-9]+")
# Said of the machine that tests run on, not of the main.
_OF_THE_MACHINE = "The dump folder lies inside this container"


def said(done, folder):
    """All lines of stderr in order, without what each message of ours begins with.

    Args:
      done: the completed process.
      folder: where it ran; its path is "HERE" in what is returned, as the number of a
        function is N.
    """
    text = _NUMBERED.sub("_N", done.stderr.replace(str(folder), "HERE"))
    return [_BEGIN.sub("", line) for line in text.splitlines() if _OF_THE_MACHINE not in line]
