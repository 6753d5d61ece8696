"""An exception as the record keeps it: its own words, and the operator that it names.

TensorFlow 2.6 says `... [[node model/dense/MatMul (defined at ...) ]]`, newer versions
`Graph execution error: Detected at node 'model/dense/MatMul' ... Node: '...' ... [[{{node
...}}]]`, with the places in the script between. Exceptions while a function is traced begin
with `in user code:`, and end with their own words.
"""
import contextlib
import re
from typing import Any, Iterator, Optional

from keras_npu_dump.config.masking import masked_text
from keras_npu_dump.failure import MOST_CHARACTERS, Failure

# A message may be as long as a data set; what it says stands at its begin or its end.
_READ = 20000
_OPERATORS = (
    re.compile(r"\[\[\{\{node ([^}\s]+)\}\}"),
    re.compile(r"\[\[node ([^\s\]]+)"),
    re.compile(r"^Node: '([^'\n]+)'", re.MULTILINE),
    re.compile(r"\bDetected at node '?([^'\s]+)'? defined at"),
    re.compile(r"\{\{node ([^}\s]+)\}\}"),
)
_NODE = re.compile(r"\[\[(\{\{)?node ")
_GRAPH_ERROR = "Graph execution error:"
_USER_CODE = "in user code:"
_ROOT_ERRORS = re.compile(r"\d{1,9} root error\(s\) found\.\s*(\(0\)\s*)?")
# What is masked before it is cut: more than is kept, as masks are shorter than secrets.
_MASKED = 4 * MOST_CHARACTERS
# A line of a traceback inside of a message ends, and the exception's own words begin.
_OWN_LINE = re.compile(r"^ *([A-Za-z_][\w.]*(?:Error|Exception|Warning|Exit|Interrupt)): ",
                       re.MULTILINE)
_NO_EXECUTION = "OutOfRangeError"  # the end of the data, which is how an epoch ends


def is_end_of_data(error: BaseException) -> bool:
    """Whether it says no more than that there are no more batches."""
    return isinstance(error, StopIteration) or type(error).__name__ == _NO_EXECUTION


def is_of_tracing(error: BaseException) -> bool:
    """Whether it came while a function was traced, as far as it shows."""
    traced = False
    with contextlib.suppress(BaseException):  # a class may answer with whatever it likes
        traced = hasattr(error, "ag_error_metadata")
    return traced or _text(error).startswith(_USER_CODE)


def is_of_hook(error: BaseException) -> bool:
    """Whether it came out of a callback's hook, before an execution."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_name in ("on_train_batch_begin", "on_batch_begin"):
            return True
        trace = trace.tb_next
    return False


def describe(error: BaseException, kept: str, **where: Any) -> Failure:
    """An exception for the record.

    Args:
      error: the exception.
      kept: "full", "masked" or "none", as the option `record` has it.
      **where: `section`, `data_index`, `tracing` of the Failure.
    """
    text = _text(error)
    words: Optional[str] = None
    if kept != "none":
        words = _own_words(text).strip()[:_MASKED]
        words = masked_text(words) if kept == "masked" else words
        if len(words) > MOST_CHARACTERS:
            words = words[:MOST_CHARACTERS] + "..."
        words = words.strip() or None
    return Failure(_plain(type(error).__name__), words, _operator(text), **where)


def chain(error: Optional[BaseException]) -> Iterator[BaseException]:
    """An exception and those that it came from, the last first; each once."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _text(error: BaseException) -> str:
    """Without what no text can hold; empty where the exception cannot say what it is."""
    text = ""
    with contextlib.suppress(BaseException):
        text = str(error)
    if len(text) > 2 * _READ:
        text = text[:_READ] + "\n...\n" + text[-_READ:]
    return _plain(text)


def _plain(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def _operator(text: str) -> Optional[str]:
    for pattern in _OPERATORS:
        found = pattern.search(text)
        if found is not None:
            return found.group(1)[:MOST_CHARACTERS]
    return None


def _own_words(text: str) -> str:
    if text.startswith(_USER_CODE):
        own = list(_OWN_LINE.finditer(text))
        return text[own[-1].end():] if own else text
    node = _NODE.search(text)
    head = text if node is None else text[:node.start()]
    if head.startswith(_GRAPH_ERROR):
        # Behind the places in the script.
        after = re.split(r"^Node: '[^'\n]*'$", head, maxsplit=1, flags=re.MULTILINE)
        head = after[1] if len(after) > 1 else head.strip().rpartition("\n\n")[2]
    head = head.strip()
    several = _ROOT_ERRORS.match(head)
    return head if several is None else head[several.end():]
