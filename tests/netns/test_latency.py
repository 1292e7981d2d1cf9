# SPDX-License-Identifier: MIT
"""Latency: true delays, stalls that nobody omits, lost answers, logs for other tools, connections."""

import base64
import json
import os
import re
import signal
import socket
import statistics
import struct
import sys
import time
import zlib

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from kit import net as kitnet  # noqa: E402

STALL_S = 0.5
RATE = 1000


@pytest.fixture
def ask(netdyno):
    """ask(verb, host, server, *args): runs a client in a host; its report as JSON."""

    def run(verb, host, server, *args):
        argv = [netdyno, verb, server.host.ip4, "-p", server.port, *args, "-o", "json"]
        done = host.run(argv, timeout=60 * kitnet.slow())
        assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
        return json.loads(done.stdout)

    return run


def latency_of(report):
    d = report["directions"][0]
    times = d["latency"]
    assert times["answered"] + times["lost"] == times["sent"], "every request has an end"
    for name in ("service", "response", "late"):
        check_times(times[name])
    return d, times


def check_times(t):
    """Quantiles rise, stand between their limits, and are told only where ten samples lie beyond."""
    last = t["min_us"]
    for q in t["quantiles"] or []:
        told = t["count"] * (1 - q["ratio"]) >= 10 - 1e-6
        assert (q["us"] is not None) == told and (q["missing"] is None) == told
        if q["us"] is None:
            continue
        assert last <= q["us"] <= t["max_us"]
        assert q["low_us"] <= q["us"] <= q["high_us"]
        last = q["us"]


def quantile(t, name):
    return next(q["us"] for q in t["quantiles"] if q["name"] == name)


@pytest.mark.plain
@pytest.mark.parametrize("kind", [(), ("-u",)], ids=["tcp", "udp"])
@pytest.mark.parametrize("loop", [(), ("--rate", "200", "--arrival", "poisson")], ids=["closed", "open"])
def test_true_delay(lab, serve, ask, kind, loop):
    """A relay of 10 ms each way, which logs what each frame's delay really was."""
    over = []
    for _ in range(3):  # ends that wait for a CPU add to what the cable takes
        net = lab(delay_ms=10)
        server = serve(net.b)
        report = ask("latency", net.a, server, *kind, *loop, "-r", 333, "-t", "2s", "--warmup", "0.2s")
        d, times = latency_of(report)
        size = 333 + (42 if kind else 66)
        cable = sum(statistics.median(f.ns / 1e3 for f in net.relay.delays(host, bytes=size)) for host in "ab")
        p50 = quantile(times["service"], "p50")
        assert p50 >= 20000 and times["service"]["min_us"] >= 20000
        assert cable - 100 <= p50
        assert times["lost"] == 0 and times["open_loop"] == bool(loop)
        over.append(p50 - cable)
        if over[-1] <= 500 * kitnet.slow():
            return
    pytest.fail(f"{over} us more than the cable takes")


def read_log(text):
    """Histograms of a log by tag: (count of the bucket, its lowest value in ns) of each."""
    logs = {}
    for line in text.splitlines():
        if not line.startswith("Tag="):
            continue
        tag, _, _, _, packed = line.split(",")
        raw = base64.b64decode(packed)
        cookie, length = struct.unpack(">II", raw[:8])
        assert cookie == 0x1c849314 and length == len(raw) - 8
        plain = zlib.decompress(raw[8:])
        cookie, length, _, digits, low, high = struct.unpack(">IIIIqq", plain[:32])
        assert (cookie, length, digits, low, high) == (0x1c849313, len(plain) - 40, 3, 1, 3600 * 10**9)
        logs[tag[4:]] = list(buckets(plain[40:]))
    return logs


def buckets(data):
    at = index = 0
    while at < len(data):
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte if shift == 56 else byte & 0x7f) << shift
            shift += 7
            if shift > 56 or byte < 0x80:
                break
        value = value >> 1 ^ -(value & 1)
        if value < 0:
            index -= value
            continue
        if value:
            power = max(index // 1024 - 1, 0)
            yield value, (index - power * 1024) << power
        index += 1


def over(log, ms):
    return sum(n for n, low in log if low >= ms * 1e6)


def stall(pair, netdyno, victim, *args, form="hdr"):
    """Stops one end for half a second in the middle of a test of 5 s; the log that it gives."""
    argv = [netdyno, "latency", pair.server.host.ip4, "-p", pair.server.port, *args, "-t", "5s",
            "--warmup", "0.5s", "-o", form, *(["--json-lines"] if form == "json" else [])]
    client = pair.a.spawn(argv)
    client.wait_line("[Ii]nterval.*measure", 20 * kitnet.slow(), "stdout")
    who = client if victim == "client" else pair.server
    begun = time.monotonic()
    who.send_signal(signal.SIGSTOP)
    time.sleep(STALL_S)  # the stall itself
    who.send_signal(signal.SIGCONT)
    client.stalled_s = time.monotonic() - begun  # a busy machine wakes this program late
    assert client.wait(30 * kitnet.slow()) == 0, client.stderr
    return read_log(client.stdout), client


# half a second of 1000 a second; those due in its last 50 ms are not slow any more
AFFECTED_LEAST = 430


def affected(client):
    return range(AFFECTED_LEAST, round(RATE * client.stalled_s * 1.06))


@pytest.mark.plain
def test_server_stops_open_loop(pair, netdyno):
    logs, client = stall(pair, netdyno, "server", "--rate", RATE)
    assert over(logs["response"], 50) in affected(client)
    assert over(logs["service"], 50) in affected(client), "requests went out all the same"
    assert over(logs["response"], 400) > sum(n for n, _ in logs["response"]) / 100, "p99 is 400 ms and more"


@pytest.mark.plain
def test_server_stops_closed_loop(pair, netdyno):
    logs, _ = stall(pair, netdyno, "server", "-q", 1)
    assert over(logs["service"], 400) == 1, "a closed loop omits the others"
    assert over(logs["service"], 50) <= 3  # a busy machine has pauses of its own
    assert "response" not in logs


class Tap:
    """Datagrams of one length that pass a host's interface, with the kernel's time of each."""

    def __init__(self, host, port, length):
        self.port, self.length = port, length
        self.s = host.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3)) # both ways
        self.s.setsockopt(socket.SOL_SOCKET, 33, 1 << 26) # SO_RCVBUFFORCE
        self.s.setsockopt(socket.SOL_SOCKET, 35, 1) # SO_TIMESTAMPNS
        self.s.setblocking(False)

    def read(self):
        """Requests and answers: the time of each, in s, by its number."""
        asked, answered = {}, {}
        while True:
            try:
                data, extra, _, at = self.s.recvmsg(256, 256)
            except BlockingIOError:
                return asked, answered
            udp = (data[0] & 15) * 4
            if at[1] != 0x0800 or data[9] != socket.IPPROTO_UDP or len(data) - udp - 8 != self.length:
                continue
            source, to = struct.unpack(">HH", data[udp:udp + 4])
            number = int.from_bytes(data[udp + 8:udp + 16], "big") & (1 << 40) - 1
            seconds, ns = struct.unpack("qq", extra[0][2])
            if self.port in (source, to):
                (answered if source == self.port else asked).setdefault(number, seconds + ns / 1e9)


@pytest.mark.plain
def test_udp_server_stops(pair, netdyno):
    """Requests that meet a stopped server wait in its socket: late, or lost. How many, the wire and the schedule say:
    a request is affected that has no answer, or has it more than 50 ms after it was due."""
    tap = Tap(pair.b, int(pair.server.port), 100)
    logs, _ = stall(pair, netdyno, "server", "-u", "--rate", RATE, "-r", "100")
    response = sum(n for n, _ in logs["response"])
    assert response == sum(n for n, _ in logs["service"])
    asked, answered = tap.read()
    tap.s.close()
    begin = min(at - k / RATE for k, at in asked.items())
    window = range(RATE // 2, RATE // 2 + 5 * RATE)
    lost = [k for k in window if k not in answered]
    late = [k for k in window if k in answered and answered[k] - begin - k / RATE > 0.05]
    assert len(late) > 0 and len(late) + len(lost) >= AFFECTED_LEAST # a busy machine has pauses of its own
    assert abs(5 * RATE - response - len(lost)) <= 2 # those at the edges of the window
    assert abs(over(logs["response"], 50) - len(late)) <= 3 + len(late) // 100 # and those of 50 ms, by a hair


@pytest.mark.plain
def test_udp_lost_are_those_without_room(pair, netdyno):
    """Where its socket has no room for all of them: as many are lost as the kernels of both ends say."""
    before = [h.snmp()["Udp.RcvbufErrors"] for h in (pair.a, pair.b)]
    _, client = stall(pair, netdyno, "server", "-u", "--rate", RATE, "--rcvbuf", "16Ki", form="json")
    report = json.loads(client.stdout.splitlines()[-1])
    d, times = latency_of(report)
    at_client, at_server = (h.snmp()["Udp.RcvbufErrors"] - was for h, was in zip((pair.a, pair.b), before))
    assert at_server > 100
    assert d["total_sent_messages"] - d["total_received_messages"] == at_server
    assert times["lost"] >= at_server + at_client
    if times["service"]["max_us"] < 900e3:  # none was given up before its answer came
        assert times["lost"] == at_server + at_client


@pytest.mark.plain
def test_client_stops(pair, netdyno):
    logs, client = stall(pair, netdyno, "client", "--rate", RATE)
    assert over(logs["response"], 50) in affected(client)
    assert over(logs["service"], 50) <= 3, "the path was never slow"


@pytest.mark.plain
def test_udp_affected_are_late_or_lost(pair, ask, netdyno):
    """Every 50th request is dropped on its way: so many are lost, all others are answered."""
    rule = pair.b.loss(every=50, dport=pair.server.port, min_payload=100, max_payload=100)
    report = ask("latency", pair.a, pair.server, "-u", "--rate", RATE, "-r", "100", "-t", "2s", "--warmup", "0.2s")
    _, times = latency_of(report)
    assert times["lost"] == rule.dropped > 0
    assert times["sent"] == pytest.approx(2.2 * RATE, abs=0.05 * RATE)
    assert "no_answer" in [w["key"] for w in report["warnings"]]
    # the schedule and the others went on
    assert quantile(times["response"], "p50") < 100e3


@pytest.mark.plain
@pytest.mark.parametrize("outstanding", [1, 4])
def test_lost_answers_stall_no_flow(pair, ask, outstanding):
    rule = pair.b.loss(every=500, dport=pair.server.port, min_payload=100, max_payload=100)
    report = ask("latency", pair.a, pair.server, "-u", "-q", outstanding, "-r", "100", "-P", 4, "-t", "2s",
                 "--warmup", "0s")
    _, times = latency_of(report)
    assert times["lost"] == rule.dropped > 0


def test_intervals_have_percentiles(pair, ask):
    report = ask("latency", pair.a, pair.server, "-P", 4, "-t", "2s", "--warmup", "0.2s", "-i", "0.5s")
    d, times = latency_of(report)
    rows = [i for i in d["intervals"] if i["phase"] == "measure"]
    assert len(rows) == 4 and all(i["rtt_count"] for i in rows)
    assert max(i["rtt_max_us"] for i in rows) >= times["service"]["max_us"]
    assert all(i["rtt_p50_us"] <= i["rtt_p99_us"] <= i["rtt_max_us"] for i in rows if i["rtt_count"] >= 1000)
    assert times["clock_read_ns"] > 0 and times["clock"]


def test_log_is_that_of_the_report(pair, netdyno):
    """Bucket by bucket the same sum; values of the log lie between the shortest and the longest."""
    done = pair.a.run([netdyno, "latency", pair.server.host.ip4, "-p", pair.server.port, "--rate", "2k", "-t", "1s",
                       "--warmup", "0s", "-o", "hdr"], timeout=30 * kitnet.slow())
    assert done.returncode == 0, done.stderr
    logs = read_log(done.stdout)
    assert set(logs) == {"response", "service"}
    assert sum(n for n, _ in logs["response"]) == sum(n for n, _ in logs["service"]) == 2000


@pytest.mark.parametrize("args", [("-r", "1"), ("-r", "64,1Ki", "-P", "4", "-T", "2"), ("--only",),
                                  ("-P", "64", "-T", "2"), ("-P", "20", "-T", "1", "--engine", "blocking")],
                         ids=["one", "threads", "only", "many", "blocking"])
def test_connections(pair, ask, args):
    report = ask("connect", pair.a, pair.server, *args, "-t", "1s", "--warmup", "0.2s")
    d = report["directions"][0]
    assert d["load"] == ("cc" if "--only" in args else "crr")
    assert d["transactions_per_s"] > 100 and d["failed_flows"] == 0
    assert d["latency"]["handshake"] == ("plain" if "--only" in args else "with_request")
    opened, whole = d["latency"]["opened"], d["latency"]["service"]
    check_times(opened)
    check_times(whole)
    assert opened["count"] >= whole["count"] - d["flows"] > 0, "each flow may have one across the window's edge"
    assert opened["min_us"] <= whole["min_us"]
    parts = [d["latency"][name] for name in ("opened", "answer", "ended") if d["latency"][name]["count"]]
    assert len(parts) == (2 if "--only" in args else 3), "nothing is asked with --only"
    for t in parts:
        check_times(t)
        assert abs(t["count"] - whole["count"]) <= d["flows"]
    whole_us = whole["mean_us"] * whole["count"]
    edge_us = 2 * d["flows"] * max(t["max_us"] for t in (whole, *parts))
    assert abs(sum(t["mean_us"] * t["count"] for t in parts) - whole_us) <= edge_us, "parts make up the whole"


def warned(report):
    return {w["key"]: w["sentence"] for w in report["warnings"]}


@pytest.mark.parametrize("args", [(), ("--only",), ("-P", "3"), ("-P", "7", "-T", "2", "--only")],
                         ids=["one", "only", "asks", "many"])
def test_so_many_connections_and_no_more(pair, ask, args):
    report = ask("connect", pair.a, pair.server, *args, "-n", "1001")
    d = report["directions"][0]
    assert not report["partial"] and d["latency"]["answered"] == d["latency"]["service"]["count"] == 1001
    assert d["flows"] == (int(args[args.index("-P") + 1]) if "-P" in args else 8)


def listening(host, port):
    """Sockets that listen at a port of IPv4."""
    rows = host.run(["cat", "/proc/net/tcp"], check=True).stdout.splitlines()[1:]
    return sum(row.split()[3] == "0A" and row.split()[1].endswith(f":{port:04X}") for row in rows)


@pytest.mark.parametrize("args", [("-r", "1", "-P", "2"), ("-r", "64,100k", "-P", "9"), ("--only",), ("-T", "1",)],
                         ids=["each-one", "long-answers", "only", "one-thread"])
def test_on_one_machine_each_cpu_has_its_connections(lab, serve, netdyno, args):
    """As many sockets listen as there are CPUs, if each has a thread; nobody else can bind to their port."""
    net, cpus = lab(), len(os.sched_getaffinity(0))
    server = serve(net.b)
    client = net.b.spawn([netdyno, "connect", net.b.ip4, "-p", server.port, *args, "-t", "60s", "--warmup", "0s",
                          "-i", "0.2s", "--json-lines"])
    client.wait_line('"event":"interval"', 20 * kitnet.slow(), "stdout")
    flows = int(args[args.index("-P") + 1]) if "-P" in args else 1 if "-T" in args else cpus
    assert listening(net.b, int(server.port) + 1) == (cpus if "-T" not in args and flows >= cpus else 1)
    with net.b.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError):
            other.bind((net.b.ip4, int(server.port) + 1))
            other.listen()
    d = end_of(client)["directions"][0]
    assert d["latency"]["answered"] > 0 and d["flows"] == flows
    assert quantile(d["latency"]["service"], "p50") < 30e3 * kitnet.slow(), "no acknowledgement is waited for"
    kitnet.poll("the port is closed", lambda: listening(net.b, int(server.port) + 1) == 0, 20 * kitnet.slow())


def test_connect_over_ipv6(pair, netdyno):
    done = pair.a.run([netdyno, "connect", pair.server.host.ip6, "-p", pair.server.port, "-n", "500", "-P", "2",
                       "-o", "json"], timeout=30 * kitnet.slow())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["directions"][0]["latency"]["answered"] == 500


@pytest.mark.parametrize("end", ["server", "client"])
def test_connect_that_ends_early_keeps_what_it_has(pair, netdyno, end):
    client = pair.a.spawn([netdyno, "connect", pair.server.host.ip4, "-p", pair.server.port, "-P", "4", "-t", "60s",
                           "--warmup", "0s", "-i", "0.2s", "--json-lines"])
    client.wait_line('"event":"interval"', 20 * kitnet.slow(), "stdout")
    if end == "server":
        pair.server.kill()
    else:
        client.send_signal(signal.SIGINT)
    code = client.wait(30 * kitnet.slow())
    report = json.loads(client.stdout.splitlines()[-1])
    assert code != 0 or end == "client", client.stderr
    assert report["partial"] and report["directions"][0]["latency"]["answered"] > 0
    assert ("peer lost" if end == "server" else "interrupted") in report["partial_reason"]


@pytest.mark.parametrize("who", ["server", "client"])
def test_what_a_stop_breaks_off_has_not_failed(lab, serve, netdyno, who):
    """On one machine, under load: both ends hear of it at different times, connections are in the middle."""
    net = lab()
    for _ in range(5 if kitnet.slow() == 1 else 2):
        server = serve(net.b)
        client = net.b.spawn([netdyno, "connect", net.b.ip4, "-p", server.port, "-t", "60s", "--warmup", "0s",
                              "-i", "0.2s", "--json-lines"])
        client.wait_line('"event":"interval"', 20 * kitnet.slow(), "stdout")
        (server if who == "server" else client).send_signal(signal.SIGINT)
        client.wait(30 * kitnet.slow())
        report = json.loads(client.stdout.splitlines()[-1])
        assert report["partial"] and report["directions"][0]["latency"]["answered"] > 0
        assert report["directions"][0]["failed_flows"] == 0, warned(report)
        server.stop()


@pytest.mark.parametrize("args", [(), ("--only",)], ids=["asked", "only"])
def test_the_server_says_how_many_connections_a_lost_client_made(pair, netdyno, args):
    client = pair.a.spawn([netdyno, "connect", pair.server.host.ip4, "-p", pair.server.port, *args, "-t", "60s",
                           "--warmup", "0s", "-i", "0.2s", "--json-lines"])
    client.wait_line('"event":"interval"', 20 * kitnet.slow(), "stdout")
    client.kill()
    said = pair.server.wait_line(r"test \d+ from .*, (\d+) connections/s \(partial: peer lost", 20 * kitnet.slow(), "stderr")
    assert int(said[1]) > 100


@pytest.mark.plain
def test_the_request_ends_the_handshake(pair, ask):
    """This end sends SYN, request and end; else an ACK of the handshake, and mostly one of the answer, too."""
    report = ask("connect", pair.a, pair.server, "-r", "1", "-t", "1s", "--warmup", "0.2s")
    sent = report["client"]["machine"]["window_tcp_out_segs"]
    assert sent / report["directions"][0]["transactions_per_s"] / report["directions"][0]["window_s"] < 3.6


def connecting(pair, netdyno, server, flows):
    """A client that makes connections until it is told to stop; the server's port for them is open."""
    client = pair.a.spawn([netdyno, "connect", server.host.ip4, "-p", server.port, "-P", flows, "-t", "60s", "--warmup", "0s",
                           "-i", "0.2s", "--json-lines"])
    client.wait_line('"event":"interval"', 20 * kitnet.slow(), "stdout")
    return client


def end_of(client):
    client.send_signal(signal.SIGINT)
    client.wait(30 * kitnet.slow())
    return json.loads(client.stdout.splitlines()[-1])


def test_a_stranger_at_the_port_of_connections_makes_room(pair, netdyno):
    """The only lane is held by one who says nothing: for as long as any greeting is waited for, and not longer."""
    client = connecting(pair, netdyno, pair.server, 1)
    with pair.a.socket() as stranger:
        stranger.settimeout(20 * kitnet.slow())
        stranger.connect((pair.server.host.ip4, int(pair.server.port) + 1))
        assert stranger.recv(1) == b""
    seen = client.stdout.count('"event":"interval"')
    kitnet.poll("connections go on", lambda: client.stdout.count('"event":"interval"') > seen + 1, 20 * kitnet.slow())
    rows = [json.loads(line) for line in client.stdout.splitlines() if '"event":"interval"' in line]
    assert end_of(client)["directions"][0]["latency"]["answered"] > 0
    assert rows[-1]["transactions"] > 0, rows[-1]


def test_allow_holds_at_the_port_of_connections(lab, serve, netdyno):
    """A connection of somebody who is not welcome is closed at once, long before any patience ends."""
    net = lab()
    server = serve(net.b, "--allow", net.a.ip4 + "/32")
    client = connecting(net, netdyno, server, 2)
    with net.b.socket() as stranger: # from the server's own address
        stranger.settimeout(4)
        stranger.connect((net.b.ip4, int(server.port) + 1))
        try:
            stranger.sendall(b"x" * 64)
            assert stranger.recv(1) == b"" # or it is reset, what was sent being unread
        except (ConnectionResetError, BrokenPipeError):
            pass
    assert end_of(client)["directions"][0]["latency"]["answered"] > 0


def shut_all_but(host, ports, how):
    """A firewall in front of a server: these ports are open, others are not."""
    kitnet.need("nft")
    rules = ["add table inet wall", "add chain inet wall in { type filter hook input priority 0 ; }",
             f"add rule inet wall in tcp dport {{ {', '.join(map(str, ports))} }} accept",
             "add rule inet wall in ct state established accept", f"add rule inet wall in tcp dport 1-65535 {how}"]
    host.run(["nft", "-f", "-"], input="\n".join(rules) + "\n", check=True)


@pytest.mark.parametrize("how, words", [("drop", "timed out"), ("reject with tcp reset", "refused")],
                         ids=["drop", "reject"])
def test_a_shut_port_of_connections_is_one_sentence(pair, netdyno, how, words):
    shut_all_but(pair.server.host, [pair.server.port], how)
    done = pair.a.run([netdyno, "connect", pair.server.host.ip4, "-p", pair.server.port, "-P", "4", "-t", "1s",
                       "--connect-timeout", "1s"], timeout=30 * kitnet.slow())
    assert done.returncode == 3, done.stdout + done.stderr
    said = [line for line in done.stderr.splitlines() if "firewall" in line]
    assert len(said) == 1 and words in said[0] and re.search(r":\d+, where the server", said[0])


def test_connections_go_to_the_next_free_port(pair, ask):
    """At the address of the test alone, behind the server's own port; one that is taken is passed over."""
    host, free = pair.server.host, int(pair.server.port) + 2
    with host.socket() as taken:
        taken.bind((host.ip4, free - 1))
        taken.listen()
        shut_all_but(host, [pair.server.port, free], "drop")
        report = ask("connect", pair.a, pair.server, "-t", "1s", "--warmup", "0s")
    assert report["directions"][0]["latency"]["answered"] > 0


def test_connections_without_a_source_port_are_counted(pair, ask):
    """Four ports in the range, two of them reserved for others: four flows cannot all have one."""
    pair.a.sysctl("net.ipv4.ip_local_port_range", "40000 40003")
    pair.a.sysctl("net.ipv4.ip_local_reserved_ports", "40000-40001")
    report = ask("connect", pair.a, pair.server, "-P", "4", "-t", "1s", "--warmup", "0s")
    d = report["directions"][0]
    times = d["latency"]
    assert (times["source_ports"], times["source_addresses"]) == (4, 1)
    assert times["no_port"] > 0 and "EADDRNOTAVAIL" in warned(report)["no_source_port"]
    assert times["answered"] > 0 and d["failed_flows"] == 0, "they wait for a port and go on"


def test_more_addresses_have_more_ports(pair, ask, netdyno):
    pair.a.sysctl("net.ipv4.ip_local_port_range", "40000 40003")
    done = pair.a.run([netdyno, "connect", pair.server.host.ip4, "-p", pair.server.port, "-P", "5"])
    assert done.returncode == 2 and "-B" in done.stderr, "the ceiling is judged beforehand"
    more = [f"198.51.100.{i}" for i in (1, 2)]
    for address in more:
        pair.a.run(["ip", "addr", "add", f"{address}/32", "dev", "lo"], check=True)
    pair.server.host.run(["ip", "route", "add", "198.51.100.0/24", "via", pair.a.ip4], check=True)
    report = ask("connect", pair.a, pair.server, "-P", "6", "-B", ",".join(more), "-t", "1s", "--warmup", "0s")
    times = report["directions"][0]["latency"]
    assert (times["source_ports"], times["source_addresses"]) == (4, 2) and times["answered"] > 0


@pytest.mark.plain
def test_a_full_queue_of_connections_is_named(pair, netdyno):
    """A queue for two, 64 that want into it, and for a while nobody who takes them out."""
    pair.server.host.sysctl("net.core.somaxconn", "1")
    client = pair.a.spawn([netdyno, "connect", pair.server.host.ip4, "-p", pair.server.port, "-P", "64", "-T", "1",
                           "-t", "3s", "--warmup", "0s", "-i", "0.2s", "--json-lines"])
    client.wait_line('"event":"interval"', 20 * kitnet.slow(), "stdout")
    pair.server.send_signal(signal.SIGSTOP)
    time.sleep(STALL_S)  # the stall itself
    pair.server.send_signal(signal.SIGCONT)
    assert client.wait(30 * kitnet.slow()) == 0, client.stderr
    report = json.loads(client.stdout.splitlines()[-1])
    machine = report["server"]["machine"]
    assert machine["tcp_listen_drops"] >= machine["tcp_listen_overflows"] > 0
    assert "ListenOverflows" in warned(report)["listen_queue_full"]
    assert report["client"]["machine"]["window_tcp_syn_retrans"] > 0 and "syn_retransmits" in warned(report)


@pytest.mark.parametrize("args, words", [
    (("-q", "4", "--rate", "5"), "-q and --rate exclude each other"),
    (("--arrival", "poisson"), "--arrival needs --rate"),
    (("-u", "--rate", "5", "-r", "4"), "8 bytes and more"),
    (("-u", "--nagle"), "--nagle is for TCP"),
])
def test_what_makes_no_sense_is_said(lab, netdyno, args, words):
    done = lab().a.run([netdyno, "latency", "192.0.2.1", *args], timeout=10 * kitnet.slow())
    assert done.returncode == 2 and words in done.stderr
