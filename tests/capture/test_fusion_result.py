"""Is fusion_result.json, which GE writes where the next run replaces it, kept with its graphs?"""
import os
import time

from keras_npu_dump.capture.device import fusion_result
from tests.conftest import run_python

PID = 4242
TEXT = b'{"session_and_graph_id_0_1": {"graph_fusion": {}}}'


def keep(tmp_path, environment, since=0.0):
    found = fusion_result.places(environment, PID, [str(tmp_path / "cwd"), ""])
    return fusion_result.keep(found, str(tmp_path / "graphs"), PID, since)


def test_of_the_working_directory_into_the_folder_of_the_process(tmp_path):
    own = tmp_path / "graphs" / ("pid_%d_deviceid_0" % PID)
    other = tmp_path / "graphs" / ("pid_%d_deviceid_0" % (PID + 1))
    for folder in (own, other, tmp_path / "cwd"):
        folder.mkdir(parents=True)
    (tmp_path / "cwd" / fusion_result.NAME).write_bytes(TEXT)
    assert keep(tmp_path, {}) == str(own / fusion_result.NAME)
    assert (own / fusion_result.NAME).read_bytes() == TEXT
    assert list(other.iterdir()) == []
    # One of an earlier process is not of these graphs.
    (own / fusion_result.NAME).unlink()
    os.utime(tmp_path / "cwd" / fusion_result.NAME, (1e9, 1e9))
    assert keep(tmp_path, {}, time.time() - 10) is None


def test_of_ascend_work_path_and_where_there_are_no_graphs(tmp_path):
    folder = tmp_path / "work" / "FE" / str(PID)
    for one in (folder, tmp_path / "cwd"):
        one.mkdir(parents=True)
    (folder / fusion_result.NAME).write_bytes(TEXT)
    (tmp_path / "cwd" / fusion_result.NAME).write_bytes(b"another one")
    environment = {"ASCEND_WORK_PATH": str(tmp_path / "work")}
    assert keep(tmp_path, environment) is None
    (tmp_path / "graphs").mkdir()
    assert keep(tmp_path, environment) == str(tmp_path / "graphs" / fusion_result.NAME)
    assert (tmp_path / "graphs" / fusion_result.NAME).read_bytes() == TEXT
    # What is no file is not waited for.
    (folder / fusion_result.NAME).unlink()
    os.mkfifo(folder / fusion_result.NAME)
    assert keep(tmp_path, environment) is None


def test_a_training_keeps_it_and_collect_is_content(tmp_path):
    done = run_python("""
        from keras_npu_dump import NpuDumpCallback, emulator
        emulator.install()
        import os, npu_device
        dump = NpuDumpCallback(dump_path="d", min_free_gb=0, strict=True)
        npu_device.open().as_default()
        import numpy as np, tensorflow as tf
        net = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
        net.compile("sgd", "mse")
        net.fit(np.ones((8, 3)), np.ones((8, 1)), verbose=0, callbacks=[dump])
        # As GE does it after a compilation, with export_compile_stat = 2.
        open("fusion_result.json", "w").write("{}")
        os.chdir("/")
    """, tmp_path)
    kept = list(tmp_path.glob("d/graphs/pid_*/fusion_result.json"))
    assert len(kept) == 1 and kept[0].read_text() == "{}", done.stderr
    assert kept[0].stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "fusion_result.json").exists()
    [manifest] = tmp_path.glob("d/runs/*/manifest.json")
    assert "fusion_result" not in manifest.read_text()
