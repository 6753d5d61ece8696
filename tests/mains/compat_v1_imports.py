"""Imports all that the TensorFlow 1 adapter has, and trains with Keras all the same.

--v1 goes on as its users do: enable_v1 and a session.
"""
import sys

import tensorflow as tf

if tf.__version__.startswith("1"):
    from npu_bridge.estimator.npu.npu_hook import NPUCheckpointSaverHook
    from npu_bridge.hccl import hccl_ops
else:
    from npu_device.compat.v1.estimator.npu.npu_hook import NPUCheckpointSaverHook
    from npu_device.compat.v1.hccl import hccl_ops
from npu_device.compat.v1.npu_init import *  # noqa: F403

dump = DumpConfig(enable_dump=True, dump_path="/d", dump_step="0", dump_mode="all")  # noqa: F405
print(hccl_ops.allreduce.__name__, NPUCheckpointSaverHook.__name__, tf.__name__,
      get_npu_rank_size(), RewriterConfig.OFF)  # noqa: F405
import npu_device  # noqa: E402
import tensorflow as tf  # noqa: E402

npu_device.open().as_default()
if "--v1" in sys.argv:
    npu_device.compat.enable_v1()
    tf.compat.v1.enable_resource_variables()
    weight = tf.compat.v1.get_variable("weight", initializer=4.0)
    train = npu_tf_optimizer(  # noqa: F405
        tf.compat.v1.train.GradientDescentOptimizer(0.25)).minimize(weight * weight)
    config = npu_device.compat.v1.SessionConfigBuilder().session_config
    with tf.compat.v1.Session(config=npu_config_proto(config)) as session:  # noqa: F405
        session.run(tf.compat.v1.global_variables_initializer())
        session.run(train)
        print("weight", session.run(weight))
else:
    import small

    small.fit(small.model(tf))
