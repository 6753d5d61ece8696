#!/usr/bin/env bash
# The shell of most mains: defaults, `for para in $*` with prefix globs, all flags passed on.
# PYTHON, MAIN and RUN (what stands before the main) come from the test.
over_dump=False
data_dump_flag=False
data_dump_step="10"
for para in $*
do
    if [[ $para == --over_dump* ]];then
        over_dump=`echo ${para#*=}`
        over_dump_path=${PWD}/output/overflow_dump
        mkdir -p ${over_dump_path}
    elif [[ $para == --data_dump_flag* ]];then
        data_dump_flag=`echo ${para#*=}`
        data_dump_path=${PWD}/test/output/data_dump
        mkdir -p ${data_dump_path}
    elif [[ $para == --data_dump_step* ]];then
        data_dump_step=`echo ${para#*=}`
    fi
done
rm -rf ${PWD}/test/output/*
mkdir -p ${PWD}/test/output
$PYTHON $RUN $MAIN --over_dump=${over_dump} --over_dump_path=${over_dump_path} \
    --data_dump_flag=${data_dump_flag} --data_dump_step=${data_dump_step} \
    --data_dump_path=${data_dump_path} > test/output/train.log 2>&1
