"""The table of dump options: what DumpConfig, flags, callback and session have in common.

A new option is an entry here, its type in `DumpOptions` and its attribute in `DumpConfig`
(a test holds the three together). From the entry come its default, its check, its flag for
absl and argparse, and its lines in every docstring. Names and values of the first eight
are those of `npu_device.global_options().dump_config` (configs/dump_config.py).
"""
import difflib
import inspect
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, NamedTuple, Tuple, TypeVar

from keras_npu_dump.config import checks
from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.errors import UnknownOptionError

if TYPE_CHECKING:
    from typing import FrozenSet, List, Optional, Set, Union

    from typing_extensions import Literal, TypedDict

    from keras_npu_dump.config.steps import PathLike, StepsLike

    class DumpOptions(TypedDict, total=False):
        """The keyword arguments of NpuDumpCallback, DumpSession, apply and DumpConfig."""

        enable_dump: Optional[bool]
        dump_path: Optional[PathLike]
        dump_step: StepsLike
        dump_mode: Literal["input", "output", "all"]
        dump_data: Literal["tensor", "stats"]
        dump_layer: Union[str, List[str], Tuple[str, ...], Set[str], FrozenSet[str], None]
        enable_dump_debug: bool
        dump_debug_mode: Literal["aicore_overflow", "atomic_overflow", "all"]
        ranks: Union[int, str, Iterable[int], None]
        graph: bool
        graph_path: Optional[PathLike]
        graph_level: Union[int, str]
        collect: bool
        min_free_gb: float
        strict: bool
        record: Literal["full", "masked", "none"]

DEFAULT_DUMP_PATH = "output/data_dump"
DEFAULT_OVERFLOW_PATH = "output/overflow_dump"
DEFAULT_MIN_FREE_GB = 5.0

DUMP_MODES = ("input", "output", "all")
DUMP_DATA = ("tensor", "stats")
RECORDS = ("full", "masked", "none")  # each keeps less than the one before
DUMP_DEBUG_MODES = ("aicore_overflow", "atomic_overflow", "all")


# For UnknownOptionError, where somebody writes NpuDumpCallback("output").
NO_NAME = "expected options by their names, such as dump_path=%r. Received: a value without a name."


class Flag(NamedTuple):
    """A command line flag, as the public mains for Ascend have them, or in their style.

    Attributes:
      name: without dashes.
      kind: "switch", "text" or "choice".
      default: what the flag holds where it is not given.
      help: for `--help`.
      choices: the words that a "choice" takes.
    """

    name: str
    kind: str
    default: Any
    help: str
    choices: Tuple[str, ...] = ()


class Option(NamedTuple):
    """A dump option.

    Attributes:
      name: of the field of DumpConfig, and of the keyword argument.
      default: what is taken where it is not given.
      check: from what a user gave to what DumpConfig keeps; raises ConfigError.
      doc: what stands in docstrings, its default last.
      flags: the flags that set it.
    """

    name: str
    default: Any
    check: Callable[[Any], Any]
    doc: str
    flags: Tuple[Flag, ...]


OPTIONS = (
    Option("enable_dump", None, lambda value: checks.parse_bool(value, "enable_dump"),
           "dump operators' data. Defaults to not `enable_dump_debug`.",
           (Flag("data_dump_flag", "switch", False,
                 "Dump operators' data. Takes effect when npu_device.open() is called."),)),
    Option("dump_path", None, checks.folder("dump_path"),
           "folder for everything; made if missing, relative to the current directory of the"
           ' moment when it is applied. Defaults to "%s" ("%s" with `enable_dump_debug`).'
           % (DEFAULT_DUMP_PATH, DEFAULT_OVERFLOW_PATH),
           (Flag("data_dump_path", "text", "",
                 "Folder for dump data, graphs and records. Empty: %s." % DEFAULT_DUMP_PATH),
            Flag("over_dump_path", "text", "",
                 "Folder for overflow dumps. Empty: %s." % DEFAULT_OVERFLOW_PATH))),
    Option("dump_step", "0", StepSet.of,
           'executions to dump, counted from 0: "0|3-5|10", an int, a range, an iterable of ints'
           ' and ranges; None or "all" is every execution. Defaults to "0".',
           (Flag("data_dump_step", "text", "0", "Iterations to dump, such as 0|5|10-20, or all."),
            )),
    Option("dump_mode", "all", checks.choice("dump_mode", DUMP_MODES),
           'which tensors of an operator: "input", "output" or "all". Defaults to "all".',
           (Flag("data_dump_mode", "choice", "all",
                 "Dump operators' inputs, outputs, or both: input, output, all.", DUMP_MODES),)),
    Option("dump_data", "tensor", checks.choice("dump_data", DUMP_DATA),
           '"tensor" (the data itself) or "stats" (a csv of statistics per operator). Defaults to'
           ' "tensor".',
           (Flag("data_dump_data", "choice", "tensor",
                 "Dump the data itself, or statistics of it as csv: tensor, stats.",
                 DUMP_DATA),)),
    Option("dump_layer", None, checks.layers,
           'names of the operators to dump, as a list or a text of names separated by blanks; "all"'
           " is all operators. Defaults to that.",
           (Flag("data_dump_layer", "text", "",
                 "Names of the operators to dump, separated by blanks. Empty, or all: all."),)),
    Option("enable_dump_debug", False, checks.switch("enable_dump_debug", False),
           "dump what overflows; excludes `enable_dump`. Defaults to False.",
           (Flag("over_dump", "switch", False, "Dump what overflows, instead of data_dump_flag."),
            )),
    Option("dump_debug_mode", "all", checks.choice("dump_debug_mode", DUMP_DEBUG_MODES),
           '"aicore_overflow", "atomic_overflow" or "all" (Atlas A2 and later know only "all").'
           ' Defaults to "all".',
           (Flag("over_dump_mode", "choice", "all",
                 "Which overflows: aicore_overflow, atomic_overflow, all. Atlas A2 and later know"
                 " only all.", DUMP_DEBUG_MODES),)),
    Option("ranks", None, checks.ranks,
           'only these ranks dump: "0,7", an int or an iterable of ints. Defaults to all ranks.',
           (Flag("data_dump_ranks", "text", "", "Only these ranks dump, such as 0,7. Empty: all."),
            )),
    Option("graph", True, checks.switch("graph", True),
           "set DUMP_GE_GRAPH=2 where the user has not set it. Defaults to True.",
           (Flag("data_dump_graph", "switch", True,
                 "Write the compute graphs (DUMP_GE_GRAPH=2 where it is not set)."),)),
    Option("graph_path", None, checks.folder("graph_path"),
           "where graph files go (DUMP_GRAPH_PATH, where the user has not set it). Defaults to"
           " `{dump_path}/graphs`.",
           (Flag("data_dump_graph_path", "text", "",
                 "Folder for graph files (DUMP_GRAPH_PATH where it is not set)."
                 " Empty: graphs in the dump folder."),)),
    Option("graph_level", "3", checks.graph_level,
           'DUMP_GRAPH_LEVEL, where the user has not set it. Defaults to "3", the executed Build'
           " graphs only.",
           (Flag("data_dump_graph_level", "text", "",
                 "DUMP_GRAPH_LEVEL where it is not set. Empty: 3, the executed graphs only."),)),
    Option("collect", True, checks.switch("collect", True),
           "pair graphs and dump data, and write the manifest, when training ends. Defaults to"
           " True.",
           (Flag("data_dump_collect", "switch", True,
                 "Pair graphs and dump data when training ends."),)),
    Option("min_free_gb", DEFAULT_MIN_FREE_GB, checks.gigabytes,
           "refuse to start with less free space than this, in units of 10**9 bytes. Defaults to"
           " %g." % DEFAULT_MIN_FREE_GB,
           (Flag("data_dump_min_free_gb", "text", "",
                 "Refuse to start with less free space. Empty: %g." % DEFAULT_MIN_FREE_GB),)),
    Option("strict", False, checks.switch("strict", False),
           "what would be a warning while training stops it, and a dump that is missing or not"
           " whole at its end is an IncompleteDumpError. Defaults to False.",
           (Flag("data_dump_strict", "switch", False,
                 "Stop training where a dump is missing, instead of a warning; at its end, fail"
                 " where one is missing or not whole (under run, exit status 1)."),)),
    Option("record", "masked", checks.choice("record", RECORDS),
           'what run.json keeps of the script\'s arguments: "full", "masked" (values that look'
           ' secret become ***) or "none"; of sources and functions later. Defaults to "masked".',
           (Flag("data_dump_record", "choice", "masked",
                 "What run.json keeps of the script's arguments: full, masked (values that look"
                 " secret become ***), none.", RECORDS),)),
)

BY_NAME: Dict[str, Option] = {option.name: option for option in OPTIONS}
FLAGS: Tuple[Flag, ...] = tuple(flag for option in OPTIONS for flag in option.flags)
FIELD_OF_FLAG: Dict[str, str] = {
    flag.name: option.name for option in OPTIONS for flag in option.flags}


def check_text(flag: str, text: str) -> None:
    """Refuses a text that the option behind a flag does not take.

    Args:
      flag: its name, without dashes.
      text: from a command line; the empty text is "not given".

    Raises:
      ConfigError: of the option's own check.
    """
    if text:
        BY_NAME[FIELD_OF_FLAG[flag]].check(text)


def check_names(names: Iterable[str]) -> None:
    """Refuses an argument that is no dump option, with the nearest name that is.

    Args:
      names: of the keyword arguments.

    Raises:
      UnknownOptionError: a ConfigError and a TypeError.
    """
    for name in names:
        if name not in BY_NAME:
            near = difflib.get_close_matches(name, BY_NAME, 1)
            raise UnknownOptionError(
                "expected dump options (%s). Received: %s%s" % (
                    ", ".join(BY_NAME), name,
                    ", did you mean %s?" % near[0] if near else "."))


Documented = TypeVar("Documented", bound=Callable[..., Any])
_MARK = "{options}"


def documented(target: Documented) -> Documented:
    """Fills the options into a docstring, in place of `{options}`, and into the signature.

    `help()`, `inspect.signature` and editors then show each option; type checkers read
    `DumpOptions`.

    Args:
      target: a function or class that takes the options as keyword arguments.

    Returns:
      The same function or class.
    """
    anything: Any = target
    function: Any = anything.__init__ if inspect.isclass(anything) else anything
    doc = target.__doc__
    if doc and _MARK in doc:  # there is none under python -OO
        indent = doc[doc.rindex("\n", 0, doc.index(_MARK)) + 1:doc.index(_MARK)]
        target.__doc__ = doc.replace(indent + _MARK, _arguments_text(indent))
    signature = inspect.signature(function)
    own = [one for one in signature.parameters.values()
           if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    parameters = [inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY,
                                    default=option.default) for option in OPTIONS]
    function.__signature__ = signature.replace(
        parameters=own + [one for one in parameters if one.name not in signature.parameters])
    return target


def _arguments_text(indent: str) -> str:
    """The lines of the options under "Args:"."""
    width = 92
    lines = []
    for option in OPTIONS:
        line = "%s%s:" % (indent, option.name)
        for word in option.doc.split():
            if len(line) + 1 + len(word) > width:
                lines.append(line)
                line = indent + "  " + word
            else:
                line += " " + word
        lines.append(line)
    return "\n".join(lines)
