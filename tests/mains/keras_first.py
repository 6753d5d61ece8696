"""Keras before TensorFlow, and npu_device nowhere."""
import keras
import numpy as np

X = np.arange(24 * 3, dtype=np.float32).reshape(24, 3) / 100
net = keras.Sequential([keras.layers.Dense(1, kernel_initializer="ones", input_shape=(3,))])
net.compile("sgd", "mse")
history = net.fit(X, 2 * X.sum(axis=1), batch_size=4, epochs=2, shuffle=False, verbose=0)
print("loss", [float(one).hex() for one in history.history["loss"]])
