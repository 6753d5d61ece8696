"""What is said where the command line of `run` holds against what the script asks for."""
from typing import List, Sequence

from keras_npu_dump.capture.request.command_line import Overruled
from keras_npu_dump.capture.request.situation import RUN


def note(side: str, found: Sequence[Overruled]) -> str:
    """What the script asked for and what holds, in one message.

    Args:
      side: who in the script has asked.
      found: at least one.
    """
    parts = ["%s%s asks for %s." % (side[0].upper(), side[1:], _listed(found, "asked"))]
    given = [one for one in found if one.given]
    late = [one for one in found if not one.given]
    if given:
        parts.append("The command line of `%s` holds: %s." % (RUN, _listed(given, "holds")))
    if late:
        parts.append(
            "npu_device.open() came first, with %s: make it before that, or give `run` %s."
            % (_listed(late, "holds"),
               ", ".join(one.flag for one in late)))
    return " ".join(parts)


def off_note(side: str) -> str:
    """The script asks for a dump, and the command line has switched dump off.

    Args:
      side: who in the script has asked.
    """
    return ("%s%s asks for a dump. The command line of `%s` holds: data_dump_flag=False, nothing is"
            " dumped." % (side[0].upper(), side[1:], RUN))


def _listed(found: Sequence[Overruled], attribute: str) -> str:
    texts: List[str] = ["%s=%s" % (one.name, getattr(one, attribute)) for one in found]
    return ", ".join(texts)
