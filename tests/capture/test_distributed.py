"""Is this process's place in a job read as npu_device reads it?"""
import collections

import pytest

from keras_npu_dump import ranks as distributed
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.errors import ConfigError


def read(tmp_path=None, **values):
    if tmp_path is not None:
        (tmp_path / "table.json").write_text("{}")
        values["RANK_TABLE_FILE"] = str(tmp_path / "table.json")
    return distributed.read(values)


def test_alone():
    assert read() == (0, 1, False, 0, [], [])


def test_a_rank_of_a_table(tmp_path):
    found = read(tmp_path, RANK_SIZE="8", RANK_ID="7", ASCEND_DEVICE_ID="3")
    assert found == (7, 8, True, 3, [], [])


CHIEF = {"CM_CHIEF_IP": "10.0.0.1", "CM_CHIEF_PORT": "60001", "CM_CHIEF_DEVICE": "0",
         "CM_WORKER_SIZE": "2"}


def test_a_rank_that_only_hccl_knows():
    found = read(**CHIEF)
    assert (found.rank, found.size, found.problems) == (None, 2, [])

    class Handle:
        worker_id = 1
    assert distributed.rank_after_open(Handle(), found) == 1
    assert distributed.rank_after_open(None, found) == 0
    assert distributed.rank_after_open(Handle(), read(RANK_ID="4")) == 4


@pytest.mark.parametrize("values, rank, size", [
    ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8"}, 3, 8),
    ({"PMI_RANK": "1", "PMI_SIZE": "2"}, 1, 2),
    ({"MV2_COMM_WORLD_RANK": "1", "MV2_COMM_WORLD_SIZE": "2"}, 1, 2),
    ({"PMIX_RANK": "5"}, 5, 1),
    ({"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "4", "SLURM_NTASKS": "4"}, 2, 4),
    # mpirun inside a batch script of SLURM, which is a process of its own.
    ({"SLURM_PROCID": "0", "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, 1, 2),
    ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "RANK_ID": "0"}, 0, 2),
    ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "RANK_ID": ""}, 1, 2),
    (dict(CHIEF, SLURM_PROCID="1"), 1, 2),
    # Another count than that of the job, and what is no rank.
    (dict(CHIEF, SLURM_PROCID="2"), None, 2),
    ({"OMPI_COMM_WORLD_RANK": "8", "OMPI_COMM_WORLD_SIZE": "8"}, 0, 1),
    ({"SLURM_PROCID": "x"}, 0, 1),
    ({"SLURM_PROCID": "-1"}, 0, 1),
])
def test_where_rank_id_is_not_set_the_launcher_says_the_rank(values, rank, size):
    found = read(**values)
    assert (found.rank, found.size, found.problems) == (rank, size, [])
    handle = collections.namedtuple("Handle", "worker_id workers_num")
    if values.get("CM_CHIEF_IP") and rank is not None:
        assert distributed.as_npu_device(values) == (size, rank)
        # HCCL counts by addresses, and is right.
        assert distributed.rank_after_open(handle(0, 2), found) == 0
    assert distributed.rank_after_open(handle(0, 1), found) == (rank or 0)


def test_a_launchers_ranks_are_chosen_by_number():
    cluster = read(SLURM_PROCID="1", SLURM_STEP_NUM_TASKS="2")
    assert distributed.is_chosen(frozenset([1]), cluster) == (True, ())
    assert distributed.is_chosen(frozenset([0]), cluster) == (False, ())
    with pytest.raises(ConfigError, match="ranks from 0 to 1"):
        distributed.is_chosen(frozenset([7]), cluster)


@pytest.mark.parametrize("values, part", [
    (CHIEF, "CM_CHIEF_IP is set without CM_WORKER_IP"),
    (dict(CHIEF, CM_WORKER_IP=""), None),
    (dict(CHIEF, CM_WORKER_SIZE="1"), None),
    ({"CM_CHIEF_IP": "1", "RANK_SIZE": "2", "RANK_TABLE_FILE": "/x"}, None),
    ({"RANK_SIZE": "2", "RANK_TABLE_FILE": __file__, "PMI_RANK": "1"}, "export RANK_ID=$PMI_RANK"),
    ({"RANK_SIZE": "2", "RANK_TABLE_FILE": __file__, "PMI_RANK": "1", "RANK_ID": "1"}, None),
    ({"PMI_RANK": "1", "PMI_SIZE": "2"}, None),
])
def test_what_npu_device_does_not_refuse_and_may_fail(values, part):
    found = distributed.doubts(values)
    assert [part in text for text in found] == ([] if part is None else [True])


@pytest.mark.parametrize("values, error, message", [
    ({"RANK_SIZE": "2", "CM_WORKER_SIZE": "2"}, ValueError,
     "RANK_SIZE and CM_WORK_SIZE cannot be configured at the same time"),
    ({"RANK_SIZE": "2"}, RuntimeError,
     "CM_CHIEF_IP and RANK_TABLE_FILE are all not be configured."),
    ({"RANK_SIZE": "2", "RANK_TABLE_FILE": "", "CM_CHIEF_IP": "1"}, RuntimeError,
     "CM_CHIEF_IP and RANK_TABLE_FILE cannot be configured at the same time."),
    ({"RANK_SIZE": "2", "RANK_TABLE_FILE": ""}, RuntimeError,
     "You must specify rank id by set env RANK_ID in distribution mode"),
    (dict(CHIEF, CM_CHIEF_PORT=""), RuntimeError,
     "You must specify cm chief port by set env CM_CHIEF_PORT in distribution mode"),
    (dict(CHIEF, CM_CHIEF_DEVICE=""), RuntimeError,
     "You must specify cm chief device by set env CM_CHIEF_DEVICE in distribution mode"),
    (dict(CHIEF, CM_CHIEF_IP=""), RuntimeError,
     "You must specify cm chief ip by set env CM_CHIEF_IP in distribution mode"),
])
def test_the_emulated_open_refuses_in_the_words_of_the_adapter(values, error, message):
    """hicann/tensorflow, tf_adapter_2.x/python/npu_device/npu_device.py."""
    with pytest.raises(error) as raised:
        distributed.as_npu_device(values)
    assert type(raised.value) is error and str(raised.value) == message
    assert distributed.read(values).problems


def test_a_rank_table_that_is_set_to_nothing_is_handed_on():
    values = {"RANK_SIZE": "2", "RANK_TABLE_FILE": "", "RANK_ID": "1"}
    assert distributed.as_npu_device(values) == (2, 1)
    assert distributed.read(values).problems == ["RANK_TABLE_FILE='' is no file"]


@pytest.mark.parametrize("values, part", [
    ({"RANK_SIZE": "2", "CM_WORKER_SIZE": "2"}, "both set"),
    ({"RANK_SIZE": "2"}, "neither"),
    ({"RANK_SIZE": "2", "RANK_TABLE_FILE": "/x", "CM_CHIEF_IP": "1"}, "both"),
    ({"RANK_SIZE": "2", "RANK_TABLE_FILE": "/x"}, "without RANK_ID"),
    ({"RANK_SIZE": "2", "RANK_TABLE_FILE": "/missing/table", "RANK_ID": "0"}, "is no file"),
    ({"CM_WORKER_SIZE": "2", "CM_CHIEF_IP": "1"}, "CM_CHIEF_PORT"),
    ({"RANK_SIZE": "2", "RANK_ID": "2"}, "0 to 1"),
    ({"ASCEND_DEVICE_ID": ""}, "not a number"),
    ({"RANK_SIZE": "two"}, "not a number"),
])
def test_what_npu_device_will_refuse(values, part):
    assert any(part in text for text in read(**values).problems)


@pytest.mark.parametrize("values, part", [
    ({"RANK_ID": "abc"}, "RANK_ID='abc' is not a number"),
    ({"RANK_SIZE": "two"}, "RANK_SIZE='two' is not a number"),
    ({"RANK_SIZE": "2", "RANK_ID": "2"}, "RANK_ID=2 is none of 0 to 1 (RANK_SIZE=2)"),
    ({"RANK_SIZE": "2", "RANK_ID": "-1"}, "RANK_ID=-1 is none of 0 to 1"),
])
def test_a_place_that_no_job_has_is_refused(values, part):
    with pytest.raises(ConfigError) as refused:
        distributed.refuse_nonsense(read(**values))
    assert part in str(refused.value)


def test_what_npu_device_refuses_itself_and_ranks_of_a_job_of_one_are_not():
    for values in ({"RANK_SIZE": "2"}, {"RANK_SIZE": "1", "RANK_ID": "3"}):
        distributed.refuse_nonsense(read(**values))
    assert read(RANK_SIZE="1", RANK_ID="3").problems == []


def test_an_empty_rank_is_none():
    assert read(RANK_ID="").rank == 0


@pytest.mark.parametrize("ranks, dumps", [(None, True), ("0,1", True), ([1], True), ("0", False)])
def test_which_ranks_dump(tmp_path, ranks, dumps):
    chosen = DumpConfig(ranks=ranks).ranks
    cluster = read(tmp_path, RANK_SIZE="2", RANK_ID="1")
    assert distributed.is_chosen(chosen, cluster) == (dumps, ())


def test_without_a_size_no_rank_is_judged():
    assert distributed.is_chosen(frozenset([7]), read(RANK_ID="7")) == (True, ())


@pytest.mark.parametrize("values, part", [
    ({"RANK_SIZE": "2", "RANK_ID": "0"}, "from 0 to 1"),
    ({"CM_WORKER_SIZE": "9", "CM_CHIEF_IP": "1"}, "RANK_ID"),
])
def test_ranks_that_cannot_be_or_are_not_known(values, part):
    with pytest.raises(ConfigError, match=part):
        distributed.is_chosen(frozenset([7, 8]), read(**values))


@pytest.mark.parametrize("values", [
    {"RANK_SIZE": "2", "CM_WORKER_SIZE": "x"},
    {"RANK_SIZE": "two"},
    {"RANK_SIZE": "2"},
    {"RANK_SIZE": "2", "RANK_TABLE_FILE": "/x", "CM_CHIEF_IP": "1"},
    {"RANK_SIZE": "2", "RANK_TABLE_FILE": "/x"},
    {"CM_WORKER_SIZE": "2", "CM_CHIEF_IP": "1", "CM_CHIEF_PORT": "2"},
    {"RANK_SIZE": "2", "RANK_TABLE_FILE": "/x", "RANK_ID": "one"},
])
def test_what_the_emulated_open_refuses_was_said_before(values):
    assert distributed.read(values).problems
    with pytest.raises((ValueError, RuntimeError)):
        distributed.as_npu_device(values)


def test_where_nothing_is_refused_both_read_the_same():
    for values in ({}, {"RANK_SIZE": "1", "RANK_ID": "3"},
                   {"CM_WORKER_SIZE": "4", "RANK_ID": "3", "RANK_TABLE_FILE": __file__}):
        found = distributed.read(values)
        assert found.problems == []
        assert distributed.as_npu_device(values) == (
            found.size, found.rank if found.size > 1 else 0)
