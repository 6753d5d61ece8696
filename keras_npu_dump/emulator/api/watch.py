"""Sees every execution of a concrete function, at the call through which it runs.

TensorFlow 2.6 runs functions through `_EagerDefinedFunction.call`, newer versions
through `AtomicFunction.call_flat`. Both are also called while an outer function is
traced; what is left when the context executes eagerly are the outermost executions,
which are what a device sees. The version is recognised by the class, not by a number.
"""
from __future__ import annotations

import contextlib
from typing import Any, Iterator, List, Sequence

from keras_npu_dump.emulator.functions.reentrancy import is_own_work
from keras_npu_dump.emulator.ge.engine import ENGINE
from keras_npu_dump.emulator.graphs.call import Call, text_of
from keras_npu_dump.errors import DeviceNotFoundError

_INSTALLED: List[bool] = []


@contextlib.contextmanager
def _under_name(function: Any, name: str) -> Iterator[None]:
    """Around a function that runs in place of `function`: its errors get that function's name.

    Users know that name, and TensorFlow finds the line of an operator by it.

    Args:
      function: TensorFlow's object for the function that was called.
      name: of the function that runs.
    """
    try:
        yield
    except Exception as error:
        # Whatever it is goes on, under the name that the user knows.
        own = text_of(function.name)
        for attribute in ("_message", "message"):
            text = getattr(error, attribute, None)
            if isinstance(text, str) and name in text:
                try:
                    setattr(error, attribute, text.replace(name, own))
                except AttributeError:
                    pass
        error.args = tuple(item.replace(name, own) if isinstance(item, str) else item
                           for item in error.args)
        raise


def _unseen(context: Any) -> bool:
    if ENGINE.in_child:
        ENGINE.say_in_child()
        return True
    return (not ENGINE.active or is_own_work()
            or not context.executing_eagerly())


def install() -> None:
    """Begins to watch; once per process.

    Raises:
      DeviceNotFoundError: this TensorFlow has neither of the two calls.
    """
    if _INSTALLED:
        return
    if _install_atomic() or _install_defined():
        _INSTALLED.append(True)
        return
    import tensorflow
    raise DeviceNotFoundError(
        "the emulator knows how TensorFlow 2.6 and the newest versions run functions; in"
        " TensorFlow %s it finds neither way." % tensorflow.__version__)


def _install_atomic() -> bool:
    try:
        from tensorflow.python.eager.polymorphic_function import atomic_function
        function_class = atomic_function.AtomicFunction
        original = function_class.call_flat
        interpolate = atomic_function.InterpolateRuntimeError
        record = atomic_function.record
        handle_data_util = atomic_function.handle_data_util
    except (ImportError, AttributeError):
        return False

    def call_flat(self: Any, *args: Any) -> Any:
        context = self._bound_context
        if _unseen(context):
            return original(self, *args)

        def plain() -> Any:
            return original(self, *args)

        def execute(name: str, count: int, further: Sequence[Any] = ()) -> Any:
            inputs = [*args, *further]
            with interpolate(self), record.stop_recording(), _under_name(self, name):
                outputs = context.call_function(name.encode("utf-8"), inputs, count) or []
            for output, kind in zip(outputs, self.function_type.flat_outputs):
                data = kind.dtype._handle_data
                if data:
                    handle_data_util.set_handle_data(output, data.shape_inference)
            return outputs

        return ENGINE.execute(Call(self, context, args, plain, execute)) or None

    function_class.call_flat = call_flat
    return True


def _install_defined() -> bool:
    try:
        from tensorflow.python.eager import execute as execute_lib
        from tensorflow.python.eager import function as function_lib
        function_class = function_lib._EagerDefinedFunction
        original = function_class.call
        interpolate = function_lib._InterpolateFunctionError
        handle_data_util = function_lib.handle_data_util
    except (ImportError, AttributeError):
        return False

    def call(self: Any, ctx: Any, args: Sequence[Any], cancellation_manager: Any = None) -> Any:
        if _unseen(ctx):
            return original(self, ctx, args, cancellation_manager)

        def plain() -> Any:
            return original(self, ctx, args, cancellation_manager)

        def execute(name: str, count: int, further: Sequence[Any] = ()) -> Any:
            inputs = [*args, *further]
            options = ctx.function_call_options
            config = options.config_proto_serialized
            if config is None:
                config = function_lib.function_utils.get_disabled_rewriter_config()
            attrs = ("executor_type", options.executor_type or "", "config_proto", config)
            with interpolate(self), _under_name(self, name):
                if cancellation_manager is None:
                    outputs = execute_lib.execute(name, count, inputs, attrs, ctx)
                else:
                    outputs = execute_lib.execute_with_cancellation(
                        name, count, inputs, attrs, ctx, cancellation_manager)
            for traced, output in zip(self._func_graph_outputs, outputs):
                handle_data_util.copy_handle_data(traced, output)
            return outputs

        return ENGINE.execute(Call(self, ctx, args, plain, execute)) or None

    function_class.call = call
    return True
