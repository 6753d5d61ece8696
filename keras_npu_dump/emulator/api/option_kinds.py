"""How options of npu_device behave: a single one, a deprecated one, a group of them.

As `configs/option_base.py` of the adapter, with its surprises: reading an option gives an
object, its `.value` is a text, `1 == True` passes for a switch, and a list set as
`dump_layer` becomes the text of that list.
"""
from __future__ import annotations

import contextlib
from typing import Any, Dict, List

from keras_npu_dump.emulator.api import option_tables
from keras_npu_dump.emulator.ge import generation


class OptionValue:
    """An option of npu_device.

    Args:
      default: its value until it is set.
      optional: a list or tuple of the values that it may take; anything else for any value.
    """

    def __init__(self, default: Any, optional: Any):
        self._default = default
        self._optional = optional
        self._value = default

    @property
    def default(self) -> Any:
        """Its value until it is set."""
        return self._default

    @property
    def optional(self) -> Any:
        """The values that it may take, or None."""
        return self._optional

    @property
    def value(self) -> Any:
        """None, or a text; True and False are "1" and "0".

        Raises:
          TypeError: a value is set that is not of the default's type, and none of the list.
          ValueError: a value is set that is not in the list.
        """
        if self._value is None:
            return None
        return {"True": "1", "False": "0"}.get(str(self._value), str(self._value))

    @value.setter
    def value(self, value: Any) -> None:
        if isinstance(self._optional, (tuple, list)) and value not in self._optional:
            expected = type(self._default)
            # The first releases know the list only (option_base.py of both).
            checks_type = generation.current().options == "new" and self._default is not None
            if checks_type and not isinstance(value, expected):
                raise TypeError("Expected %s, got %s" % (expected.__name__, type(value).__name__))
            raise ValueError("'%s' not in optional list %s" % (value, self._optional))
        self._value = value


class DeprecatedValue(OptionValue):
    """An option that is still accepted; None until it is set.

    Args:
      optional: see OptionValue.
      replacement: name of the option that came in its place, or None.
    """

    def __init__(self, optional: Any, *, replacement: Any):
        super().__init__(None, optional)
        self.replacement = replacement

    def warn(self, name: str) -> None:
        """Says on stdout, where the adapter says it, that the option goes.

        Args:
          name: of the option.
        """
        advice = ("do not set it any more" if self.replacement is None
                  else "set '%s' instead" % self.replacement)
        with contextlib.suppress(OSError, ValueError, AttributeError):  # stdout may be gone
            print("[warning][tf_adapter] Option '%s' is deprecated, a future version will not"
                  " have it: %s." % (name, advice))


class NpuBaseConfig:
    """A group of options and of further groups, with a fixed set of names.

    Reading an option gives its OptionValue; setting one sets the value. Which names there
    are is what the emulated generation had (`option_tables`).

    Raises:
      ConfigError: see `generation.current`.
      ValueError: an option is set that the group does not have.
      TypeError, ValueError: see `OptionValue.value`.
    """

    _fixed_attrs: List[str]

    def __init__(self) -> None:
        table = option_tables.of(generation.current().options)
        for name, spec in table.get(type(self).__name__, {}).items():
            option: Any
            if isinstance(spec, option_tables.Deprecated):
                option = DeprecatedValue(spec.optional, replacement=spec.replacement)
            elif isinstance(spec, str):
                option = _GROUPS[spec]()
            else:
                option = OptionValue(*spec)
            super().__setattr__(name, option)
        super().__setattr__("_fixed_attrs", list(vars(self)))

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        _GROUPS.setdefault(cls.__name__, cls)

    def __setattr__(self, key: str, value: Any) -> None:
        if key not in self._fixed_attrs:
            raise ValueError("%s has no option %s, all options %s"
                             % (type(self).__name__, key, self._fixed_attrs))
        current = getattr(self, key)
        if isinstance(current, OptionValue):
            current.value = value
        else:
            # The adapter takes anything here, even a number, and so loses the group.
            super().__setattr__(key, value)

    def as_dict(self) -> Dict[str, str]:
        """All options that have a value, of this group and the groups in it, as texts.

        Deprecated ones that are set are warned of, each time.
        """
        options: Dict[str, str] = {}
        for name in self._fixed_attrs:
            option = getattr(self, name)
            if isinstance(option, OptionValue):
                if option.value is not None:
                    if isinstance(option, DeprecatedValue):
                        option.warn(name)
                    options[name] = option.value
            elif isinstance(option, NpuBaseConfig):
                options.update(option.as_dict())
        return options


# Groups by the name of their class, as tables call them.
_GROUPS: Dict[str, Any] = {}
