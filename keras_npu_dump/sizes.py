"""Numbers that a person can read."""


def human_bytes(count: float) -> str:
    """1500 -> '1.5 KB'; powers of 1000, as disks and data_dump_min_free_gb are counted."""
    size = float(count)
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            return ("%d %s" if unit == "B" or size >= 100 else "%.1f %s") % (size, unit)
        size /= 1000
    raise AssertionError("unreachable")


def plural(count: int, noun: str) -> str:
    return "%d %s%s" % (count, noun, "" if count == 1 else "s")
