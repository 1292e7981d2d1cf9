# SPDX-License-Identifier: MIT
"""NTttcp by its link names: a receiver that is waited for, a sender, and both to their end."""
import os
import re
import time

from .net import poll, slow

NAMES = ("ntttcp", "ntttcp.exe", "ntttcps", "ntttcpr", "ntttcps.exe", "ntttcpr.exe")
SANITIZER = re.compile(r"(ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer|runtime error:)")


def links(folder, netdyno):
    """Make the link names in a folder; returns it."""
    for name in NAMES:
        if not os.path.lexists(folder / name):
            os.symlink(netdyno, folder / name)
    return folder


def start(folder, host, words, ready=None, env=None, cwd=None):
    """Start a program of the folder by its words ("ntttcp", "-r", ...). ready: a port number or a
    pattern of a line to wait for."""
    proc = host.spawn([folder / words[0], *words[1:]], env=env, cwd=cwd or folder)
    if isinstance(ready, int):
        # Not only listening: a program that has ended will never listen.
        poll(f"port {ready} of {words}", lambda: proc.returncode is not None
             or host.listening(ready) or host.listening(ready, "udp"), 10.0 * slow())
    elif ready:
        proc.wait_line(ready, 10.0 * slow())
    return proc


def ended(proc, code=0, within=10.0):
    """Wait for the end and look at the exit code (None: any); returns the Proc."""
    got = proc.wait(within * slow())
    said = SANITIZER.search(proc.stdout + proc.stderr)
    assert not said, proc.describe(200)
    assert code is None or got == code, f"exit {got}, not {code}\n{proc.describe(60)}"
    assert got >= 0, proc.describe(60)
    return proc


def both(folder, receiver, sender, ready="threads created", within=10.0, cwd=None):
    """(host, words) of either end: both run, and end with 0 within so many seconds. Returns the
    Procs, the receiver first."""
    first = start(folder, *receiver, ready=ready, cwd=cwd)
    begun = time.monotonic()
    second = start(folder, *sender, cwd=cwd)
    ended(second, within=within)
    ended(first, within=max(within - (time.monotonic() - begun) / slow(), 1.0))
    return first, second
