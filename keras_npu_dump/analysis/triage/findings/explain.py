"""In words: why an operator of this type gives what it gives from such inputs."""
from __future__ import annotations

from typing import List, Optional, Sequence

from keras_npu_dump.analysis.triage.findings.series import Value
from keras_npu_dump.formats import dtypes
from keras_npu_dump.op_types import arithmetic

# Largest finite value and smallest normal one of what a device computes in.
LARGEST = {"DT_FLOAT16": 65504.0, "DT_BF16": 3.3895313892515355e38,
           "DT_FLOAT": 3.4028234663852886e38}
SMALLEST = {"DT_FLOAT16": 6.103515625e-05, "DT_BF16": 1.1754943508222875e-38}


def amount(values: Sequence[Value]) -> str:
    """What is bad among outputs: "-inf in 47 of 64 values"."""
    total = sum(one.count for one in values if one.known)
    kinds = []
    for name, count in (("NaN", sum(max(0, one.nan) for one in values)),
                        ("-inf", sum(max(0, one.neg_inf) for one in values)),
                        ("+inf", sum(max(0, one.pos_inf) for one in values))):
        if count:
            kinds.append("%s in %d" % (name, count))
    return "%s of %d values" % (", ".join(kinds), total) if kinds else "nothing bad"


def span(value: Value) -> str:
    """The range of a tensor: "0 to 1"."""
    if not value.known:
        return "unknown"
    if value.min == value.max:
        return "%s everywhere" % number(value.max) if value.count > 1 else number(value.max)
    return "%s to %s" % (number(value.min), number(value.max))


def number(value: float) -> str:
    return "%.6g" % value


def dtype_of(value: Value) -> str:
    return dtypes.dtype_name(value.dtype) if value.dtype else "unknown type"


def cause(op_type: str, inputs: List[Value], outputs: List[Value]) -> Optional[str]:
    """A sentence's end that says the reason, where type and ranges show one; else None."""
    given = {one.index: one for one in inputs if one.known}
    first, second = given.get(0), given.get(1)
    if op_type in arithmetic.LOGARITHM_TYPES and first is not None:
        low = first.min + (1 if op_type == "Log1p" else 0)
        if low == 0:
            return "the logarithm of zero: its input reaches %s" % number(first.min)
        if low < 0:
            return "the logarithm of a negative number: its input goes down to %s" % number(
                first.min)
    if op_type in arithmetic.DIVISION_TYPES and second is not None and _reaches_zero(second):
        if first is not None and first.max == first.min == 0:
            return "zero divided by zero: the divisor is %s" % span(second)
        return "a division by zero: the divisor is %s" % span(second)
    if op_type in arithmetic.ROOT_GRADIENT_TYPES and first is not None and _reaches_zero(first):
        return ("the gradient of a root at zero, where it is infinite: the root (input 0) is %s"
                % span(first))
    if op_type in arithmetic.INVERSE_TYPES and first is not None and _reaches_zero(first):
        return "the inverse of zero: its input is %s" % span(first)
    if op_type in arithmetic.ROOT_TYPES and first is not None and first.min < 0:
        return "the root of a negative number: its input goes down to %s" % number(first.min)
    if op_type in arithmetic.EXPONENTIAL_TYPES and first is not None and outputs:
        return "an exponential beyond its type's range: its input goes up to %s" % number(first.max)
    if op_type == "Pow" and first is not None and second is not None:
        if _reaches_zero(first) and second.min < 0:
            return "zero to a negative power"
        if first.min < 0:
            return "a power of a negative number: the base goes down to %s" % number(first.min)
    return _overflow(op_type, inputs, outputs)


def _reaches_zero(value: Value) -> bool:
    return value.min <= 0 <= value.max


def _overflow(op_type: str, inputs: List[Value], outputs: List[Value]) -> Optional[str]:
    dtype = next((dtype_of(one) for one in outputs if one.bad), "")
    limit = LARGEST.get(dtype)
    if limit is None or not any(one.pos_inf > 0 or one.neg_inf > 0 for one in outputs):
        return None
    floats = [one for one in inputs if one.known and one.dtype not in (0,)]
    ranges = ", ".join("input %d is %s" % (one.index, span(one)) for one in floats[:3])
    short = dtype[3:].lower()
    if short == "float":
        short = "float32"
    return "an overflow of %s, whose largest number is %s%s" % (
        short, number(limit), ": " + ranges if ranges else "")


def ranges_of(inputs: List[Value]) -> str:
    """"input 0 is 0 to 1, input 1 is 3"; at most four."""
    known = [one for one in inputs if one.known]
    return ", ".join("input %d is %s" % (one.index, span(one)) for one in known[:4])
