"""Times as records keep them: ISO 8601 text, and offsets such as +0800."""
from __future__ import annotations

import datetime
import re
from typing import Any, Optional

_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(\.\d{1,9})?"
                   r"(Z|[+-]\d\d:?\d\d)?\Z", re.ASCII)
# Python gives seconds where a place's history has them: +002030.
_OFFSET = re.compile(r"([+-])(\d\d):?([0-5]\d)(?::?([0-5]\d))?\Z", re.ASCII)
_EPOCH = datetime.datetime(1970, 1, 1)


def utc_text(moment: datetime.datetime) -> str:
    """An aware time as records keep it, to the second: "2030-03-17T17:46:40+00:00"."""
    return moment.astimezone(datetime.timezone.utc).isoformat(timespec="seconds")


def parse_time(text: Any) -> Optional[float]:
    """Seconds since 1970 of an ISO 8601 time.

    Args:
      text: such as "2030-03-17T17:46:40+00:00"; without an offset it is UTC.

    Returns:
      None for what is no such text, and for dates that do not exist.
    """
    match = _TIME.match(text) if isinstance(text, str) else None
    if match is None:
        return None
    try:
        year, month, day, hour, minute, second = (int(match.group(one)) for one in range(1, 7))
        moment = datetime.datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None
    seconds = (moment - _EPOCH).total_seconds() + float(match.group(7) or 0)
    zone = match.group(8)
    if zone in (None, "Z"):
        return seconds
    offset = parse_offset(zone)
    return None if offset is None else seconds - offset


def parse_offset(text: Any) -> Optional[int]:
    """Seconds that a local time is ahead of UTC.

    Args:
      text: such as "+0800" or "-05:00".

    Returns:
      None for what is no such text, and for a day or more.
    """
    match = _OFFSET.match(text) if isinstance(text, str) else None
    if match is None or int(match.group(2)) > 23:
        return None
    seconds = int(match.group(2)) * 3600 + int(match.group(3)) * 60 + int(match.group(4) or 0)
    return -seconds if match.group(1) == "-" else seconds
