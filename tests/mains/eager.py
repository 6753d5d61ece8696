"""Trains operator by operator, as people do while they look for a fault."""
import small
import tensorflow as tf

small.fit(small.model(tf, run_eagerly=True))
