"""The dump flags of training mains, for absl and for argparse.

Names and meaning are those that the public TensorFlow 2 mains for Ascend use
(data_dump_flag, data_dump_step, data_dump_path, over_dump, over_dump_path) and
more in their style. A main that already defines some of them keeps its own;
`DumpConfig.from_flags` reads either.
"""
import argparse
import copy
import io
import os
import sys
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence

from absl import flags as absl_flags

from keras_npu_dump.config.checks import parse_bool
from keras_npu_dump.config.options import FLAGS, Flag, check_text
from keras_npu_dump.errors import ConfigError, FormatError
from keras_npu_dump.files.read_limited import MAX_FLAG_FILE, read_record

if TYPE_CHECKING:
    from typing import NoReturn


class _SwitchParser(absl_flags.ArgumentParser):  # type: ignore[type-arg]
    """True and false in all spellings that shell scripts use; empty is "not given"."""

    syntactic_help = "true or false"

    def __init__(self, name: str):
        super().__init__()
        self._name = name

    def parse(self, argument: Any) -> Optional[bool]:
        # A ConfigError is a ValueError, which is what absl wants of a parser.
        return parse_bool(argument, self._name)

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
    new = [spec for spec in FLAGS if spec.name not in values]
    _define(values, new, module_name)
    if new and values.is_parsed():
        _read_late(values, new, module_name)


def _read_late(values: absl_flags.FlagValues, specs: Sequence[Flag], module_name: str) -> None:
    """Reads what the first parse has skipped as unknown; a strict parse would have ended there."""
    late = absl_flags.FlagValues()  # type: ignore[no-untyped-call]
    _define(late, specs, module_name)
    late(sys.argv, known_only=True)
    for spec in specs:
        if late[spec.name].present:
            values[spec.name].value = late[spec.name].value
            values[spec.name].present = late[spec.name].present


def switch_flag(name: str, default: Optional[bool], text: str) -> "absl_flags.Flag[Any]":
    """A boolean flag that takes all spellings of `config.checks.parse_bool`.

    Args:
      name: without dashes.
      default: what it holds where it is not given.
      text: for `--help`.

    Returns:
      The flag, to be given to `absl.flags.DEFINE_flag`.
    """
    return absl_flags.Flag(_SwitchParser(name), None, name, default, text, boolean=True)


def _define(values: absl_flags.FlagValues, specs: Sequence[Flag], module_name: str) -> None:
    for spec in specs:
        if spec.kind == "switch":
            flag = switch_flag(spec.name, spec.default, spec.help)
        elif spec.kind == "choice":
            flag = _text_flag(spec, _ChoiceParser(spec))
        else:
            flag = _text_flag(spec, _TextParser(spec))
        absl_flags.DEFINE_flag(flag, values, module_name)


def _text_flag(spec: Flag, parser: "absl_flags.ArgumentParser[Any]") -> "absl_flags.Flag[Any]":
    return absl_flags.Flag(parser, absl_flags.ArgumentSerializer(), spec.name, spec.default,
                           spec.help)


class _ChoiceParser(absl_flags.EnumParser):
    """A few words are taken; the empty string is "not given", that is the default."""

    def __init__(self, spec: Flag):
        super().__init__(list(spec.choices))
        self._default = spec.default

    def parse(self, argument: Any) -> str:
        return super().parse(argument) if argument else self._default


class _TextParser(absl_flags.ArgumentParser):  # type: ignore[type-arg]
    """A text that the option takes; the empty string is "not given"."""

    def __init__(self, spec: Flag):
        super().__init__()
        self._spec = spec

    def parse(self, argument: Any) -> Any:
        if argument:
            check_text(self._spec.name, argument)  # a ConfigError is a ValueError, as absl wants it
        return argument


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the dump flags to an argparse parser; those that exist already are left alone.

    `--flagfile=FILE` is added, too, as absl has it, so that `next.flags` of `triage` can be given
    as it is: one option a line, of the parser's own as well, and comments with #. What comes
    later on the command line wins.

    Args:
      parser: of the training main; `DumpConfig.from_flags` reads what it parses.
    """
    # argparse has no public way to ask for an option; the attribute is there in 3.7 to 3.13.
    existing = parser._option_string_actions
    group = parser.add_argument_group("dump of operators' data and graphs on Ascend NPUs")
    for spec in FLAGS:
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
            group.add_argument(option, type=_argparse_text(spec), default=spec.default,
                               help=spec.help)
    if "--flagfile" not in existing:
        group.add_argument("--flagfile", action=_FlagFile, default=None, metavar="FILE",
                           help="Read options from FILE, one a line, such as next.flags of"
                           " `keras-npu-dump triage`.")


class _FlagFile(argparse.Action):
    """Reads the options of a file in the place where it is named."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace,
                 values: Any, option_string: Optional[str] = None) -> None:
        del option_string  # argparse's
        setattr(namespace, self.dest, values)
        _, unknown = _OptionsOnly(self, parser).parse_known_args(self._lines(values), namespace)
        if unknown:
            self.refuse("expected options of this script in %s. Received: %r"
                        % (values, unknown[0]))

    def refuse(self, text: str) -> "NoReturn":
        """Ends with the parser's own usage error."""
        raise argparse.ArgumentError(self, text)

    def _lines(self, path: str) -> List[str]:
        """As absl reads them: in universal newlines, without blanks at the ends."""
        if not path:
            return []
        path = os.path.expanduser(path)
        try:
            text = read_record(path, MAX_FLAG_FILE).decode("utf-8")
        except FormatError as error:
            self.refuse(str(error))
        except OSError as error:
            self.refuse("cannot read %s: %s" % (path, error.strerror or error))
        except UnicodeDecodeError:
            self.refuse("expected text in UTF-8 in %s" % path)
        lines = [line.strip() for line in io.StringIO(text, newline=None)]
        return [line for line in lines if line and not line.startswith(("#", "//"))]


class _OptionsOnly(argparse.ArgumentParser):
    """The options of a parser, none of them required, without its positional arguments.

    Args:
      action: that reads a file; in a file it is unknown.
      parser: whose options these are.
    """

    def __init__(self, action: _FlagFile, parser: argparse.ArgumentParser):
        super().__init__(prog=parser.prog, add_help=False, allow_abbrev=False,
                         prefix_chars=parser.prefix_chars)
        self._action = action
        # No public way here either: types that were registered, and the options.
        self._registries = parser._registries
        for one in parser._actions:
            if one.option_strings and one is not action:
                twin = copy.copy(one)
                twin.required = False
                self._add_action(twin)

    def error(self, message: str) -> "NoReturn":
        """What is wrong in the file is the fault of the option that names it."""
        self._action.refuse(message)


def _argparse_switch(name: str) -> Any:
    def switch(text: str) -> Optional[bool]:
        try:
            return parse_bool(text, name)
        except ConfigError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
    return switch


def _argparse_text(spec: Flag) -> Callable[[str], str]:
    def parse(text: str) -> str:
        try:
            check_text(spec.name, text)
        except ConfigError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return text
    return parse


def _argparse_choice(spec: Flag) -> Any:
    def choice(text: str) -> str:
        if text and text not in spec.choices:
            raise argparse.ArgumentTypeError("expected one of %s. Received: %r."
                                             % (", ".join(spec.choices), text))
        return text or spec.default
    return choice
