"""Is each dump option said once, and does every surface have it?"""
import ast
import dataclasses
import inspect
import pathlib

import pytest

import keras_npu_dump
from keras_npu_dump import DumpConfig, errors
from keras_npu_dump.config import options
from keras_npu_dump.config.options import BY_NAME, FLAGS

SURFACES = (keras_npu_dump.DumpSession, keras_npu_dump.apply, DumpConfig)


def typed_options():
    """The keys of DumpOptions, which only type checkers make."""
    tree = ast.parse(pathlib.Path(options.__file__).read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree)
             if isinstance(node, ast.ClassDef) and node.name == "DumpOptions"]
    return [line.target.id for line in found[0].body if isinstance(line, ast.AnnAssign)]


def test_table_types_and_attributes_name_the_same_options():
    assert typed_options() == list(BY_NAME)
    fields = [field.name for field in dataclasses.fields(DumpConfig)]
    assert fields == list(BY_NAME) + ["explicit"]


@pytest.mark.parametrize("surface", SURFACES, ids=lambda one: one.__name__)
def test_every_surface_has_every_option_with_its_default(surface):
    parameters = inspect.signature(surface).parameters
    assert {name: parameters[name].default for name in BY_NAME} == {
        option.name: option.default for option in options.OPTIONS}
    for option in options.OPTIONS:
        assert "\n      %s: " % option.name in surface.__doc__
        assert " ".join(option.doc.split()) in " ".join(surface.__doc__.split())


def test_the_callback_has_them_too():
    tf = pytest.importorskip("tensorflow")
    callback = keras_npu_dump.NpuDumpCallback
    assert issubclass(callback, tf.keras.callbacks.Callback)
    assert set(BY_NAME) | {"config"} == set(inspect.signature(callback).parameters)
    assert "dump_debug_mode: " in callback.__doc__


@pytest.mark.parametrize("surface", SURFACES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("name, near", [
    ("dump_stpe", "dump_step"), ("dump_layers", "dump_layer"), ("stric", "strict"),
    ("data_dump_mode", "dump_mode"), ("xyzzy", None)])
def test_a_misspelt_option_is_answered_with_the_nearest_name(surface, name, near):
    with pytest.raises(errors.ConfigError) as error:
        surface(**{name: "1"})
    assert isinstance(error.value, TypeError)
    assert name in str(error.value)
    if near is None:
        assert "did you mean" not in str(error.value)
    else:
        assert "did you mean %s?" % near in str(error.value)


def test_defaults_of_flags_are_those_of_the_options():
    for flag in FLAGS:
        option = BY_NAME[options.FIELD_OF_FLAG[flag.name]]
        if flag.default != "" and option.name != "enable_dump":
            assert option.check(flag.default) == option.check(option.default), flag.name


def test_a_config_and_options_at_once_are_refused():
    with pytest.raises(errors.ConfigError, match="config and dump_step"):
        keras_npu_dump.DumpSession(DumpConfig(), dump_step="1")


@pytest.mark.parametrize("name", ["DumpSession", "DumpConfig", "NpuDumpCallback"])
def test_a_value_without_a_name_is_refused_with_the_name_that_it_may_want(name):
    if name == "NpuDumpCallback":
        pytest.importorskip("tensorflow")
    with pytest.raises(errors.ConfigError, match="dump_path"):
        getattr(keras_npu_dump, name)("output")
