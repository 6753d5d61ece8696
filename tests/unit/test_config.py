"""Is what GE would reject rejected before anything starts?"""
import pathlib
import types

import numpy as np
import pytest

from keras_npu_dump.config.checks import parse_bool
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.errors import ConfigError


def test_defaults_are_one_iteration_of_everything():
    config = DumpConfig()
    assert config.npu_options == {
        "enable_dump": True, "dump_path": "output/data_dump", "dump_step": "0", "dump_mode": "all",
        "dump_data": "tensor", "enable_dump_debug": False, "dump_debug_mode": "all"}


def test_overflow_detection_switches_the_data_dump_off():
    config = DumpConfig(enable_dump_debug=True)
    assert (config.enable_dump, config.dump_path) == (False, "output/overflow_dump")
    assert "dump_step" not in config.npu_options  # GE ignores it there


@pytest.mark.parametrize("value", [None, "all"])
def test_every_iteration_leaves_the_vendors_field_alone(value):
    assert "dump_step" not in DumpConfig(dump_step=value).npu_options


@pytest.mark.parametrize("fields, expected, received", [
    (dict(enable_dump=True, enable_dump_debug=True), "one of", "both"),
    (dict(dump_step=""), "None or 'all'", "''"),
    (dict(dump_step="3-3"), "a < b", "'3-3'"),
    (dict(dump_step="|".join(map(str, range(0, 202, 2)))), "at most 100", "101 items"),
    (dict(dump_step="0 |5"), "items like", "'0 |5'"),
    (dict(dump_step="2147483648"), "2147483647", "'2147483648'"),
    (dict(dump_mode="both"), "'input', 'output', 'all'", "'both'"),
    (dict(dump_mode="ALL"), "'all'", "'ALL'"),
    (dict(dump_mode=None), "'all'", "None"),
    (dict(dump_data="tensors"), "'tensor', 'stats'", "'tensors'"),
    (dict(dump_debug_mode="some"), "'aicore_overflow'", "'some'"),
    (dict(enable_dump="maybe"), "true or false", "'maybe'"),
    (dict(dump_path=5), "path of a folder", "5"),
    (dict(dump_path="a\0b"), "NUL", "a\\x00b"),
    (dict(dump_layer=["a b"]), "without blanks", "'a b'"),
    (dict(dump_layer=[1]), "operator names", "[1]"),
    (dict(dump_layer=7), "operator names", "7"),
    (dict(ranks="a"), "rank numbers", "'a'"),
    (dict(graph_level=9), "1, 2, 3", "'9'"),
    (dict(graph_level="PreRunBegin"), "Build", "'PreRunBegin'"),
    (dict(min_free_gb="much"), "gigabytes", "'much'"),
    (dict(min_free_gb=-1), "gigabytes", "-1"),
])
def test_one_clear_message(fields, expected, received):
    with pytest.raises(ConfigError) as error:
        DumpConfig(**fields)
    text = str(error.value)
    assert expected in text and received in text and "Received" in text


@pytest.mark.parametrize("value, text", [
    (["a/b", "c"], "a/b c"), ("  a/b \t c ", "a/b c"), ("", ""), (None, ""), ([], ""),
    (("x",), "x"), ({"b", "a"}, "a b"), (" all ", ""), ("all a", "all a"),
])
def test_dump_layer_as_text_or_list(value, text):
    assert DumpConfig(dump_layer=value).dump_layer == text
    assert DumpConfig(dump_layer=value).npu_options.get("dump_layer", "") == text


def test_paths_may_be_path_objects():
    assert DumpConfig(dump_path=pathlib.PurePosixPath("a/b")).dump_path == "a/b"


@pytest.mark.parametrize("text, value", [
    ("True", True), ("true", True), ("1", True), (1, True), ("on", True), ("yes", True),
    ("False", False), ("false", False), ("0", False), (0, False), ("off", False),
    ("", None), (None, None), ("None", None), (True, True),
])
def test_switches_as_shell_scripts_write_them(text, value):
    assert parse_bool(text) is value


# --- flags of existing mains

def flags(**values):
    return types.SimpleNamespace(**values)


def test_the_string_false_is_false():
    assert DumpConfig.from_flags(flags(data_dump_flag="False", over_dump="False")).is_off


def test_an_absent_switch_is_off():
    assert DumpConfig.from_flags(flags(data_dump_flag=None, data_dump_step="10")).is_off


def test_an_empty_path_is_the_default_path():
    config = DumpConfig.from_flags(
        flags(data_dump_flag="True", data_dump_path="", data_dump_step=""))
    assert (config.dump_path, config.dump_step.text) == ("output/data_dump", "0")


def test_the_block_that_all_mains_have():
    config = DumpConfig.from_flags(flags(
        data_dump_flag=True, data_dump_step="10", data_dump_path="/d", over_dump=False,
        over_dump_path="/o", profiling=False, precision_mode="allow_mix_precision"))
    assert (config.dump_path, config.dump_step.text, config.dump_mode) == ("/d", "10", "all")


def test_overflow_takes_its_own_path():
    config = DumpConfig.from_flags(flags(over_dump=True, data_dump_path="/d", over_dump_path="/o"))
    assert (config.enable_dump_debug, config.enable_dump, config.dump_path) == (True, False, "/o")


def test_an_integer_step_is_taken():
    config = DumpConfig.from_flags(flags(data_dump_flag=True, data_dump_step=10))
    assert config.dump_step.text == "10"


def test_both_switches_name_both_flags():
    with pytest.raises(ConfigError, match="data_dump_flag and over_dump"):
        DumpConfig.from_flags(flags(data_dump_flag=True, over_dump=True))


def test_a_path_in_over_dump_is_told_where_it_belongs():
    with pytest.raises(ConfigError, match="over_dump_path"):
        DumpConfig.from_flags(flags(over_dump="/some/where"))


def test_what_mains_should_no_longer_do_is_told(capfd):
    config = DumpConfig.from_flags(flags(data_dump_flag=True, data_dump_path="/home/data",
                                         data_dump_step=10))
    assert (config.dump_path, config.dump_step.text) == ("/home/data", "10")
    stderr = capfd.readouterr().err
    assert "old default" in stderr and "numeric flag" in stderr
    DumpConfig.from_flags(flags(data_dump_flag=False, data_dump_path="/home/data"))
    assert capfd.readouterr().err == ""


def test_switched_off_asks_nothing_of_the_rest():
    assert DumpConfig.from_flags(flags(data_dump_flag=False, data_dump_step="3-3")).is_off


def test_arguments_win_over_flags():
    config = DumpConfig.from_flags(flags(data_dump_flag=True, data_dump_step="10"), dump_step=3)
    assert config.dump_step.text == "3"


def test_an_object_without_any_flag_is_refused():
    with pytest.raises(ConfigError, match="define_flags"):
        DumpConfig.from_flags(flags(batch_size=32))


def test_explicit_is_what_was_given_even_where_it_is_the_default():
    assert DumpConfig().explicit == frozenset()
    assert DumpConfig(dump_step=None).explicit == {"dump_step"}
    assert DumpConfig(dump_step="0").explicit == {"dump_step"}
    assert DumpConfig(dump_step=np.array([0, 5])).dump_step.text == "0|5"
    assert DumpConfig(dump_step="5", dump_path="d").explicit == {"dump_step", "dump_path"}
    assert DumpConfig(explicit=("dump_step",)).explicit == {"dump_step"}
    assert DumpConfig().replace(dump_step="0").explicit == {"dump_step"}
    assert DumpConfig(dump_step="5").at("/x").explicit == {"dump_step"}
    assert DumpConfig(dump_step="5", explicit=()) == DumpConfig(dump_step="5")
