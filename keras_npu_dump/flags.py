"""The dump flags of training mains, for absl and for argparse.

Names and meaning are those that the public TensorFlow 2 mains for Ascend use
(data_dump_flag, data_dump_step, data_dump_path, over_dump, over_dump_path) and
more in their style. A main that already defines some of them keeps its own;
`DumpConfig.from_flags` reads either.
"""
import argparse
import sys
from typing import Any, NamedTuple, Optional, Sequence, Tuple

from absl import flags as absl_flags

from keras_npu_dump.config import dump_config
from keras_npu_dump.errors import ConfigError


class _Spec(NamedTuple):
    name: str
    kind: str  # "switch", "text" or "choice"
    default: Any
    help: str
    choices: Tuple[str, ...] = ()


SPECS = (
    _Spec("data_dump_flag", "switch", False,
          "Dump operators' data. Takes effect when npu_device.open() is called."),
    _Spec("data_dump_step", "text", "0",
          "Iterations to dump, such as 0|5|10-20, or all."),
    _Spec("data_dump_path", "text", "",
          "Folder for dump data, graphs and records. Empty: %s." % dump_config.DEFAULT_DUMP_PATH),
    _Spec("data_dump_mode", "choice", "all",
          "Dump operators' inputs, outputs, or both: input, output, all.",
          dump_config.DUMP_MODES),
    _Spec("data_dump_data", "choice", "tensor",
          "Dump the data itself, or statistics of it as csv: tensor, stats.",
          dump_config.DUMP_DATA),
    _Spec("data_dump_layer", "text", "",
          "Names of the operators to dump, separated by blanks. Empty: all."),
    _Spec("over_dump", "switch", False,
          "Dump what overflows, instead of data_dump_flag."),
    _Spec("over_dump_path", "text", "",
          "Folder for overflow dumps. Empty: %s." % dump_config.DEFAULT_OVERFLOW_PATH),
    _Spec("over_dump_mode", "choice", "all",
          "Which overflows: aicore_overflow, atomic_overflow, all. Atlas A2 and later know only"
          " all.", dump_config.DUMP_DEBUG_MODES),
    _Spec("data_dump_ranks", "text", "",
          "Only these ranks dump, such as 0,7. Empty: all."),
    _Spec("data_dump_graph", "switch", True,
          "Write the compute graphs (DUMP_GE_GRAPH=2 where it is not set)."),
    _Spec("data_dump_graph_path", "text", "",
          "Folder for graph files (DUMP_GRAPH_PATH where it is not set)."
          " Empty: graphs in the dump folder."),
    _Spec("data_dump_graph_level", "text", "",
          "DUMP_GRAPH_LEVEL where it is not set. Empty: 3, the executed graphs only."),
    _Spec("data_dump_collect", "switch", True,
          "Pair graphs and dump data when training ends."),
    _Spec("data_dump_min_free_gb", "text", "",
          "Refuse to start with less free space. Empty: %g." % dump_config.DEFAULT_MIN_FREE_GB),
    _Spec("data_dump_strict", "switch", False,
          "Stop training where a dump is missing, instead of a warning; at its end, fail where one"
          " is missing or not whole (under run, exit status 1)."),
)


class _SwitchParser(absl_flags.ArgumentParser):
    """True and false in all spellings that shell scripts use; empty is "not given"."""

    syntactic_help = "true or false"

    def __init__(self, name: str):
        super().__init__()
        self._name = name

    def parse(self, argument: Any) -> Optional[bool]:
        # A ConfigError is a ValueError, which is what absl wants of a parser.
        return dump_config.parse_bool(argument, self._name)

    def flag_type(self) -> str:
        return "bool"


def define_flags(flag_values: Optional[absl_flags.FlagValues] = None,
                 module_name: str = "keras_npu_dump") -> None:
    """Defines the dump flags with absl; those that exist already are left alone.

    Where the command line was parsed before, as mains that read the flags of
    `tf.compat.v1` at import do, the flags that are new get their values from it now.

    Args:
      flag_values: where to define them. Defaults to the global FLAGS.
      module_name: under which heading `--help` lists them.
    """
    values = absl_flags.FLAGS if flag_values is None else flag_values
    new = [spec for spec in SPECS if spec.name not in values]
    _define(values, new, module_name)
    if new and values.is_parsed():
        _read_late(values, new, module_name)


def _read_late(values: absl_flags.FlagValues, specs: Sequence[_Spec], module_name: str) -> None:
    """What the parse before has skipped as unknown; a strict one would have ended there."""
    late = absl_flags.FlagValues()
    _define(late, specs, module_name)
    late(sys.argv, known_only=True)
    for spec in specs:
        if late[spec.name].present:
            values[spec.name].value = late[spec.name].value
            values[spec.name].present = late[spec.name].present


def switch_flag(name: str, default: Optional[bool], text: str) -> absl_flags.Flag:
    """A boolean flag with the leniency of `flag_values.parse_bool`."""
    return absl_flags.Flag(_SwitchParser(name), None, name, default, text, boolean=True)


def _define(values: absl_flags.FlagValues, specs: Sequence[_Spec], module_name: str) -> None:
    for spec in specs:
        if spec.kind == "switch":
            flag = switch_flag(spec.name, spec.default, spec.help)
        elif spec.kind == "choice":
            flag = _text_flag(spec, _ChoiceParser(spec))
        else:
            flag = _text_flag(spec, absl_flags.ArgumentParser())
        absl_flags.DEFINE_flag(flag, values, module_name)


def _text_flag(spec: _Spec, parser: absl_flags.ArgumentParser) -> absl_flags.Flag:
    return absl_flags.Flag(parser, absl_flags.ArgumentSerializer(), spec.name, spec.default,
                           spec.help)


class _ChoiceParser(absl_flags.EnumParser):
    """One of a few words; the empty string is "not given", that is the default."""

    def __init__(self, spec: _Spec):
        super().__init__(list(spec.choices))
        self._default = spec.default

    def parse(self, argument: Any) -> str:
        return super().parse(argument) if argument else self._default


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the dump flags to an argparse parser; those that exist already are left alone."""
    # argparse has no public way to ask for an option; the attribute is there in 3.7 to 3.13.
    existing = parser._option_string_actions
    group = parser.add_argument_group("dump of operators' data and graphs on Ascend NPUs")
    for spec in SPECS:
        option = "--" + spec.name
        if option in existing:
            continue
        if spec.kind == "switch":
            group.add_argument(option, type=_argparse_switch(spec.name), nargs="?", const=True,
                               default=spec.default, metavar="BOOL", help=spec.help)
        elif spec.kind == "choice":
            group.add_argument(option, type=_argparse_choice(spec), default=spec.default,
                               metavar="{%s}" % ",".join(spec.choices), help=spec.help)
        else:
            group.add_argument(option, default=spec.default, help=spec.help)


def _argparse_switch(name: str) -> Any:
    def switch(text: str) -> Optional[bool]:
        try:
            return dump_config.parse_bool(text, name)
        except ConfigError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
    return switch


def _argparse_choice(spec: _Spec) -> Any:
    def choice(text: str) -> str:
        if text and text not in spec.choices:
            raise argparse.ArgumentTypeError("expected one of %s. Received: %r."
                                             % (", ".join(spec.choices), text))
        return text or spec.default
    return choice
