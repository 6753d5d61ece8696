"""Reference, semantics 5: workers, and where the time folder's time comes from."""
import time

from keras_npu_dump.emulator.ge.ge_session import GeSession


def test_fact_5_how_workers_must_be_described(observe):
    seen = observe("workers").result
    assert [entry[0] for entry in seen] == [
        "ValueError", "RuntimeError", "RuntimeError", "RuntimeError", 2, "NotImplementedError"]
    assert seen[4] == [2, 1, True]


def test_fact_5_for_one_worker_distribute_changes_nothing(observe):
    assert observe("api", NPU_LOOP_SIZE="4").result["distribute"] == [5, None, ["d", 8]]


def test_fact_5_time_is_that_of_open_and_local(tmp_path):
    session = GeSession({"enable_dump": "1", "dump_path": str(tmp_path)}, 4, started=1900000000.0)
    expected = time.strftime("%Y%m%d%H%M%S", time.localtime(1900000000))
    assert session.folder("a/b c", 6, 3) == str(tmp_path / expected / "4" / "a_b_c" / "6" / "3")


def test_formats_4_the_second_time_folder_of_the_newest_chips(observe):
    seen = observe("end_of_data", KERAS_NPU_DUMP_EMULATE_CANN="new,names=tf1,time=two")
    folder = next(iter(seen.steps(seen.result["ge_name"]).values()))
    parts = folder.relative_to(seen.dump_path).parts
    assert len(parts) == 6 and parts[0] == parts[1] and len(parts[0]) == 14
