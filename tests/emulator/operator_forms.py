"""What the operators of the NPU compute, in numpy and float64: {type in GE: function}.

Each function takes the attributes and the inputs, and returns the outputs. Of operators that draw
there is none: `test_operators.py` looks at what they draw.
"""
import numpy as np

SCALE = np.sqrt(2 / np.pi)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def kept_bits(mask, count):
    return np.unpackbits(mask, bitorder="little")[:count].astype(bool)


def kept_bytes(mask, shape):
    if mask.ndim == len(shape) + 2:
        batch = mask.shape[:-4]
        n1, m1, m0, n0 = mask.shape[-4:]
        flat = mask.reshape(-1, n1, m1, m0, n0).transpose(0, 2, 3, 1, 4)
        return flat.reshape(*batch, m1 * m0, n1 * n0).astype(bool).reshape(shape)
    return mask.reshape(-1)[:int(np.prod(shape))].astype(bool).reshape(shape)


def do_mask(attrs, x, mask, keep_prob):
    return [np.where(kept_bits(mask, x.size).reshape(x.shape), x / keep_prob, 0)]


def do_mask_v3(attrs, x, mask, keep_prob):
    return [np.where(kept_bytes(mask, x.shape), x / keep_prob, 0)]


def fast_gelu(attrs, x):
    return [x * sigmoid(1.702 * x)]


def fast_gelu_grad(attrs, dy, x):
    e = np.exp(-1.702 * x)
    return [dy * (e + 1.702 * x * e + 1) / (e + 1) ** 2]


def gelu(attrs, x):
    return [0.5 * x * (1 + np.tanh(SCALE * (x + 0.044715 * x ** 3)))]


def gelu_grad(attrs, dy, x, y):
    step = 1e-6
    return [dy * (gelu(attrs, x + step)[0] - gelu(attrs, x - step)[0]) / (2 * step)]


def layer_norm(attrs, x, gamma, beta):
    axis = attrs["begin_norm_axis"]
    axes = tuple(range(axis + x.ndim if axis < 0 else axis, x.ndim))
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return [(x - mean) / np.sqrt(variance + attrs["epsilon"]) * gamma + beta, mean, variance]


def layer_norm_grad(attrs, dy, x, variance, mean, gamma):
    axes = tuple(axis for axis in range(x.ndim) if mean.shape[axis] != x.shape[axis])
    outer = tuple(range(x.ndim - gamma.ndim))
    normal = (x - mean) / np.sqrt(variance + 1e-12)
    through = dy * gamma
    pd_x = (through - through.mean(axes, keepdims=True)
            - normal * (through * normal).mean(axes, keepdims=True)) / np.sqrt(variance + 1e-12)
    return [pd_x, (dy * normal).sum(outer), dy.sum(outer)]


def lstm_cell(attrs, x, h, c, w, b):
    i, j, f, o = np.split(np.concatenate([x, h], 1) @ w + b, 4, axis=1)
    i, j, f, o = sigmoid(i), np.tanh(j), sigmoid(f + attrs["forget_bias"]), sigmoid(o)
    ct = f * c + i * j
    return [ct, o * np.tanh(ct), i, j, f, o, np.tanh(ct)]


def lstm(attrs, x, w, b, *rest):
    init_h, init_c = rest[-2:]
    lengths = rest[0] if len(rest) == 3 else np.full(x.shape[1], len(x))
    h, c, rows = init_h[-1], init_c[-1], []
    for step, now in enumerate(x):
        ct, ht, i, j, f, o, tanhc = lstm_cell(attrs, now, h, c, w, b)
        inside = (step < lengths)[:, None]
        h, c = np.where(inside, ht, h), np.where(inside, ct, c)
        rows.append([np.where(inside, h, 0), h, c, i, j, f, o, tanhc])
    return [np.stack(column) for column in zip(*rows)]


def gru(attrs, x, weight_input, weight_hidden, bias_input, bias_hidden, seq_length, init_h):
    h, rows = init_h, []
    first, second = (0, 1) if attrs["gate_order"] == "zrh" else (1, 0)
    for step, now in enumerate(x):
        given = np.split(now @ weight_input + bias_input, 3, axis=1)
        own = np.split(h @ weight_hidden + bias_hidden, 3, axis=1)
        z, r = sigmoid(given[first] + own[first]), sigmoid(given[second] + own[second])
        new = np.tanh(given[2] + r * own[2])
        inside = (step < seq_length)[:, None]
        h = np.where(inside, (1 - z) * new + z * h, h)
        rows.append([np.where(inside, h, 0), h, z, r, new, own[2]])
    return [np.stack(column) for column in zip(*rows)]


def p_relu(attrs, x, weight):
    return [np.where(x > 0, x, x * weight)]


def centralization(attrs, x):
    return [x - x.mean(tuple(attrs["axes"]), keepdims=True)]


FORMS = {
    "DropOutDoMask": do_mask, "DropOutDoMaskV3": do_mask_v3, "FastGelu": fast_gelu,
    "FastGeluGrad": fast_gelu_grad, "Gelu": gelu, "GeluGrad": gelu_grad, "LayerNorm": layer_norm,
    "LayerNormGrad": layer_norm_grad, "BasicLSTMCell": lstm_cell, "DynamicRNN": lstm,
    "DynamicGRUV2": gru, "PRelu": p_relu, "Centralization": centralization,
}


def compute(op_type, attrs, arrays):
    """The outputs of an operator in float64."""
    wide = [array.astype("float64") if array.dtype.kind == "f" else array for array in arrays]
    return FORMS[op_type](attrs, *wide)
