"""`npu_device.compat.utils.SessionConfigBuilder`: a ConfigProto that names the NPU's optimizer."""
from __future__ import annotations

from typing import Any


class SessionConfigBuilder:
    """A session's configuration with the adapter's "NpuOptimizer" in it.

    Args:
      config: tf.compat.v1.ConfigProto, which is changed; anything else for a new one that
        allows soft placement.
    """

    def __init__(self, config: Any = None):
        import tensorflow as tf
        from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig
        if not isinstance(config, tf.compat.v1.ConfigProto):
            config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
        self._session_config = config
        rewriting = config.graph_options.rewrite_options
        rewriting.remapping = RewriterConfig.OFF
        self._npu_config = rewriting.custom_optimizers.add()
        self._npu_config.name = "NpuOptimizer"

    @property
    def parameter_map(self) -> Any:
        """The optimizer's parameters: name -> AttrValue."""
        return self._npu_config.parameter_map

    @property
    def session_config(self) -> Any:
        """The ConfigProto."""
        return self._session_config
