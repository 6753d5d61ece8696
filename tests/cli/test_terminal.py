"""Do names that others have written command a terminal, or begin lines of their own?

Each command runs on a dump whose every name is hostile, on a pseudo terminal and on pipes.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unicodedata

import numpy as np
import pytest

from tests.analysis.synthetic import Job, op
from tests.conftest import command_environment

# A colour that is none of ours, a window's title, C1, the direction of writing, line ends of
# all kinds, half a character, and a line that looks like an answer.
EVIL = "a\x1b[35m\x1b]0;x\x07\x9b1m\x7f\u202e\u2066\u200f\u061c\u2028\u2029\x85\r\udcff\nFORGED"
OURS = re.compile("\x1b\\[(1;31|32|33|0)m|\r\x1b\\[K")

DRIVER = """
import os, sys
from keras_npu_dump.cli import main
for line in sys.stdin:
    arguments = eval(line)
    try:
        status = main(arguments)
    except SystemExit as error:
        status = error.code
    os.write(1, ("\\n== %s %s\\n" % (status, ascii(arguments[0]))).encode())
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A dump that goes wrong, and the files in it."""
    work = tmp_path_factory.mktemp("work")
    folder = os.path.join(str(work), "dump" + EVIL)
    poison = "relu" + EVIL
    written = Job(folder, [op("x", "Data"), op(poison, "Relu", ["x:0"]),
                           op("then" + EVIL, "Exp" + EVIL, [poison + ":0"])],
                  options={"dump_layer": "layer" + EVIL, "dump_step": "0|7"})
    step = written.execution(0, {
        poison: ([np.arange(3.)], [np.array([1., np.nan, 2.])]),
        "then" + EVIL: ([np.arange(3.)], [np.array([1., np.nan, 2.])])})
    written.counted(1)
    with open(os.path.join(step, "mapping.csv"), "wb") as stream:
        stream.write(b"123," + os.fsencode("Relu." + EVIL.replace("\n", "") + ".1.2.3") + b"\n")
    with open(os.path.join(step, "Add.cut" + EVIL + ".1.2.1900000000123456"), "wb") as stream:
        stream.write(b"cut")
    run, = os.listdir(os.path.join(folder, "runs"))
    record = os.path.join(folder, "runs", run, "run.json")
    with open(record) as stream:
        fields = json.load(stream)
    fields.update(run_id=EVIL, host="host" + EVIL, script=[EVIL], cwd="/" + EVIL,
                  environment={"RANK_TABLE_FILE": EVIL}, versions={"tensorflow": EVIL})
    with open(record, "w") as stream:
        json.dump(fields, stream)
    with open(os.path.join(folder, "runs", run, "iterations.jsonl"), "a") as stream:
        stream.write(json.dumps({"event": "graph", "section": 0, "name": EVIL,
                                 "operators": [EVIL]}) + "\n")
    found = {"step": step}
    for top, _, names in os.walk(folder):
        for name in names:
            key = ("graph" if name.endswith("_Build.txt") else "dump" if name.startswith("Relu")
                   else "cut" if name.startswith("Add.cut") else name)
            found[key] = os.path.join(top, name)
    return folder, found, work


def commands(job):
    folder, files, work = job
    out = os.path.join(tempfile.mkdtemp(dir=str(work)), "out" + EVIL)
    evil = "there is no " + EVIL
    reading = [
        ["collect", folder], ["inspect", folder], ["inspect", folder, "--op", "relu|then"],
        ["inspect", folder, "--tensor", "relu" + EVIL], ["inspect", files["step"]],
        ["inspect", files["dump"]], ["inspect", files["graph"]],
        ["inspect", files["graph"], "--op", "relu"], ["inspect", files["mapping.csv"]],
        ["triage", folder, "--flagfile", os.path.join(str(work), "flags" + EVIL)],
        ["doctor", "--data_dump_path", folder, "--data_dump_layer", EVIL]]
    reading += [["export", folder, "--to", form, "--output", out + form]
                for form in ("npy", "bin", "json", "msaccucmp")]
    reading += [["export", folder, "--to", "msaccucmp", "--output", out + ".tar.gz"]]
    wrong = [[evil], ["collect", evil], ["collect", folder, "--role", evil],
             ["collect", folder, evil],
             ["collect", folder, "--" + evil], ["collect", folder, "--budget", evil],
             ["collect", folder, "--graphs", evil], ["inspect", evil],
             ["inspect", files["cut"]], ["inspect", folder, "--step", evil],
             ["inspect", folder, "--op", evil + "("], ["inspect", folder, "--tensor", evil],
             ["inspect", folder, "--rank", evil], ["triage", evil],
             ["triage", folder, "--role", evil], ["triage", folder, "--rank", evil],
             ["export", evil, "--to", "npy"], ["export", folder, "--to", evil],
             ["export", files["cut"], "--to", "npy", "--output", out + "cut"],
             ["export", folder, "--to", "npy", "--output", out + ".zip"],
             ["doctor", "--data_dump_step", evil], ["doctor", "--data_dump_mode", evil],
             ["run", evil], ["run", "--" + evil, "x.py"], ["run", "--data_dump_step=" + evil, "x"],
             ["run", "--flagfile=" + evil, "x.py"], ["run", "--data_dump_layer=" + evil, evil]]
    return reading, wrong


def output_of(lines, folder, on_terminal):
    """What comes of these commands on stdout and stderr together."""
    text = "".join(ascii(line) + "\n" for line in lines)
    variables = command_environment({
        "TERM": "xterm", "NO_COLOR": None, "PYTHONUTF8": "1", "RANK_TABLE_FILE": EVIL,
        "PYTHONIOENCODING": "utf-8:surrogateescape"})
    command = [sys.executable, "-c", DRIVER]
    if not on_terminal:
        return subprocess.run(command, cwd=str(folder), env=variables, input=text.encode(),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=300).stdout
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    process = subprocess.Popen(command, cwd=str(folder), env=variables, stdin=subprocess.PIPE,
                               stdout=slave, stderr=slave)
    os.close(slave)
    process.stdin.write(text.encode())
    process.stdin.close()
    shown = b""
    while True:
        try:
            part = os.read(master, 1 << 16)
        except OSError:  # the last one who held it has closed it
            part = b""
        if not part:
            break
        shown += part
    os.close(master)
    assert process.wait(60) == 0
    return shown


def check(shown, lines):
    """The answers of the commands, by which nothing is commanded; and their statuses."""
    text = shown.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    plain = OURS.sub("", text)
    odd = {sign for sign in plain
           if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - set("\n")
    places = [plain[max(0, place - 60):place + 20] for place, sign in enumerate(plain)
              if sign in odd]
    assert not odd, (odd, places[:3])
    assert "Traceback" not in plain
    assert not re.search("^FORGED", plain, re.MULTILINE), re.findall(
        ".*\nFORGED.*", plain)[:3]
    assert "FORGED" in plain
    answers = re.split(r"\n== (\w+) .*\n", plain)
    assert len(answers) == 2 * len(lines) + 1
    return text, list(zip(answers[::2], answers[1::2]))


@pytest.mark.parametrize("on_terminal", [True, False])
def test_no_table_and_no_message_commands_a_terminal(job, on_terminal):
    reading, wrong = commands(job)
    for lines, statuses in ((reading, ("0", "1")), (wrong, ("0", "1", "2"))):
        text, answers = check(output_of(lines, job[2], on_terminal), lines)
        for line, (answer, status) in zip(lines, answers):
            assert status in statuses and answer, (line, status, answer)
    # Words of ours have their colours there, and only there.
    text, _ = check(output_of(reading[:1] + reading[9:10], job[2], on_terminal), [0, 0])
    assert ("\x1b[1;31m" in text) == on_terminal


def test_documents_are_ascii_and_hold_the_names_as_they_are(job):
    lines = [line + ["--json"] for line in commands(job)[0]]
    shown = output_of(lines, job[2], False)
    _, answers = check(shown, lines)
    assert shown.isascii()
    for line, (answer, _) in zip(lines, answers):
        document = json.loads(answer[answer.index("{"):])
        assert "FORGED" in json.dumps(document), line
