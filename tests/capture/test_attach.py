"""What happens when dump is asked for before open(), after open(), and not at all?"""
import json
import os
import stat
import tempfile

import pytest

from tests.conftest import run_python

pytestmark = pytest.mark.usefixtures("no_tensorflow")

PRELUDE = """
import json, os, sys
from keras_npu_dump import emulator
import keras_npu_dump
from keras_npu_dump import DumpConfig, DumpSession, errors
emulator.install()
import npu_device
from keras_npu_dump.capture.device import device_module as device

def options():
    return device.read_options(npu_device)

def refused(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except errors.DumpError as error:
        return [type(error).__name__, str(error)]
    return None
"""


def answer(code, folder, **kwargs):
    done = run_python(PRELUDE + code, folder, **kwargs)
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def test_before_open_it_configures_device_and_environment(tmp_path):
    result, stderr = answer("""
DumpSession(dump_path="a/dump", dump_step=[0, 5], dump_data="stats", dump_layer=["x/y", "z"])
print(json.dumps([options(), {name: os.environ.get(name) for name in (
    "DUMP_GE_GRAPH", "DUMP_GRAPH_PATH", "DUMP_GRAPH_LEVEL")}]))
""", tmp_path)
    dump = str(tmp_path / "a" / "dump")
    assert result[0] == {
        "enable_dump": "1", "dump_path": dump, "dump_step": "0|5", "dump_mode": "all",
        "dump_data": "stats", "dump_layer": "x/y z", "enable_dump_debug": "0",
        "dump_debug_mode": "all"}
    assert result[1] == {"DUMP_GE_GRAPH": "2", "DUMP_GRAPH_PATH": dump + "/graphs",
                         "DUMP_GRAPH_LEVEL": "3"}
    assert stderr.count(dump) == 1
    assert stat.S_IMODE(os.stat(dump).st_mode) == 0o700


def test_what_the_user_has_set_in_the_environment_stays(tmp_path):
    result, _ = answer("""
DumpSession(dump_path="d")
print(json.dumps([os.environ["DUMP_GE_GRAPH"], os.environ["DUMP_GRAPH_PATH"],
                  os.environ["DUMP_GRAPH_LEVEL"], os.path.exists("d/graphs")]))
""", tmp_path, env={"DUMP_GE_GRAPH": "1", "DUMP_GRAPH_PATH": "mine", "DUMP_GRAPH_LEVEL": "2"})
    assert result == ["1", "mine", "2", False]


def test_switched_off_it_does_nothing_at_all(tmp_path):
    done = run_python("""
import os, sys, types
import keras_npu_dump
before = dict(os.environ)
flags = types.SimpleNamespace(data_dump_flag="False", data_dump_path="d", data_dump_step="x")
config = keras_npu_dump.DumpConfig.from_flags(flags)
keras_npu_dump.apply(flags)
dump = keras_npu_dump.DumpSession(config)
with dump:
    with dump.step():
        pass
assert dump.manifest is None
assert dict(os.environ) == before
assert "npu_device" not in sys.modules
""", tmp_path)
    assert done.stdout == done.stderr == ""
    assert [path.name for path in tmp_path.iterdir()] == ["script_under_test.py"]


def test_without_any_device_both_ways_out_are_told(tmp_path):
    done = run_python("""
import keras_npu_dump
try:
    keras_npu_dump.DumpSession()
except keras_npu_dump.errors.DeviceNotFoundError as error:
    print(error)
""", tmp_path)
    assert "CANN" in done.stdout and "emulator.install()" in done.stdout
    assert not (tmp_path / "output").exists()


def test_after_open_a_differing_request_shows_which_lines_to_swap(tmp_path):
    result, _ = answer("""
npu_device.open()
print(json.dumps(refused(DumpSession, dump_path="d", dump_step=3)))
""", tmp_path)
    kind, text = result
    assert kind == "DeviceOpenedError"
    assert text.index("dump = DumpSession(...)") < text.index("npu_device.open()", 20)
    assert "keras-npu-dump run script_under_test.py" in text
    assert "dump_step is None, '3' was asked for" in text
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize("arguments", ["", "dump_path='d', dump_step='0|5'"])
def test_after_open_the_same_or_nothing_attaches(tmp_path, arguments):
    result, _ = answer("""
config = npu_device.global_options().dump_config
config.enable_dump = True
config.dump_path = os.path.abspath("d")
config.dump_mode = "all"
config.dump_step = "0|5"
os.mkdir("d")
npu_device.open()
dump = DumpSession(%s)
print(json.dumps([dump._capture.config.dump_step.text, dump._capture.record.fields["opened"]]))
""" % arguments, tmp_path)
    assert result == ["0|5", True]


def test_a_device_opened_without_dump_is_told(tmp_path):
    result, stderr = answer("""
npu_device.open()
DumpSession()
print(json.dumps([options()["enable_dump"], os.path.exists("output"), refused(
    DumpSession, config=DumpConfig(strict=True))[0]]))
""", tmp_path)
    assert result == ["0", False, "DeviceOpenedError"]
    assert "opened without dump" in stderr and "keras-npu-dump run" in stderr


def test_apply_configures_and_later_ones_share_it(tmp_path):
    result, _ = answer("""
keras_npu_dump.apply(DumpConfig(dump_path="d", dump_step=2))
npu_device.open()
first, second = DumpSession(), DumpSession(dump_path="d", dump_step="2")
print(json.dumps([first._capture is second._capture, options()["dump_step"],
                  refused(DumpSession, dump_step=3)[0], os.listdir("d/runs")]))
""", tmp_path)
    assert result[:3] == [True, "2", "DeviceOpenedError"]
    assert len(result[3]) == 1


def test_what_the_script_set_itself_is_a_conflict_that_names_both(tmp_path):
    result, _ = answer("""
npu_device.global_options().dump_config.dump_step = "7"
print(json.dumps([refused(DumpSession, dump_path="d", dump_step=3), options()["enable_dump"],
                  os.environ.get("DUMP_GE_GRAPH")]))
""", tmp_path)
    (kind, text), enabled, graph = result
    assert kind == "ConfigError" and "'7'" in text and "'3'" in text and "dump_step" in text
    assert (enabled, graph) == ("0", None)  # nothing half done


def test_the_same_setting_in_the_script_is_no_conflict(tmp_path):
    result, _ = answer("""
npu_device.global_options().dump_config.dump_step = "3"
DumpSession(dump_path="d", dump_step=3)
print(json.dumps(options()["enable_dump"]))
""", tmp_path)
    assert result == "1"


def test_two_different_requests_before_open(tmp_path):
    result, _ = answer("""
DumpSession(dump_path="d", dump_step=3)
print(json.dumps([refused(DumpSession, dump_path="d", dump_step=4), options()["dump_step"]]))
""", tmp_path)
    assert result[0][0] == "ConfigError"
    assert ("dump_step is '3' in the script's DumpSession, '4' in the script's DumpSession."
            in result[0][1])
    assert result[1] == "3"


def test_the_launcher_wins_over_what_the_script_asks_for_after_open(tmp_path):
    result, stderr = answer("""
from keras_npu_dump.capture import attach
attach.start(DumpConfig(dump_path="d", dump_step=5), "keras-npu-dump run")
npu_device.open()
first, second = DumpSession(dump_step=3), DumpSession(dump_step="3")
print(json.dumps([first._capture is second._capture, options()["dump_step"]]))
""", tmp_path)
    assert result == [True, "5"]
    assert stderr.count("The script's DumpSession asks for dump_step='3'.") == 1


def test_the_launcher_takes_back_what_the_script_sets_before_and_after_it_asks(tmp_path):
    result, stderr = answer("""
from keras_npu_dump.capture import attach
line = DumpConfig(dump_path=os.path.abspath("d"), dump_step=None, dump_data="stats")
attach.expect_run(line, print)
theirs = npu_device.global_options().dump_config
theirs.dump_step, theirs.dump_mode = "7", "input"
dump = DumpSession(dump_path="own")
first = options()
theirs.dump_step, theirs.dump_data = "4", "tensor"
attach.start(line, "keras-npu-dump run")
print(json.dumps([first, options(), dump._capture.record.fields["asked_by"]]))
""", tmp_path)
    first, last, asked_by = result
    assert first == last
    assert [first[name] for name in ("dump_path", "dump_step", "dump_data", "dump_mode")] == [
        str(tmp_path / "d"), None, "stats", "input"]
    assert asked_by == ["keras-npu-dump run", "DumpSession"]
    assert [line.partition(" asks for ")[2] for line in stderr.splitlines()
            if " asks for " in line] == [
        end + " The command line of `keras-npu-dump run` holds: " + holds for end, holds in (
            ("dump_path='own'.", "dump_path='%s'." % (tmp_path / "d")),
            ("dump_step='7'.", "dump_step='all'."),
            ("dump_step='4', dump_data='tensor'.", "dump_step='all', dump_data='stats'."))]


def test_a_launcher_that_is_off_switches_off_what_the_script_asks_for(tmp_path):
    result, stderr = answer("""
from keras_npu_dump.capture import attach
attach.expect_run(DumpConfig.off(), print)
npu_device.global_options().dump_config.enable_dump = True
dump = DumpSession(dump_path="d")
keras_npu_dump.apply(dump_path="d")
attach.switch_off(npu_device)
print(json.dumps([dump.manifest, options()["enable_dump"], os.path.exists("d")]))
""", tmp_path)
    assert result == [None, "0", False]
    assert stderr.count("The script's DumpSession asks for a dump. The command line of") == 1
    assert stderr.count("asks for a dump") == 1  # once is enough


@pytest.mark.parametrize("theirs, ours, part", [
    ("enable_dump_debug = True", "dump_step='5', enable_dump=True", "enable_dump_debug is '1'"),
    ("enable_dump = True", "enable_dump_debug=True", "enable_dump is '1'"),
])
def test_data_dump_and_overflow_detection_are_one_choice(tmp_path, theirs, ours, part):
    result, _ = answer("""
npu_device.global_options().dump_config.%s
print(json.dumps(refused(DumpSession, dump_path="d", %s)))
""" % (theirs, ours), tmp_path)
    assert result[0] == "ConfigError" and part in result[1]


def test_later_ones_are_compared_with_what_the_device_was_opened_with(tmp_path):
    result, _ = answer("""
options_ = npu_device.global_options().dump_config
options_.enable_dump, options_.dump_path, options_.dump_step = True, os.path.abspath("d"), "5"
os.mkdir("d")
npu_device.open()
DumpSession()
print(json.dumps([refused(DumpSession, dump_step="5"), refused(DumpSession, dump_step="0")[0],
                  refused(DumpSession, dump_step=None)[0],
                  refused(DumpSession, config=DumpConfig(dump_step=None))[0]]))
""", tmp_path)
    assert result == [None] + ["DeviceOpenedError"] * 3


def test_attaching_looks_at_room_and_place_too(tmp_path):
    code = """
options_ = npu_device.global_options().dump_config
options_.enable_dump, options_.dump_path = True, os.path.abspath("d")
os.mkdir("d")
npu_device.open()
"""
    result, stderr = answer(code + """
print(json.dumps(refused(DumpSession, config=DumpConfig(min_free_gb=1e6))))
""", tmp_path)
    assert result[0] == "ConfigError" and "free" in result[1]
    result, stderr = answer(code.replace('"d"', '"e"') + "DumpSession()\nprint(1)", tmp_path)
    assert "Every iteration is dumped" in stderr and str(tmp_path / "e") in stderr


def test_an_npu_device_that_is_broken_says_what_it_lacks(tmp_path):
    (tmp_path / "npu_device").mkdir()
    (tmp_path / "npu_device" / "__init__.py").write_text("import missing_part_of_cann\n")
    done = run_python("import keras_npu_dump; keras_npu_dump.DumpSession()", tmp_path, check=False)
    assert "missing_part_of_cann" in done.stderr and "not installed here" not in done.stderr


def test_a_path_that_is_a_file(tmp_path):
    (tmp_path / "d").write_text("x")
    result, _ = answer("""
print(json.dumps([refused(DumpSession, dump_path="d"), refused(DumpSession, dump_path="d/e"),
                  options()["enable_dump"]]))
""", tmp_path)
    assert [one[0] for one in result[:2]] == ["ConfigError"] * 2
    assert "is not a folder" in result[0][1] and "is not a folder" in result[1][1]
    assert result[2] == "0"


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user to try it")
def test_a_path_that_may_not_be_written(tmp_path):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        os.mkdir(os.path.join(folder, "d"))
        result, _ = answer("""
os.chmod(%(path)r, 0o555)
os.setuid(65534)
print(json.dumps([refused(DumpSession, dump_path=%(path)r), os.path.isdir(%(path)r)]))
""" % {"path": os.path.join(folder, "d")}, tmp_path)
    assert result[1]
    assert result[0][0] == "ConfigError" and "may read and write" in result[0][1]


def test_a_folder_deleted_between_start_and_open_is_made_again(tmp_path):
    result, _ = answer("""
import shutil
dump = DumpSession(dump_path="out/d")
shutil.rmtree("out")
npu_device.open()
record = json.load(open(dump._capture.record.folder + "/run.json"))
print(json.dumps([os.path.isdir("out/d"), record["opened"], record["device"]]))
""", tmp_path, env={"ASCEND_DEVICE_ID": "3"})
    assert result == [True, True, 3]


@pytest.mark.parametrize("opening", [
    "from npu_device import open as held", "held = npu_device.npu_device.open",
    "import functools; held = functools.partial(npu_device.open, 0)"])
@pytest.mark.parametrize("counting", [True, False])
def test_an_open_of_another_name_is_seen_by_the_device(tmp_path, opening, counting):
    record, stderr = answer(opening + """
dump = DumpSession(dump_path="d", dump_step="0")
held()
if %r:
    with dump:
        pass
print(json.dumps(json.load(open(dump._capture.record.folder + "/run.json"))))
""" % counting, tmp_path, env={"ASCEND_DEVICE_ID": "0", "AOE_MODE": "1"})
    assert record["opened"] is counting  # otherwise it is noted at the end
    record = json.loads(next(tmp_path.glob("d/runs/*/run.json")).read_text())
    assert (record["opened"], record["device"]) == (True, 0)
    assert "never called" not in stderr and stderr.count("AOE_MODE=1") == 1


def test_a_device_that_nobody_has_opened_is_none(tmp_path):
    _, stderr = answer("""
from npu_device import open as held
with DumpSession(dump_path="d"):
    print(0)
""", tmp_path)
    record = json.loads(next(tmp_path.glob("d/runs/*/run.json")).read_text())
    assert record["opened"] is False and "npu_device.open() was never called" in stderr


def test_ranks_dump_by_options_alone(tmp_path):
    result, _ = answer("""
DumpSession(config=DumpConfig(dump_path="d", ranks=[0]))
print(json.dumps([options()["enable_dump"], os.environ["DUMP_GE_GRAPH"]]))
""", tmp_path, env={"RANK_ID": "1", "RANK_SIZE": "2"})
    assert result == ["0", "2"]


def test_every_iteration_of_tensors_is_warned_of_once(tmp_path):
    _, stderr = answer("""
DumpSession(dump_path="d", dump_step=None)
DumpSession()
print(1)
""", tmp_path)
    assert stderr.count("Every iteration is dumped") == 1
    _, stderr = answer("""
DumpSession(dump_path="e", dump_step="all", dump_data="stats")
print(1)
""", tmp_path)
    assert "Every iteration is dumped" not in stderr


def test_importing_the_package_imports_nothing_heavy(tmp_path):
    done = run_python("""
import sys
import keras_npu_dump, keras_npu_dump.flags, keras_npu_dump.config.dump_config
import keras_npu_dump.collector.collect
from keras_npu_dump import DumpSession, apply
print([name for name in ("tensorflow", "rich", "pandas", "google.protobuf") if name in sys.modules])
""", tmp_path)
    assert done.stdout.strip() == "[]"
