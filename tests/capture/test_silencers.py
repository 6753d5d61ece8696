"""Are settings that silence a dump named, and harmless ones left alone?"""
import pytest

from keras_npu_dump.capture.device import dump_blockers
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.emulator.api.global_options import NpuConfig
from keras_npu_dump.emulator.ge.ge_session import GeSession


@pytest.mark.parametrize("environment, codes", [
    ({}, []),
    ({"DUMP_GE_GRAPH": "2", "DUMP_GRAPH_LEVEL": "3", "DUMP_GRAPH_FORMAT": "ge_proto"}, []),
    ({"DUMP_GE_GRAPH": "1", "DUMP_GRAPH_LEVEL": "1"}, []),
    ({"DUMP_GE_GRAPH": "3x"}, []),
    ({"DUMP_GRAPH_LEVEL": "PreRunBegin|Build"}, []),
    ({"AOE_MODE": ""}, []),
    ({"NPU_COLLECT_PATH": ""}, ["collect-path"]),
    ({"NPU_COLLECT_PATH": "/x"}, ["collect-path"]),
    ({"NPU_COLLECT_PATH_EXE": "/x"}, ["collect-path"]),
    ({"NPU_COLLECT_PATH_EXE": ""}, []),
    ({"ASCEND_DUMP_SCENE": "aic_err_brief_dump"}, []),
    ({"ASCEND_DUMP_SCENE": "aic_err_norm_dump"}, ["dump-scene"]),
    ({"ASCEND_DUMP_SCENE": "aic_err_detail_dump"}, ["dump-scene"]),
    ({"ASCEND_DUMP_SCENE": "data"}, ["dump-scene"]),
    ({"ASCEND_DUMP_PATH": "/x"}, ["dump-path-variable"]),
    ({"DUMP_GRAPH_FORMAT": "readable"}, ["graph-format"]),
    ({"DUMP_GRAPH_FORMAT": "readable|GE_PROTO"}, []),
    ({"AOE_MODE": "1"}, ["aoe"]),
    ({"DUMP_GE_GRAPH": "0"}, ["graph-off"]),
    ({"DUMP_GE_GRAPH": ""}, ["graph-off"]),
    ({"DUMP_GE_GRAPH": "4"}, ["graph-off"]),
    ({"DUMP_GE_GRAPH": "on"}, ["graph-off"]),
    ({"DUMP_GRAPH_LEVEL": "4"}, ["graph-level"]),
    ({"DUMP_GRAPH_LEVEL": ""}, ["graph-level"]),
    ({"DUMP_GRAPH_LEVEL": "PreRunBegin"}, ["graph-level"]),
    ({"DUMP_GRAPH_FORMAT": "onnx"}, ["graph-format"]),
    ({"NPU_LOOPSIZE": "100"}, ["loop-misspelt"]),
])
def test_environment(environment, codes):
    found = dump_blockers.of_environment(environment)
    assert [one.code for one in found] == codes
    for one in found:
        # Each names the variable, and what to do or what is read instead.
        assert any(name in one.message for name in environment)
        assert any(word in one.message for word in ("nset it", "NPU_LOOP_SIZE"))


@pytest.mark.parametrize("environment, exceptions, moves", [
    ({"NPU_COLLECT_PATH": "/x"}, True, True),
    ({"NPU_COLLECT_PATH_EXE": "/x"}, True, False),
    ({"NPU_COLLECT_PATH": "/x", "NPU_COLLECT_PATH_EXE": "/y"}, True, True),
    # GE looks at the second only where the first is not there, and an empty text does nothing.
    ({"NPU_COLLECT_PATH": "", "NPU_COLLECT_PATH_EXE": "/y"}, False, True),
])
def test_what_forces_exception_dump_and_what_moves_graphs(monkeypatch, environment, exceptions,
                                                          moves):
    [found] = dump_blockers.of_environment(environment)
    assert ("silences the data dump" in found.message) == exceptions
    assert ("extra-info/graph" in found.message) == moves
    for name in ("NPU_COLLECT_PATH", "NPU_COLLECT_PATH_EXE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert GeSession({}, 0).exception_dump == exceptions


def test_what_ge_writes_all_the_same_makes_no_dump_fail():
    found = dump_blockers.of_environment(
        {"DUMP_GE_GRAPH": "0", "DUMP_GRAPH_LEVEL": "4", "DUMP_GRAPH_FORMAT": "readable"})
    assert [one.fatal for one in found] == [False] * 3
    assert "PreRunBegin alone" in found[1].message and "ge_readable" in found[2].message
    assert all("writes the executed graphs" in one.message for one in found)


class Module:
    """npu_device as far as options go; their classes are the emulator's."""

    def __init__(self):
        self.options = NpuConfig()

    def global_options(self):
        return self.options


def codes_of(module, config=None):
    return [one.code for one in dump_blockers.of_options(module, config or DumpConfig())]


def test_options():
    module = Module()
    assert codes_of(module) == []
    module.options.enable_exception_dump = 1
    assert codes_of(module) == ["exception-dump"]
    module.options.enable_exception_dump = 0
    module.options.aoe_config.aoe_mode = "2"
    module.options.graph_compiler_cache_dir = "/cache"
    assert codes_of(module) == ["aoe", "graph-cache"]


@pytest.mark.parametrize("text, told", [
    ("op_debug_config = ccec_g, oom\nop_debug_list=MatMul\n", "ccec_g, oom"),
    ("op_debug_config=dump_cce,dump_loc", None), ("op_debug_config =", None), ("", None),
    (None, "cannot be read here")])
def test_operators_that_are_compiled_for_debugging(tmp_path, monkeypatch, text, told):
    monkeypatch.setenv("NPU_COLLECT_PATH", "/x")
    module = Module()
    module.options.op_debug_config = str(tmp_path / "debug.cfg")
    if text is not None:
        (tmp_path / "debug.cfg").write_text(text)
    found = dump_blockers.of_options(module, DumpConfig())
    assert [one.code for one in found] == ([] if told is None else ["op-debug"])
    assert told is None or told in found[0].message
    assert [one for one in found if "operators fail" in one.message] == [
        one for one in found if "oom" in one.message]


def test_an_overflow_mode_that_newer_chips_do_not_know():
    config = DumpConfig(enable_dump_debug=True, dump_debug_mode="aicore_overflow")
    assert codes_of(Module(), config) == ["overflow-mode"]
    assert codes_of(Module(), config.replace(dump_debug_mode="all")) == []


def test_an_older_adapter_without_an_option_is_no_finding():
    class Older:
        def global_options(self):
            return object()
    assert codes_of(Older()) == []
