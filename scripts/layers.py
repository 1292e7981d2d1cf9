#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Who may include whom, and which calls are not made where. usage: layers.py [src]"""

import os
import re
import sys

sys.dont_write_bytecode = True
import cscan  # noqa: E402

# folder -> what it may include besides itself and base; main.c stands as "main.c".
MAY_INCLUDE = {
    "base": "",
    "opt": "",
    "wire": "",
    "stat": "",
    "os": "",
    "plan": "",
    "net": "plan",
    "load": "plan",
    "frame": "plan wire stat",
    "engine": "plan load frame net stat",
    "result": "stat os",
    "run": "plan load frame engine net stat os result",
    "dialect": "plan wire result",
    "ctl": "plan dialect net result",
    "session": "plan ctl dialect net run os result",
    "report": "result stat",
    "advise": "plan os net result session",
    "watch": "plan os",
    # beyond opt and plan only for lists of values: the options a part owns, the names it has
    "persona": "opt plan net engine load report dialect",
    "main.c": "persona plan session report advise watch",
}

# Folders that a second operating system shares; system headers that exist on Linux alone stay out.
PORTABLE = "base opt plan wire load stat result report".split()
LINUX_ONLY = re.compile(
    r"^(linux/|asm/|net/if_arp|netpacket/|sched\.h|liburing|"
    r"sys/(epoll|eventfd|timerfd|signalfd|sendfile|prctl|syscall|sysinfo|inotify)\.h)"
)

# Folders where the preprocessor may decide, and then on ND_HAVE_X alone.
MAY_USE_IF = "base net engine".split()

# (words, where they are allowed, sentence); "where" matches the path below src
BANNED_CALLS = [
    ("exit _exit _Exit quick_exit abort", r"^main\.c$", "only main.c ends the program"),
    ("printf vprintf puts putchar putchar_unlocked perror", r"^main\.c$",
     "only main.c and a report's stream write to stdout"),
    ("atoi atol atoll atof sscanf vsscanf scanf fscanf", None, "parse numbers with nd_parse_*"),
    ("strtol strtoul strtoll strtoull strtoimax strtoumax strtof strtod strtold",
     r"^base/num\.c$", "parse numbers with nd_parse_*"),
    ("strcpy strcat strncat stpcpy sprintf vsprintf gets", None, "the length is not checked"),
    ("strtok setlocale alloca __builtin_alloca", None, "this call is banned"),
    ("exp exp2 expm1 log log2 log10 log1p pow lgamma lgamma_r tgamma floor ceil round lround llround "
     "trunc rint fmin fmax fmod nextafter cbrt hypot", None,
     "libm would be half a megabyte resident in every process: see base/real.h"),
    ("pthread_create thrd_create clone clone3", r"^run/", "only run/ starts threads"),
]
BANNED_WORDS = [
    ("volatile", None, "volatile synchronises nothing: use an atomic"),
    ("stdout", r"^(main\.c|report/.*)$", "only main.c and a report's stream write to stdout"),
]

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)
CONDITION = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif)\b[ \t]*([^\n]*)", re.M)


def check_includes(sub, text, root, report):
    folder = sub.split(os.sep)[0]
    if folder not in MAY_INCLUDE:
        report(0, f"the folder {folder}/ stands in no row of the table in scripts/layers.py")
        return
    allowed = set(MAY_INCLUDE[folder].split()) | {folder, "base"}
    for match in INCLUDE.finditer(text):
        kind, name = match.groups()
        at = match.start(1)
        if kind == "<":
            if folder in PORTABLE and LINUX_ONLY.match(name):
                report(at, f"{folder}/ includes <{name}>, which only Linux has")
            if os.path.exists(os.path.join(root, name)):
                report(at, f"<{name}> is ours: write \"{name}\"")
            continue
        if "/" not in name or name.startswith("."):
            report(at, f'"{name}" does not name its folder')
            continue
        target = name.split("/")[0]
        if target not in allowed:
            report(at, f'{folder} may not include {target} ("{name}")')
        elif target != folder and name.endswith("/int.h"):
            report(at, f'"{name}" is private to {target}/')


def check_conditions(sub, text, report):
    folder = sub.split(os.sep)[0]
    if sub.endswith(".def"):
        return
    guard = sub.endswith(".h")
    for match in CONDITION.finditer(text):
        word, rest = match.group(1), match.group(2).strip()
        if guard and word == "ifndef":
            guard = False
            continue
        if folder not in MAY_USE_IF:
            report(match.start(1), f"#{word} in {folder}/: the preprocessor decides only in "
                   + ", ".join(MAY_USE_IF))
        elif re.search(r"\b(__linux__|__linux|_WIN32|__APPLE__|__FreeBSD__|__unix__)\b", rest):
            report(match.start(1), f"#{word} {rest}: ask for what is there, not for a platform")


def check_words(sub, text, report):
    for words, where, sentence in BANNED_CALLS:
        if where and re.match(where, sub):
            continue
        pattern = r"(?<![\w.>])(" + "|".join(words.split()) + r")[ \t]*\("
        for match in re.finditer(pattern, text):
            report(match.start(1), f"{match.group(1)}(): {sentence}")
    for word, where, sentence in BANNED_WORDS:
        if where and re.match(where, sub):
            continue
        for match in re.finditer(rf"(?<![\w.>]){word}\b", text):
            report(match.start(0), f"{word}: {sentence}")


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "src"
    wrong = files = 0
    for path, sub in cscan.sources(root):
        files += 1
        raw = cscan.read(path)

        def report(offset, sentence, path=path, raw=raw):
            nonlocal wrong
            wrong += 1
            print(f"{path}:{cscan.line_of(raw, offset)}: {sentence}")

        check_includes(sub, cscan.strip(raw, keep_strings=True), root, report)
        bare = cscan.strip(raw)
        check_conditions(sub, bare, report)
        check_words(sub, bare, report)
    print(f"layers: {files} files, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
