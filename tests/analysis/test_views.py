"""Do views and tables belong to what they were made of, and to nothing else?"""
import numpy as np

from keras_npu_dump.analysis.dump_files import GraphCache
from keras_npu_dump.analysis.statistics import TABLE_DTYPE, StatisticsTable
from keras_npu_dump.analysis.views import PairView
from keras_npu_dump.records.manifest import Manifest, ManifestRun, Pair


def record(run_id):
    return ManifestRun(run_id, 0, 0, 7, "h", True, None, None, {}, {}, {})


def view(evidence, run_ids):
    pair = Pair("g", None, 0, 0, [], "train", "exact", evidence, [])
    return PairView(Manifest("d", runs=[record(one) for one in run_ids], pairs=[pair]), pair,
                    GraphCache(), "exact")


def test_a_run_whose_name_begins_like_another_is_not_that_one():
    ids = ["20261201_pid7", "20261201_pid7_1"]
    for run_id in ids:
        for order in (ids, ids[::-1]):
            text = "run record %s: same device, session time within the run" % run_id
            assert view([text], order).run_record.run_id == run_id
            text = "process: the graph is of pid 7, the run %s of pid 8" % run_id
            assert view([text], order).run_record.run_id == run_id


def test_problems_belong_to_one_table_and_go_with_its_slices():
    one = np.empty(3, TABLE_DTYPE).view(StatisticsTable)
    one.problems.append(("a.csv", "cut off"))
    other = np.empty(2, TABLE_DTYPE).view(StatisticsTable)
    assert other.problems == []
    assert one[:1].problems == one[one["rank"] == one["rank"]].problems == [("a.csv", "cut off")]
    one[:1].problems.append(("b.csv", "empty"))
    assert len(one.problems) == 1
