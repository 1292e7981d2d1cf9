#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Functions and files that have grown too long. Tables do not count. usage: sizes.py [src]"""

import re
import sys

sys.dont_write_bytecode = True
import cscan  # noqa: E402

FUNCTION_NOTE, FUNCTION_STOP = 60, 80
FILE_NOTE, FILE_STOP = 600, 1000


def blocks(text):
    """Yields (head, first line, last line) of each brace block at file level."""
    # a directive may hold half a pair of braces
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group(0)),
                  text, flags=re.M)
    depth = start = tail = 0
    head = ""
    for match in re.finditer(r"[{};]", text):
        char = match.group(0)
        if char == "{":
            if depth == 0:
                head, start = text[tail:match.start()], match.start()
            depth += 1
        elif char == "}":
            depth = max(depth - 1, 0)
            if depth == 0:
                yield head, cscan.line_of(text, start), cscan.line_of(text, match.start())
                tail = match.end()
        elif depth == 0:
            tail = match.end()


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "src"
    stops, notes, files, functions = [], [], 0, 0
    for path, sub in cscan.sources(root):
        if sub.endswith(".def"):
            continue
        files += 1
        raw = cscan.read(path)
        lines = raw.count("\n")
        for head, first, last in blocks(cscan.strip(raw)):
            if re.search(r"=\s*$", head):
                lines -= last - first + 1
                continue
            name = re.search(r"(\w+)\s*\([^{}]*\)[^(){}]*$", head, re.S)
            if not name or re.search(r"\b(struct|union|enum)\s*\w*\s*$", head):
                continue
            functions += 1
            length = last - first
            sentence = f"{path}:{first}: {name.group(1)}() is {length} lines"
            if length > FUNCTION_STOP:
                stops.append(f"{sentence}, the limit is {FUNCTION_STOP}")
            elif length > FUNCTION_NOTE:
                notes.append(sentence)
        sentence = f"{path}: {lines} lines without tables"
        if lines > FILE_STOP:
            stops.append(f"{sentence}, the limit is {FILE_STOP}")
        elif lines > FILE_NOTE:
            notes.append(sentence)
    for line in notes:
        print("note: " + line)
    for line in stops:
        print(line)
    print(f"sizes: {files} files, {functions} functions, {len(notes)} to look at, {len(stops)} too long")
    return 1 if stops else 0


if __name__ == "__main__":
    sys.exit(main())
