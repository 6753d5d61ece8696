"""The explanations in Chinese; `english.py` says the same."""
from typing import Dict

from keras_npu_dump.explain.explanation import Explanation

EXPLANATIONS: Dict[str, Explanation] = {
    "no-run": Explanation(
        "这些 dump 目录没有对应的运行记录（runs/{run_id}）。",
        "没有一起拷贝 runs/ 目录，或者 dump 不是用 keras_npu_dump 产生的（手工配置）。没有记录就无"
        "法知道每个 data_index 是哪个批次、当初要求 dump 什么，因此不做完整性检查。",
        "把 runs/ 拷到时间目录旁边，重新 collect。手工 dump 的数据无需处理：图与目录的对应关系仍"
        "然有效。"),
    "not-dumped": Explanation(
        "没有 dump 任何数据，或者没有训练图的数据。",
        "设备在设置 dump 选项之前就已打开，或者从未打开；脚本没有在设备上训练（run_eagerly=True，"
        "或第一个批次之前就抛出异常）；要求的 step 没有执行到；或者这不是训练写入的目录（在容器里"
        "训练时，目录在容器内）。级别为 info 时：溢出检测没有发现溢出，或者 dump 已关闭。",
        "先看消息中的原因。`keras-npu-dump run 脚本` 会及时设置选项；`keras-npu-dump doctor` 指出"
        "会使 dump 失败的因素；`run --emulate` 可以在没有 NPU 时演练。"),
    "no-graph": Explanation(
        "有 dump 目录，但没有任何可能与之对应的图文件（ge_proto_*_Build.txt）。",
        "没有一起拷贝图文件；图文件在别处（DUMP_GRAPH_PATH 指向的目录，或启动训练时的当前目录）；"
        "设备编译图时没有设置 DUMP_GE_GRAPH；或者图文件被删除。",
        "用 `keras-npu-dump collect PATH --graphs 目录` 指定图文件所在目录。下次运行时保持图导出"
        "打开（keras_npu_dump 默认打开）。"),
    "no-pair": Explanation(
        "有图文件，但没有一个属于这个 dump 目录。",
        "图文件属于另一次启动、另一个进程或另一个设备；缺少这个图的文件（多个 rank 共用一个图目录"
        "时会互相覆盖）；或者图的名字和算子与 dump 中的不一致。",
        "找到同一次运行的图文件，用 --graphs 指定其目录；`keras-npu-dump collect -v PATH` 显示其"
        "他配对的依据。"),
    "ambiguous-pair": Explanation(
        "有多个图文件都符合这个 dump 目录，无法区分。",
        "同一批图文件有多份拷贝，或者同一个函数以相同的算子编译了多次。显示的配对只是猜测"
        "（guess）。",
        "删除多余的拷贝；或用 --keyword 词 指定只有正确的图才包含的词。如果这些文件内容相同，选哪"
        "个都一样。"),
    "step-not-reached": Explanation(
        "要求的某个 step 从未执行到。",
        "data_index 是一个图的执行序号，从 0 开始，跨 epoch、跨 fit 连续计数，compile() 之后重新计"
        "数：训练的执行次数不够、提前结束，或者在此之前失败。评估图的批次较少，此时只是提示"
        "（info）。",
        "要求小于消息中执行次数的 step，或者延长训练。"),
    "step-missing": Explanation(
        "某个 step 已执行并且要求 dump，但没有它的目录，或者目录中没有文件。",
        "磁盘已满；设备传完数据之前进程就结束了；选项在 npu_device.open() 之后才设置；图被重新编"
        "译，从 0 重新计数；或者目录被人删除。能够判断时，消息会给出原因。",
        "按提示处理。释放空间或减少 dump 量（更少的 step、dump_data='stats'、dump_layer），让进程"
        "正常关闭设备，并在设备当时的日志中查找 dump 错误。"),
    "step-partial": Explanation(
        "某个 step 的文件比同一个图的其他 step 少，或比该图必定产生的文件少。",
        "磁盘已满、数据传输过程中进程被终止、文件被删除或没有拷全。分支和循环中的算子不一定产生文"
        "件，不计算在内。",
        "重新拷贝该目录，或释放空间后重新 dump 该 step；不要对缺少文件的算子下结论。"),
    "step-unasked": Explanation(
        "存在没有要求的 step 的目录。",
        "打开设备时的 step 与记录中的不同；设备上的循环按自己的方式计数（NPU_LOOP_SIZE）；或者目录"
        "中有另一次运行的数据。数据本身是完整的。",
        "如果需要这些 step，无需处理。否则比较 runs/{run_id}/run.json 中的 dump_step 与脚本自己的"
        "设置。"),
    "layer-unknown": Explanation(
        "dump_layer 中的某个名字不是训练图中的算子：不会为它 dump 任何数据。",
        "名字拼写错误，或者使用了 TensorFlow 中的名字，而设备已将该算子融合或改名：dump_layer 需要"
        " GE 的 Build 图中的完整名字。",
        "使用提示中最接近的名字；`keras-npu-dump inspect PATH --op 正则` 以及 `keras-npu-dump "
        "triage PATH` 生成的 next.flags 中有正确的名字。"),
    "truncated-file": Explanation(
        "dump 文件的长度小于其文件头中记录的长度。",
        "磁盘已满、写文件时进程被杀死，或者拷贝中断。",
        "与原文件比较大小并重新拷贝；否则释放空间后重新 dump 该 step。这个文件中的数值不会被使"
        "用。"),
    "empty-file": Explanation(
        "dump 文件是空的。",
        "磁盘已满，或者进程在创建文件之后、写入之前结束。",
        "释放空间后重新 dump 该 step；dump_data='stats' 或 dump_layer 占用的空间小得多。"),
    "foreign-file": Explanation(
        "dump 文件中混有不是 dump 文件的东西。",
        "有人放在这里：笔记、压缩包、其他工具的文件；或者根本不是普通文件（管道、设备、失效的链"
        "接）。",
        "无需处理：不会读取它。如果不应该在这里，请删除。"),
    "unmapped-name": Explanation(
        "dump 文件以数字命名，而 mapping.csv 中没有说明它是哪个算子。",
        "对文件系统来说太长的名字会改用数字，并记录在 mapping.csv 中；这个文件没有拷贝、被截断，或"
        "者没能写入。",
        "把 mapping.csv 一起拷贝。没有它时，张量数据的文件头仍有算子名；统计信息（csv）则没有。"),
    "operator-missing": Explanation(
        "图中的一些算子在所有 step 中都没有文件。",
        "由设备决定：不单独执行的算子、在内存中没有输出的算子不产生文件；dump_mode 也会去掉输入或"
        "输出一侧。",
        "一般无需处理。需要这种算子的数值时，查看它的上游和下游：`keras-npu-dump inspect PATH "
        "--op 正则`。"),
    "still-growing": Explanation(
        "写入这里的进程仍在运行，或者文件在查看期间仍在变大。",
        "训练还没有结束，或者设备还在传输数据。",
        "训练结束后重新 collect。"),
    "index-uncertain": Explanation(
        "某个 data_index 对应哪个批次并不确定；dump 数据本身没有疑问。",
        "每个 epoch 的批次数未知；设备上的循环一次执行多个批次（NPU_LOOP_SIZE、"
        "steps_per_execution）；后来的图（例如评估图）改变了某个变量的格式，图因此被重新编译并重新计"
        "数；或者没有人计数（自定义循环没有使用 `with dump.step():`）。",
        "消息会说明是哪一种。给 fit() 指定 steps_per_epoch，dump 时每次执行只用一个批次，或者在自"
        "定义循环的每次调用外面加上 `with dump.step():`。"),
    "end-of-data": Explanation(
        "要求的某个 step 没有训练任何数据：数据在这一步中结束了。",
        "数据集的大小未知，执行过程中才遇到数据末尾，而设备可能把它算作一次执行；它的目录中的文件"
        "少于正常批次，或者没有文件。",
        "请选择其他 step。使用大小已知的数据集、steps_per_epoch 或 .repeat() 就不会有这样的 "
        "step。"),
    "disk-low": Explanation(
        "dump 目录所在的磁盘快满了。",
        "大网络的 dump 数据每个 step 可达几十 GB。",
        "下次 dump 之前释放空间，换一个 dump_path，或减少 dump 量：更少的 step、"
        "dump_data='stats'、dump_layer。"),
    "unreadable": Explanation(
        "文件、目录或图无法读取，或只能读取一部分。",
        "没有权限、文件损坏或被截断、目录层次太深或条目太多，或者磁盘出错；消息中有系统给出的原"
        "因。",
        "授予读权限或重新拷贝；`keras-npu-dump inspect 文件` 说明它是什么文件、在哪里出错。"),
    "record-invalid": Explanation(
        "run.json、iterations.jsonl 或 manifest.json 中的某个值不可能成立，按缺失处理。",
        "文件被编辑或损坏，或者由其他程序、其他版本写成。",
        "恢复原文件。不依赖这个值的结论不受影响。"),
    "run-older": Explanation(
        "存在较早一次启动的 dump 目录；只列出，不检查。",
        "多次训练 dump 到了同一个 dump_path。",
        "无需处理。需要检查时，对它自己的目录（PATH/{time}）执行 collect；下次运行请换一个 "
        "dump_path。"),
    "run-crashed": Explanation(
        "训练没有正常结束：抛出异常、以非零退出码退出，或被杀死。",
        "脚本或机器自身的问题；消息中有运行记录所知道的原因。在此之前 dump 的数据仍然有效。",
        "查看脚本自己输出的末尾。如果在设备上崩溃，请 dump 崩溃之前的 step，或异常中提到的算子"
        "（dump_layer）。"),
    "operator-foreign": Explanation(
        "有些文件属于配对的图中不存在的算子。",
        "图文件与实际执行的图不是同一次编译的结果（被重新写过，或从另一次运行拷来），或者设备自己"
        "增加了算子。",
        "`keras-npu-dump collect -v PATH` 显示配对的依据。如果可信程度不是 exact，请找到正确的"
        "图，用 --graphs 指定其目录。"),
    "single-operator": Explanation(
        "存在在图之外单独执行的算子的文件。",
        "Eager 代码：每个算子单独执行，不属于任何图文件。",
        "如果不是训练的一部分，无需处理。否则把它放进 tf.function。"),
    "exception-files": Explanation(
        "数据 dump 旁边有异常 dump：extra-info/data-dump。",
        "设置了 enable_exception_dump、NPU_COLLECT_PATH 或 ASCEND_DUMP_SCENE 时，有算子在设备上执行"
        "失败：它的输入以 kernel 名写成文件。",
        "对数据 dump 无需处理。文件名给出失败的 kernel，用厂商工具读取。"),
    "output-deleted": Explanation(
        "训练还在运行时，dump 数据、图或记录被人删除。",
        "脚本清空了自己的输出目录，或者机器上的清理任务所为；或者另一次运行使用了同一个目录。",
        "查明是谁清空的，把 dump_path 放到不会被清空的地方，重新 dump。"),
    "sampled": Explanation(
        "没有打开全部 dump 文件。",
        "文件数超过 --budget（默认 20000）；每个目录只打开了一部分。",
        "`keras-npu-dump collect PATH --verify` 会打开全部文件。"),
}
