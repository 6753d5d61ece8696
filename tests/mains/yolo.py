"""A main without a flag library: its arguments come from a config module."""
import small
import tensorflow as tf
from yolo_config import args

small.fit(small.model(tf))
print("flag", args.data_dump_flag)
