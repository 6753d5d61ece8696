"""Does each training function of a GAN get its own iterations, and is told what is not known?"""
import pytest

from tests.mains.running import codes, manifest, run_main, trained
from tests.mains.said import check_kept

STEPS = ["--data_dump_step=0|3|5"]


def told(document, code):
    return [one["message"] for one in document["problems"] if one["code"] == code]


def functions(document):
    """The training functions of the manifest in order, by the names in the script."""
    return [document["pairs"][position]["model_names"][0].split("_", 3)[-1].rsplit("_", 1)[0]
            for position in document["training"]["0"]]


def test_two_functions_in_a_step_have_the_steps_as_their_batches(tmp_path):
    done = run_main(tmp_path, "gan.py", options=STEPS)
    check_kept(done, tmp_path, "gan")
    document = manifest(tmp_path)
    assert functions(document) == ["d_step", "g_step"]
    assert trained(document) == 2 * [[(0, (0, 0, 0)), (3, (0, 1, 0)), (5, (0, 1, 2))]]
    assert document["problems"] == []
    assert [one["count"] for one in document["runs"][0]["executions"].values()] == [6, 6]


def test_a_critic_that_runs_five_times_in_a_step_is_counted_by_its_executions(tmp_path):
    done = run_main(tmp_path, "gan.py", "--critic=5", options=["--data_dump_step=0|3|17"])
    check_kept(done, tmp_path, "wgan")
    document = manifest(tmp_path)
    assert trained(document) == [
        [(0, (0, 0, 0)), (3, (0, 0, 3)), (17, (0, 1, 2))], [(0, (0, 0, 0)), (3, (0, 1, 0))]]
    text, = told(document, "index-uncertain")
    assert "d_step" in text and "30 ran in 6 steps" in text
    assert codes(document) == [] and codes(document, "warning") == []


def test_a_loop_that_nobody_has_changed_is_counted_by_executions(tmp_path):
    done = run_main(tmp_path, "gan.py", "--plain", options=STEPS)
    check_kept(done, tmp_path, "gan_unchanged")
    document = manifest(tmp_path)
    assert trained(document) == 2 * [[(0, (0, 0, 0)), (3, (0, 0, 3)), (5, (0, 0, 5))]]
    assert ["epochs" in one for one in told(document, "index-uncertain")] == [True, True]
    assert "DumpSession" in done.stderr and "cannot be told" not in done.stderr
    assert codes(document) == [] and "ge_global_step" not in done.stderr


@pytest.mark.parametrize("arguments, d_step, g_step", [
    # The first execution was before the loop, in fit 0: step k is execution k + 1.
    (["--shared", "--outside", "--every=2", "--steps=2"],
     [(0, None), (3, (1, 1, 0))], [(0, (1, 0, 0))])])
def test_executions_outside_of_steps_and_in_some_steps_only(tmp_path, arguments, d_step, g_step):
    run_main(tmp_path, "gan.py", *arguments, options=["--data_dump_step=0|3"])
    document = manifest(tmp_path)
    assert trained(document) == [d_step, g_step]
    texts = told(document, "index-uncertain")
    assert any("g_step" in one and "2 ran in 4 steps" in one for one in texts)
    assert any("d_step" in one and "outside of `with dump.step():`" in one for one in texts)
    assert not any("epochs, which are not known" in one for one in texts)
