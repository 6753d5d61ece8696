"""Is what is known of operator types written once, and does it fit together?"""
import ast
import pathlib

import pytest

import keras_npu_dump
from keras_npu_dump.op_types import arithmetic, graph_names, graph_parts, training

PACKAGE = pathlib.Path(keras_npu_dump.__file__).parent
SETS = {name: value for module in (arithmetic, graph_parts, training)
        for name, value in vars(module).items() if isinstance(value, frozenset)}
KNOWN = frozenset().union(*SETS.values())


def lists_of_types(path):
    """Literal lists of texts in a file of which two or more are operator types."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            texts = [item.value for item in node.elts
                     if isinstance(item, ast.Constant) and isinstance(item.value, str)]
            if len(KNOWN.intersection(texts)) > 1:
                yield "%s:%d %s" % (path.relative_to(PACKAGE), node.lineno, texts)


def test_no_room_keeps_a_list_of_operator_types_of_its_own():
    found = {True: [], False: []}
    for file in PACKAGE.rglob("*.py"):
        found[file.parent.name == "op_types"].extend(lists_of_types(file))
    assert found[True]  # the search finds lists where there are some
    # Two types that are asked for in one condition are no list.
    assert [line for line in found[False] if "['Mul', 'Square']" not in line] == []


def test_every_set_has_its_docstring():
    for module in (arithmetic, graph_parts, training):
        body = ast.parse(pathlib.Path(module.__file__).read_text(encoding="utf-8")).body
        for node, following in zip(body, body[1:]):
            if isinstance(node, ast.Assign) and not node.targets[0].id.startswith("_"):
                assert isinstance(following, ast.Expr), node.targets[0].id


def test_readers_miss_no_file_that_the_emulator_does_not_write():
    # Of this one nothing is known on the device, so readers do not excuse it.
    assert {"PlaceholderWithDefault"} == graph_parts.EMULATOR_SKIPS - graph_parts.QUIET_TYPES


def test_quiet_operators_do_no_arithmetic():
    for types in (training.LAYER_TYPES, training.FLOAT_STATUS_TYPES, arithmetic.SETTLES_ANY_TYPES,
                  arithmetic.ACCUMULATING_TYPES):
        assert not types & graph_parts.QUIET_TYPES


@pytest.mark.parametrize("op_type, is_optimizer, is_update, changes_handle", [
    ("ResourceApplyAdam", True, True, True),
    ("ApplyAdamD", True, True, False),
    ("AdamApplyOne", True, False, False),
    ("LambNextMV", True, False, False),
    ("AssignSubVariableOp", False, True, True),
    ("Assign", False, True, False),
    ("ResourceScatterAdd", False, True, True),
    ("ResourceScatterMin", False, False, True),
    ("AssignVariableOpX", False, False, False),
    ("ResourceGather", False, False, False),
])
def test_where_optimizers_updates_and_changes_of_handles_differ(
        op_type, is_optimizer, is_update, changes_handle):
    assert training.is_optimizer(op_type) is is_optimizer
    assert training.is_update(op_type) is is_update
    assert graph_parts.changes_handle(op_type) is changes_handle


@pytest.mark.parametrize("op_type, names, expected", [
    ("ReluGrad", (), True), ("Conv2DBackpropFilterD", (), True), ("StopGradient", (), False),
    ("Mul", ("gradient_tape/net/mul",), True), ("Mul", ("a", "x/gradients_1/b"), True),
    ("Mul", ("my_gradients/b", "gradients"), False),
])
def test_gradients_are_told_by_type_or_scope(op_type, names, expected):
    assert training.is_gradient(op_type, names) is expected


def test_graphs_beside_training_have_no_role_in_training():
    for name in graph_names.BESIDE_TRAINING:
        assert graph_names.role_of(name + "_1") in ("init", "iterator", "unknown")
    assert graph_names.role_of("__inference_train_function_7") == "train"
    assert graph_names.role_of(None) == "unknown"
