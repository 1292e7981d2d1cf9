# SPDX-License-Identifier: MIT
"""Ways to make traffic: a tool, or a raw program, with one set of options, watched from outside.

All are measured alike: when traffic flows the kernel's counters at the receiving end are read
twice, some seconds apart. Only where the kernel counts several datagrams as one (receive offload)
each tool's own report at the receiver is taken.
"""
import dataclasses
import functools
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

import lib

SETTLE_S = 0.5    # from the first traffic until the window
START_S = 20.0    # within which traffic must begin
SPARE_S = 2       # that a program runs longer than the window
BEGUN = {"datagrams": 2000, "frames": 2000, "bytes": 4 << 20}
STEP_S = 0.004

# Programs: the variable that names one, else where it is looked for; why it may be missing.
PROGRAMS = {
    "netdyno": ("NETDYNO", str(lib.ROOT / "build" / "netdyno"), "is not built: make"),
    "iperf3": ("IPERF3", "iperf3", "is not installed (Debian: iperf3)"),
    "iperf3-new": ("IPERF3_NEW", None, "is not there; IPERF3_NEW names iperf3 3.20 or newer"),
    "netperf": ("NETPERF", "netperf", "is not installed (Debian: netperf, non-free)"),
    "netserver": ("NETSERVER", "netserver", "is not installed (Debian: netperf, non-free)"),
    "nuttcp": ("NUTTCP", "nuttcp", "is not installed (Debian: nuttcp)"),
    "sockperf": ("SOCKPERF", "sockperf", "is not installed (Debian: sockperf)"),
    "neper-crr": ("NEPER_CRR", None, "is not there; NEPER_CRR names neper's tcp_crr"),
    "neper": ("NEPER", "tcp_stream", "is not there; NEPER names neper's tcp_stream"),
}


@dataclasses.dataclass(frozen=True)
class Way:
    """Words in {} are filled in for each run; the first word is a key of PROGRAMS or raw-NAME. What
    stands in [] is left out when the program's help does not have its first word."""

    name: str
    server: str
    client: str
    # tcp, udp: a port that is open; control: the one named by -C; text: the server says "ready"
    ready: str
    port: int  # and the next one, or the first two behind it that are free
    ends: bool = True  # the server goes by itself
    counts: str = ""  # whose report counts datagrams: netdyno, iperf3, raw; empty: the kernel
    least: int = 1     # bytes of a datagram


def argv(words, values):
    """The command line, or a Skip when it cannot be had; also what was left out."""
    first, _, rest = words.partition(" ")
    path, left_out = program(first), []

    def known(match):
        option = match.group(1).split()[0]
        if option in help_text(path, rest.split()[0] if first == "netdyno" else ""):
            return match.group(1)
        left_out.append(match.group(1))
        return ""

    rest = re.sub(r"\[([^]]*)\]", known, rest).format(**values)
    if first == "netdyno":
        _refuse_unknown(path, rest)
    return [path, *rest.split()], left_out


def _refuse_unknown(path, rest):
    """A technique that this netdyno does not have is skipped, not replaced."""
    known = help_text(path, rest.split()[0])
    for option, value in re.findall(r"(--[a-z-]+)(?: (\S+))?", rest):
        if not re.search(rf"{option}\b", known):
            raise lib.Skip(f"this netdyno has no {option}")
        if option in ("--tx", "--rx") and not re.search(rf"^ +{value} ", known, re.MULTILINE):
            raise lib.Skip(f"this netdyno has no {option} {value}")


@functools.lru_cache(None)
def program(name):
    if name.startswith("raw-"):
        return lib.build_raw(name[4:])
    variable, default, why_not = PROGRAMS[name]
    path = shutil.which(os.environ.get(variable) or default or "")
    if not path:
        raise lib.Skip(f"{name} {why_not}")
    return os.path.abspath(path)


def _said(command):
    with tempfile.TemporaryDirectory(prefix="netdyno-bench-") as folder:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=20, check=False, cwd=folder)
    return done.stdout + done.stderr


@functools.lru_cache(None)
def help_text(path, verb):
    return _said([path, *([verb] if verb else []), "--help"])


def has_verb(verb):
    return f"\n  {verb} " in help_text(program("netdyno"), "")


def version(way):
    name = way.client.partition(" ")[0]
    if name.startswith("raw-"):
        return way.name
    flag = {"netperf": "-V", "nuttcp": "-V"}.get(name, "--version")
    lines = _said([program(name), flag]).strip().splitlines()
    return f"{way.name}: {lines[0] if lines else 'unknown version'}"


# ---- what a tool says of datagrams: delivered a second, delivered in all, lost in all

def said(proc):
    """The JSON that a program wrote."""
    text = proc.text()
    try:
        return json.loads(text[text.index("{"):])
    except ValueError as e:
        raise lib.Failed(f"not JSON ({e}): {proc.said()}") from None


def _netdyno_counts(client, _server):
    d = said(client)["directions"][0]
    total = d["total_received_messages"]
    return d["messages_per_s"], total, max(0, d["total_sent_messages"] - total)


def _unplaced(client):
    """Lost datagrams that netdyno's report has no place for; all of them where it does not know."""
    loss = said(client)["directions"][0]["loss"]
    return loss["lost"] if loss["unplaced"] is None else loss["unplaced"]


def _iperf3_counts(client, _server):
    report = said(client)
    if "error" in report:
        raise lib.Failed(f"iperf3: {report['error']}")
    end = report["end"].get("sum_received") or report["end"]["sum"]
    got = end["packets"] - end["lost_packets"]
    return got / end["seconds"], got, end["lost_packets"]


def _raw_counts(_client, server):
    report = said(server)
    return report["messages_per_s"], report["messages"], report.get("lost", 0)


COUNTS = {"netdyno": _netdyno_counts, "iperf3": _iperf3_counts, "raw": _raw_counts}


# ---- one run

class Run:
    """Some pairs of the same way, at the same time, each on its own CPUs and ports."""

    def __init__(self, way, net, wheres, values):
        self.way, self.net, self.wheres = way, net, wheres
        self.values, port = [], way.port
        for _ in wheres:
            port = net.free_ports(port, 2)
            self.values.append({**values, "address": net.address, "port": port, "port2": port + 1})
            port += 10
        self.servers, self.clients = [], []
        self.before_s = 0.0

    def start(self):
        lib.prefer_this(True)  # many busy programs would keep it from looking in time
        for values, where in zip(self.values, self.wheres):
            server = lib.Proc(argv(self.way.server, values)[0], self.net.far, where[1])
            self.servers.append(server)
            if self.way.ready == "text":
                server.wait_text("ready")
            elif self.way.ready == "control":
                server.wait_listening(int(server.argv[server.argv.index("-C") + 1]))
            else:
                server.wait_listening(values["port"], udp=self.way.ready == "udp")
        self.before_s = sum(s.cpu_s() for s in self.servers)
        self.meter, self.at_start = lib.Meter(), self.net.counters()
        self.begun = time.monotonic()
        for values, where in zip(self.values, self.wheres):
            self.clients.append(lib.Proc(argv(self.way.client, values)[0], self.net.near, where[0]))

    def look(self):
        for proc in self.clients + self.servers:
            proc.see_rss()

    def pause(self, seconds):
        """Sleep; a client that ends meanwhile has failed."""
        deadline = time.monotonic() + seconds
        for client in self.clients:
            if client.wait(max(0.0, deadline - time.monotonic())):
                raise lib.Failed(f"ended too early: {client.said()}")

    def until(self, done, what):
        """Look until done(counters) and return the seconds since the clients were started."""
        while not done(self.net.counters()):
            if time.monotonic() - self.begun > START_S:
                raise lib.Failed(f"{self.way.name}: {what}")
            self.pause(STEP_S)
        return time.monotonic() - self.begun

    def window(self, key, seconds, settle_s):
        """Counters at the begin and at the end of the measured time."""
        self.until(lambda c: c[key] - self.at_start[key] > BEGUN[key], "no traffic began")
        self.pause(settle_s)
        first = self.net.counters()
        self.look()
        self.pause(seconds)
        last = self.net.counters()
        self.look()
        return first, last

    def end(self):
        """All programs have ended; return the figures of the meter."""
        for client in self.clients:
            if not client.wait(40):
                raise lib.Failed(f"does not end: {' '.join(client.argv)}")
        for server in self.servers:
            server.stop(patience_s=5.0 if self.way.ends else 0.0)
        for client in self.clients:
            if client.returncode != 0:
                raise lib.Failed(client.said())
        cpu_s = sum(p.cpu_s() for p in self.clients + self.servers) - self.before_s
        return self.meter.end(cpu_s)

    def close(self):
        for proc in self.clients + self.servers:
            proc.stop(grace_s=1.0)
        lib.prefer_this(False)


def once(way, net, wheres, seconds, values, key, spare_s=SPARE_S):
    """One run; key: what is counted: 'datagrams', 'bytes', or 'frames' that the sender's interface
    sent. spare_s: for set-up and all before the window. Return its figures."""
    starting_s = len(wheres) // 8  # many programs take a while to begin
    run = Run(way, net, wheres, {**values, "time": seconds + spare_s + starting_s})
    try:
        run.start()
        if key == "bytes":
            ends = 2 if net.near is net.far else 1  # of a connection that are counted there
            set_up_s = run.until(
                lambda c: c["tcp"] - run.at_start["tcp"] >= ends * values["flows"],
                "connections are missing")
        first, last = run.window(key, seconds, SETTLE_S + starting_s / 2)
        sample = run.end()
        total = run.net.counters()
        took_s = (last["ns"] - first["ns"]) / 1e9
        moved = {k: last[k] - first[k] for k in first}
        whole = {k: total[k] - run.at_start[k] for k in total}
        if key == "bytes":
            sample["Gb/s"] = 8 * moved["bytes"] / took_s / 1e9
            sample["CPU-s/GB"] = sample["cpu_s"] / (whole["bytes"] / 1e9)
            sample["set-up s"] = set_up_s
            sample["peak MB"] = max(p.peak_rss_bytes for p in run.clients + run.servers) / 1e6
            return sample
        if way.counts:
            counts = [COUNTS[way.counts](*pair) for pair in zip(run.clients, run.servers)]
            rate, got, lost = (sum(column) for column in zip(*counts))
        else:
            rate = moved[key] / took_s
            got, lost = whole[key], whole["dropped"]
        if way.client.startswith("netdyno"):
            sample["unplaced"] = sum(_unplaced(client) for client in run.clients)
        sample["kpps"] = rate / 1e3
        sample["CPU-s/Mpkt"] = sample["cpu_s"] / (got / 1e6)
        sample["loss %"] = 100 * lost / (got + lost)
        return sample
    finally:
        run.close()


def available(ways, values):
    """Those that are there; the others with the reason."""
    good, missing = [], []
    for way in ways:
        try:
            filled = {**values, "address": "0", "port": 0, "port2": 0, "time": 1}
            left_out = argv(way.client, filled)[1] + argv(way.server, filled)[1]
            good.append(way)
            if left_out:
                missing.append(f"{way.name} without {', '.join(left_out)}")
        except lib.Skip as e:
            missing.append(f"{way.name}: {e}")
    return good, missing
