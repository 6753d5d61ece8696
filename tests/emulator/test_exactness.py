"""Does a dump change training? Bit for bit it must not."""
import numpy as np
import pytest

from tests.emulator import nets, processes
from tests.emulator.conftest import operators, outputs

# A process without emulator, with the two settings that bit-equality needs, whose
# train_step also returns the loss of the batch itself (Keras reports running means).
PLAIN = """
import json, os
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import tensorflow as tf
tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
from tests.emulator import nets

nets.seed(tf)
net = nets.small_conv(tf)

class Raw(tf.keras.Model):
    def train_step(self, data):
        x, y = data[0], data[1]
        with tf.GradientTape() as tape:
            predicted = self(x, training=True)
            if tf.__version__.startswith("2.6"):
                loss = self.compiled_loss(y, predicted, regularization_losses=self.losses)
            else:
                loss = self.compute_loss(x, y, predicted)
        variables = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return {"loss": loss}

model = Raw(net.inputs, net.outputs)
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
losses = nets.fit(tf, model, nets.arrays(24, 8, 8, 3))["losses"]
print(json.dumps([float(loss).hex() for loss in losses]))
"""


@pytest.mark.parametrize("scenario", sorted(nets.SCENARIOS))
def test_training_is_bit_equal_with_and_without_dump(dumped, undumped, scenario):
    with_dump, without = dumped.arrays(scenario), undumped.arrays(scenario)
    assert sorted(with_dump) == sorted(without)
    for name in without:
        np.testing.assert_array_equal(with_dump[name], without[name], err_msg=name)


@pytest.mark.parametrize("scenario", sorted(nets.SCENARIOS))
def test_training_did_something(undumped, scenario):
    losses = undumped.arrays(scenario)["losses"]
    assert len(set(losses.tolist())) > 1 and np.isfinite(losses).all()


def test_the_loss_in_the_dump_is_the_loss_of_a_plain_process(dumped, tmp_path):
    losses = [float.fromhex(text) for text in processes.run_code(PLAIN, tmp_path)]
    name = next(graph[0] for graph in dumped.graphs["conv"] if "train" in graph[0])
    for data_index in (0, 5):
        found = operators(dumped.steps(name)[data_index])
        loss_op = [op for op in found if op.endswith(
            ("weighted_loss/value", "sparse_categorical_crossentropy/div_no_nan"))]
        assert len(loss_op) == 1
        value = outputs(found[loss_op[0]][0])[0]
        assert value.shape == () and value.dtype == np.float32
        assert float(value) == losses[data_index]
