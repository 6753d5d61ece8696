"""Is everything that an emulated training leaves its owner's alone, whatever the umask?"""
import os
import stat
import sys

from tests.conftest import run_command

START = """
import os, sys
os.umask(0o022)
from keras_npu_dump.cli import main
sys.exit(main())
"""
SCRIPT = """
import numpy as np
import npu_device
npu_device.open().as_default()
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(2, name="n" * 300)])
model.compile("adam", "mse")
model.fit(np.ones((16, 3), "float32"), np.ones((16, 2), "float32"), batch_size=8, verbose=0)
"""


def test_no_folder_and_no_file_of_a_dump_is_open_to_others(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    run_command([sys.executable, "-c", START, "run", "--emulate", "--data_dump_path=dump",
                 "--data_dump_mode=all", "train.py"], tmp_path)
    dump = tmp_path / "dump"
    found = {str(path.relative_to(dump)): stat.S_IMODE(os.lstat(str(path)).st_mode)
             for path in dump.rglob("*")}
    for part in ("runs/", "graphs/", "_Build.txt", "mapping.csv", "manifest.json", "run.json"):
        assert any(part in name for name in found), part
    assert {name: oct(mode) for name, mode in found.items() if mode & 0o077} == {}
    assert stat.S_IMODE(dump.stat().st_mode) == 0o700
