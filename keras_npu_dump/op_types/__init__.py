"""What is known of operators and graphs by the names of their types, written once.

    graph_parts   inputs, constants, variables, iterators, control flow; what leaves no dump
    training      gradients, optimizers, updates, collectives, overflow checks, layers
    arithmetic    what operators do to the numbers that pass through them
    graph_names   the graphs around training, and what a graph's name says of its role

A type is a name as in a graph: TensorFlow's in graphs that TensorFlow traced or the emulator
wrote, GE's where GE has lowered them. Where the two differ a set says whose names it holds.
Plain data without imports: every room takes them from here.
"""
