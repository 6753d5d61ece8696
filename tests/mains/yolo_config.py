"""The config module of yolo.py: parses at import and opens the device."""
import argparse

import npu_device

parser = argparse.ArgumentParser()
parser.add_argument("--data_dump_flag", type=str, default="False")
args, _ = parser.parse_known_args()
npu_device.open().as_default()
