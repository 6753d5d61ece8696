"""Distillation: three models, fits of each, evaluation and prediction between them."""
import npu_device

npu_device.open().as_default()

import small  # noqa: E402
import tensorflow as tf  # noqa: E402

teacher, student, scratch = (small.model(tf, name) for name in ("teacher", "student", "scratch"))
small.fit(teacher, epochs=2, validation_split=0.25)  # 5 batches, 2 rounds: 10 executions
teacher.evaluate(small.X, small.Y, verbose=0)
small.fit(student)
student.predict(small.X, verbose=0)
small.fit(scratch, callbacks=[tf.keras.callbacks.EarlyStopping("loss")])
student.compile("sgd", "mae")
small.fit(student)  # another function, counted from 0
small.fit(teacher)  # goes on at 10 or, with another shape of batches, in another function
