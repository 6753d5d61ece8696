"""The explanations of doctor's codes in Chinese; `doctor_english.py` says the same."""
from typing import Dict

from keras_npu_dump.explain.explanation import Explanation

EXPLANATIONS: Dict[str, Explanation] = {
    "no-tensorflow": Explanation(
        "当前 Python 中没有安装 TensorFlow。",
        "激活的不是训练所用的环境，或者没有激活任何环境。",
        "激活训练所用的环境，或安装 TensorFlow 2.6.5，即 npu_device 对应的版本。"),
    "tensorflow-version": Explanation(
        "当前 Python 中的 TensorFlow 不是 npu_device 对应的版本。",
        "npu_device 基于 TensorFlow 2.6.5 构建；换成别的版本，导入或训练会失败。",
        "使用训练所用的环境，其中的 TensorFlow 为 2.6.5。"),
    "no-device": Explanation(
        "这里没有安装 npu_device，因此没有可以 dump 的设备。",
        "本机没有 NPU，或者激活的是另一个 Python 环境。",
        "在昇腾主机上安装与 CANN 配套的版本；在其他机器上用 `keras-npu-dump run --emulate 脚本`"
        " 演练。"),
    "device-import": Explanation(
        "已安装 npu_device，但导入失败。",
        "找不到 CANN 的库：当前 shell 没有 source 过 set_env.sh，或者 CANN 与 npu_device 版本不配"
        "套。",
        "在当前 shell 中 source CANN 的 set_env.sh，再执行 `keras-npu-dump doctor`。"),
    "no-npu": Explanation(
        "已安装 npu_device，但看不到 NPU（/dev/davinci*）。",
        "本机没有 NPU，驱动没有加载，或者启动容器时没有映射设备。",
        "在容器中使用时，启动容器时要映射设备。"),
    "device-id": Explanation(
        "将要打开的设备不在这里可见的设备之中。",
        "ASCEND_DEVICE_ID 给出的编号在本机或容器中不存在。",
        "把 ASCEND_DEVICE_ID 设为消息中列出的编号之一。"),
    "real-device": Explanation(
        "要求使用仿真，但这里安装了真正的 npu_device。",
        "仿真只在没有 npu_device 的地方代替它，绝不代替真正的设备。",
        "去掉 --emulate，或使用没有安装 npu_device 的 Python 环境。"),
    "cluster": Explanation(
        "描述多进程作业的环境变量互相矛盾或不完整。",
        "npu_device 只接受两种方式之一：RANK_TABLE_FILE 加 RANK_ID 和 RANK_SIZE；或者"
        " CM_CHIEF_IP、CM_CHIEF_PORT、CM_CHIEF_DEVICE、CM_WORKER_IP 和 CM_WORKER_SIZE。也可"
        "能某个值不是数字。",
        "只设置其中一种方式的变量，取消其他的；消息会指出缺少什么。"),
    "ranks": Explanation(
        "data_dump_ranks 与本作业不符，或者不包括本进程。",
        "给出的 rank 在这样大小的作业中不存在；或者本进程不在其中，这也可能正是所要的。",
        "给出小于 RANK_SIZE 的 rank，或去掉 data_dump_ranks，在所有 rank 上 dump。"),
    "dump-path": Explanation(
        "dump 目录无法使用。",
        "需要目录的位置上是一个文件，当前用户没有读写权限，或者路径太长，放不下 dump 文件的名字。",
        "换一个 data_dump_path，或修改该处的写权限。"),
    "path-name": Explanation(
        "昇腾的比对工具会拒绝 dump 目录的路径。",
        "它只接受由字母、数字和 ./_:=- 组成的路径，而路径中有空格或其他字符。",
        "换一个 data_dump_path，或导出到普通路径：`keras-npu-dump export`。这里的所有命令都接受原路"
        "径。"),
    "in-container": Explanation(
        "dump 目录在容器自己的文件系统中，容器删除后就没有了。",
        "启动容器时没有把主机的目录挂载到该位置。",
        "把主机的目录挂载到那里，让 data_dump_path 位于其中；或者在删除容器之前把 dump 拷贝出来"
        "（`docker cp`）。"),
    "earlier-runs": Explanation(
        "dump 目录中有以前运行的 dump。",
        "以前用过同一个 data_dump_path。",
        "无需处理：每次运行都有自己的时间目录和记录。想用单独的目录，就换一个 data_dump_path。"),
    "graph-path": Explanation(
        "图文件会写到当前用户没有写权限的目录。",
        "由环境变量决定，依次为 NPU_COLLECT_PATH、DUMP_GRAPH_PATH、ASCEND_WORK_PATH。",
        "取消消息中指出的变量，或修改该目录的写权限。"),
    "aoe": Explanation(
        "AOE_MODE 要求调优，此时图的编译方式不同。",
        "为调优而设置，之后在当前 shell 中一直没有取消。",
        "要 dump 就取消 AOE_MODE。"),
    "collect-path": Explanation(
        "NPU_COLLECT_PATH 或 NPU_COLLECT_PATH_EXE 打开了异常 dump。",
        "异常 dump 会使动态 shape 的图没有数据 dump；NPU_COLLECT_PATH 还会把图文件带到它下面的"
        " extra-info/graph。",
        "要 dump 数据就取消它。"),
    "dump-scene": Explanation(
        "ASCEND_DUMP_SCENE 要求在 AI Core 出错时 dump 它的输入。",
        "aic_err_norm_dump 可能使动态 shape 的图没有数据 dump；aic_err_detail_dump 在出错时结束进"
        "程；除 aic_err_brief_dump 之外的其他值没有作用。",
        "要 dump 数据就取消它。"),
    "dump-path-variable": Explanation(
        "ASCEND_DUMP_PATH 可能把图文件带到别处。",
        "GE 的文档说，无论 DUMP_GRAPH_PATH 是什么，图文件都写到那里；而它公开的源码并不读取这个变量"
        "。",
        "为保险起见取消它。`keras-npu-dump collect` 在两处都会查找。"),
    "graph-off": Explanation(
        "DUMP_GE_GRAPH 要求不写图文件。",
        "它的值是 0，或者不是 GE 认识的数字。按公开的源码，dump 打开时 GE 照样会写执行的图。",
        "如果缺少图文件，就取消它，或设为 2。"),
    "graph-level": Explanation(
        "DUMP_GRAPH_LEVEL 排除了执行的图（Build），而配对要用的正是它。",
        "设置它是为了查看编译的其他阶段。按公开的源码，dump 打开时 GE 照样会写执行的图。",
        "如果缺少图文件，就取消它，或设为 3。"),
    "graph-format": Explanation(
        "DUMP_GRAPH_FORMAT 要求的图文件不是 ge_proto 格式，而这里读取的是该格式。",
        "设置它是为了便于人查看，或供其他工具使用。按公开的源码，dump 打开时 GE 照样会为执行的图写"
        " ge_proto 文件。",
        "如果缺少图文件，就取消它，或加上 ge_proto。"),
    "loop-misspelt": Explanation(
        "设置了 NPU_LOOPSIZE，没有任何程序读取它。",
        "npu_device 读取的变量是 NPU_LOOP_SIZE。",
        "如果需要，就设置 NPU_LOOP_SIZE，否则两个都取消。"),
}
