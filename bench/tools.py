# SPDX-License-Identifier: MIT
"""The tools that are compared, as black boxes: how each is started and what it said."""
import json
import os
import shutil
import subprocess
import tempfile

import lib

WARMUP_S = 1  # netdyno's default; iperf3 is told the same


def _program(name, why_not):
    """Absolute path: programs are started in another folder."""
    path = shutil.which(name)
    if not path:
        raise lib.Skip(f"{name} {why_not}")
    return os.path.abspath(path)


def _version(argv):
    with tempfile.TemporaryDirectory(prefix="netdyno-bench-") as folder:  # some write a log
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=20, check=False, cwd=folder)
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0] if lines else "unknown version"


def _parsed(proc):
    try:
        return json.loads(proc.text())
    except ValueError as e:
        raise lib.Failed(f"not JSON ({e}): {proc.said()}") from None


class Netdyno:
    """netdyno serve and netdyno stream."""

    name, port = "netdyno", 7575  # port: where the payload goes; see choose_port()
    ready_at = 0  # who listens when it is ready: that port, or so many behind it
    serves_once = False
    report = "json"  # format of the client's report

    def __init__(self):
        self.path = _program(os.environ.get("NETDYNO") or str(lib.ROOT / "build" / "netdyno"),
                             "is not built: make")
        self.version = _version([self.path, "--version"])

    def server(self, _flows, _seconds):
        return [self.path, "serve", "-p", self.port]

    def client(self, address, flows, seconds, cc):
        return [self.path, "stream", address, "-p", self.port, "-o", self.report, "-P", flows,
                "-t", seconds, "--cc", cc]

    def figures(self, client, _server):
        """bit/s at the receiver after the warm-up, bytes received in the whole run, congestion
        control read back."""
        d = _parsed(client)["directions"][0]
        return {"bps": d["goodput_bps"], "bytes": d["total_received_bytes"], "cc": {d["tcp"]["cc"]}}


class Iperf3:
    """iperf3, sizes left to its defaults."""

    name, port = "iperf3", 5201
    ready_at = 0
    serves_once = True

    def __init__(self):
        self.path = _program(os.environ.get("IPERF3", "iperf3"),
                             "is not installed (Debian: iperf3)")
        self.version = _version([self.path, "--version"])

    def server(self, _flows, _seconds):
        return [self.path, "-s", "-1", "-J", "-p", self.port]

    def client(self, address, flows, seconds, cc):
        return [self.path, "-c", address, "-p", self.port, "-J", "-P", flows, "-t", seconds,
                "-O", WARMUP_S, "-C", cc]

    def figures(self, client, server):
        """As Netdyno.figures. The bytes of the whole run are the server's, warm-up included."""
        said = _parsed(client)
        if "error" in said:
            raise lib.Failed(f"iperf3: {said['error']}")
        end = said["end"]
        received = sum(i["sum"]["bytes"] for i in _parsed(server)["intervals"])
        return {"bps": end["sum_received"]["bits_per_second"], "bytes": received,
                "cc": {end.get("sender_tcp_congestion"), end.get("receiver_tcp_congestion")}}


class Neper:
    """neper's tcp_stream: NEPER names the program, else it is looked for. Only its packets are
    looked at, not what it says."""

    name, port = "neper", 12867
    ready_at = 1
    serves_once = True

    def __init__(self):
        self.path = _program(os.environ.get("NEPER", "tcp_stream"),
                             "is not there; NEPER names neper's tcp_stream")
        self.version = "neper " + _version([self.path, "--version"])

    def _common(self, flows, seconds):
        return [self.path, "-F", flows, "-T", min(flows, 2), "-P", self.port,
                "-C", self.port + self.ready_at, "-l", seconds]

    def server(self, flows, seconds):
        return [*self._common(flows, seconds), "--listen-backlog", 4096]

    def client(self, address, flows, seconds, cc):
        return [*self._common(flows, seconds), "-c", "-H", address, "--congestion-control", cc]


TOOLS = {tool.name: tool for tool in (Netdyno, Iperf3, Neper)}


def find(name):
    if name not in TOOLS:
        raise lib.Skip(f"no such tool: '{name}'; known: {', '.join(TOOLS)}")
    return TOOLS[name]()


def choose_port(tool, net):
    """For the next run: where it was, or the first behind that is free."""
    tool.port = net.free_ports(type(tool).port, 2)


def run_pair(tool, net, where, flows, seconds, cc, watch_s=None):
    """One run, at tool.port. Return client, server and the Meter's figures; both programs have ended.

    watch_s: look at the memory of both ends so often.
    """
    server = lib.Proc(tool.server(flows, seconds), net.far, where[1])
    client = None
    try:
        server.wait_listening(tool.port + tool.ready_at)
        meter, before = lib.Meter(), server.cpu_s()
        client = lib.Proc(tool.client(net.address, flows, seconds, cc), net.near, where[0])

        def look():
            client.see_rss()
            server.see_rss()

        if not client.wait(seconds + WARMUP_S + 30, watch_s, look if watch_s else None):
            raise lib.Failed(f"does not end: {' '.join(client.argv)}")
        server.see_rss()
        server.stop(patience_s=5.0 if tool.serves_once else 0.0)
        if client.returncode != 0:
            raise lib.Failed(client.said())
        return client, server, meter.end(client.cpu_s() + server.cpu_s() - before)
    finally:
        for proc in (client, server):
            if proc:
                proc.stop(grace_s=1.0)
