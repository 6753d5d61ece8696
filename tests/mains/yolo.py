"""A main without a flag library: its arguments come from a config module."""
from yolo_config import args

import small
import tensorflow as tf

small.fit(small.model(tf))
print("flag", args.data_dump_flag)
