"""What `run` learns from the run before, whose dump a flag file of triage continues.

The flag file names that run in a comment (`config.flag_origin`). Its record is looked for first
in the folder of the flag file, which may have been copied with the dump, then where the comment
says; it is read as every record of others is. That it was emulated is all that is taken from it.
"""
import os
from typing import NamedTuple, Optional, Sequence

from keras_npu_dump.config.flag_origin import Origin, read_origin
from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.read_limited import MAX_FLAG_FILE, read_record
from keras_npu_dump.records.layout import RUN_FILE, run_folder
from keras_npu_dump.records.reading import record_fields


class EmulatedBefore(NamedTuple):
    """An earlier run that was emulated.

    Attributes:
      flag_file: that continues it. record: path of its run.json, which says so.
    """

    flag_file: str
    record: str


def emulated_before(flag_files: Sequence[str]) -> Optional[EmulatedBefore]:
    """The first earlier run of these flag files that is known, if it was emulated.

    Args:
      flag_files: paths, as the command line names them.

    Returns:
      None where it was not, or nothing is known of it.
    """
    for flag_file in flag_files:
        origin = _origin(flag_file)
        if origin is None:
            continue
        for folder in (os.path.dirname(os.path.abspath(flag_file)), origin.dump_path):
            fields = record_fields(folder, origin.run_id)
            if "emulated" in fields:
                record = os.path.join(run_folder(folder, origin.run_id), RUN_FILE)
                return EmulatedBefore(flag_file, record) if fields["emulated"] else None
    return None


def _origin(flag_file: str) -> Optional[Origin]:
    try:
        content = read_record(flag_file, MAX_FLAG_FILE)
    except (OSError, FormatError):
        return None  # it was read before, and is gone
    return read_origin(content.decode("utf-8", "replace"))
