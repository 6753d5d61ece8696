"""Does what a dump says ever become a flag, a script, or a command?"""
import json
import os
import shlex
import subprocess
import sys

import numpy as np
import pytest
from absl import flags as absl_flags

from keras_npu_dump.analysis.triage.next_dump.flagfile import flagfile_text, python_text
from keras_npu_dump.analysis.triage.next_dump.plan import NextDump
from keras_npu_dump.analysis.triage.triage import triage
from keras_npu_dump.cli import main
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.export.msaccucmp import export_msaccucmp
from keras_npu_dump.files.quoting import terminal
from keras_npu_dump.flags import define_flags
from keras_npu_dump.records.manifest import load_manifest
from tests.analysis.synthetic import Job, op, spread
from tests.conftest import run_command

pytestmark = pytest.mark.timeout(120)
ONES = np.ones(64, np.float32)
NAN = np.full(64, np.nan, np.float32)
HOSTILE = ["\nevil.py", "\r--emulate", "\n--flagfile=evil.flags", "\x1b[31m", "\u202e", "\u2028x",
           "\udcff", "\x85x"]


def job(folder, bad="net/bad", feeds="net/feeds", **options):
    """An operator that makes NaN of good values, and one that feeds it."""
    ops = [op("x", "Data"), op(feeds, "Relu", ["x:0"]), op(bad, "Log", [feeds + ":0"])]
    made = Job(folder, ops, data="stats", emulated=True, options=options)
    made.execution(0, {feeds: ([ONES], [spread()]), bad: ([spread()], [spread(seed=1)])})
    made.execution(1, {feeds: ([ONES], [spread()]), bad: ([spread()], [NAN])})
    made.counted(2)
    return str(folder)


def flags_of(path):
    """As absl reads them: in universal newlines."""
    with open(path, encoding="utf-8") as stream:
        lines = [line.rstrip("\n") for line in stream]
    assert lines[0].startswith("# ")
    assert all(line.startswith("--") for line in lines[1:]), lines
    return dict(line[2:].partition("=")[::2] for line in lines[1:])


KNOWN = {"data_dump_flag", "data_dump_path", "data_dump_step", "data_dump_mode", "data_dump_data",
         "data_dump_layer"}


@pytest.mark.parametrize("ending", HOSTILE + [" ", "\u3000"])
def test_a_dump_path_of_a_record_stays_a_path(tmp_path, ending):
    folder = job(tmp_path / "d", dump_path="/gone" + ending)
    found = triage(folder)
    flags = flags_of(found.next.flagfile)
    assert set(flags) == KNOWN
    # `_next` is put behind it, so that blanks are not at the end and may stay.
    if ending in " \u3000":
        assert flags["data_dump_path"] == "/gone%s_next" % ending
        return
    assert flags["data_dump_path"] == folder + "_next"
    (left,) = found.to_json()["next"]["left_out"]
    assert (left["flag"], left["value"]) == ("data_dump_path", "/gone%s_next" % ending)
    assert flags["data_dump_layer"].split() == ["net/bad", "net/feeds"]


@pytest.mark.parametrize("sign", HOSTILE[:6] + [" ", "\xa0", "\x0b", "\x85x"])
@pytest.mark.parametrize("who", ["bad", "feeds"])
def test_a_name_that_cannot_be_written_is_told_and_left_out(tmp_path, capsys, who, sign):
    name = "net/%s%sb" % (who, sign)
    folder = job(tmp_path / "d", **{who: name})
    status = main(["triage", folder])
    shown = capsys.readouterr().out
    assert status == 1 and terminal(name) in shown and "left out" in shown
    assert "\nevil" not in shown and "\x1b" not in shown and "\u202e" not in shown
    found = triage(folder)
    other = "net/feeds" if who == "bad" else "net/bad"
    assert found.suspects[0].op == ("net/bad" if who == "feeds" else name)
    assert found.next.dump_layer == [other]
    (left,) = found.to_json()["next"]["left_out"]
    assert (left["flag"], left["value"]) == ("data_dump_layer", name)
    flags = flags_of(found.next.flagfile)
    assert set(flags) == KNOWN and flags["data_dump_layer"] == other


def test_where_no_name_can_be_written_nothing_is(tmp_path):
    folder = job(tmp_path / "d", bad="net/bad\n--x", feeds="net/feeds\n--x")
    found = triage(folder)
    # Without names every operator would be dumped.
    assert (found.next.dump_step, found.next.flagfile, len(found.next.left_out)) == (None, None, 2)
    assert not os.path.exists(os.path.join(folder, "next.flags"))


def test_ordinary_jobs_have_the_keys_of_the_schema(tmp_path):
    found = triage(job(tmp_path / "d"))
    assert list(found.to_json()["next"]) == [
        "dump_layer", "dump_step", "estimated_bytes", "flagfile"]


def test_run_reads_back_just_what_was_planned(tmp_path):
    """The script of the command line runs, and no other."""
    (tmp_path / "evil.py").write_text("open('evil', 'w')\n")
    (tmp_path / "train.py").write_text("print('mine')\n")
    folder = job(tmp_path / "d", feeds="net/feeds\nevil.py", dump_path="%s\nevil.py" % tmp_path)
    found = triage(folder)
    done = run_command([sys.executable, "-m", "keras_npu_dump", "run",
                        "--flagfile=" + found.next.flagfile, "train.py"], tmp_path)
    assert done.stdout.startswith("mine") and not (tmp_path / "evil").exists()


@pytest.mark.parametrize("step, ranks", [("0\n--x", None), ("all", None), ("0", ["1\n--x"]),
                                         ("0", ["device:1"]), ("1e9", None), ("", None),
                                         ("\u0665", None)])
def test_what_should_be_a_number_is_one(step, ranks):
    planned = NextDump(dump_layer=["a"], dump_step=step, ranks=ranks)
    assert flagfile_text(planned, ["/d_next"], None, "x") == ""
    assert [one["flag"] for one in planned.left_out] == [
        "data_dump_step" if ranks is None else "data_dump_ranks"]


def test_no_path_at_all(tmp_path):
    planned = NextDump(dump_layer=["a"], dump_step="0")
    assert flagfile_text(planned, ["/d\n_next", "/e\r_next"], None, "x") == ""
    assert len(planned.left_out) == 2


@pytest.mark.parametrize("asked_by, face", [
    (["keras-npu-dump run", "NpuDumpCallback"], "NpuDumpCallback"),
    (["DumpSession"], "DumpSession"),
    (["keras_npu_dump.apply", "NpuDumpCallback"], "NpuDumpCallback"),
    (["keras_npu_dump.apply"], "keras_npu_dump.apply"), (["keras-npu-dump run"], None), ([], None),
    (["evil()"], None),
])
def test_the_next_dump_as_python_means_what_the_flags_mean(asked_by, face):
    planned = NextDump(dump_layer=["a/b", "x'\"\\"], dump_step="3-5", ranks=[0, 2])
    text = flagfile_text(planned, ["/bad\n_next", "/it's\\ \u4e2d_next"], None, "x")
    python = python_text(planned, asked_by)
    if face is None:
        assert python == ""
        return
    made = eval(python.replace(face, "DumpConfig", 1), {"DumpConfig": DumpConfig})
    values = absl_flags.FlagValues()
    define_flags(values)
    values(["main"] + text.splitlines()[1:])
    assert made == DumpConfig.from_flags(values)
    assert python.startswith(face + "(dump_path=") and python == terminal(python)


def test_python_can_say_a_path_that_no_flag_file_can():
    planned = NextDump(dump_layer=["a"], dump_step="0")
    assert flagfile_text(planned, ["/bad\n_next", "/d \udcff_next"], None, "x") == ""
    assert "(dump_path='/d \\udcff_next', " in python_text(planned, ["NpuDumpCallback"])


def test_what_is_no_step_is_nothing_in_python_either():
    planned = NextDump(dump_layer=["a"], dump_step="0'); evil()")
    assert flagfile_text(planned, ["/d_next"], None, "x") == ""
    assert python_text(planned, ["NpuDumpCallback"]) == ""


def test_a_flag_file_that_cannot_be_written_is_told(tmp_path, capsys):
    folder = job(tmp_path / "d")
    path = str(tmp_path / "next")
    os.mkfifo(path)
    assert main(["triage", folder, "--flagfile", path, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["next"]["flagfile"] is None
    assert [one["flag"] for one in document["next"]["left_out"]] == ["flagfile"]


def test_the_next_command_is_one_that_can_be_pasted(tmp_path, capsys):
    folder = job(tmp_path / "a b; touch 'x' $(y)")
    assert main(["triage", folder]) == 1
    (line,) = [one for one in capsys.readouterr().out.splitlines() if "--flagfile=" in one]
    done = subprocess.run(["bash", "-c", "keras-npu-dump() { printf '%s\\n' \"$@\"; }; " + line],
                          stdout=subprocess.PIPE, universal_newlines=True)
    assert done.stdout.split("\n")[:3] == [
        "run", "--flagfile=" + os.path.join(folder, "next.flags"), "SCRIPT"]


def test_commands_for_what_is_there_already(tmp_path):
    ops = [op("x", "Data"), op("-net/bad", "Log", ["x:0"])]
    made = Job(tmp_path / "d $(x)", ops)
    made.execution(0, {"-net/bad": ([ONES], [spread()])})
    made.execution(1, {"-net/bad": ([ONES], [NAN])})
    found = triage(str(tmp_path / "d $(x)"))
    assert found.next.commands
    words = shlex.split(found.next.commands[0])
    assert words[:3] == ["keras-npu-dump", "inspect", str(tmp_path / "d $(x)")]
    assert main(words[1:]) == 0


def test_a_manifest_of_others_makes_no_command(tmp_path):
    ops = [op("x", "Data"), op("net/relu", "Relu", ["x:0"])]
    made = Job(tmp_path / "d", ops, record=False)
    made.execution(0, {"net/relu": ([ONES], [ONES])})
    path = str(tmp_path / "m.json")
    assert main(["collect", str(tmp_path / "d"), "--output", path]) == 0
    with open(path) as stream:
        document = json.load(stream)
    for pair in document["pairs"]:
        pair["rank"], pair["device"] = None, '0"; touch evil; "'
        pair["model_names"] = ["$(touch evil)"]
        for step in pair["steps"]:
            step["data_index"] = "../../../$(touch evil)"
    document["training"] = {"0": [0]}
    with open(path, "w") as stream:
        json.dump(document, stream)
    manifest = load_manifest(path)
    manifest.dump_path = str(tmp_path / "d")
    result = export_msaccucmp(manifest, str(tmp_path / "out"))
    (leaf,) = result.leaves
    assert ".." not in leaf.leaf and os.path.isdir(str(tmp_path / "out" / leaf.leaf))
    (tmp_path / "golden").mkdir()
    (tmp_path / "fake.py").write_text("import sys; print(sys.argv[3])\n")
    done = subprocess.run(
        ["bash", "out/compare.sh", "golden"], cwd=str(tmp_path), stdout=subprocess.PIPE,
        env=dict(os.environ, MSACCUCMP=str(tmp_path / "fake.py")), universal_newlines=True)
    assert done.returncode == 0 and done.stdout.strip() == str(tmp_path / "out" / leaf.leaf)
    assert not list(tmp_path.rglob("evil"))


def test_names_with_line_breaks_do_not_write_lines_of_a_mapping(tmp_path, capsys):
    """Names too long for the form's file get a short one, and a line that explains it."""
    name = "n" * 180 + "\n1,2"
    ops = [op("x", "Data"), op(name, "Relu", ["x:0"])]
    made = Job(tmp_path / "d", ops)
    shape = (1,) * 24
    made.execution(0, {name: ([np.ones(shape, np.float32)], [np.ones(shape, np.float32)])})
    status = main(["export", str(tmp_path / "d"), "--to", "bin", "--output", str(tmp_path / "out"),
                   "--json"])
    document = json.loads(capsys.readouterr().out)
    assert (status, document["written"], len(document["problems"])) == (1, 2, 2)
    assert not list((tmp_path / "out").rglob("mapping.csv"))
