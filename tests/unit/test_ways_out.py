"""Can what a hint says be done, in a script, in a notebook and at a prompt?"""
import sys
import types

import pytest

from keras_npu_dump import ways_out
from keras_npu_dump.capture.request.resolve import NOTHING, resolve
from keras_npu_dump.capture.request.situation import RUN
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.errors import DeviceOpenedError
from tests.unit.test_resolve import situation


class Shell:
    pass


def started(monkeypatch, how):
    """This process looks as if it was started in that way."""
    monkeypatch.delattr(sys, "ps1", raising=False)
    monkeypatch.setitem(sys.modules, "IPython", None)
    shell = Shell()
    if how == "kernel's shell":
        Shell.__module__ = "ipykernel.zmqshell"
    elif how == "shell":
        Shell.__module__ = "IPython.terminal.interactiveshell"
    elif how == "prompt":
        monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    if "shell" in how:
        module = types.ModuleType("IPython")
        module.get_ipython = lambda: shell
        monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setattr(sys, "argv", [{
        "script": "/home/me/my train.py", "kernel": "/x/ipykernel_launcher.py",
        "colab": "/x/colab_kernel_launcher.py", "kernel's shell": "/x/launcher.py",
        "command": "-c", "tool": "/usr/bin/pytest"}.get(how, "")])


@pytest.mark.parametrize("how, again, command", [
    ("script", None, "keras-npu-dump run 'my train.py'"), ("command", None, None),
    ("tool", None, None), ("kernel", "restart the kernel", None),
    ("colab", "restart the kernel", None), ("kernel's shell", "restart the kernel", None),
    ("shell", "start Python again", None), ("prompt", "start Python again", None)])
def test_hints_are_those_that_can_be_followed(monkeypatch, how, again, command):
    started(monkeypatch, how)
    assert (ways_out.starting_again(), ways_out.run_command()) == (again, command)
    with pytest.raises(DeviceOpenedError) as refused:
        resolve(DumpConfig(dump_path="/d", dump_step=3), "NpuDumpCallback", situation(opened=True))
    text = str(refused.value)
    assert ("Swap the two lines" in text) == (again is None)
    assert again is None or again + " and run first" in text
    assert ("keras-npu-dump run" in text) == (command is not None)
    # In a process that was opened without dump.
    found = resolve(DumpConfig(explicit=()), "NpuDumpCallback", situation(opened=True))
    [remark] = found.remarks
    assert found.action == NOTHING and (again is None or again[1:] + ", and make" in remark)
    assert ("keras-npu-dump run" in remark) == (command is not None)


def test_without_a_script_no_name_is_made_up(monkeypatch):
    monkeypatch.setattr(sys, "argv", [])
    assert ways_out.run_command() is None
    assert ways_out.in_time("do it") == "Do it" and ways_out.or_run() == ""
    assert RUN == "keras-npu-dump run"
