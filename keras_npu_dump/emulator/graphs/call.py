"""An execution of a concrete function, as the emulator is told of it."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence

from keras_npu_dump.emulator.graphs import handles


class Call:
    """An execution that is about to happen.

    Attributes:
      function: TensorFlow's object for the concrete function.
      name: of the concrete function.
      args: its flat arguments, eager tensors, captured handles included.
      context: TensorFlow's eager context.
      plain: runs the function itself and returns its outputs as a list.
      execute: (name, number of outputs, further arguments) -> outputs of another function,
        called with the arguments of this call and the further arguments.
    """

    def __init__(self, function: Any, context: Any, args: Sequence[Any],
                 plain: Callable[[], List[Any]], execute: Callable[..., Any]):
        self.function = function
        self.context = context
        self.args = args
        self.plain = plain
        self.execute = execute
        self.name = text_of(function.name)

    @property
    def definition(self) -> Any:
        """The FunctionDef."""
        return self.function.definition

    @property
    def uses_xla(self) -> bool:
        """Whether the function asks to be compiled by XLA."""
        attrs = self.definition.attr
        return "_XlaMustCompile" in attrs and bool(attrs["_XlaMustCompile"].b)

    @property
    def graph(self) -> Any:
        """The FuncGraph it was made from."""
        return self.function.graph

    def lookup(self, name: str) -> Any:
        """The FunctionDef of another function, which is named in this function.

        Args:
          name: of the function.
        """
        return self.context.get_function_def(name)

    def variable_names(self) -> Dict[int, str]:
        """Identity of a handle (`_id`) -> name, of the variables among the arguments."""
        names = handles.names_in(self.graph)
        for arg in self.args:
            made = handles.variable_name(arg)
            if made:
                names[arg._id] = made
        return names

    def variables(self) -> List[int]:
        """For each argument the dtype of the variable behind it, number of TensorFlow; 0 where
        there is none."""
        return [handles.variable_dtype(arg) for arg in self.args]


def text_of(name: Any) -> str:
    """The name of a function as text; TensorFlow has it as bytes or text.

    Args:
      name: what TensorFlow gives.
    """
    return name.decode("utf-8") if isinstance(name, bytes) else str(name)
