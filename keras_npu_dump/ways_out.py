"""What a reader can do, by how this process was started: a hint is given where it can be followed.

In a notebook no lines can be swapped, as the device stays open until the kernel ends; nor is
there a script for `keras-npu-dump run` behind `python -c` or a prompt.
"""
import os
import re
import sys
from typing import Any, Optional

from keras_npu_dump.files.quoting import shell_word

_KERNEL = re.compile(r".*kernel_launcher\.py")


def starting_again() -> Optional[str]:
    """What ends a process that a person types into.

    Returns:
      "restart the kernel" in a notebook, "start Python again" at a prompt; None in a script.
    """
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    kernel = _KERNEL.fullmatch(os.path.basename(_started()))
    if kernel or "kernel" in type(shell).__module__:
        return "restart the kernel"
    return "start Python again" if shell is not None or hasattr(sys, "ps1") else None


def in_time(what: str) -> str:
    """What should have been done earlier, as a sentence without its full stop.

    Args:
      what: begins with a small letter, such as "make it before npu_device.open()".

    Returns:
      The same for a script; for who types, it is told to begin anew.
    """
    again = starting_again()
    text = what if again is None else "%s, and %s" % (again, what)
    return text[0].upper() + text[1:]


def run_command(options: str = "") -> Optional[str]:
    """The command that runs this script with dump on.

    Args:
      options: of `run`, with a blank behind them. Defaults to none.

    Returns:
      Words for a shell; None where no file was started that `run` takes.
    """
    script = _started()
    if starting_again() is not None or not script.endswith(".py"):
        return None
    return "keras-npu-dump run %s%s" % (options, shell_word(os.path.basename(script)))


def or_run(options: str = "") -> str:
    """The same as the end of a sentence; empty where there is no such command."""
    command = run_command(options)
    return "" if command is None else ", or start the script with `%s`" % command


def _started() -> str:
    return str(sys.argv[0]) if getattr(sys, "argv", None) else ""
