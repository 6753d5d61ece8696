"""Can mains be rehearsed that import more of npu_device than its options?

Shapes of ModelZoo's mains for TensorFlow 2: loss scaling with a callback that prints it, helpers
of several workers started with one, and imports of the TensorFlow 1 adapter.
"""
from tests.mains.running import codes, manifest, run_main, trained

FIRST = (0, (0, 0, 0))


def printed(done):
    return [line.split() for line in done.stdout.splitlines() if line.startswith("batch ")]


def test_a_fit_with_loss_scaling_in_inf_nan_mode(tmp_path):
    done = run_main(tmp_path, "loss_scaled.py", "--burst", options=["--data_dump_step=0|5"])
    lines = printed(done)
    assert [line[5] for line in lines] == ["False"] * 6  # nobody asks the device
    assert [float(line[3]) for line in lines] == [1024.0, 1024.0] + 4 * [512.0]
    assert "finite True" in done.stdout
    assert trained(manifest(tmp_path)) == [[FIRST, (5, (0, 0, 5))]]


def test_last_step_finite_in_saturation_mode(tmp_path):
    done = run_main(tmp_path, "loss_scaled.py", "--saturate", "--burst",
                    options=["--data_dump_step=2"])
    assert [line[5] for line in printed(done)] == ["True", "True", "False"] + ["True"] * 3
    assert "finite True" in done.stdout
    assert trained(manifest(tmp_path)) == [[(2, (0, 0, 2))]]


def test_helpers_of_several_workers_with_one(tmp_path):
    done = run_main(tmp_path, "distributed_helpers.py", options=["--data_dump_step=0|5"],
                    env={"RANK_SIZE": "1"})
    assert "workers 1 rank size 1 rows 4 trained True same True" in done.stdout
    document = manifest(tmp_path)
    assert codes(document) == []
    fitted = trained(document)
    assert fitted[0] == [FIRST, (5, (0, 0, 5))] and len(fitted) >= 1
    names = {pair["graph"] for pair in document["pairs"]}
    assert len(names) >= 2  # the fit's, and the loop's


def test_imports_of_the_tensorflow_1_adapter_are_harmless_under_keras(tmp_path):
    done = run_main(tmp_path, "compat_v1_imports.py")
    assert "allreduce NPUCheckpointSaverHook tensorflow.compat.v1 1 2" in done.stdout
    assert trained(manifest(tmp_path)) == [[FIRST]] and "TensorFlow 1" not in done.stderr


def test_a_session_of_the_tensorflow_1_adapter_trains_and_is_said_not_to_be_dumped(tmp_path):
    done = run_main(tmp_path, "compat_v1_imports.py", "--v1")
    assert "weight 2.0" in done.stdout
    assert done.stderr.count("nothing of them is dumped") == 1
    assert "Traceback" not in done.stderr
