"""What does the command line say to good and to bad input?"""
import json
import os
import re
import sys

import pytest

from tests.conftest import ROOT, run_command

pytestmark = pytest.mark.usefixtures("no_tensorflow")

COMMAND = [sys.executable, "-m", "keras_npu_dump"]


def run(folder, *arguments, **kwargs):
    return run_command(COMMAND + list(arguments), folder, check=False, **kwargs)


def left_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


SCRIPT = """
import sys
import npu_device
print("started", sys.argv[1:])
npu_device.open()
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


# Every rule of GE's check of the dump options (dump_properties.cc), as a user would break it.
@pytest.mark.parametrize("options, part", [
    (["--data_dump_step=3-3"], "a < b"),
    (["--data_dump_step=5-3"], "3-5"),
    (["--data_dump_step=1-2-3"], "items like 5"),
    (["--data_dump_step=0||5"], "items like 5"),
    (["--data_dump_step=0|"], "items like 5"),
    (["--data_dump_step=-1"], "items like 5"),
    (["--data_dump_step= 1"], "blanks"),
    (["--data_dump_step=0,5"], "not with commas"),
    (["--data_dump_step=2147483648"], "2147483647"),
    (["--data_dump_step=" + "|".join(str(2 * i) for i in range(101))], "at most 100"),
    (["--data_dump_step=abc"], "items like 5"),
    (["--data_dump_mode=both"], "input|output|all"),
    (["--data_dump_data=tensors"], "tensor|stats"),
    (["--over_dump", "--data_dump_flag"], "data_dump_flag and over_dump"),
    (["--over_dump=/x/over"], "over_dump_path"),
    (["--over_dump", "--over_dump_mode=some"], "aicore_overflow"),
    (["--data_dump_path=train.py"], "not a folder"),
    (["--data_dump_path=train.py/below"], "not a folder"),
    (["--data_dump_graph_level=9"], "expected 1, 2, 3"),
    (["--data_dump_graph_level=junk"], "Received: 'junk'"),
    (["--data_dump_flag=perhaps"], "true or false"),
    (["--data_dump_ranks=x"], "rank numbers"),
    (["--data_dump_min_free_gb=much"], "gigabytes"),
    (["--no_such_flag"], "no_such_flag"),
    (["--flagfile=missing.flags"], "missing.flags"),
])
def test_bad_options_are_one_message_and_status_2(tmp_path, script, options, part):
    done = run(tmp_path, "run", "--emulate", *(options + ["train.py"]))
    assert (done.returncode, done.stdout) == (2, "")
    assert part in done.stderr and "Traceback" not in done.stderr
    assert done.stderr.count("keras-npu-dump:") == 1
    assert left_in(tmp_path) == ["train.py"]  # nothing half done


@pytest.mark.parametrize("arguments, part", [
    (["run", "missing.py"], "does not exist"),
    (["run", "--emulate", "missing.py"], "does not exist"),
    (["run", "."], "is a folder"),
    (["run"], "SCRIPT"),
    (["run", "train.py"], "--emulate"),
    (["collect", "missing"], "does not exist"),
    (["collect", "train.py"], "folder"),
    (["collect"], "PATH"),
    (["collect", ".", "--role=driver"], "train"),
    (["frobnicate"], "frobnicate"),
    ([], "COMMAND"),
])
def test_wrong_usage_is_status_2(tmp_path, script, arguments, part):
    done = run(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert part in done.stderr and "Traceback" not in done.stderr
    assert left_in(tmp_path) == ["train.py"]


def test_an_empty_folder_is_a_problem_with_its_cause(tmp_path):
    done = run(tmp_path, "collect", ".", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 2
    assert document["pairs"] == []
    assert {one["code"] for one in document["problems"]} == {"not-dumped", "no-run"}
    assert left_in(tmp_path) == []


def test_a_run_that_dumped_nothing_says_why(tmp_path, script):
    done = run(tmp_path, "run", "--emulate", "--data_dump_path=d", "train.py")
    assert done.returncode == 0  # the script's own
    done = run(tmp_path, "collect", "d", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert [run["status"] for run in document["runs"] if "status" in run] in ([], ["ended"])
    problems = {one["code"]: one for one in document["problems"]}
    assert "step 0 not reached, 0 executions ran" in problems["step-not-reached"]["message"]
    assert "nothing was trained" in problems["step-not-reached"]["hint"]


def test_help_and_version(tmp_path):
    for arguments in (["--help"], ["run", "--help"], ["collect", "--help"], ["--version"]):
        done = run(tmp_path, *arguments)
        assert done.returncode == 0 and done.stdout
    text = run(tmp_path, "run", "-h").stdout
    assert "data_dump_step" in text and "--[no]emulate" in text and "input, output," in text


def test_everything_from_the_script_on_is_its_own(tmp_path, script):
    done = run(tmp_path, "run", "--emulate", "--data_dump_flag=False", "train.py",
               "--data_dump_step=7", "--emulate", "--", "-x")
    assert "started ['--data_dump_step=7', '--emulate', '--', '-x']" in done.stdout
    assert "--data_dump_step, --emulate after SCRIPT: the script gets it" in done.stderr
    assert left_in(tmp_path) == ["train.py"]


@pytest.mark.parametrize("code, status, cause", [
    ("import sys; sys.exit(7)", 7, "ended with exit status 7"),
    ("import sys; sys.exit('bad')", 1, "ended with exit status 1"),
    ("raise KeyError(1)", 1, "ended by an exception (KeyError)"),
    ("pass", 0, None),
    ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143, "interrupted by SIGTERM"),
    ("import os, signal; os.kill(os.getpid(), signal.SIGINT)", 130, "interrupted by SIGINT")])
def test_the_scripts_status_comes_through(tmp_path, code, status, cause):
    (tmp_path / "train.py").write_text(
        "import npu_device\nnpu_device.open()\ndef f():\n    %s\nf()\n" % code)
    done = run(tmp_path, "run", "--emulate", "--data_dump_path=d", "train.py")
    assert done.returncode == status
    record = json.loads(next(tmp_path.glob("d/runs/*/run.json")).read_text())
    assert (record["status"], record["cause"]) == ("failed" if status else "ended", cause)
    assert ("nothing was trained" in done.stderr) == (status == 0)
    if cause:
        said = cause.replace("(KeyError)", "(KeyError: 1)")
        assert done.stderr.count("step 0 not reached: %s before the first execution" % said) == 1
        assert "No fit()" not in done.stderr
    if "KeyError" in code:
        trace = done.stderr[done.stderr.index("Traceback"):].splitlines()
        files = [line.strip() for line in trace if line.strip().startswith("File")]
        # From Python 3.9 on the path of a script is absolute there.
        assert [line.split("/")[-1].replace('File "', "") for line in files] == [
            'train.py", line 5, in <module>', 'train.py", line 4, in f']


def test_json_has_stdout_for_itself(tmp_path):
    (tmp_path / "train.py").write_text(
        "import os, npu_device\nnpu_device.open()\nprint('from python')\n"
        "os.system('echo from a child')\n")
    done = run(tmp_path, "run", "--emulate", "--json", "--data_dump_path=d", "train.py")
    assert json.loads(done.stdout)["schema"] == "keras_npu_dump.manifest/1"
    assert "from python" in done.stderr and "from a child" in done.stderr


@pytest.mark.parametrize("options, cause", [
    (["--data_dump_flag=False"], "switched off"), ([], "opened no device")])
def test_json_is_one_document_whatever_happened(tmp_path, options, cause):
    (tmp_path / "train.py").write_text("npu_device = None\nprint('nothing to do')\n")
    done = run(tmp_path, "run", "--emulate", "--json", *(options + ["train.py"]))
    (problem,) = json.loads(done.stdout)["problems"]
    assert problem["code"] == "not-dumped" and cause in problem["message"]


def test_a_script_that_takes_stdout_for_itself_gets_no_table_in_it(tmp_path):
    (tmp_path / "train.py").write_text(
        "import sys, npu_device\nnpu_device.open()\n"
        "class Tee:\n    def write(self, text): pass\n    def flush(self): pass\n"
        "sys.stdout = Tee()\nprint('mine')\n")
    done = run(tmp_path, "run", "--emulate", "--data_dump_path=d", "train.py")
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert done.stdout.startswith("No graph and dump folder belong together: ")
    # No line begins like those that users grep from the logs of their trainings.
    words = r"^\W*(loss|step|steps|time|fps|accuracy)\b"
    assert not re.search(words, done.stdout, re.IGNORECASE | re.MULTILINE)
    assert "step 0 not reached, 0 executions ran" in done.stderr


@pytest.mark.parametrize("options, text", [
    (["--over_dump", "--data_dump_path=d", "--over_dump_path=o"],
     "--data_dump_path='d' has no effect with --over_dump: the folder is --over_dump_path"),
    (["--data_dump_path=d", "--over_dump_path=o"],
     "--over_dump_path='o' has no effect without --over_dump: the folder is --data_dump_path"),
])
def test_a_folder_for_the_other_kind_of_dump_is_told(tmp_path, script, options, text):
    done = run(tmp_path, "run", "--emulate", *(options + ["train.py"]))
    assert done.returncode == 0 and done.stderr.count(text) == 1


@pytest.mark.parametrize("code, options, status", [
    (SCRIPT, [], 1), (SCRIPT, ["--data_dump_collect=False"], 0), ("print(1)", [], 1),
    (SCRIPT + "sys.exit(7)", [], 7)])
def test_strict_a_dump_that_is_missing_at_the_end_is_a_status_of_its_own(
        tmp_path, script, code, options, status):
    script.write_text(code)
    done = run(tmp_path, "run", "--emulate", "--data_dump_strict", *(options + ["train.py"]))
    assert done.returncode == status
    assert ("the script's own is 0" in done.stderr) == (status == 1)


@pytest.mark.parametrize("variables, status, parts", [
    ({"RANK_ID": "abc"}, 2, ["RANK_ID='abc' is not a number"]),
    ({"RANK_ID": "2"}, 2, ["RANK_ID=2 is none of 0 to 1"]),
    ({"RANK_ID": "0"}, 1, ["finds neither", "A rehearsal of 2 ranks is", "RANK_TABLE_FILE, which"]),
])
def test_ranks_that_cannot_be_are_told(tmp_path, script, variables, status, parts):
    done = run(tmp_path, "run", "--emulate", "train.py", env=dict(variables, RANK_SIZE="2"))
    assert done.returncode == status
    for part in parts:
        assert done.stderr.count(part) == 1
    # What npu_device refuses itself is its own error.
    assert ("Traceback" in done.stderr) == (status == 1)


def test_a_conflict_with_the_script_is_one_message_and_status_2(tmp_path):
    (tmp_path / "train.py").write_text(
        "import npu_device\nnpu_device.global_options().dump_config.enable_dump_debug = True\n"
        "npu_device.open()\nprint('trained')\n")
    done = run(tmp_path, "run", "--emulate", "--data_dump_path=d", "--data_dump_flag=True",
               "train.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "enable_dump_debug is '1'" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("after, status, out", [
    ("except ZeroDivisionError", 2, ""),
    ("except keras_npu_dump.errors.DumpError", 0, "went on\n")])
def test_a_request_that_cannot_be_ends_only_a_script_that_ends_with_it(
        tmp_path, after, status, out):
    (tmp_path / "train.py").write_text(
        "import keras_npu_dump\ntry:\n    keras_npu_dump.apply(enable_dump_debug=True)\n"
        "%s:\n    pass\nprint('went on')\n" % after)
    done = run(tmp_path, "run", "--emulate", "--noopen_device", "--data_dump_path=d", "train.py")
    assert (done.returncode, done.stdout) == (status, out)
    assert done.stderr.count("one process has one dump") == (status == 2)
    assert "Traceback" not in done.stderr


def test_the_package_names_no_path_of_this_machine():
    for path in (ROOT / "keras_npu_dump").rglob("*.py"):
        assert os.path.dirname(str(ROOT)) + os.sep not in path.read_text(encoding="utf-8")
