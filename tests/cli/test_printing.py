"""Does a stdout that lacks a letter end a command?"""
import io
import sys

import numpy as np
import pytest

from keras_npu_dump.cli import main
from keras_npu_dump.report.printing import print_text
from keras_npu_dump.report.progress_line import ProgressLine
from tests.analysis.synthetic import Job, op


def ascii_stdout(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    return stream


def shown_in(stream):
    stream.flush()
    return stream.buffer.getvalue().decode("ascii")


@pytest.mark.parametrize("command", [
    ["collect"], ["inspect"], ["inspect", "--op", "relu"],
    ["export", "--to", "npy"], ["export", "--to", "msaccucmp"]])
def test_letters_that_stdout_does_not_have_are_escaped(tmp_path, monkeypatch, command):
    folder = tmp_path / "Gewichte_für_日本"
    job = Job(folder, [op("x", "Data"), op("ü/relu", "Relu", ["x:0"])])
    job.execution(0, {"ü/relu": ([np.arange(3.)], [np.ones(3)])})
    stream = ascii_stdout(monkeypatch)
    status = main(command[:1] + [str(folder)] + command[1:])
    assert status in (0, 1) and "\\xfc" in shown_in(stream)


def test_what_stdout_can_say_is_left_as_it_is(monkeypatch):
    stream = io.StringIO()
    print_text("für 日本", file=stream)
    assert stream.getvalue() == "für 日本\n"
    # A name that is not UTF-8 arrives as a lone surrogate; its byte may mean something to a
    # terminal, such as the beginning of a command.
    for errors in ("strict", "surrogateescape"):
        raw = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors=errors)
        print_text("a\udc9b", file=raw)
        assert raw.buffer.getvalue() == b"a\\udc9b\n"


def test_no_error_commands_the_terminal(tmp_path, capfd):
    assert main(["collect", str(tmp_path / "a\x1b[2J\u202e")]) == 2
    assert "a\\x1b[2J\\u202e" in capfd.readouterr().err


def test_nothing_that_is_printed_commands_the_terminal():
    stream = io.StringIO()
    print_text("a\x1b[2Jb\x9b1m\u202ec\rd\n\te", file=stream)
    assert stream.getvalue() == "a\\x1b[2Jb\\u009b1m\\u202ec\\rd\n\te\n"


def test_progress_in_a_log_is_a_message_like_all_others(monkeypatch):
    monkeypatch.setattr("keras_npu_dump.report.progress_line._PATIENCE", 0.0)
    stream = io.StringIO()
    with ProgressLine(file=stream) as progress:
        progress("reading heads", 1500, 3000)
        progress("reading heads", 1600, 3000)  # within ten seconds
    assert stream.getvalue() == "keras-npu-dump: reading heads: 1,500 of 3,000 (50 %)\n"
