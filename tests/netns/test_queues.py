# SPDX-License-Identifier: MIT
"""Queues of a real device: an ifb has four, with counters of each, and takes what a veth of four queues brings."""
import json
import re

import pytest

from kit.net import poll

QUEUES = 4
HERE, THERE = "10.98.0.1", "10.98.0.2"


@pytest.fixture
def wide(pair):
    """What comes to b for HERE passes f0, which holds the address; q0 at a is a veth, which counts packets of no queue."""
    a, b = pair.a, pair.b
    more = f"numrxqueues {QUEUES} numtxqueues {QUEUES}"
    if b.run(["ip", "link", "add", "f0", *more.split(), "type", "ifb"]).returncode:
        pytest.skip("this kernel has no ifb")
    b.ip(f"link add q1 {more} type veth peer name q0 {more} netns {a.ns}", "link set f0 up", "link set q1 up",
         f"addr add {HERE}/32 dev f0", f"route add {THERE}/32 dev q1 src {HERE}")
    a.ip("link set q0 up", f"addr add {THERE}/24 dev q0")
    rule = 'table netdev wide { chain in { type filter hook ingress device "q1" priority 0; fwd to "f0"; }; }'
    if b.run(["nft", "-f", "-"], input=rule).returncode:
        pytest.skip("this kernel does not forward from its ingress hook")
    pair.a.run(["ping", "-c", "1", HERE], check=True)
    return pair


def counters(host):
    text = host.run(["ethtool", "-S", "f0"], check=True).stdout
    return {int(n): int(v) for n, v in re.findall(r"rx_queue_(\d+)_packets: (\d+)", text)}


def test_watch_counts_what_each_queue_took(wide, netdyno):
    proc = wide.b.spawn([netdyno, "watch", "f0", "-v", "-i", "200ms", "-o", "json-lines"])
    proc.wait_line('"event":"sample"', 10)
    before = counters(wide.b)
    wide.a.run([netdyno, "stream", HERE, "-p", str(wide.server.port), "-P", "16", "-t", "1s", "-b", "50M", "-q"],
               timeout=60, check=True)
    wide.a.ip("link set q0 down")  # nothing more comes
    after = counters(wide.b)
    wanted = {n: after[n] - before[n] for n in after}

    def seen():
        total = dict.fromkeys(range(QUEUES), 0)
        for line in proc.stdout.splitlines():
            sample = json.loads(line) if line.endswith("}") else {}
            for q in sample.get("queues", []):
                if q["way"] == "rx":
                    total[q["queue"]] += q["packets"] or 0
        return total

    poll("all packets", lambda: sum(seen().values()) >= sum(wanted.values()), 10)
    assert len(wanted) == QUEUES and sum(v > 0 for v in wanted.values()) > 1
    late = sum(seen().values()) - sum(wanted.values())
    assert 0 <= late <= 20, "only what came between the first sample and the first look"
    assert all(seen()[n] >= wanted[n] for n in wanted)


@pytest.mark.parametrize("verb", ["stream", "packets"])
def test_reports_tell_of_queues(wide, netdyno, verb):
    args = ["-P", "16", "-t", "1s", "--warmup", "0.2s", "-b", "20M", "-o", "json"]
    done = wide.a.run([netdyno, verb, HERE, "-p", str(wide.server.port), *args], timeout=60)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    machine = report["server"]["machine"]
    assert machine["queue_source"] == "ethtool"
    rows = [q for q in machine["queues"] if q["way"] == "rx"]
    packets = [q["packets"] for q in rows]
    totals = machine["rx_queues"]
    assert [q["queue"] for q in rows] == list(range(QUEUES)) and totals["queues"] == QUEUES
    assert totals["used"] == sum(p > 0 for p in packets) > 1
    assert sum(q["share_ratio"] for q in rows) == pytest.approx(1)
    assert packets[totals["busiest"]] == max(packets)
    assert totals["busiest_ratio"] == pytest.approx(max(packets) / sum(packets))
    assert totals["imbalance"] == pytest.approx(max(packets) * QUEUES / sum(packets))
    # Its driver has counters of queues, but none of all their packets: not known, which is not none.
    machine = report["client"]["machine"]
    assert machine["rx_queues"]["queues"] is None and machine["tx_queues"]["used"] is None
    assert all(q["packets"] is None for q in machine["queues"])
    assert report["client"]["nic_facts"]["tx_queues"] == QUEUES
