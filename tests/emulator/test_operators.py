"""The operators of the NPU, called by their names: values and gradients against numpy, eagerly
and in a function; what they refuse; the dropout that is converted."""
import numpy as np
import pytest

from tests.emulator import operator_forms

tf = pytest.importorskip("tensorflow")
gen_npu_ops = pytest.importorskip("keras_npu_dump.emulator.operators.gen_npu_ops")
RANDOM = np.random.RandomState(0)


def floats(*shape):
    return RANDOM.randn(*shape).astype("float32")


RNN = {"cell_type": "LSTM", "direction": "UNIDIRECTIONAL", "activation": "tanh",
       "forget_bias": 0.5}
GRU = {"direction": "UNIDIRECTIONAL", "activation": "tanh"}
LENGTHS = np.array([4, 4, 4], "int32")
# name: (type in GE, inputs, attributes, how many inputs, from the first, have a gradient)
CASES = {
    "fast_gelu": ("FastGelu", [floats(3, 5)], {}, 1),
    "gelu": ("Gelu", [floats(3, 5)], {}, 1),
    "fused_layer_norm": ("LayerNorm", [floats(3, 4, 6), floats(6), floats(6)],
                         {"begin_norm_axis": 2, "begin_params_axis": -1, "epsilon": 1e-9}, 3),
    "fused_layer_norm_of_two": ("LayerNorm", [floats(3, 4, 6), floats(4, 6), floats(4, 6)],
                                {"begin_norm_axis": -2, "begin_params_axis": 1}, 3),
    "drop_out_do_mask": ("DropOutDoMask", [floats(5, 9), RANDOM.randint(0, 256, 16)
                                           .astype("uint8"), np.float32(0.7)], {}, 1),
    "drop_out_do_mask_v3": ("DropOutDoMaskV3", [floats(5, 9), RANDOM.randint(0, 2, 48)
                                                .astype("uint8"), np.float32(0.7)], {}, 1),
    "drop_out_do_mask_v3_in_tiles": (
        "DropOutDoMaskV3", [floats(2, 16, 32), RANDOM.randint(0, 2, (2, 2, 1, 16, 16))
                            .astype("uint8"), np.float32(0.7)], {}, 1),
    "basic_lstm_cell": ("BasicLSTMCell", [floats(3, 5), floats(3, 4), floats(3, 4),
                                          floats(9, 16), floats(16)], {"forget_bias": 1.0}, 5),
    "dynamic_rnn_v2": ("DynamicRNN", [floats(4, 3, 5), floats(7, 8), floats(8), floats(1, 3, 2),
                                      floats(1, 3, 2)], RNN, 5),
    "dynamic_rnn": ("DynamicRNN", [floats(4, 3, 5), floats(7, 8), floats(8),
                                   np.array([1, 4, 2], "int32"), floats(1, 3, 2),
                                   floats(1, 3, 2)], RNN, 0),
    "dynamic_gru_v2": ("DynamicGRUV2", [floats(4, 3, 5), floats(5, 6), floats(2, 6), floats(6),
                                        floats(6), LENGTHS, floats(3, 2)],
                       {**GRU, "gate_order": "zrh"}, 5),
    "dynamic_gru_v2_rzh": ("DynamicGRUV2", [floats(4, 3, 5), floats(5, 6), floats(2, 6),
                                            floats(6), floats(6), LENGTHS, floats(3, 2)],
                           {**GRU, "gate_order": "rzh"}, 5),
    "p_relu": ("PRelu", [floats(3, 5), floats(5)], {}, 2),
    "centralization": ("Centralization", [floats(3, 5)], {"axes": [0]}, 0),
}
# No operator looks at the gradients of its further outputs (adapter, npu_ops.py).
WEIGHED = {"LayerNorm": 1, "DynamicRNN": 1, "BasicLSTMCell": 2, "DynamicGRUV2": 2}


def function_of(name):
    for suffix in ("_of_two", "_in_tiles", "_rzh"):
        name = name.replace(suffix, "")
    return getattr(gen_npu_ops, name)


def listed(outputs):
    return list(outputs) if isinstance(outputs, tuple) else [outputs]


def close(found, wanted, rtol=2e-5):
    np.testing.assert_allclose(np.asarray(found, "float64"), wanted, rtol=rtol,
                               atol=rtol * max(1, np.abs(wanted).max()))


@pytest.mark.parametrize("traced", (False, True), ids=("eager", "function"))
@pytest.mark.parametrize("name", sorted(CASES))
def test_values(name, traced):
    op_type, arrays, attrs, _ = CASES[name]
    attrs = {**{key: value for key, value in (("epsilon", 1e-7),) if op_type == "LayerNorm"},
             **attrs}

    def call(*inputs):
        return listed(function_of(name)(*inputs, **attrs))

    outputs = (tf.function(call) if traced else call)(*map(tf.constant, arrays))
    wanted = operator_forms.compute(op_type, attrs, arrays)
    assert len(outputs) == len(wanted)
    for found, array in zip(outputs, wanted):
        assert found.dtype == tf.float32
        close(found.numpy(), array)


def numeric_gradient(op_type, attrs, arrays, index, weights, step=1e-5):
    """The gradient of the weighed sum of the outputs, by differences in float64."""
    wide = [array.astype("float64") if array.dtype.kind == "f" else array for array in arrays]
    found = np.zeros_like(wide[index])

    def total():
        return sum((weight * output).sum() for weight, output in zip(
            weights, operator_forms.compute(op_type, attrs, wide)))

    for place in np.ndindex(*found.shape):
        before = wide[index][place]
        wide[index][place] = before + step
        above = total()
        wide[index][place] = before - step
        found[place] = (above - total()) / (2 * step)
        wide[index][place] = before
    return found


@pytest.mark.parametrize("traced", (False, True), ids=("eager", "function"))
@pytest.mark.parametrize("name", sorted(name for name, case in CASES.items() if case[3]))
def test_gradients(name, traced):
    op_type, arrays, attrs, count = CASES[name]
    attrs = {**{key: value for key, value in (("epsilon", 1e-7),) if op_type == "LayerNorm"},
             **attrs}
    weights = [np.random.RandomState(1).randn(*np.shape(array)) for array in
               operator_forms.compute(op_type, attrs, arrays)[:WEIGHED.get(op_type, 1)]]

    def gradients(*inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs[:count])
            outputs = listed(function_of(name)(*inputs, **attrs))
            loss = sum(tf.reduce_sum(tf.constant(weight, tf.float32) * output)
                       for weight, output in zip(weights, outputs))
        return tape.gradient(loss, inputs[:count])

    found = (tf.function(gradients) if traced else gradients)(*map(tf.constant, arrays))
    for index, gradient in enumerate(found):
        close(gradient.numpy(), numeric_gradient(op_type, attrs, arrays, index, weights), 2e-4)


@pytest.mark.parametrize("by_tape", (True, False), ids=("tape", "tf.gradients"))
def test_gradients_find_their_way_through_loops_and_branches(by_tape):
    @tf.function
    def loss_and_gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in tf.range(3):
                y = gen_npu_ops.fast_gelu(y)
            y = tf.cond(tf.reduce_sum(y) > 0, lambda: gen_npu_ops.gelu(y),
                        lambda: gen_npu_ops.fast_gelu(-y))
            loss = tf.reduce_sum(y)
        # Not both: TensorFlow goes through a branch once.
        return loss, tape.gradient(loss, x) if by_tape else tf.gradients(loss, x)[0]

    def total(x):
        for _ in range(3):
            x, = operator_forms.fast_gelu({}, x)
        return (operator_forms.gelu({}, x) if x.sum() > 0
                else operator_forms.fast_gelu({}, -x))[0].sum()

    for x in (floats(4), np.array([1, 2, 3], "float32"), -np.array([1, 2, 3], "float32")):
        loss, gradient = loss_and_gradient(tf.constant(x))
        wide, step = x.astype("float64"), 1e-6
        wanted = [(total(wide + step * one) - total(wide - step * one)) / (2 * step)
                  for one in np.eye(len(x))]
        close(loss.numpy(), total(wide))
        close(gradient.numpy(), np.array(wanted), 1e-4)


@pytest.mark.parametrize("traced", (False, True), ids=("eager", "function"))
def test_a_mask_holds_a_bit_for_each_element_rounded_up_to_128(traced):
    def draw(shape):
        return gen_npu_ops.drop_out_gen_mask(shape, 0.8, 7, 9)

    mask = (tf.function(draw) if traced else draw)(tf.constant([30, 50, 7]))
    assert mask.dtype == tf.uint8 and mask.shape == [(10500 + 127) // 128 * 16]
    share = operator_forms.kept_bits(mask.numpy(), 10500).mean()
    assert abs(share - 0.8) < 0.02


@pytest.mark.parametrize("shape, wanted", [
    ((5, 9), (48,)), ((16,), (16,)), ((32, 48), (3, 2, 16, 16)),
    ((2, 3, 16, 32), (2, 3, 2, 1, 16, 16)), ((16, 17), (272,))])
def test_the_third_version_holds_a_byte_for_each_element_in_tiles(shape, wanted):
    fixed = tf.function(lambda: gen_npu_ops.drop_out_gen_mask_v3(shape, 0.5, 1, 2))
    later = tf.function(lambda shape: gen_npu_ops.drop_out_gen_mask_v3(shape, 0.5, 1, 2))
    for mask in (gen_npu_ops.drop_out_gen_mask_v3(shape, 0.5, 1, 2), fixed(),
                 later(tf.constant(shape))):
        assert mask.shape == wanted and set(mask.numpy().ravel()) <= {0, 1}
    assert gen_npu_ops.drop_out_gen_mask_v4(shape, 0.5, 1, 2).shape == shape


def test_all_and_nothing_can_be_kept():
    x = tf.constant(floats(40, 5))
    for version in ("", "_v3"):
        gen = getattr(gen_npu_ops, "drop_out_gen_mask" + version)
        do = getattr(gen_npu_ops, "drop_out_do_mask" + version)
        assert (do(x, gen([40, 5], 1.0), 1.0).numpy() == x.numpy()).all()
        assert not do(x, gen([40, 5], 0.0), 0.5).numpy().any()


def test_seeds_give_the_same_numbers_again_and_none_do_not():
    def drawn(seed, seed2):
        @tf.function
        def draw():
            return gen_npu_ops.drop_out_gen_mask([4000], 0.5, seed, seed2)
        return [draw().numpy().tobytes() for _ in range(2)]

    assert drawn(1, 2) == drawn(1, 2)
    assert len(set(drawn(1, 2))) == 2
    assert drawn(1, 2) != drawn(1, 3)
    assert drawn(0, 0) != drawn(0, 0) and drawn(None, None) != drawn(None, None)


def test_two_masks_of_one_function_are_not_drawn_by_one_generator():
    @tf.function
    def draw():
        return [gen_npu_ops.drop_out_gen_mask([4000], 0.5, 1, 2) for _ in range(2)]

    for first, second in (draw(), draw()):
        assert first.numpy().tobytes() == second.numpy().tobytes()


def test_what_the_script_registers_is_the_gradient():
    calls = []
    from tensorflow.python.framework import ops

    @ops.RegisterGradient("PRelu")
    def gradient(op, grad):
        calls.append((op.type, len(op.inputs), len(op.outputs)))
        return list(gen_npu_ops.p_relu_grad(grad, op.inputs[0], op.inputs[1]))

    try:
        x = tf.constant(floats(2, 3))
        for run in (lambda function: function, tf.function):
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = run(gen_npu_ops.p_relu)(x, tf.constant(floats(3)))
            assert tape.gradient(loss, x) is not None
    finally:
        ops.gradient_registry._registry.pop("PRelu")
    assert calls == [("PRelu", 2, 1)] * 2


def test_the_gradient_of_a_gradient_does_not_exist():
    x = tf.constant(floats(3))
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = gen_npu_ops.fast_gelu(x)
        slope = inner.gradient(y, x)
    with pytest.raises(LookupError, match="FastGeluGrad"):
        tape.gradient(slope, x)


def test_half_precision_is_calculated_in_single():
    x = floats(100).astype("float16")
    y = gen_npu_ops.fast_gelu(tf.constant(x))
    assert y.dtype == tf.float16
    wanted = operator_forms.fast_gelu({}, x.astype("float64"))[0]
    np.testing.assert_allclose(y.numpy(), wanted, rtol=2 ** -10, atol=1e-7)
    mask = gen_npu_ops.drop_out_gen_mask([100], np.float16(0.5), 1, 1)
    assert gen_npu_ops.drop_out_do_mask(x, mask, 0.5).dtype == tf.float16


def test_arguments_are_those_of_the_registration():
    import inspect
    assert str(inspect.signature(gen_npu_ops.drop_out_gen_mask)) == (
        "(shape, prob, seed=0, seed2=0, name=None)")
    assert list(inspect.signature(gen_npu_ops.dynamic_rnn).parameters)[:9] == [
        "x", "w", "b", "seq_length", "init_h", "init_c", "cell_type", "direction", "activation"]
    with pytest.raises(TypeError, match="missing a required argument"):
        gen_npu_ops.drop_out_do_mask(tf.constant([1.0]))
    with pytest.raises(TypeError, match=r"'x' may be float16 or float32\. Received: int32"):
        gen_npu_ops.drop_out_do_mask(tf.constant([1]), tf.zeros([16], tf.uint8), 1)


def test_what_has_no_form_says_so():
    case = CASES["dynamic_rnn_v2"]
    with pytest.raises(NotImplementedError, match="only has direction='UNIDIRECTIONAL'"):
        gen_npu_ops.dynamic_rnn_v2(*case[1], **{**RNN, "direction": "BIDIRECTIONAL"})
    with pytest.raises(AttributeError, match=r"drop_in: .* which .*test_operators.py uses in"):
        getattr(gen_npu_ops, "drop_in")  # noqa: B009


def test_float_status_is_that_of_what_it_waits_for():
    @tf.function
    def status(x):
        with tf.control_dependencies([tf.exp(x), tf.constant(1)]):
            found = gen_npu_ops.npu_get_float_status_v2()
        with tf.control_dependencies([found]):
            gen_npu_ops.npu_clear_float_status_v2()
        return found

    assert status(tf.constant([1.0])).numpy().tolist() == [0] * 8
    assert status(tf.constant([1.0, 1000.0])).numpy().tolist() == [1] + [0] * 7
    assert status(tf.constant([float("nan")])).numpy()[0] == 1
    # Of nothing it tells nothing, as the adapter's operator, which takes no inputs.
    assert gen_npu_ops.npu_get_float_status_v2().numpy().tolist() == [0] * 8
