"""Imports neither us nor npu_device, it only has the word; the last batch is smaller."""
import small
import tensorflow as tf

net = small.model(tf)
history = net.fit(small.X[:23], small.Y[:23], batch_size=4, epochs=2, shuffle=False, verbose=2)
print("loss: %.4f" % history.history["loss"][-1])
