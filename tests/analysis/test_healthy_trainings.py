"""Trainings that are healthy and look odd: nobody is to be sent after a ghost."""
import pytest

from keras_npu_dump.analysis.triage.triage import triage
from tests.analysis.conftest import command, triage_command
from tests.analysis.nets_list import HEALTHY


@pytest.mark.parametrize("name", sorted(HEALTHY))
def test_no_suspect(trained, name):
    found = triage(trained(name), write=False)
    assert [(one.op, one.message) for one in found.suspects] == []
    assert found.verdict == "healthy"
    assert found.next.dump_step is None and found.next.flagfile is None
    assert found.checked["executions"] == HEALTHY[name]
    assert "nan" in found.checked["rules"] and "jump" in found.checked["rules"]


@pytest.mark.parametrize("name", ["one_hot", "sparse_relu"])
def test_one_execution_alone_is_healthy_too(trained, name):
    """Zero weights at the start make gradients zero once; labels make masks constant."""
    found = triage(trained(name, data="tensor", step="0"), write=False)
    assert [(one.op, one.message) for one in found.suspects] == []
    assert "jump" in found.checked["not_checked"]


def test_a_skipped_update_is_seen_and_not_a_suspect(trained):
    """The infinities of the first execution are there; what becomes of them is told."""
    found = triage(trained("loss_scaling"), write=False)
    assert {one.step for one in found.observations} == {0}
    assert any("nothing is harmed" in one.message and "IsFinite" in one.message
               for one in found.observations)


def test_a_healthy_run_says_so_and_exits_0(trained):
    document = triage_command(trained("dropout"), 0)
    assert document["verdict"] == "healthy" and document["suspects"] == []
    assert document["next"] == {"dump_layer": [], "dump_step": None, "estimated_bytes": 0,
                                "flagfile": None}
    text = command("triage", trained("dropout"), status=0)
    assert text.startswith("healthy: nothing goes wrong")
    assert "6 dumped executions" in text
