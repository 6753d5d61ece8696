"""Unpacks a kept dump, and the answers that its version gave."""
import json
import pathlib
import tarfile

KEPT = pathlib.Path(__file__).resolve().parent
# Four small trainings; `tf265_tensor` is the one to start from.
NAMES = ("tf265_tensor", "tf265_stats", "tf265_overflow", "newest_tensor")


def unpack(name, folder, version="0.1.0"):
    """Puts a kept dump at `folder`/dump, with the times that its files had.

    Returns:
      The path of the dump, and the answers of then.
    """
    with tarfile.open(str(KEPT / version / (name + ".tar.gz"))) as tar:
        # Newer Pythons want to be told that the archive is ours.
        extra = {"filter": "fully_trusted"} if hasattr(tarfile, "data_filter") else {}
        tar.extractall(str(folder), **extra)
    answers = json.loads(pathlib.Path(str(folder), "answers.json").read_text(encoding="utf-8"))
    return pathlib.Path(str(folder)) / "dump", answers
