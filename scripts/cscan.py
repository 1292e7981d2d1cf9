# SPDX-License-Identifier: MIT
"""What the checking scripts share: C text without its comments and strings, and the list of sources."""

import os
import re

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S
)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def strip(text, keep_strings=False):
    """Blanks comments and literals; line numbers and columns stay as they were."""

    def replace(match):
        token = match.group(0)
        if token[0] == "/":
            return _blank(token)
        if keep_strings:
            return token
        return token[0] + _blank(token[1:-1]) + token[-1]

    return TOKEN.sub(replace, text)


def sources(root):
    """Yields (path, path below root) of every .c, .h and .def file, in order."""
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(files):
            if name.endswith((".c", ".h", ".def")):
                path = os.path.join(folder, name)
                yield path, os.path.relpath(path, root)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1
