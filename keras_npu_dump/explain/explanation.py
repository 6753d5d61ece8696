"""What a problem code means, why it comes, and what to do: one text for each, per language."""
from __future__ import annotations

import difflib
import os
from typing import Dict, List, Mapping, NamedTuple, Optional

from keras_npu_dump.errors import InputError

ENGLISH, CHINESE = "en", "zh"
_NEAR = 0.65  # how much of two names is alike, of 1, where one may be meant by the other


class Explanation(NamedTuple):
    """The explanation of a code.

    Attributes:
      meaning: what is the case, in one sentence.
      why: what brings that about, the frequent causes first.
      what_to_do: what helps, the first thing to try first.
    """

    meaning: str
    why: str
    what_to_do: str


def explanations(language: str) -> Dict[str, Explanation]:
    """The explanations of all codes of `records/problems.py`, and of doctor's, by code.

    Args:
      language: ENGLISH or CHINESE.
    """
    if language == CHINESE:
        from keras_npu_dump.explain import chinese, doctor_chinese
        return {**doctor_chinese.EXPLANATIONS, **chinese.EXPLANATIONS}
    from keras_npu_dump.explain import doctor_english, english
    return {**doctor_english.EXPLANATIONS, **english.EXPLANATIONS}


def known_code(text: str, codes: Mapping[str, object]) -> str:
    """The code that a user means: as it is printed, brackets included, in any case.

    Args:
      text: what the user has given.
      codes: all that there are.

    Raises:
      InputError: there is no such code; the message has the nearest ones.
    """
    code = text.strip().strip("[]").lower().replace("_", "-")
    if code in codes:
        return code
    near: List[str] = difflib.get_close_matches(code, list(codes), 3, _NEAR)
    nearest = " Nearest: %s." % ", ".join(near) if near else ""
    raise InputError("CODE: expected a word in brackets behind a problem; `keras-npu-dump explain`"
                     " lists them all. Received: %r.%s" % (text, nearest))


def language_of(environment: Optional[Mapping[str, str]] = None) -> str:
    """The language of messages by the locale: the first of LC_ALL, LC_MESSAGES and LANG that is
    set, as POSIX has it (environ, "Internationalization Variables").

    Args:
      environment: defaults to that of this process.
    """
    environment = os.environ if environment is None else environment
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((environment[name] for name in names if environment.get(name)), "")
    return CHINESE if locale.lower().startswith("zh") else ENGLISH
