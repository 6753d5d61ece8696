"""Does doctor say what would make a dump fail, and nothing where nothing would?"""
import json
import re
import sys

import pytest

from keras_npu_dump import ranks
from keras_npu_dump.capture.device import dump_place
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.doctor.diagnosis import examine
from tests.conftest import run_command

CLEARED = ("DUMP_GE_GRAPH", "DUMP_GRAPH_LEVEL", "DUMP_GRAPH_PATH", "DUMP_GRAPH_FORMAT",
           "NPU_COLLECT_PATH", "ASCEND_WORK_PATH", "NPU_LOOP_SIZE", "RANK_ID", "RANK_SIZE",
           "RANK_TABLE_FILE", "CM_CHIEF_IP", "CM_WORKER_SIZE", "AOE_MODE", "ASCEND_DEVICE_ID",
           "NPU_COLLECT_PATH_EXE", "ASCEND_DUMP_SCENE", "ASCEND_DUMP_PATH", *ranks.LAUNCHED)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in CLEARED:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def errors(config=None, emulate=True):
    return [one.code for one in examine(config, emulate).errors]


def test_an_emulated_run_with_nothing_in_the_way(here):
    found = examine(DumpConfig(min_free_gb=0), emulate=True)
    assert found.errors == []
    assert found.device["kind"] == "emulated"
    assert found.path["dump_path"] == str(here / "output" / "data_dump")
    assert found.path["exists"] is False and found.path["writable"] is True
    assert found.versions["numpy"] and found.versions["tensorflow"]
    assert list(here.iterdir()) == []  # it only looks


def test_without_a_device():
    assert "no-device" in errors(emulate=False)


@pytest.mark.parametrize("variables, code", [
    ({"NPU_COLLECT_PATH": "/x"}, "collect-path"), ({"AOE_MODE": "1"}, "aoe"),
    ({"NPU_COLLECT_PATH_EXE": "/x"}, "collect-path"),
    ({"RANK_SIZE": "2"}, "cluster"), ({"RANK_SIZE": "2", "CM_WORKER_SIZE": "2"}, "cluster"),
    ({"ASCEND_DEVICE_ID": "first"}, "cluster")])
def test_variables_that_make_a_dump_fail(monkeypatch, variables, code):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert code in errors()


@pytest.mark.parametrize("variables, code", [
    ({"DUMP_GE_GRAPH": "0"}, "graph-off"), ({"DUMP_GRAPH_LEVEL": "4"}, "graph-level"),
    ({"DUMP_GRAPH_FORMAT": "readable"}, "graph-format"),
    ({"ASCEND_DUMP_SCENE": "aic_err_detail_dump"}, "dump-scene"),
    ({"ASCEND_DUMP_PATH": "/x"}, "dump-path-variable"),
    ({"CM_WORKER_SIZE": "2", "CM_CHIEF_IP": "1", "CM_CHIEF_PORT": "2", "CM_CHIEF_DEVICE": "0"},
     "cluster")])
def test_variables_that_are_worth_knowing(monkeypatch, variables, code):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = examine(DumpConfig(min_free_gb=0), emulate=True)
    assert code in [one.code for one in found.problems if one.severity == "warning"]
    assert found.errors == []
    named = {one.name: one for one in found.environment}
    assert all(named[name].value == value for name, value in variables.items())


def test_options_that_only_a_script_sets_are_explained(monkeypatch):
    monkeypatch.setenv("ASCEND_WORK_PATH", "/w")
    effects = {one.name: one.effect for one in examine(emulate=True).environment}
    assert "fusion_result.json is written to /w/FE/{pid}" in effects[
        "global_options().export_compile_stat"]
    assert "oom" in effects["global_options().op_debug_config"]
    assert "higher number are not written" in effects["ge.maxDumpFileNum"]


def test_a_path_below_a_file(here):
    (here / "file").write_text("")
    found = examine(DumpConfig(dump_path="file/d"), emulate=True)
    assert "dump-path" in [one.code for one in found.errors]
    assert str(here / "file") + " is not a folder" in found.errors[0].message
    assert found.path["writable"] is False


def test_too_little_room():
    assert "disk-low" in errors(DumpConfig(min_free_gb=1e9))


def test_ranks_that_this_job_has_not(monkeypatch):
    monkeypatch.setenv("RANK_SIZE", "1")
    assert "ranks" in errors(DumpConfig(ranks="7"))


def test_a_rank_that_is_left_out_is_no_error(monkeypatch):
    monkeypatch.setenv("RANK_ID", "1")
    found = examine(DumpConfig(ranks="0", min_free_gb=0), emulate=True)
    assert found.errors == [] and found.options["enable_dump"] is False
    assert "would dump nothing" in found.problems[-1].message


def test_warnings_are_no_errors(monkeypatch):
    monkeypatch.setattr(dump_place, "in_container", lambda *args: True)
    monkeypatch.setattr(dump_place, "mount_of", lambda path: dump_place.Mount("/", "overlay"))
    monkeypatch.setenv("NPU_LOOPSIZE", "2")
    found = examine(DumpConfig(dump_path="a b", min_free_gb=0), emulate=True)
    assert found.errors == []
    assert {"in-container", "path-name", "loop-misspelt"} <= {one.code for one in found.problems}


@pytest.mark.parametrize("variables, winner, folder", [
    ({}, "DUMP_GRAPH_PATH", "output/data_dump/graphs"),
    ({"DUMP_GRAPH_PATH": "mine"}, "DUMP_GRAPH_PATH", "mine"),
    ({"DUMP_GRAPH_PATH": "mine", "NPU_COLLECT_PATH": "c"}, "NPU_COLLECT_PATH",
     "c/extra-info/graph"),
    ({"ASCEND_WORK_PATH": "w"}, "DUMP_GRAPH_PATH", "output/data_dump/graphs")])
def test_who_wins_about_graph_files(here, monkeypatch, variables, winner, folder):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    effects = {one.name: one.effect for one in examine(emulate=True).environment}
    assert effects[winner].startswith("graph files go to")
    assert effects[winner].endswith(folder)
    losers = {"DUMP_GRAPH_PATH", "NPU_COLLECT_PATH", "ASCEND_WORK_PATH"} - {winner}
    assert not any("graph files go to" in effects[name] for name in losers)


def test_an_npu_device_that_cannot_be_imported(here):
    (here / "npu_device").mkdir()
    (here / "npu_device" / "__init__.py").write_text(
        "raise ImportError('libge_runner.so: cannot open shared object file')\n")
    done = doctor(here, "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 1 and document["device"]["kind"] == "npu"
    messages = {one["code"]: one["message"] for one in document["problems"]}
    assert "libge_runner.so" in messages["device-import"]
    assert "/dev/davinci" in messages["no-npu"]
    # And the emulator refuses to stand in for it.
    assert "real-device" in doctor(here, "--emulate").stdout


def doctor(folder, *arguments, **kwargs):
    return run_command([sys.executable, "-m", "keras_npu_dump", "doctor"] + list(arguments),
                       folder, check=False, **kwargs)


def test_the_command(here):
    done = doctor(here, "--emulate", "--data_dump_min_free_gb=0", "--data_dump_step=0|5")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Nothing here would make a dump fail." in done.stdout and "dump_step=0|5" in done.stdout
    done = doctor(here, "--data_dump_min_free_gb=0")
    assert done.returncode == 1
    assert "npu_device is not installed here [no-device]" in done.stdout
    assert "1 thing would make a dump fail." in done.stdout
    document = json.loads(doctor(here, "--emulate", "--json").stdout)
    assert list(document) == ["schema", "versions", "device", "cluster", "environment", "path",
                              "options", "problems"]
    assert document["schema"] == "keras_npu_dump.doctor/1"


def test_the_answer_comes_first_in_lines_that_fit(here):
    runs = here / "output" / "data_dump" / "runs"
    for name in ("a", "b"):
        (runs / name).mkdir(parents=True)
        (runs / name / "run.json").write_text("{}")
    options = ("--emulate", "--data_dump_min_free_gb=0", "--data_dump_step=0|5")
    env = {"DUMP_GRAPH_LEVEL": "2"}
    short = doctor(here, *options, env=env).stdout
    long = doctor(here, "-v", *options, env=env).stdout
    assert short.startswith("Nothing here would make a dump fail.\n")
    assert "holds 2 earlier runs, kept apart from the next [earlier-runs]" in short.replace(
        "\n  ", " ")
    assert all(len(line) <= 100 or " " not in line.strip() or str(here) in line
               for line in long.splitlines())
    for name in ("DUMP_GRAPH_LEVEL  2", "DUMP_GRAPH_PATH  (not set)"):
        assert name in short and name in long
    for name in ("NPU_COLLECT_PATH", "RANK_SIZE", "op_debug_config"):
        assert name not in short and name in long
    assert "(not set)\n      not set" not in long
    assert re.search(r"\n\d+ more, which are not set: keras-npu-dump doctor -v\n", short)
    document = json.loads(doctor(here, *options, "--json").stdout)
    assert "NPU_COLLECT_PATH" in [one["name"] for one in document["environment"]]


def test_wrong_options_of_the_command_are_usage_errors(here):
    done = doctor(here, "--data_dump_step=5-3")
    assert (done.returncode, done.stdout) == (2, "") and "a < b" in done.stderr
    assert doctor(here, "--no_such").returncode == 2
    done = doctor(here, "--data_dump_graph_level=9")
    assert (done.returncode, done.stdout) == (2, "") and "expected 1, 2, 3" in done.stderr
