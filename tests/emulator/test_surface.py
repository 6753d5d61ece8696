"""Is the stand-in what the vendor's newest layer was measured to be, name by name?"""
import ast
import json

import pytest

from keras_npu_dump.emulator.api import npu_device, option_tables
from keras_npu_dump.emulator.api.global_options import NpuConfig, NpuDumpConfig
from keras_npu_dump.emulator.api.option_kinds import DeprecatedValue, NpuBaseConfig
from keras_npu_dump.emulator.ge.generation import VARIABLE
from keras_npu_dump.emulator.vendor_modules import module_table


@pytest.fixture(scope="module")
def measured(shared_fixtures):
    with open(str(shared_fixtures / "vendor_surface.json")) as stream:
        return json.load(stream)


def every_option(group, prefix=""):
    for name in group._fixed_attrs:
        option = getattr(group, name)
        if isinstance(option, NpuBaseConfig):
            yield from every_option(option, prefix + name + ".")
        else:
            yield prefix + name, option


def outcome(path, text):
    """What an assignment does, in the fixture's words."""
    group = NpuConfig()
    *groups, name = path.split(".")
    for one in groups:
        group = getattr(group, one)
    try:
        setattr(group, name, ast.literal_eval(text))
    except (TypeError, ValueError) as error:
        return type(error).__name__
    return "ok %r" % (getattr(group, name).value,)


def test_options_their_kinds_defaults_and_choices(measured):
    assert {path: {"kind": type(option).__name__, "default": repr(option.default),
                   "allowed": repr(option.optional),
                   "replacement": getattr(option, "replacement", None)}
            for path, option in every_option(NpuConfig())} == measured["options"]


def test_what_every_assignment_does(measured):
    done = {text: outcome(*text.split("=", 1)) for text in measured["assignments"]}
    assert {text: done[text] for text in done if done[text] != measured["assignments"][text]} == {}


def test_the_dictionary_of_the_defaults(measured):
    assert NpuConfig().as_dict() == measured["as_dict_of_defaults"]


@pytest.fixture(scope="module")
def seen(observe, shared_fixtures):
    """What a process finds that imports the fixture's modules in their order."""
    return observe("surface", SURFACE=str(shared_fixtures / "vendor_surface.json")).result


def test_modules_and_their_public_names(measured, seen):
    expected = dict(measured["modules"])
    # The vendor's source tree was measured; its wheels have this one, which the build copies in.
    assert expected.pop("npu_device.compat.v1").startswith("ModuleNotFoundError")
    found = {place: names if isinstance(names, str) else sorted(names)
             for place, names in seen["modules"].items()}
    found.pop("npu_device.compat.v1")
    assert found == expected


def test_every_name_gives_something(seen):
    lacking = {"%s.%s" % (place, name) for place in seen["modules"]
               for name, source in module_table.TABLE.get(place, {}).items() if source is None}
    assert set(seen["empty"]) == lacking
    assert {name.rpartition(".")[0] for name in lacking} <= set(module_table.OPERATORS)


def test_signatures(measured, seen):
    assert seen["signatures"] == measured["signatures"]


def test_run_context_options(measured, seen):
    assert seen["run_context_options"] == measured["run_context_options"]


def test_the_whole_fixture_is_tested(measured):
    assert sorted(measured) == ["as_dict_of_defaults", "assignments", "modules", "options",
                                "run_context_options", "signatures", "source"]


@pytest.mark.parametrize("name, value, words", [
    ("op_debug_level", 2, "set 'op_debug_config' instead"),
    ("variable_format_optimize", True, "do not set it any more")])
def test_a_deprecated_option_that_is_set_is_warned_of_at_open(capsys, name, value, words):
    options = NpuConfig()
    assert isinstance(getattr(options, name), DeprecatedValue)
    options.as_dict()
    assert capsys.readouterr().out == ""
    setattr(options, name, value)
    assert options.as_dict()[name] == str(int(value))
    line, = capsys.readouterr().out.splitlines()
    assert line.startswith("[warning][tf_adapter] Option '%s' is deprecated" % name)
    assert words in line


@pytest.mark.parametrize("release", ["2022", "old"])
def test_older_releases_have_options_of_their_own(monkeypatch, release):
    monkeypatch.setenv(VARIABLE, release)
    options = NpuConfig()
    options.auto_tune_mode = "RL,GA"
    options.precision_mode = "allow_mix_precision"
    with pytest.raises(ValueError, match="NpuConfig has no option oo_level"):
        options.oo_level = "O1"
    assert options.hcom_parallel.value == "0"
    assert ("dump_layer" in options.dump_config._fixed_attrs) == (release == "2022")
    assert hasattr(options, "aoe_config") == (release == "2022")
    if release == "old":
        with pytest.raises(ValueError, match="NpuDumpConfig has no option dump_data"):
            NpuDumpConfig().dump_data = "stats"


def test_every_group_of_a_table_is_a_class_of_the_stand_in():
    for release in ("new", "2022", "old"):
        table = option_tables.of(release)
        groups = {spec for options in table.values() for spec in options.values()
                  if isinstance(spec, str)}
        assert groups <= set(table)
    assert npu_device.NpuConfig is NpuConfig
