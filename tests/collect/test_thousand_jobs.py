"""Is what collect says true? Over generated jobs whose truth is known.

150 jobs by default; `KERAS_NPU_DUMP_JOBS=1000 pytest tests/collect` is the long form.
"""
import collections

import pytest

from keras_npu_dump.collector.graphs import roles
from keras_npu_dump.collector.pairing import sections
from keras_npu_dump.collector.rules import all_rules, evidence
from tests.collect.planning import CASES, plan_job


@pytest.fixture(scope="module")
def verdicts(jobs):
    return [(job, job.judge(write=False)) for job in jobs]


def test_no_pair_that_is_said_to_be_sure_is_wrong(verdicts):
    wrong = {job.seed: verdict.wrong for job, verdict in verdicts if verdict.wrong}
    assert not wrong


def test_at_least_99_of_100_true_pairs_are_found(verdicts):
    true = sum(verdict.pairs for _, verdict in verdicts)
    unfound = [text for _, verdict in verdicts for text in verdict.unfound]
    assert true >= 3 * len(verdicts)
    assert len(unfound) <= 0.01 * true, unfound


def test_what_is_missing_or_broken_is_told_with_its_cause_and_nothing_else_is(verdicts):
    faults = {job.seed: verdict.faults for job, verdict in verdicts if verdict.faults}
    assert not faults


def test_the_jobs_are_of_every_kind(jobs):
    """A proof over jobs that are all alike would prove little."""
    seen = collections.Counter()
    for job in jobs:
        plan = job.plan
        seen.update(["naming " + plan.naming, "place " + plan.place, "records " + plan.records,
                     "clocks " + plan.clocks, "files " + plan.files, "data " + plan.data,
                     "mode " + plan.mode, "form " + plan.form, "ranks %d" % len(plan.processes)])
        seen.update("fault " + fault for fault in plan.faults)
        seen.update(["earlier launch"] if plan.previous else [])
        for process in plan.processes:
            for load in process.loads:
                seen.update(["role " + load.role])
                seen.update(["dynamic"] if load.parts else [])
                seen.update(["retraced"] if (load.section or 0) > 0 else [])
                seen.update(["built again"] if load.rebuilt is not None else [])
    wanted = ["naming same", "naming folder-suffix", "naming text-suffix", "naming tf1",
              "naming tf1-drift", "naming foreign", "place pid", "place collect", "place flat",
              "place top", "place elsewhere", "place cwd", "records full", "records nameless",
              "records none", "clocks kept", "clocks copied", "files new", "files old8",
              "files old5", "data stats", "mode output", "mode input", "form B", "form C",
              "ranks 2", "ranks 4", "earlier launch", "role init", "role iterator", "role eval",
              "role predict", "dynamic", "retraced", "built again", "fault lost-graph",
              "fault lost-step", "fault truncated", "fault unmapped", "fault no-step-id",
              "fault late-open", "fault only-wrong-layer", "fault disk-full", "fault killed",
              "fault emptied-step", "fault half-step", "fault lost-operator"]
    assert [one for one in wanted if not seen[one]] == []


def test_a_seed_always_makes_the_same_job():
    first, second = plan_job(101), plan_job(101)
    assert [load.folder for one in first.processes for load in one.loads] == \
        [load.folder for one in second.processes for load in one.loads]


SWITCHES = ([("evidence", name) for name in all_rules.RULES]
            + [("role", name) for name in roles.RULES]
            + [("section", name) for name in sections.RULES])


@pytest.mark.parametrize("kind, name", SWITCHES)
def test_without_any_one_rule_of_evidence_the_proof_fails(kind, name, jobs, monkeypatch):
    if kind == "section":
        monkeypatch.setattr(sections, "RULES", [one for one in sections.RULES if one != name])
    else:
        monkeypatch.delitem((evidence if kind == "evidence" else roles).RULES, name)
    assert any(_fails(job.judge(write=False)) for job in _special_first(jobs))


def _fails(verdict):
    return bool(verdict.wrong or verdict.unfound or verdict.faults)


def _special_first(jobs):
    """The cases that were made for one rule each come first: the search ends sooner."""
    return sorted(jobs[:150], key=lambda job: (job.seed % 3 != 0 or job.seed >= 3 * len(CASES)))
