"""Numbers that a person can read."""


def human_bytes(count: int) -> str:
    """1536 -> '1.5 KB'; powers of 1024, at most four characters and a unit."""
    size = float(count)
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if size < 1024 or unit == "TB":
            return ("%d %s" if unit == "B" or size >= 100 else "%.1f %s") % (size, unit)
        size /= 1024
    raise AssertionError("unreachable")


def plural(count: int, noun: str) -> str:
    return "%d %s%s" % (count, noun, "" if count == 1 else "s")
