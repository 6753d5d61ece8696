"""DumpConfig: what to dump, checked before anything starts."""
import dataclasses
import functools
from typing import TYPE_CHECKING, Any, Dict, FrozenSet, Iterable, List, Optional, Tuple

from keras_npu_dump import messages
from keras_npu_dump.config import options
from keras_npu_dump.config.flag_values import read_flags
from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.errors import ConfigError, UnknownOptionError

if TYPE_CHECKING:
    from typing import NoReturn

    from typing_extensions import Unpack

    from keras_npu_dump.config.options import DumpOptions


@options.documented
@dataclasses.dataclass(frozen=True, init=False)
class DumpConfig:
    """What to dump. Every option is checked when the object is made.

    Args:
      explicit: names of the options that the user has chosen; with the others a script's
        own `npu_device.global_options()` wins. Defaults to those that are given.
      {options}

    Attributes:
      dump_step: a StepSet.
      dump_layer: names separated by single blanks; "" is all operators.
      ranks: a frozenset of ints; None is all.

    Raises:
      ConfigError: with what was expected and what was received.
    """

    enable_dump: bool
    dump_path: str
    dump_step: StepSet
    dump_mode: str
    dump_data: str
    dump_layer: str
    enable_dump_debug: bool
    dump_debug_mode: str
    ranks: Optional[FrozenSet[int]]
    graph: bool
    graph_path: Optional[str]
    graph_level: str
    collect: bool
    min_free_gb: float
    strict: bool
    record: str
    explicit: FrozenSet[str] = dataclasses.field(compare=False, repr=False)

    def __init__(self, *positional: "NoReturn", explicit: Optional[Iterable[str]] = None,
                 **given: "Unpack[DumpOptions]") -> None:
        if positional:
            raise UnknownOptionError(options.NO_NAME % positional[:1])
        options.check_names(given)
        values: Dict[str, Any] = {
            option.name: option.check(given.get(option.name, option.default))
            for option in options.OPTIONS}
        if values["enable_dump"] is None:
            values["enable_dump"] = not values["enable_dump_debug"]
        if values["enable_dump"] and values["enable_dump_debug"]:
            raise ConfigError(
                "expected one of enable_dump (data_dump_flag) and enable_dump_debug (over_dump)."
                " Received: both. GE refuses that; choose one.")
        if values["dump_path"] is None:
            values["dump_path"] = (options.DEFAULT_OVERFLOW_PATH if values["enable_dump_debug"]
                                   else options.DEFAULT_DUMP_PATH)
        values["explicit"] = frozenset(given if explicit is None else explicit)
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def off(cls) -> "DumpConfig":
        """A configuration whose callback does nothing."""
        return cls(enable_dump=False)

    @classmethod
    def of(cls, config: Optional["DumpConfig"] = None,
           **given: "Unpack[DumpOptions]") -> "DumpConfig":
        """What a callback or session was asked for: a config, or single options.

        Args:
          config: a DumpConfig. Defaults to None.
          **given: dump options, where there is no config.

        Raises:
          ConfigError: for both at once, for what is no DumpConfig, and as DumpConfig does.
        """
        if config is None:
            return cls(**given)
        if not isinstance(config, DumpConfig):
            raise ConfigError(
                "config: expected a DumpConfig. Received: %r. DumpConfig.from_flags makes one of"
                " flags; single options have names, such as dump_path." % (config,))
        if given:
            raise ConfigError("expected either config or single options. Received: config and %s."
                              " Use config.replace(...)." % ", ".join(sorted(given)))
        return config

    @classmethod
    def from_flags(cls, flags: Any, **overrides: "Unpack[DumpOptions]") -> "DumpConfig":
        """Reads the flags of an existing training main.

        Args:
          flags: absl FLAGS, an argparse Namespace, or any object with attributes of
            the names that `keras_npu_dump.flags` defines; what is missing, None or
            empty takes its default.
          **overrides: dump options that win over the flags.

        Returns:
          A DumpConfig; it is off where the flags switch dump off.

        Raises:
          ConfigError: for a value that GE would reject, for flags that were not
            parsed yet, and for an object without any of the flags.
        """
        options.check_names(overrides)
        read = read_flags(flags)
        fields = dict(read.fields, **overrides)
        if not fields.get("enable_dump") and not fields.get("enable_dump_debug"):
            _tell_unheeded(read.unheeded)
            return cls.off()
        for text in read.remarks:
            messages.warning("%s", text)
        chosen = read.explicit
        if chosen is None:
            # An argparse Namespace does not tell a default from the same word on the line.
            chosen = frozenset(name for name, value in fields.items()
                               if value != options.BY_NAME[name].default)
        overridden = frozenset(overrides) - {"enable_dump"}
        return cls(explicit=chosen | overridden, **fields)

    @property
    def is_off(self) -> bool:
        """Whether nothing is dumped."""
        return not self.enable_dump and not self.enable_dump_debug

    @property
    def layers(self) -> List[str]:
        """The names in dump_layer; empty for all operators."""
        return self.dump_layer.split()

    def replace(self, **changes: Any) -> "DumpConfig":
        """A copy with some options changed, which are explicit then.

        Args:
          **changes: dump options by name; and `explicit`, to say which are chosen.

        Raises:
          ConfigError: as DumpConfig does.
        """
        explicit = changes.pop("explicit", None)
        values: Dict[str, Any] = {name: getattr(self, name) for name in options.BY_NAME}
        values.update(changes)
        return DumpConfig(explicit=self.explicit | frozenset(changes) if explicit is None
                          else explicit, **values)

    def at(self, dump_path: str) -> "DumpConfig":
        """The same with its folder made absolute; what is explicit stays so.

        Args:
          dump_path: the folder.
        """
        return self.replace(dump_path=dump_path, explicit=self.explicit)

    def switched_off(self) -> "DumpConfig":
        """The same for a rank that dumps nothing; what is explicit stays so."""
        return self.replace(enable_dump=False, enable_dump_debug=False, explicit=self.explicit)

    @property
    def dumped_steps(self) -> Optional[StepSet]:
        """The executions that leave a dump; None where no execution does.

        dump_step does not limit overflow detection (ge, dump_properties.cc).
        """
        if self.is_off:
            return None
        return StepSet.all() if self.enable_dump_debug else self.dump_step

    @property
    def recorded(self) -> Dict[str, Any]:
        """The options as run.json keeps them; dump_step "" is every execution."""
        return {
            "enable_dump": self.enable_dump, "dump_path": self.dump_path,
            "dump_step": self.dump_step.text, "dump_mode": self.dump_mode,
            "dump_data": self.dump_data, "dump_layer": self.dump_layer,
            "enable_dump_debug": self.enable_dump_debug,
            "dump_debug_mode": self.dump_debug_mode,
        }

    @property
    def npu_options(self) -> Dict[str, Any]:
        """The values for `npu_device.global_options().dump_config`, by field name.

        dump_step and dump_layer are left out where they select everything, as
        npu_device then leaves them None.
        """
        values = {
            "enable_dump": self.enable_dump,
            "dump_path": self.dump_path,
            "dump_mode": self.dump_mode,
            "dump_data": self.dump_data,
            "enable_dump_debug": self.enable_dump_debug,
            "dump_debug_mode": self.dump_debug_mode,
        }
        if self.dump_step.text and self.enable_dump:
            values["dump_step"] = self.dump_step.text
        if self.dump_layer:
            values["dump_layer"] = self.dump_layer
        return values


@functools.lru_cache(maxsize=None)
def _tell_unheeded(names: Tuple[str, ...]) -> None:
    """Says once that flags were given, and that nothing is dumped all the same."""
    if names:
        messages.warning(
            "%s: given, and without effect, as neither --data_dump_flag nor --over_dump is on (both"
            " are off where they are not given): nothing of this is dumped. Add --data_dump_flag.",
            ", ".join("--" + name for name in names))
