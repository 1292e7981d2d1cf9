# SPDX-License-Identifier: MIT
"""Removes what a test process left behind, even when that process was killed.

Run as a program it reads lines from stdin ("ns NAME", "dir PATH", "forget NAME") and
does nothing until the other end closes, which the kernel does however the writer ends.
Then it kills what still runs in the named namespaces and removes them.
"""
import os
import shutil
import signal
import subprocess
import sys
import time

NETNS = "/run/netns"


def ns_id(path):
    """(device, inode) of a namespace, None if there is none."""
    try:
        st = os.stat(path)
    except OSError:
        return None
    return st.st_dev, st.st_ino


def ns_pids(ident):
    """Processes whose network namespace is the given one, never this process."""
    pids = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        if ns_id(f"/proc/{entry}/ns/net") == ident:
            pids.append(int(entry))
    return pids


def kill_in_ns(ident, timeout=10.0):
    """Kill every process of a namespace until none is left; returns those that stay."""
    deadline = time.monotonic() + timeout
    while True:
        pids = ns_pids(ident)
        if not pids or time.monotonic() > deadline:
            return pids
        for pid in pids:
            try:
                fd = os.pidfd_open(pid)
            except OSError:
                continue
            try:
                # Asked again through the held pid: the number may have been reused meanwhile.
                if ns_id(f"/proc/{pid}/ns/net") == ident:
                    signal.pidfd_send_signal(fd, signal.SIGKILL)
            except OSError:
                pass
            finally:
                os.close(fd)
        time.sleep(0.01)


def remove_ns(name):
    """Kill what runs in a namespace and remove it; True when it is gone."""
    path = f"{NETNS}/{name}"
    ident = ns_id(path)
    if ident is None:
        return True
    kill_in_ns(ident)
    subprocess.run(["ip", "netns", "del", name], stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return not os.path.exists(path)


def main():
    names, dirs = [], []
    for line in sys.stdin:
        verb, _, what = line.rstrip("\n").partition(" ")
        if verb == "ns":
            names.append(what)
        elif verb == "dir":
            dirs.append(what)
        elif verb == "forget":
            names = [n for n in names if n != what]
            dirs = [d for d in dirs if d != what]
    for name in names:
        remove_ns(name)
    for path in dirs:
        shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    main()
