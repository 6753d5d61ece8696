"""What does a record keep of an exception?"""
import pytest

from keras_npu_dump.capture.process import raised
from keras_npu_dump.failure import MOST_CHARACTERS

OLD = (" In[0] mismatch In[1] shape: 5 vs. 3: [4,5] [3,2] 0 0\n\t [[node model/dense/MatMul"
       " (defined at /a.py:38) ]] [Op:__inference_bad_813]\n\nErrors may have originated from an"
       " input operation.")
NEW = """Graph execution error:

Detected at node 'model/dense/MatMul' defined at (most recent call last):
    File "/a.py", line 41, in <module>
      train()
Node: 'model/dense/MatMul'
Matrix size-incompatible: In[0]: [4,5], In[1]: [3,2]
\t [[{{node model/dense/MatMul}}]] [Op:__inference_bad_666]"""
NEWEST = """Graph execution error:

Detected at node model/dense/MatMul defined at (most recent call last):
  File "/a.py", line 41, in <module>

  File "/a.py", line 38, in bad

Matrix size-incompatible: In[0]: [4,5], In[1]: [3,2]
\t [[{{node model/dense/MatMul}}]] [Op:__inference_bad_666]"""
ROOTS = """2 root error(s) found.
  (0) Invalid argument:  Incompatible shapes: [4] vs. [5]
\t [[node net/add (defined at /a.py:1) ]]
\t [[net/out/_2]]
  (1) Invalid argument:  Incompatible shapes: [4] vs. [5]
0 successful operations."""
TRACED = """in user code:

    /a.py:45 bt  *
        return tf.matmul(x, w) + y

    ValueError: Dimensions must be equal, but are 4 and 7 for '{{node add}} = AddV2[T=DT_FLOAT]'
"""


@pytest.mark.parametrize("text, words, operator", [
    (OLD, "In[0] mismatch In[1] shape: 5 vs. 3: [4,5] [3,2] 0 0", "model/dense/MatMul"),
    (NEW, "Matrix size-incompatible: In[0]: [4,5], In[1]: [3,2]", "model/dense/MatMul"),
    (NEWEST, "Matrix size-incompatible: In[0]: [4,5], In[1]: [3,2]", "model/dense/MatMul"),
    (ROOTS, "Invalid argument:  Incompatible shapes: [4] vs. [5]", "net/add"),
    (TRACED, "Dimensions must be equal, but are 4 and 7 for '{{node add}} = AddV2[T=DT_FLOAT]'",
     "add"),
    ("", None, None), ("plain words", "plain words", None),
])
def test_its_own_words_and_the_operator(text, words, operator):
    found = raised.describe(ValueError(text), "full")
    assert (found.message, found.operator) == (words, operator)


def test_words_are_limited_and_can_be_written():
    found = raised.describe(ValueError("x" * 100_000 + "[[{{node late}}]]"), "full")
    assert found.message == "x" * MOST_CHARACTERS + "..." and found.operator == "late"
    odd = raised.describe(ValueError("a\0b\x1b[2J \ud800 \u202e"), "full")
    assert odd.message == "a\\x00b\x1b[2J \\ud800 \u202e"
    # Whoever prints makes it a line.
    assert "\n" not in raised.describe(ValueError("a\nb"), "full").said()


def test_secrets_are_masked_as_those_of_arguments_are():
    error = ValueError("cannot open s3://me:hunter2@host/x, api_key=abc")
    assert "hunter2" in (raised.describe(error, "full").message or "")
    masked = raised.describe(error, "masked").message or ""
    assert "hunter2" not in masked and "abc" not in masked and "cannot open" in masked
    assert raised.describe(error, "none") == raised.Failure("ValueError")


def test_an_exception_that_cannot_say_what_it_is():
    class Mute(Exception):
        def __str__(self):
            raise SystemExit(3)
    assert raised.describe(Mute(), "full") == raised.Failure("Mute")


def test_what_an_exception_came_from():
    first = KeyError("first")
    second = RuntimeError("second")
    second.__cause__ = first
    first.__context__ = second  # a circle
    assert list(raised.chain(second)) == [second, first]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kept", ["full", "masked"])
def test_a_long_message_holds_nothing_up(kept):
    """Each of these took half a minute when letters were looked at again and again."""
    for text in ("a" * 39000, "deadbeef" * 4800, " " * 39000, "\n" * 39000, "a:" * 19000,
                 "a://" * 9000, "1a" * 19000, "in user code:\n" + "aError" * 6000):
        assert len(raised.describe(ValueError(text), kept).message or "") <= MOST_CHARACTERS + 3


def test_an_exception_that_answers_with_exceptions_is_described():
    class Odd(Exception):
        def __getattr__(self, name):
            raise KeyError(name)

    assert not raised.is_of_tracing(Odd("x"))
    assert raised.describe(Odd("token=hunter2"), "masked").message == "token=***"
