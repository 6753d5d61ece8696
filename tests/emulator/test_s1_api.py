"""Reference, semantics 1: npu_device's API, its options, and when GE complains."""
import os

import pytest

from keras_npu_dump import emulator
from keras_npu_dump.emulator.ge.ge_session import GeSession, check_options
from keras_npu_dump.errors import ConfigError
from tests.conftest import run_python


@pytest.fixture
def api(observe):
    return observe("api", NPU_LOOP_SIZE="2").result  # 4 by the time of the import


def test_fact_1_public_names(api):
    assert api["public"] == sorted([
        "open", "global_options", "set_npu_loop_size", "npu_run_context", "set_device_sat_mode",
        "is_inf_nan_enabled", "keep_dtype_scope", "npu_recompute_scope", "distribute", "train",
        "ops", "compat", "configs", "gen_npu_ops"])
    assert api["close at top"] is False


def test_fact_1_open_takes_the_id_from_ascend_device_id(api):
    assert api["name"].endswith("device:NPU:3")


def test_what_scripts_import_is_there(api):
    assert api["imports"] == [True, True, True]


def test_fact_2_npu_loop_size_is_read_when_npu_device_is_imported(api):
    assert api["loop size of NPU_LOOP_SIZE"] == 4


def test_fact_4_a_loop_size_below_1_is_logged_and_ignored(api):
    assert api["loop size"] == 4


def test_fact_1_options_are_those_of_the_moment_of_open(api):
    assert api["snapshot"] == "4"


def test_fact_1_open_again_gives_the_same_handle(api):
    assert api["same"] is True


def test_fact_1_open_of_another_device_is_refused(api):
    assert api["other id"] == "Failed create npu instance on device 1 as existed instance on [3]"


def test_fact_1_after_close_open_still_returns_the_old_handle(api):
    assert api["after close"] is True


def test_fact_1_what_tells_that_the_device_is_open(api):
    assert api["probe before"] == [False, True]
    assert api["probe opened"] == [[3], True]
    assert api["probe default"] is True and api["as_default"] is True


def test_fact_1_run_context_checks_its_argument(api):
    assert api["run context"] == "options type must be NpuRunContextOptions"


def test_the_stand_in_is_marked(api):
    assert api["before"] is False and api["after"] is True and api["marked"] is True


def test_what_needs_a_device_says_so(api):
    assert api["missing"].startswith(
        "npu_device.gen_npu_ops.nothing: the emulator does not have this operator, which ")
    assert api["loss scale"] is True


def test_fact_5_the_time_folder_appears_when_something_is_dumped(api):
    assert api["time folder exists"] is False


def options(path, **changes):
    base = {"enable_dump": "1", "dump_path": str(path), "enable_dump_debug": "0",
            "dump_mode": "output", "dump_debug_mode": "all", "dump_data": "tensor"}
    base.update(changes)
    return {key: value for key, value in base.items() if value is not None}


@pytest.mark.parametrize("step", ["0", "0|3-5|10", "5-6", "|".join(["1"] * 100), "2147483647", ""])
def test_fact_1_steps_that_ge_takes(tmp_path, step):
    assert check_options(options(tmp_path, dump_step=step)) is None


@pytest.mark.parametrize("step", [
    "a", "3-3", "5-1", "-5", "5-", " 1", "1 ", "0||5", "5|", "1,2", "all", "2147483648",
    "1-2-3", "|".join(["1"] * 101)])
def test_fact_1_steps_that_ge_refuses(tmp_path, step):
    assert check_options(options(tmp_path, dump_step=step)).startswith("E10001")


@pytest.mark.parametrize("changes, code", [
    ({"enable_dump_debug": "1"}, "E10001"), ({"dump_path": None}, "E10058"),
    ({"dump_path": "/not/there"}, "E10001"), ({"dump_mode": "both"}, "E10001"),
    ({"enable_dump": "2"}, "E10001"),
    ({"enable_dump": "0", "enable_dump_debug": "1", "dump_debug_mode": "x"}, "E10001")])
def test_fact_1_what_else_ge_refuses(tmp_path, changes, code):
    assert check_options(options(tmp_path, **changes)).startswith(code)


def test_fact_1_a_file_is_no_dump_path(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    assert check_options(options(file)).startswith("E10001")


def test_fact_1_a_path_without_read_and_write_access_is_refused(tmp_path, monkeypatch):
    # Root may write everywhere, so the answer of the system is replaced.
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    assert check_options(options(tmp_path)).startswith("E10001")


def test_fact_1_nothing_is_checked_while_both_switches_are_off():
    assert check_options({"enable_dump": "0", "dump_path": "/not/there", "dump_step": "x"}) is None


def test_fact_1_dump_data_is_not_checked_anything_else_means_tensor(tmp_path):
    session = GeSession(options(tmp_path, dump_data="stats"), 0)
    assert session.stats and session.fault is None
    session = GeSession(options(tmp_path, dump_data="STATS"), 0)
    assert not session.stats and session.fault is None


def test_fact_1_a_bad_option_lets_open_succeed_and_fails_the_first_graph(observe):
    seen = observe("fault").result
    assert seen["opened"] is True
    kinds = [error[0] for error in seen["errors"]]
    assert kinds == ["InternalError"] * 4  # a variable, a function, an iterator, a fit
    for _, message, code in seen["errors"]:
        assert message.startswith("Graph engine Add graph:\nE10001") and code == 13
    operators = [error[1].rpartition("[Op:")[2].rstrip("]") for error in seen["errors"]]
    assert operators[0] == "AssignVariableOp" and operators[2].startswith("dp_init_")
    assert seen["plain eager"] == 2.0  # no graph, no failure


@pytest.mark.parametrize("fault, text", [
    ("both", "E10001: ge.exec.enableDump and ge.exec.enableDumpDebug cannot be set to 1 at"),
    ("step", "E10001: invalid ge.exec.dumpStep. Valid format: '0|5|10|50-100'.")])
def test_fact_1_a_bad_option_of_another_kind_fails_the_first_graph_too(observe, fault, text):
    message = observe("fault").result["others"][fault]
    assert message.startswith("Graph engine Add graph:\n" + text)


def test_fact_1_a_failed_graph_has_not_run_and_does_not_count(observe):
    seen = observe("fault").result
    assert seen["graphs"] == 0 and seen["graphs after fit"] == 0
    assert seen["iterations"] == 3 and seen["count"] == [3]


def test_the_emulator_refuses_to_hide_a_real_npu_device(tmp_path, monkeypatch):
    if emulator.installed():
        pytest.skip("installed in this process by another test")
    (tmp_path / "npu_device").mkdir()
    (tmp_path / "npu_device" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match="a real npu_device"):
        emulator.install()
    assert not emulator.installed()


@pytest.mark.parametrize("begin", ["from keras_npu_dump import emulator; emulator.install()",
                                   "from keras_npu_dump import emulator\n"
                                   "sys.path.append(emulator.children_folder())"])
def test_importing_it_imports_tensorflow_while_it_is_still_empty(tmp_path, begin):
    (tmp_path / "tensorflow.py").write_text(
        "import sys\nprint('open' in vars(sys.modules['npu_device']))\n")
    done = run_python("import sys\n%s\nimport npu_device\nprint(npu_device.open.__name__, "
                      "npu_device.__emulated__, sys.modules['npu_device'] is npu_device)" % begin,
                      tmp_path)
    assert done.stdout.split() == ["False", "open", "True", "True"]
