"""The trainings of `nets.py`, and how many batches each has; without importing TensorFlow."""
FAILING = {"log_of_zero": 5, "norm_at_zero": 4, "float16_overflow": 6, "exploding_rate": 30,
           "variance_of_constant": 5}
HEALTHY = {"dropout": 6, "sparse_relu": 6, "one_hot": 6, "large_embeddings": 6,
           "loss_scaling": 6}
