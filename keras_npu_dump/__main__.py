"""python -m keras_npu_dump"""
import sys

from keras_npu_dump.cli import main

sys.exit(main())
