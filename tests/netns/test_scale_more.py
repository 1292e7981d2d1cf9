# SPDX-License-Identifier: MIT
"""Still more flows: fifty thousand with descriptor tables of their own, and ways without a copy."""
import resource

import pytest

from kit.report import check_report, side_of

NOFILE = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
MIB = 1 << 20


@pytest.fixture
def alone(lab, serve, stream_json):
    """run(*args): a client and its server in one host."""
    net = lab()
    server = serve(net.a)

    def run(*args):
        return stream_json(net.a, "127.0.0.1", "-p", server.port, *args, timeout=150)

    return run


def plain(slow, descriptors):
    if slow > 1:
        pytest.skip("plain build only")
    if NOFILE < descriptors:
        pytest.skip(f"too few descriptors: {NOFILE}, {descriptors} are needed")


@pytest.mark.parametrize("tx,rx", [("splice", "trunc"), ("zerocopy", "copy"),
                                   ("sendfile", "splice")])
def test_a_thousand_flows_without_a_copy(alone, tx, rx):
    report = alone("-P", 1000, "-T", 2, "-n", 50000001, "--tx", tx, "--rx", rx)
    d = check_report(report)
    assert d["total_received_bytes"] == 50000001 and d["failed_flows"] == 0


def test_ten_thousand_flows_at_most(alone, slow):
    plain(slow, 10100)
    report = alone("-P", 10000, "-T", 2, "-t", "1s", "--warmup", "1s", "--max")
    d = check_report(report)
    assert d["flows"] == len(d["flow_rows"]) == 10000 and d["failed_flows"] == 0
    assert 0 < report["setup_ms"] < 60000


def test_memory_of_ten_thousand_flows(alone, slow):
    plain(slow, 10100)
    report = alone("-P", 10000, "-T", 2, "-n", "1M")
    check_report(report)
    for role in ("client", "server"):
        assert report[role]["machine"]["peak_rss_bytes"] < 12 * MIB


@pytest.mark.limit(200)
def test_fifty_thousand_flows(alone, slow):
    plain(slow, 13000)
    sources = ",".join(f"127.0.0.{n}" for n in range(2, 6))
    report = alone("-P", 50000, "-T", 4, "-n", "10M", "-B", sources)
    d = check_report(report)
    assert d["flows"] == len(d["flow_rows"]) == 50000 and d["failed_flows"] == 0
    assert d["total_received_bytes"] == 10000000
    assert side_of(report, d, "sender")["run"]["tx_bytes"] == 10000000


def test_five_hundred_and_twelve_datagram_flows(alone):
    report = alone("-u", "-P", 512, "-T", 2, "-t", "1s", "--warmup", "0.2s", "-b", "20M", "-l", 64)
    d = check_report(report)
    assert d["flows"] == len(d["flow_rows"]) == 512
    assert all(row["received_messages"] > 0 for row in d["flow_rows"])
