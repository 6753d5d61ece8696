"""Does the README keep its promises?"""
import json
import os
import re
import sys

import pytest

from tests.conftest import ROOT, fresh_clone, run_command, run_python


def blocks(language):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^```%s\n(.*?)^```" % language, text, re.MULTILINE | re.DOTALL)


def section_command(heading):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    body = text.split("\n## %s\n" % heading)[1].split("\n## ")[0]
    return re.search(r"^```bash\n(.*?)^```", body, re.MULTILINE | re.DOTALL).group(1).strip()


def test_quick_start_on_a_fresh_clone(tmp_path):
    clone = fresh_clone(tmp_path)
    command = section_command("Quick start")
    assert "\n" not in command and "${PYTHON:-python3}" in command
    done = run_command(["bash", "-c", command], clone, timeout=880, env={
        "PYTHON": sys.executable, "PYTHONPATH": None, "TF_ENABLE_ONEDNN_OPTS": None,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    table = done.stdout[done.stdout.index("Dump folder"):]
    rows = re.findall(r"^ +(\d+)  (epoch \d, batch \d) +(\d+) +(\S+ [KM]B) +(\S+)$", table,
                      re.MULTILINE)
    assert [row[:2] for row in rows] == [("0", "epoch 0, batch 0"), ("5", "epoch 0, batch 5")]
    for row in rows:
        folder = clone / "output" / "data_dump" / row[4]
        assert len(list(folder.iterdir())) == int(row[2]) > 20
        assert "train_function" in row[4]
    assert re.search(r"confidence +exact$", table, re.MULTILINE)
    assert re.search(r"graph file +\S*ge_proto_\d+_graph_\d+_Build.txt", table)
    # Users grep these out of the training's log; only a path may hold one of them.
    assert not re.search(r"\b(loss|step|time|fps|accuracy)\b", table, re.IGNORECASE)
    records = list(clone.glob("output/data_dump/runs/*/run.json"))
    assert json.loads(records[0].read_text())["status"] == "ended"


def test_the_command_of_the_tests_is_one_command():
    command = section_command("Tests")
    assert "\n" not in command and "${PYTHON:-python3}" in command and "pytest" in command


PRELUDE = """
import sys
import numpy as np
import keras_npu_dump
keras_npu_dump.emulator.install()
import tensorflow as tf
X = np.ones((48, 3), np.float32)

def build_model():
    global dataset, train_step
    dataset = tf.data.Dataset.from_tensor_slices((X, X[:, :1])).batch(4)
    return tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])

dataset = [X[:4]] * 12
WEIGHT = []

def train_step(batch):
    if not WEIGHT:
        WEIGHT.append(tf.Variable(np.ones((3, 1), np.float32)))

        @tf.function
        def descend(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(x, WEIGHT[0])))
            WEIGHT[0].assign_sub(0.1 * tape.gradient(loss, WEIGHT[0]))
        WEIGHT.append(descend)
    WEIGHT[1](tf.constant(batch))

"""


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_the_python_examples_run(tmp_path, number):
    code = blocks("python")[number]
    code = code.replace("app.run(main)",
                        "app.run(main, ['train.py', '--data_dump_flag', '--data_dump_step=0|5'])")
    run_python(PRELUDE + code, tmp_path)
    manifest, = [json.loads(path.read_text())
                 for path in tmp_path.glob("output/data_dump/runs/*/manifest.json")]
    (position,) = manifest["training"]["0"]
    pair = manifest["pairs"][position]
    assert pair["confidence"] == "exact"
    asked = manifest["runs"][0]["options"]["dump_step"]
    assert "|".join(str(one["data_index"]) for one in pair["steps"]) == asked
    assert asked.startswith("0|5")
    assert pair["steps"][1]["iteration"]["batch"] == 5


def test_no_path_of_a_machine_in_the_documents():
    for path in [ROOT / "README.md", ROOT / "README.zh-CN.md"] + list(ROOT.glob("docs/*.md")):
        text = path.read_text(encoding="utf-8")
        assert os.path.expanduser("~") not in text or os.path.expanduser("~") == "/"
