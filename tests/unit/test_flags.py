"""Do the flags live beside those of mains that exist?"""
import argparse
import ast
import os
import sys

import pytest
from absl import flags as absl_flags

from keras_npu_dump import flags
from keras_npu_dump.config import dump_config
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.config.options import BY_NAME, FIELD_OF_FLAG, FLAGS
from keras_npu_dump.errors import ConfigError


@pytest.fixture
def values():
    values = absl_flags.FlagValues()
    values.set_gnu_getopt(False)
    flags.define_flags(values)
    return values


def test_every_flag_has_a_field_and_the_other_way_round():
    assert {flag.name for flag in FLAGS} == set(FIELD_OF_FLAG)
    assert set(FIELD_OF_FLAG.values()) == set(BY_NAME)


def test_defaults_are_those_of_the_config(values):
    values(["main"])
    assert DumpConfig.from_flags(values).is_off
    values(["main", "--data_dump_flag"])
    assert DumpConfig.from_flags(values) == DumpConfig()


def test_the_usual_command_line_of_shell_scripts(values):
    values(["main", "--over_dump=False", "--over_dump_path=", "--data_dump_flag=True",
            "--data_dump_step=10", "--data_dump_path="])
    assert DumpConfig.from_flags(values) == DumpConfig(dump_step="10")


@pytest.mark.parametrize("argument, value", [
    ("--over_dump", True), ("--over_dump=True", True), ("--over_dump=true", True),
    ("--over_dump=1", True), ("--over_dump=on", True), ("--noover_dump", False),
    ("--over_dump=", None), ("--over_dump=No", False),
])
def test_switches_are_lenient(values, argument, value):
    values(["main", argument])
    assert values.over_dump is value


def test_a_path_in_over_dump_says_where_it_belongs(values):
    with pytest.raises(absl_flags.IllegalFlagValueError, match="over_dump_path"):
        values(["main", "--over_dump=/x/y"])


def test_a_word_that_is_no_choice(values):
    with pytest.raises(absl_flags.IllegalFlagValueError, match="input"):
        values(["main", "--data_dump_mode=both"])


def test_parsing_stops_at_the_script(values):
    assert values(["run", "--data_dump_step=5", "train.py", "--data_dump_step=7"]) == [
        "run", "train.py", "--data_dump_step=7"]
    assert values.data_dump_step == "5"


def test_a_flagfile_brings_the_same(values, tmp_path):
    file = tmp_path / "next.flags"
    file.write_text("--data_dump_layer=a/b c/d\n--data_dump_step=3\n")
    values(["run", "--flagfile=%s" % file, "train.py"])
    assert (values.data_dump_layer, values.data_dump_step) == ("a/b c/d", "3")


def test_what_was_set_can_be_written_out_and_read_again(values):
    values(["main", "--data_dump_flag", "--data_dump_mode=input", "--data_dump_layer=a b"])
    text = values.flags_into_string()
    again = absl_flags.FlagValues()
    flags.define_flags(again)
    again(["main"] + text.splitlines())
    assert DumpConfig.from_flags(again) == DumpConfig.from_flags(values)


def test_beside_a_main_that_defined_some_already():
    values = absl_flags.FlagValues()
    absl_flags.DEFINE_boolean("data_dump_flag", False, "theirs", flag_values=values)
    absl_flags.DEFINE_integer("data_dump_step", 10, "theirs", flag_values=values)
    flags.define_flags(values)
    flags.define_flags(values)
    values(["main", "--data_dump_flag"])
    assert values["data_dump_step"].help == "theirs"
    assert DumpConfig.from_flags(values).dump_step.text == "10"


def test_reading_before_parsing_names_app_run(values):
    with pytest.raises(ConfigError, match=r"app\.run"):
        DumpConfig.from_flags(values)


def test_argparse_has_the_same():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_dump_flag", type=ast.literal_eval)
    parser.add_argument("--data_dump_step", default="10")
    flags.add_arguments(parser)
    flags.add_arguments(parser)
    args = parser.parse_args(["--data_dump_flag=True", "--data_dump_path=", "--data_dump_collect",
                              "--data_dump_data=stats", "--over_dump="])
    assert DumpConfig.from_flags(args) == DumpConfig(dump_step="10", dump_data="stats")


def strict_parser():
    parser = argparse.ArgumentParser(prog="main.py")
    parser.add_argument("data")
    parser.add_argument("--name", required=True)
    parser.add_argument("--epochs", type=int, default=1)
    flags.add_arguments(parser)
    return parser


@pytest.mark.parametrize("form", ["--flagfile=%s", "--flagfile %s"])
def test_argparse_reads_a_flag_file_as_absl_does(values, tmp_path, form):
    file = tmp_path / "next.flags"
    file.write_bytes("# 注\n\n  --data_dump_flag=True \r\n// no\n--data_dump_layer=a/b c/d\r"
                     "--data_dump_step=3\n--data_dump_path=/a b/c\n".encode())
    values(["main", "--flagfile=%s" % file])
    args = strict_parser().parse_args((form % file).split(" ") + ["--name=x", "data"])
    found = DumpConfig.from_flags(args)
    assert found == DumpConfig.from_flags(values)
    assert (found.layers, found.dump_step.text, found.dump_path) == (["a/b", "c/d"], "3", "/a b/c")


def test_in_a_flag_file_are_the_main_s_own_options_too_and_what_comes_later_wins(tmp_path):
    file = tmp_path / "my.flags"
    file.write_text("--epochs\n5\n--data_dump_step=3\n--data_dump_flag\n")
    args = strict_parser().parse_args(
        ["--data_dump_step=1", "--epochs=2", "data", "--flagfile", str(file), "--name=x",
         "--epochs=7"])
    assert (args.epochs, args.data_dump_step, args.data_dump_flag, args.name, args.data) == (
        7, "3", True, "x", "data")
    # What is required is so on the command line.
    with pytest.raises(SystemExit):
        strict_parser().parse_args(["data", "--flagfile", str(file)])


@pytest.mark.parametrize("line, part", [
    ("train.py", "'train.py'"), ("--epochs=x", "--epochs: invalid int value: 'x'"),
    ("--no_such=1", "'--no_such=1'"), ("--flagfile=my.flags", "'--flagfile=my.flags'"),
    ("--data_dump_flag=perhaps", "expected true or false"), ("--epochs", "--epochs"),
    ("--data_dump_st=1", "'--data_dump_st=1'"), (None, "cannot read"), (b"\xff", "UTF-8"),
    ("fifo", "a FIFO"),
])
def test_argparse_tells_what_is_wrong_in_a_flag_file(tmp_path, capsys, line, part):
    file = tmp_path / "my.flags"
    if line == "fifo":
        os.mkfifo(str(file))
    elif line is not None:
        file.write_bytes(line if isinstance(line, bytes) else line.encode())
    with pytest.raises(SystemExit) as ended:
        strict_parser().parse_args(["data", "--name=x", "--flagfile=%s" % file])
    last = capsys.readouterr().err.splitlines()[-1]
    assert ended.value.code == 2 and part in last
    assert last.startswith("main.py: error: argument --flagfile: ")


def test_types_and_prefixes_that_a_main_has_made_hold_in_a_flag_file(tmp_path):
    file = tmp_path / "my.flags"
    file.write_text("+warm=yes\n--data_dump_step=3\n")
    parser = argparse.ArgumentParser(prefix_chars="-+")
    parser.register("type", "bool", lambda text: text == "yes")
    parser.add_argument("+warm", type="bool", default=False)
    flags.add_arguments(parser)
    args = parser.parse_args(["--flagfile=%s" % file])
    assert (args.warm, args.data_dump_step) == (True, "3")


def test_a_main_that_has_a_flagfile_of_its_own_keeps_it():
    parser = argparse.ArgumentParser()
    parser.add_argument("--flagfile", type=int)
    flags.add_arguments(parser)
    assert parser.parse_args(["--flagfile=3"]).flagfile == 3


@pytest.mark.parametrize("argument", ["--over_dump=/a/b", "--data_dump_mode=both"])
def test_argparse_refuses_with_status_2(argument, capsys):
    parser = argparse.ArgumentParser()
    flags.add_arguments(parser)
    with pytest.raises(SystemExit) as error:
        parser.parse_args([argument])
    assert error.value.code == 2
    assert "expected" in capsys.readouterr().err


def parsed(*argv, known_only=False, define_first=True):
    values = absl_flags.FlagValues()
    if define_first:
        flags.define_flags(values)
    values(["train.py"] + list(argv), known_only=known_only)
    return values


def test_what_was_said_on_the_command_line_is_explicit():
    config = DumpConfig.from_flags(parsed("--data_dump_flag", "--data_dump_step=0",
                                          "--data_dump_path=", "--over_dump_path=x"))
    assert config.explicit == {"enable_dump", "dump_step"}
    config = DumpConfig.from_flags(parsed("--over_dump", "--over_dump_path=x",
                                          "--data_dump_path=y"))
    assert config.explicit == {"enable_dump_debug", "dump_path"} and config.dump_path == "x"


def test_what_a_script_assigns_to_a_flag_is_explicit_too():
    values = parsed("--data_dump_flag")
    values.data_dump_step = "7"
    assert DumpConfig.from_flags(values).explicit == {"enable_dump", "dump_step"}


def test_of_an_argparse_namespace_what_differs_from_the_default_is_explicit():
    parser = argparse.ArgumentParser()
    flags.add_arguments(parser)
    config = DumpConfig.from_flags(parser.parse_args(["--data_dump_flag", "--data_dump_step=5"]))
    assert config.explicit == {"enable_dump", "dump_step"}


def test_flags_defined_after_a_lenient_parse_get_their_values(monkeypatch):
    argv = ["train.py", "--data_dump_flag", "--data_dump_step=0|5", "--other=1", "positional"]
    monkeypatch.setattr(sys, "argv", argv)
    values = parsed(*argv[1:], known_only=True, define_first=False)
    flags.define_flags(values)
    assert (values.data_dump_flag, values.data_dump_step) == (True, "0|5")
    assert values.data_dump_path == "" and values.over_dump is False
    assert DumpConfig.from_flags(values).explicit == {"enable_dump", "dump_step"}


def test_a_late_definition_does_not_touch_what_was_there(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py", "--data_dump_step=9"])
    values = absl_flags.FlagValues()
    absl_flags.DEFINE_string("data_dump_step", "10", "", flag_values=values)
    values(["train.py"])
    flags.define_flags(values)
    assert values.data_dump_step == "10"


def told(capsys):
    return capsys.readouterr().err


def test_flags_without_a_switch_are_said_to_have_no_effect_once(capsys):
    dump_config._tell_unheeded.cache_clear()
    values = parsed("--data_dump_step=3", "--data_dump_strict")
    for _ in range(2):
        assert DumpConfig.from_flags(values).is_off
    said = told(capsys)
    assert said.count("\n") == 1
    assert "--data_dump_step, --data_dump_strict: given, and without effect" in said
    assert "Add --data_dump_flag" in said


@pytest.mark.parametrize("arguments", [
    (), ("--data_dump_flag=False", "--data_dump_step=3"), ("--data_dump_step=",)])
def test_a_main_that_is_told_nothing_or_to_dump_nothing_is_quiet(capsys, arguments):
    dump_config._tell_unheeded.cache_clear()
    assert DumpConfig.from_flags(parsed(*arguments)).is_off
    assert told(capsys) == ""


def test_of_an_argparse_namespace_the_command_line_tells_what_has_no_effect(capsys, monkeypatch):
    dump_config._tell_unheeded.cache_clear()
    parser = argparse.ArgumentParser()
    flags.add_arguments(parser)
    parser.set_defaults(data_dump_mode="input")  # a main's own default is nobody's wish
    monkeypatch.setattr(sys, "argv", ["main.py", "--epochs", "3", "--data_dump_step=4"])
    assert DumpConfig.from_flags(parser.parse_args(["--data_dump_step=4"])).is_off
    assert "--data_dump_step: given, and without effect" in told(capsys)


@pytest.mark.parametrize("option, text, expected", [
    ("data_dump_step", "3x", "dump_step: expected"),
    ("data_dump_step", "5-3", "dump_step: expected"),
    ("data_dump_ranks", "a", "data_dump_ranks: expected rank numbers"),
    ("data_dump_min_free_gb", "much", "min_free_gb")])
def test_what_an_option_does_not_take_is_refused_by_the_parser(capsys, option, text, expected):
    with pytest.raises(absl_flags.IllegalFlagValueError, match=expected):
        parsed("--%s=%s" % (option, text))
    parser = argparse.ArgumentParser()
    flags.add_arguments(parser)
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(["--%s=%s" % (option, text)])
    assert ended.value.code == 2
    assert expected in told(capsys)
