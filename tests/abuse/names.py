"""Names that are allowed on a file system, and that nobody expects in a dump."""

# {} is filled with a number, so that several can lie in one folder.
ODD = [
    "line\nbreak.{}", "--script{}\n--emulate", "carriage\rreturn{}", "bell\x07and\x1b[31mred{}",
    "tab\tin{}", "\udcff\udcfe not UTF-8 {}", "{}" + "x" * 250, "-rf{}", "$(touch pwned{})",
    "`touch pwned{}`", ";touch pwned{};", "'\"quotes{}", " blank{} ", "back\\slash{}", "{}%s%n{{}}",
    "\u202eright to left{}", "=cmd|'calc'!A{}", "<script>alert({})", "\u4f60\u597d{}",
    "...{}", "\x7f{}", "[red]markup{}[bold]", "*?{}", "nul{}.\u2028line",
]
# What a dump file's, a graph's or a folder's name has around the part that is free.
AROUND = {
    "step": ["{}", "MatMul.{}.1.3.1796086477857628", "{}.x.1.3.1796086477857628",
             "MatMul.{}.1.3.1796086477857628.csv", "Opdebug.{}.1.3.1796086477857628"],
    "pid": ["{}", "ge_proto_00000099_graph_9_{}.txt", "ge_proto_00000099_graph_9_Build.txt{}"],
    "root": ["{}", "{}_20300317174640"],
    "device": ["{}"], "model": ["{}"], "time": ["{}"], "runs": ["{}"], "graphs": ["{}"],
}


def odd_name(rng, place, number):
    around = rng.choice(AROUND.get(place, ["{}"]))
    name = rng.choice(ODD).format(number)
    whole = around.replace("{}", name)
    # The file system's limit is in bytes.
    while len(whole.encode("utf-8", "surrogateescape")) > 255:
        name = name[:-1]
        whole = around.replace("{}", name)
    return whole
