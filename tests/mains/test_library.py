"""Do mains that use the package work as their flags are, or are told what to change?"""
import pytest

from tests.mains.running import codes, journal, manifest, run_main, run_plain, speaks_alike, trained

FIRST = (0, (0, 0, 0))


def test_booleans_as_strings_that_say_no(tmp_path):
    done = run_plain(tmp_path, "argparse_strings.py", "--data_dump_flag=False",
                     "--data_dump_path=", "--over_dump=", "--unknown=1")
    assert "no manifest" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_booleans_as_strings_that_say_yes_an_empty_path_and_the_old_default_of_ten(tmp_path):
    done = run_plain(tmp_path, "argparse_strings.py", "--data_dump_flag=True",
                     "--data_dump_path=", "--over_dump=False")
    assert done.stdout == "manifest\n"
    assert "executions 0 to 5, and data_index 10" in done.stderr  # when the fit begins
    assert "step 10 not reached, 6 executions ran" in done.stderr
    assert speaks_alike(done)
    document = manifest(tmp_path, "output/data_dump")
    assert "step-not-reached" in codes(document) and trained(document) == []


def test_flags_added_to_a_strict_parser_and_a_relative_path_before_cd(tmp_path):
    run_plain(tmp_path, "argparse_added.py", "--data_dump_flag", "--data_dump_path=d/e",
              "--device_id=0")
    assert trained(manifest(tmp_path, "d/e")) == [[FIRST]]


def test_a_rank_that_is_left_out_by_options_alone(tmp_path):
    table = tmp_path / "table.json"
    table.write_text("{}")
    run_plain(tmp_path, "argparse_added.py", "--data_dump_flag=yes", "--data_dump_path=d",
              "--data_dump_ranks=1", env={"RANK_ID": "0", "RANK_SIZE": "2",
                                          "RANK_TABLE_FILE": str(table)})
    assert not list(tmp_path.glob("d/2*")) and not list(tmp_path.glob("d/runs/*/manifest.json"))
    assert [one["count"] for one in journal(tmp_path) if one["event"] == "count"][-1] == 6
    assert list(tmp_path.glob("d/graphs/pid_*_deviceid_0/*_Build.txt"))


@pytest.mark.parametrize("arguments, parts", [
    (["--data_dump_flag", "--over_dump"], ["data_dump_flag and over_dump"]),
    (["--data_dump_flag", "--data_dump_ranks=2"], ["ranks from 0 to 1"]),
    (["--data_dump_flag", "--data_dump_min_free_gb=1e9"], ["data_dump_min_free_gb", "free"]),
])
def test_mistakes_are_told_before_anything_trains(tmp_path, arguments, parts):
    done = run_plain(tmp_path, "argparse_added.py", *arguments, status=1, env={"RANK_SIZE": "2"})
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("keras_npu_dump.errors.ConfigError: ")
    assert all(part in last for part in parts)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("argument, part", [
    ("--over_dump=/some/overflow_dump", "A folder goes into over_dump_path"),
    ("--data_dump_flag=perhaps", "true or false"), ("--data_dump_step=3-3", "a < b")])
def test_argparse_tells_what_an_option_does_not_take(tmp_path, argument, part):
    done = run_plain(tmp_path, "argparse_added.py", argument, status=2)
    assert part in done.stderr.splitlines()[-1]


def test_a_main_whose_own_flags_have_our_names(tmp_path):
    run_plain(tmp_path, "absl_main.py", "--data_dump_flag", "--data_dump_step=0|5",
              "--data_dump_path=d", "--nodata_dump_strict")
    assert trained(manifest(tmp_path)) == [[FIRST, (5, (0, 0, 5))]]


def test_flags_defined_after_tf_compat_v1_has_parsed(tmp_path):
    run_plain(tmp_path, "compat_flags.py", "--data_dump_flag=True", "--data_dump_path=d",
              "--data_dump_step=0|5", "--batches=2", env={"USE": "late"})
    # fit has no callback: executions are counted, epochs are not known.
    assert trained(manifest(tmp_path)) == [[FIRST, (5, (0, 0, 5))]]


def test_settings_after_a_device_opened_at_import(tmp_path):
    done = run_plain(tmp_path, "sknet.py", "--library", "--data_dump_flag=True",
                     "--data_dump_path=d", status=1)
    last = done.stderr.strip().splitlines()
    assert any("DeviceOpenedError: npu_device.open() came first" in line for line in last)
    assert "keras-npu-dump run sknet.py" in last[-1]


@pytest.mark.parametrize("off", [[], ["--off"]])
def test_a_session_around_a_custom_loop(tmp_path, off):
    run_main(tmp_path, "custom_loop.py", "--session", *off, options=["--data_dump_step=0|5|11"])
    assert trained(manifest(tmp_path)) == [[FIRST, (5, (0, 0, 5)), (11, (0, 1, 5))]]
    count = [one for one in journal(tmp_path) if one["event"] == "count"][-1]
    assert (count["count"], count["final"]) == (12, True)  # StopIteration was no call


def test_a_callback_that_a_class_filter_has_dropped(tmp_path):
    done = run_main(tmp_path, "custom_loop.py", "--filtered", options=["-v"])
    assert "none of its hooks was ever called" in done.stderr and speaks_alike(done)
    # Evidence with words that users grep is evidence.
    assert "\n    - full name: the graph is called __inference_train_step_" in done.stdout
    assert trained(manifest(tmp_path)) == [[FIRST]]


@pytest.mark.parametrize("more, tables", [([], 1), (["more"], 2)])
def test_a_table_that_the_script_has_printed_is_not_printed_again(tmp_path, more, tables):
    done = run_main(tmp_path, "prints_manifest.py", *more, options=["--data_dump_step=0|9"])
    assert done.stdout.count("  data_index  which batch") == tables
    lines = done.stdout.splitlines()
    answers = [line for line in lines if line.startswith("Graph ")]
    assert len(answers) == 2 and (answers[0] == answers[1]) is not bool(more)
    assert lines[-1] == "Next: keras-npu-dump triage %s" % (tmp_path / "d")
    assert "full name" not in done.stdout


def test_hooks_called_once_per_loop_on_the_device(tmp_path):
    run_main(tmp_path, "custom_loop.py", "--transformer", "--off",
             options=["--data_dump_step=0|4|11"], env={"NPU_LOOP_SIZE": "3"})
    document = manifest(tmp_path)
    assert trained(document) == [[FIRST, (4, (1, 1, 1)), (11, (3, 3, 2))]]
    assert "index-uncertain" in codes(document, "warning") and not codes(document)


def test_hooks_whose_batch_numbers_jump(tmp_path):
    run_main(tmp_path, "custom_loop.py", "--bert", "--off", options=["--data_dump_step=0|3"])
    document = manifest(tmp_path)
    assert trained(document) == [[FIRST, (3, (0, 0, 9))]]
    marks = [one["uncertain"] for one in journal(tmp_path) if one["event"] == "execution"]
    assert marks[-1] == "3 batches in one execution: that many from here"
