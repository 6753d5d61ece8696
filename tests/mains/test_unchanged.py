"""Do mains that know nothing of us work under `keras-npu-dump run`, or are told what to change?"""
import json
import pathlib

import pytest

from tests.mains.running import GREPPED, codes, journal, manifest, run_main, trained
from tests.mains.said import check_kept

FIRST = (0, (0, 0, 0))


def test_argparse_at_import_strict_with_the_shells_empty_arguments(tmp_path):
    done = run_main(tmp_path, "argparse_at_import.py", "--data_dump_flag=False",
                    "--data_dump_path=", "--over_dump=False", "--over_dump_path=", "--epochs=2",
                    options=["--data_dump_step=0|11", "--data_dump_layer=", "--data_dump_ranks=",
                             "--data_dump_flag="], env={"EXCEPTION_DUMP": "1"})
    assert trained(manifest(tmp_path)) == [[FIRST, (11, (0, 1, 5))]]
    assert "enable_exception_dump = 1" in done.stderr
    own = done.stdout.splitlines()[:2]
    assert all(line.startswith("step: 5 loss:") for line in own)
    # The rest is our table, in which users' greps find nothing but in names of files.
    rest = [word for line in done.stdout.splitlines()[2:] for word in line.split()
            if "/" not in word and "_" not in word]
    assert not GREPPED.search(" ".join(rest))


def test_the_command_line_wins_over_the_main_s_own_settings(tmp_path):
    done = run_main(tmp_path, "argparse_at_import.py", "--data_dump_flag=True",
                    "--data_dump_step=2", "--data_dump_path=own", options=["--data_dump_step=5"])
    assert trained(manifest(tmp_path)) == [[(5, (0, 0, 5))]]
    assert done.stderr.count("asks for dump_path='own', dump_step='2'. The command line") == 1
    assert not (tmp_path / "own").exists()


@pytest.mark.parametrize("arguments, parts", [
    (["--data_dump_flag=True", "--over_dump=True"], ["enable_dump and enable_dump_debug", "one"]),
    (["--over_dump=True", "--over_dump_path=own"], ["enable_dump_debug is '1'", "one place only"]),
])
def test_a_conflict_is_told_before_anything_trains(tmp_path, arguments, parts):
    options = ["--data_dump_step=7"] if "own" in arguments[-1] else ["--data_dump_path="]
    done = run_main(tmp_path, "argparse_at_import.py", *arguments, options=options, status=2)
    for part in parts:
        assert part in done.stderr
    assert "Traceback" not in done.stderr and done.stdout == ""


def test_overflow_detection_that_finds_nothing_is_well_also_in_strict(tmp_path):
    done = run_main(tmp_path, "plain_keras.py",
                    options=["--over_dump", "--over_dump_path=d", "--data_dump_strict"])
    document = manifest(tmp_path)
    assert codes(document) == [] and codes(document, "info") == ["not-dumped"]
    assert "error" not in done.stderr + done.stdout


def test_absl_under_app_run_and_its_own_status(tmp_path):
    done = run_main(tmp_path, "absl_unchanged.py", "--status=7", "--data_dump_path=",
                    "--data_dump_flag=False", status=7)
    assert trained(manifest(tmp_path)) == [[FIRST]]
    assert "arguments [] flag False" in done.stdout and "after SCRIPT" not in done.stderr


def test_flags_of_tf_compat_v1_read_at_import(tmp_path):
    done = run_main(tmp_path, "compat_flags.py", "--batches=3")
    assert trained(manifest(tmp_path)) == [[FIRST]]
    assert "batches 3" in done.stdout


def test_arguments_from_a_config_module(tmp_path):
    done = run_main(tmp_path, "yolo.py", "--data_dump_flag=True")
    assert trained(manifest(tmp_path)) == [[FIRST]]
    assert "flag True" in done.stdout


def test_a_device_opened_at_import_before_the_flags(tmp_path):
    done = run_main(tmp_path, "sknet.py", "--data_dump_flag=True", "--data_dump_step=3",
                    options=["--data_dump_step=0|5"])
    assert trained(manifest(tmp_path)) == [[FIRST, (5, (0, 0, 5))]]
    assert "dump_step = '3' has no effect" in done.stderr


def test_a_main_that_knows_no_device_and_has_a_smaller_last_batch(tmp_path):
    done = run_main(tmp_path, "plain_keras.py", options=["--data_dump_step=0|11"],
                    env={"AOE_MODE": "2"})
    document = manifest(tmp_path)
    assert trained(document) == [[FIRST, (11, (0, 1, 5))]]
    assert "AOE_MODE=2" in done.stderr
    assert document["runs"][0]["environment"]["AOE_MODE"] == "2"


def test_a_fit_on_no_device_is_stopped_before_its_first_batch(tmp_path):
    done = run_main(tmp_path, "opens_if_asked.py", status=2)
    assert "opens_if_asked.py, line 11" in done.stderr and "--open_device" in done.stderr
    assert done.stderr.count("fit() begins") == 1 and "Traceback" not in done.stderr
    assert done.stdout == ""
    run_main(tmp_path, "opens_if_asked.py", options=["--open_device"])
    assert trained(manifest(tmp_path)) == [[FIRST]]


def test_a_loop_of_ones_own_on_no_device_is_stopped_too(tmp_path):
    done = run_main(tmp_path, "opens_if_asked.py", "--loop", status=2)
    assert done.stderr.count("A gradient is computed") == 1 and "Traceback" not in done.stderr
    assert done.stdout == "" and "opens_if_asked.py, line 11" in done.stderr
    done = run_main(tmp_path, "opens_if_asked.py", "--loop", "--npu")
    assert len(trained(manifest(tmp_path))) == 1 and "trained" in done.stdout


def test_a_fit_on_no_device_may_be_meant(tmp_path):
    done = run_main(tmp_path, "opens_if_asked.py", options=["--noopen_device"])
    assert done.stdout == "trained\n" and "nothing is dumped" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_fit_that_runs_eagerly_is_named_as_the_cause(tmp_path):
    done = run_main(tmp_path, "eager.py")
    assert "Every fit() ran with run_eagerly=True" in done.stderr
    assert "callbacks=[...]" not in done.stderr and "Leave it out" in done.stderr
    # On Keras 2 the optimizer's operators ran on the device one by one, and were dumped.
    hints = [one["hint"] for one in manifest(tmp_path)["problems"]
             if one["code"] in ("step-not-reached", "index-uncertain")]
    assert len(hints) == 1 and "leave it out to dump" in hints[0]


def test_a_custom_loop_is_dumped_and_told_how_to_tie_its_batches(tmp_path):
    done = run_main(tmp_path, "custom_loop.py", options=["--data_dump_step=0|5"])
    assert trained(manifest(tmp_path)) == [[FIRST, (5, (0, 0, 5))]]
    assert "DumpSession" in done.stderr and "epochs, which are not known" in done.stderr


@pytest.mark.parametrize("eos, counts", [("skipped", False), ("static", True)])
def test_the_end_of_data_of_unknown_size_is_no_batch(tmp_path, eos, counts):
    """Folders tell whether the device counts it: on Keras 2 once a fit, on Keras 3 each epoch."""
    done = run_main(tmp_path, "unknown_size.py", options=["--data_dump_step=0|4|5|9|13|14|16|17"],
                    env={"KERAS_NPU_DUMP_EMULATE_CANN": "eos=" + eos})
    check_kept(done, tmp_path, "unknown_size_" + eos)
    lines = journal(tmp_path)
    ends = [one["data_index"] for one in lines if one["event"] == "end-of-data"]
    assert ends in ([4, 16], [4, 8, 12, 16])
    assert [one["count"] for one in lines if one["event"] == "count"][-1] == 16
    aborted = [before + number for number, before in enumerate(ends)] if counts else []
    indices = [index for index in range(20) if index not in aborted][:16]
    batches = {index: (0, *divmod(number, 4)) if number < 12 else (1, 0, number - 12)
               for number, index in enumerate(indices)}
    document = manifest(tmp_path)
    assert trained(document) == [[(index, batches[index]) for index in (0, 4, 5, 9, 13, 14, 16, 17)
                                  if index in batches]]
    assert codes(document, "warning") == []
    assert codes(document) == ([] if 17 in batches else ["step-not-reached"])


def test_a_smaller_last_batch_is_a_graph_of_its_own(tmp_path):
    """Two epochs of four batches of 5 and one of 4: executions 0 to 7, and 0 and 1."""
    done = run_main(tmp_path, "smaller_last_batch.py", options=["--data_dump_step=0|1|7"],
                    env={"KERAS_NPU_DUMP_EMULATE_CANN": "names=tf1"})
    check_kept(done, tmp_path, "smaller_last_batch")
    document = manifest(tmp_path)
    # GE has names of its own here: the graphs are tied to the two functions by their order.
    assert trained(document) == [[(index, (0, 0, index)) for index in found]
                                 for found in ([0, 1, 7], [0, 1])]
    full, partial = [" ".join(document["pairs"][position]["evidence"])
                     for position in document["training"]["0"]]
    assert "it takes x [5, 3], y [5, 1]: batches of 5, the larger ones" in full
    assert "it takes x [4, 3], y [4, 1]: batches of 4, the smaller ones" in partial
    for text in ("  takes         x [5, 3], y [5, 1]: batches of 5, the larger ones",
                 "  takes         x [4, 3], y [4, 1]: batches of 4, the smaller ones"):
        assert text in done.stdout
    assert codes(document) == [] and "step-missing" not in done.stderr
    # What a fit tells of its first dump is told of a loop, too.
    assert "The first dump is there: data_index 0, 10 files" in done.stderr
    assert "; 2 more to come, about " in done.stderr


def test_a_sequence_from_its_second_epoch_on(tmp_path):
    done = run_main(tmp_path, "smaller_last_batch.py", "--sequence",
                    options=["--data_dump_step=0|4|5|9"])
    check_kept(done, tmp_path, "sequence_with_initial_epoch")
    document = manifest(tmp_path)
    assert trained(document) == [[(0, (0, 1, 0)), (4, (0, 1, 4)), (5, (0, 2, 0)), (9, (0, 2, 4))]]
    assert document["problems"] == []
    for word in ("not reached", "uncertain", "DumpSession", "step-missing"):
        assert word not in done.stderr + done.stdout


def test_three_models_and_five_fits(tmp_path):
    run_main(tmp_path, "several_models.py", options=["--data_dump_step=0|5|9"])
    pairs = trained(manifest(tmp_path))
    teacher, student, scratch, again = pairs[:4]
    assert teacher[:3] == [FIRST, (5, (0, 1, 0)), (9, (0, 1, 4))]
    assert student == [(0, (1, 0, 0)), (5, (1, 0, 5))]
    assert scratch == [(0, (2, 0, 0)), (5, (2, 0, 5))]
    assert again == [(0, (3, 0, 0)), (5, (3, 0, 5))]  # compiled again: counted from 0


def test_train_on_batch_before_between_and_inside_fits(tmp_path):
    run_main(tmp_path, "on_batch.py", "--first", "--inside", options=["--data_dump_step=0-27"])
    document = manifest(tmp_path)
    # What ran before the first fit is a loop of the script's own, and number 0.
    fitted = [pair for pair in trained(document) if len(pair) > 4]
    steps = {iteration: index for pair in fitted for index, iteration in pair if iteration}
    if len(trained(document)) == 1:
        # Keras 2: one function for both. Its counter is seen through the optimizer's.
        assert [steps[(fit, 0, 0)] for fit in range(1, 5)] == [1, 9, 15, 22]
        assert [steps[(fit, 0, 5)] for fit in (1, 2, 4)] == [6, 14, 27]
        assert [step for step in fitted[0] if step[1] is None] == [
            (index, None) for index in (0, 7, 8, 21)]
        assert "index-uncertain" in codes(document, "warning")
    else:
        # Keras 3: train_on_batch is another function and disturbs nothing.
        assert [steps[(fit, 0, 5)] for fit in range(1, 5)] == [5, 11, 17, 23]


@pytest.mark.parametrize("how, status", [("exit", 7), ("error", 1), ("SIGTERM", 143)])
def test_an_interrupted_run_leaves_journal_and_manifest(tmp_path, how, status):
    done = run_main(tmp_path, "interrupted.py", how, options=["--data_dump_step=0|9"],
                    status=status)
    document = manifest(tmp_path)
    assert trained(document) == [[FIRST, (9, (1, 0, 3))]]
    assert document["runs"][0]["ended"]
    record = json.loads(next(pathlib.Path(tmp_path).glob("d/runs/*/run.json")).read_text())
    assert record["status"] == "failed"
    assert "not reached" not in done.stdout
    assert ("Traceback" in done.stderr) == (how == "error")
    assert "fit_patch" not in done.stderr  # the script's own frames only


def test_strict_a_missing_dump_stops_training(tmp_path):
    options = ["--data_dump_layer=no/such/operator", "--data_dump_strict"]
    done = run_main(tmp_path, "strict.py", options=options, status=1)
    assert "Training was stopped: No dump of data_index 0" in done.stderr
    assert "Traceback" not in done.stderr and "trained to the end" not in done.stdout
    assert "layer-unknown" in codes(manifest(tmp_path))
    count = [one["count"] for one in journal(tmp_path) if one["event"] == "count"][-1]
    assert 2 < count < 120
