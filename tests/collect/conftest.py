"""Shared by the tests of collect: quick second looks, and a batch of generated jobs."""
import dataclasses
import os

import pytest

from keras_npu_dump.collector.checks import missing_files
from tests.collect.judging import judge
from tests.collect.planning import plan_job
from tests.collect.writing import write_job

# The long form of the proof: KERAS_NPU_DUMP_JOBS=1000 pytest tests/collect
JOBS = int(os.environ.get("KERAS_NPU_DUMP_JOBS", "150"))


@pytest.fixture(autouse=True)
def quick_second_look(monkeypatch):
    """No test here waits for files that do not grow."""
    monkeypatch.setattr(missing_files, "LOOK_AGAIN", 0.0)


@dataclasses.dataclass
class Job:
    seed: int
    plan: object
    truth: object
    root: str

    def collect(self, **options):
        from keras_npu_dump import collect

        graphs = [os.path.join(self.root, "graphs_elsewhere")] \
            if self.plan.place == "elsewhere" else []
        before = os.getcwd()
        # Jobs done by hand leave their graphs where the script ran.
        os.chdir(os.path.join(self.root, "script"))
        try:
            return collect(os.path.join(self.root, "dump"), graphs=graphs,
                           keywords=self.plan.keywords, **options)
        finally:
            os.chdir(before)

    def judge(self, **options):
        return judge(self.truth, self.collect(**options).to_json(), self.root)


@pytest.fixture(scope="session")
def jobs(tmp_path_factory):
    """Generated jobs, written once and read by several tests, none of which changes them."""
    base = tmp_path_factory.mktemp("jobs")
    made = []
    for seed in range(JOBS):
        root = str(base / str(seed))
        plan = plan_job(seed)
        made.append(Job(seed, plan, write_job(plan, root), root))
    return made
