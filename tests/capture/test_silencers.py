"""Are settings that silence a dump named, and harmless ones left alone?"""
import pytest

from keras_npu_dump.capture.device import dump_blockers
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.emulator.api.global_options import NpuConfig


@pytest.mark.parametrize("environment, codes", [
    ({}, []),
    ({"DUMP_GE_GRAPH": "2", "DUMP_GRAPH_LEVEL": "3", "DUMP_GRAPH_FORMAT": "ge_proto"}, []),
    ({"DUMP_GE_GRAPH": "1", "DUMP_GRAPH_LEVEL": "1"}, []),
    ({"DUMP_GE_GRAPH": "3x"}, []),
    ({"DUMP_GRAPH_LEVEL": "PreRunBegin|Build"}, []),
    ({"AOE_MODE": ""}, []),
    ({"NPU_COLLECT_PATH": ""}, ["collect-path"]),
    ({"NPU_COLLECT_PATH": "/x"}, ["collect-path"]),
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


def test_an_overflow_mode_that_newer_chips_do_not_know():
    config = DumpConfig(enable_dump_debug=True, dump_debug_mode="aicore_overflow")
    assert codes_of(Module(), config) == ["overflow-mode"]
    assert codes_of(Module(), config.replace(dump_debug_mode="all")) == []


def test_an_older_adapter_without_an_option_is_no_finding():
    class Older:
        def global_options(self):
            return object()
    assert codes_of(Older()) == []
