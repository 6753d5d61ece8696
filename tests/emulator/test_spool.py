"""Where large values wait for their files: what happens to the folder and to limits."""
import os
import resource
import shutil
import signal

import numpy as np
import pytest

from keras_npu_dump.emulator.tracer import spool as spool_lib
from keras_npu_dump.emulator.tracer.spool import Spool, Spooled

VALUES = [np.arange(100, dtype=np.float32), np.array(True), np.ones((2, 0), np.float16),
          np.arange(24, dtype=np.complex64).reshape(2, 3, 4)]


def same(found, array):
    found = found.array() if isinstance(found, Spooled) else found
    return found.dtype == array.dtype and np.array_equal(found, array)


def test_values_come_back_as_they_were_and_nothing_of_them_has_a_name(tmp_path):
    with Spool(str(tmp_path)) as spool:
        kept = [spool.put(array) for array in VALUES]
        assert os.listdir(str(tmp_path)) == []
        assert all(same(*pair) for pair in zip(kept, VALUES))


def test_a_folder_that_is_gone_is_made_again(tmp_path):
    folder = tmp_path / "dump"
    folder.mkdir()
    for again in range(2):
        with Spool(str(folder)) as spool:
            assert same(spool.put(VALUES[0]), VALUES[0])
        assert folder.stat().st_mode & 0o077 == 0 or not again
        shutil.rmtree(str(folder))


def test_a_full_file_is_followed_by_another(tmp_path, monkeypatch):
    monkeypatch.setattr(spool_lib, "_FULL", 500)
    with Spool(str(tmp_path)) as spool:
        kept = [spool.put(VALUES[0] + number) for number in range(5)]
        assert len(spool._files) == 3  # 400 bytes each
        assert all(same(one, VALUES[0] + number) for number, one in enumerate(kept))


@pytest.mark.parametrize("limit, files", [(1000, 3), (300, 2)])
def test_a_limit_of_the_size_of_files_loses_no_value(tmp_path, limit, files):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with Spool(str(tmp_path)) as spool:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
            kept = [spool.put(VALUES[0] + number) for number in range(5)]
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            assert all(same(one, VALUES[0] + number) for number, one in enumerate(kept))
            # What no file takes stays in memory.
            assert [isinstance(one, Spooled) for one in kept] == [limit > 400] * 5
            assert len(spool._files) >= files
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_forked_child_does_not_hold_the_values(tmp_path):
    with Spool(str(tmp_path)) as spool:
        kept = spool.put(VALUES[0])
        child = os.fork()
        if not child:
            os._exit(0 if all(file.closed for file in spool._files) else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert same(kept, VALUES[0])
