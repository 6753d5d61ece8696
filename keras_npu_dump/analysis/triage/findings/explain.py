"""In words: why an operator of this type gives what it gives from such inputs."""
from __future__ import annotations

from typing import Optional, Sequence

from keras_npu_dump.analysis.triage.findings.series import TensorStatistics
from keras_npu_dump.formats import dtypes
from keras_npu_dump.op_types import arithmetic

# Largest finite value and smallest normal one of what a device computes in.
LARGEST = {"DT_FLOAT16": 65504.0, "DT_BF16": 3.3895313892515355e38,
           "DT_FLOAT": 3.4028234663852886e38}
SMALLEST = {"DT_FLOAT16": 6.103515625e-05, "DT_BF16": 1.1754943508222875e-38}
# Inputs whose ranges a sentence gives; of an overflow fewer, as it has more to say.
_SHOWN, _SHOWN_LIMIT = 4, 3


def amount(values: Sequence[TensorStatistics]) -> str:
    """What is bad among outputs: "-inf in 47 of 64 values"."""
    total = sum(one.count for one in values if one.known)
    kinds = []
    for name, count in (("NaN", sum(max(0, one.nan) for one in values)),
                        ("-inf", sum(max(0, one.neg_inf) for one in values)),
                        ("+inf", sum(max(0, one.pos_inf) for one in values))):
        if count:
            kinds.append("%s in %d" % (name, count))
    return "%s of %d values" % (", ".join(kinds), total) if kinds else "nothing bad"


def span(value: TensorStatistics) -> str:
    """The range of a tensor: "0 to 1"."""
    if not value.known:
        return "unknown"
    if value.min == value.max:
        return "%s everywhere" % number(value.max) if value.count > 1 else number(value.max)
    return "%s to %s" % (number(value.min), number(value.max))


def number(value: float) -> str:
    """Six digits, as statistics files have them."""
    return "%.6g" % value


def short_dtype(name: str) -> str:
    """"float16" of "DT_FLOAT16"."""
    return name[len("DT_"):].lower()


def dtype_of(value: TensorStatistics) -> str:
    """The vendor's name of the dtype, as DT_FLOAT16."""
    return dtypes.dtype_name(value.dtype) if value.dtype else "unknown type"


def cause(op_type: str, inputs: Sequence[TensorStatistics],
          outputs: Sequence[TensorStatistics]) -> Optional[str]:
    """Why an operator gives values that are not finite, as far as type and ranges show it.

    Args:
      op_type: GE's type.
      inputs: of the run of the operator in which it happens.
      outputs: those that hold NaN or infinities.

    Returns:
      The end of a sentence, None where nothing shows the reason.
    """
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
    return _overflow(inputs, outputs)


def _reaches_zero(value: TensorStatistics) -> bool:
    return value.min <= 0 <= value.max


def _overflow(inputs: Sequence[TensorStatistics], outputs: Sequence[TensorStatistics]
              ) -> Optional[str]:
    dtype = next((dtype_of(one) for one in outputs if one.bad), "")
    limit = LARGEST.get(dtype)
    if limit is None or not any(one.pos_inf > 0 or one.neg_inf > 0 for one in outputs):
        return None
    typed = [one for one in inputs if one.known and one.dtype]
    ranges = ", ".join("input %d is %s" % (one.index, span(one)) for one in typed[:_SHOWN_LIMIT])
    return "an overflow of %s, whose largest number is %s%s" % (
        "float32" if dtype == "DT_FLOAT" else short_dtype(dtype), number(limit),
        ": " + ranges if ranges else "")


def ranges_of(inputs: Sequence[TensorStatistics]) -> str:
    """"input 0 is 0 to 1, input 1 is 3"; at most four of those that have statistics."""
    known = [one for one in inputs if one.known]
    return ", ".join("input %d is %s" % (one.index, span(one)) for one in known[:_SHOWN])
