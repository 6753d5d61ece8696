"""Explanations of problem codes as text."""
from __future__ import annotations

import textwrap
import unicodedata
from typing import Dict, List

from keras_npu_dump.explain.explanation import CHINESE, Explanation
from keras_npu_dump.explain.usual_severity import USUAL

_WIDTH = 88
_TITLES = {False: ("means", "why", "do"), True: ("含义", "原因", "处理")}
_SEVERITIES = {"error": "错误", "warning": "警告", "info": "提示"}


def explanation_text(code: str, explanation: Explanation, language: str) -> str:
    """What `keras-npu-dump explain CODE` prints.

    Args:
      code: with its usual severity in `explain/usual_severity.py`.
      explanation: of the code.
      language: of the explanation.

    Returns:
      Lines, without the last line end.
    """
    chinese = language == CHINESE
    severity = USUAL[code]
    lines = [code + ("（%s）" % _SEVERITIES[severity] if chinese else " (%s)" % severity)]
    for title, text in zip(_TITLES[chinese], explanation):
        margin = "  %s  " % (title if chinese else title.ljust(5))
        first, *rest = _wrapped(text, _WIDTH - _columns(margin), chinese)
        lines += [margin + first] + [" " * _columns(margin) + line for line in rest]
    return "\n".join(lines)


def list_text(all_of_them: Dict[str, Explanation]) -> str:
    """What `keras-npu-dump explain` prints: each code with its meaning, a line each.

    Args:
      all_of_them: the explanations, by code.

    Returns:
      Lines, without the last line end.
    """
    width = max(map(len, all_of_them))
    return "\n".join("%s  %s" % (code.ljust(width), one.meaning)
                     for code, one in sorted(all_of_them.items()))


def _wrapped(text: str, width: int, chinese: bool) -> List[str]:
    """Lines of a width; Chinese has no blanks to break at, and its signs take two columns."""
    if not chinese:
        return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return _filled(_pieces(text), width)


def _pieces(text: str) -> List[str]:
    """What stays together: words and blanks of Latin letters, single signs of Chinese."""
    pieces: List[str] = []
    for sign in text:
        narrow = _columns(sign) == 1 and sign != " "
        joins = narrow and pieces and _columns(pieces[-1][-1]) == 1 and pieces[-1] != " "
        # No line begins with a sign that closes, and none ends with one that opens.
        if pieces and (joins or sign in "。，；：、）" or pieces[-1][-1] == "（"):
            pieces[-1] += sign
        else:
            pieces.append(sign)
    return pieces


def _filled(pieces: List[str], width: int) -> List[str]:
    lines = [""]
    for piece in pieces:
        if lines[-1] and _columns(lines[-1]) + _columns(piece) > width:
            lines[-1] = lines[-1].rstrip()
            lines.append("")
        if lines[-1] or piece != " ":
            lines[-1] += piece
    return lines


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)
