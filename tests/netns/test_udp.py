# SPDX-License-Identifier: MIT
"""UDP: every datagram is received or in the ledger of losses, to the last one."""
import socket
import threading
import time

import pytest

from kit.report import check_report, near, side_of, total, warnings

QUICK = ("-u", "-t", "1s", "--warmup", "0.1s", "-i", "0.25s")
SIZES = [1, 7, 8, 15, 16, 100, 1472]


def run(pair, stream_json, *args, target=None, **kwargs):
    where = (pair.server,) if target is None else (target, "-p", pair.server.port)
    report = stream_json(pair.a, *where, *args, **kwargs)
    check_report(report)
    return report


def lose_every_tenth(pair, size, back=False, **more):
    """Counts and drops datagrams of the test alone: those of 32 bytes introduce flows, the
    answers have 16."""
    host = pair.a if back else pair.b
    port = {"sport" if back else "dport": pair.server.port}
    return host.loss(every=10, min_payload=size, max_payload=size, **port, **more)


def half_a_second(size):
    """5000 datagrams of this size, 10,000 in a second."""
    return "-u", "-l", size, "-n", 5000 * size, "--rate", 10000


def check_losses(direction, rule):
    dropped, passed = rule.counts()
    loss = direction["loss"]
    assert dropped == 500 and dropped + passed == 5000
    assert (loss["lost"], loss["received"]) == (dropped, passed)
    assert loss["unplaced"] == dropped and loss["receive_buffer_drops"] == 0
    assert loss["refused"] == 0
    assert not loss["duplicate"] and not loss["reordered"]
    assert direction["total_received_messages"] == passed


@pytest.mark.parametrize("size, flows", [(8, 1), (15, 4), (16, 1), (100, 50), (1472, 1),
                                         (1472, 4)])
def test_loss_is_counted_exactly(pair, stream_json, size, flows):
    rule = lose_every_tenth(pair, size)
    report = run(pair, stream_json, *half_a_second(size), "-P", flows)
    check_losses(report["directions"][0], rule)


@pytest.mark.parametrize("size", [1, 7])
def test_loss_is_counted_without_room_for_numbers(pair, stream_json, size):
    rule = lose_every_tenth(pair, size)
    report = run(pair, stream_json, *half_a_second(size))
    check_losses(report["directions"][0], rule)


def test_loss_on_the_way_back(pair, stream_json):
    rule = lose_every_tenth(pair, 1000, back=True)
    report = run(pair, stream_json, *half_a_second(1000), "-R", "-P", 2)
    d, = report["directions"]
    assert d["sender"] == "server"
    check_losses(d, rule)


def test_loss_of_both_ways_is_kept_apart(pair, stream_json):
    forth = lose_every_tenth(pair, 1000)
    back = lose_every_tenth(pair, 1000, back=True)
    report = run(pair, stream_json, *half_a_second(1000), "--bidir", "-P", 4)
    for d, rule in zip(report["directions"], (forth, back)):
        check_losses(d, rule)


def test_loss_over_ipv6(pair, stream_json):
    rule = lose_every_tenth(pair, 1452, family=6)
    report = run(pair, stream_json, *half_a_second(1452), target=pair.b.ip6)
    check_losses(report["directions"][0], rule)
    assert ":" in report["client"]["address"]


def test_ipv6_has_smaller_datagrams(pair, stream_json):
    report = run(pair, stream_json, "-u", "-n", "100k", "-b", "10M", target=pair.b.ip6)
    assert report["directions"][0]["message_bytes"] == 1452


def test_loss_of_intervals_adds_up(pair, stream_json):
    rule = lose_every_tenth(pair, 500)
    report = run(pair, stream_json, *QUICK, "-l", 500, "-b", "5M")
    d, = report["directions"]
    # behind the last number that came nothing is missed
    assert rule.dropped - 1 <= total(d["intervals"], "lost_messages") <= rule.dropped
    assert near(d["lost_ratio"], 0.1, 0.02)


def test_every_datagram_lost(pair, stream_json):
    with pair.b.loss(percent=100, dport=pair.server.port, min_payload=100) as rule:
        report = stream_json(pair.a, pair.server, *QUICK, "-b", "1M")
        d, = report["directions"]
        assert d["loss"]["sent"] == d["loss"]["lost"] == rule.dropped > 0
        assert d["loss"]["received"] == 0 and d["goodput_bps"] == 0


@pytest.mark.parametrize("size", SIZES + [None])
def test_sizes(pair, stream_json, size):
    length = () if size is None else ("-l", size)
    size = size or 1472
    report = run(pair, stream_json, "-u", "-n", size * 800, *length, "--rate", 2000, "--bidir")
    for d in report["directions"]:
        assert d["message_bytes"] == size
        assert d["loss"]["lost"] == 0 and d["loss"]["received"] == 800
        # without a number in it a datagram may be any
        counted = 0 if size >= 8 else None
        assert (d["loss"]["duplicate"], d["loss"]["reordered"]) == (counted, counted)
        assert d["total_received_bytes"] == 800 * size


@pytest.mark.parametrize("flows, way", [(1, ()), (4, ("-R",)), (64, ()), (64, ("--bidir",))])
def test_flows(pair, stream_json, flows, way):
    report = run(pair, stream_json, *QUICK, "-P", flows, "-b", "10M", *way)
    for d in report["directions"]:
        assert d["flows"] == flows and d["agreed"]
        assert all(row["received_messages"] > 0 for row in d["flow_rows"])


@pytest.mark.parametrize("way", [(), ("-R",), ("--bidir",)], ids=["forth", "back", "both"])
@pytest.mark.parametrize("flows", [1, 3])
def test_bytes_are_exact(pair, stream_json, flows, way):
    """1 MB in datagrams of 1000 and a shorter last one where a flow's share needs it."""
    report = run(pair, stream_json, "-u", "-n", "1M", "-l", 1000, "-P", flows, "-b", "40M", *way)
    for d in report["directions"]:
        assert d["total_sent_bytes"] == d["total_received_bytes"] == 1000000
        assert 1000 <= d["total_sent_messages"] <= 1000 + flows


def test_bytes_smaller_than_a_datagram(pair, stream_json):
    report = run(pair, stream_json, "-u", "-n", 10, "-l", 1000)
    d, = report["directions"]
    assert (d["total_received_bytes"], d["total_received_messages"]) == (10, 1)


def test_what_the_receive_buffer_loses_is_placed_there(pair, stream_json):
    report = run(pair, stream_json, *QUICK, "--rcvbuf", "4Ki", "-b", "300M", "-P", 4)
    d, = report["directions"]
    loss = d["loss"]
    assert side_of(report, d, "receiver")["rcvbuf_bytes"] <= 8192
    assert loss["receive_buffer_drops"] > 0
    backlog = max(loss["receiver_backlog_drops"], loss["receiver_nic_drops"])
    assert loss["receive_buffer_drops"] + backlog == loss["lost"]
    assert loss["unplaced"] == 0
    assert "receive_buffer_drops" in warnings(report)


def test_what_the_queue_loses_is_placed_there(pair, stream_json):
    pair.a.rate("10mbit", queue_ms=5)
    report = run(pair, stream_json, *QUICK, "-b", "40M", "-l", 1000, "--sndbuf", "4Mi")
    loss = report["directions"][0]["loss"]
    assert loss["qdisc_drops"] + loss["refused"] > 0
    assert loss["unplaced"] == 0
    if loss["qdisc_drops"]:
        assert "qdisc_drops" in warnings(report)


def test_unlimited_rate_is_still_accounted_for(pair, stream_json):
    report = run(pair, stream_json, *QUICK)
    loss = report["directions"][0]["loss"]
    assert loss["unplaced"] == 0, loss


def test_engine_and_threads(pair, stream_json):
    for args in (("-T", 2, "-P", 4), ("--engine", "blocking"), ("--engine", "epoll")):
        report = run(pair, stream_json, "-u", "-n", "100k", "-b", "10M", *args)
        assert report["directions"][0]["total_received_bytes"] == 100000


@pytest.mark.parametrize("size", [1, 16, 1000, 1472])
def test_verify_finds_every_byte_right(pair, stream_json, size):
    report = run(pair, stream_json, "-u", "-n", 300 * size, "-l", size, "--rate", 3000, "-P", 3,
                 "--verify", "--bidir")
    assert "corrupt" not in warnings(report)
    for d in report["directions"]:
        assert side_of(report, d, "receiver")["run"]["rx_corrupt"] == 0


def test_fragments_when_asked(pair, stream_json):
    report = run(pair, stream_json, "-u", "-l", 3000, "-n", "30k", "-b", "1M", "--fragment")
    assert report["directions"][0]["total_received_messages"] == 10
    assert "fragments" in warnings(report)


def test_datagrams_larger_than_the_path_are_no_success(pair, netdyno):
    done = pair.a.run([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "-u", "-l", 3000,
                       "-n", "30k", "-b", "1M"])
    assert done.returncode in (1, 2)
    assert "3000" in done.stderr or "fragment" in done.stderr or "too long" in done.stderr


def test_path_mtu_of_the_smaller_end(pair, stream_json):
    pair.a.mtu(1280)
    report = run(pair, stream_json, "-u", "-n", "100k", "-b", "10M")
    assert report["directions"][0]["message_bytes"] == 1252


def test_server_with_the_smaller_path_sends_what_fits(pair, stream_json):
    pair.b.mtu(1280)
    report = run(pair, stream_json, "-u", "-n", "100k", "-b", "10M", "-R")
    assert report["directions"][0]["message_bytes"] == 1252


def test_foreign_datagrams_are_not_counted(pair, stream_json, slow):
    """Somebody else sends to the server's port all the time."""
    stop = threading.Event()

    def noise():
        with pair.a.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            while not stop.is_set():
                s.sendto(b"x" * 1000, (pair.b.ip4, pair.server.port))
                s.sendto(b"NDU1" + bytes(28), (pair.b.ip4, pair.server.port))
                time.sleep(0.001)

    thread = threading.Thread(target=noise, daemon=True)
    thread.start()
    try:
        report = run(pair, stream_json, *QUICK, "-l", 1000, "-b", "5M")
    finally:
        stop.set()
        thread.join(5)
    assert report["directions"][0]["loss"]["lost"] == 0


def test_duplicates_and_reordering_are_seen(pair, stream_json):
    """A path with netem, where the kernel has it."""
    done = pair.a.run(["tc", "qdisc", "add", "dev", pair.a.dev, "root", "netem", "duplicate",
                       "10%", "limit", "10000"])
    if done.returncode != 0:
        pytest.skip("this kernel has no netem")
    report = stream_json(pair.a, pair.server, *QUICK, "-b", "5M")
    assert report["directions"][0]["loss"]["duplicate"] > 0


def test_unreachable_port_is_a_failure_not_a_hang(pair, netdyno, slow):
    """A firewall that swallows UDP: TCP says hello, no flow comes up."""
    pair.b.drop(proto="udp", dport=pair.server.port)
    begin = time.monotonic()
    done = pair.a.run([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "-u",
                       "-b", "1M"], timeout=30 * slow)
    assert time.monotonic() - begin < 12 * slow
    assert done.returncode in (1, 3)
    assert "UDP" in done.stderr and done.stderr.count("\n") == 1
    assert "Throughput" not in done.stdout


def test_lost_introductions_are_repeated(pair, stream_json):
    """Half of the token datagrams vanish; all flows come up all the same."""
    rule = pair.b.loss(every=2, dport=pair.server.port, min_payload=32, max_payload=32)
    report = run(pair, stream_json, "-u", "-n", "50k", "-P", 16, "-b", "1M", "-l", 100)
    assert rule.dropped > 0
    assert report["directions"][0]["loss"]["lost"] == 0


def test_lost_answers_are_repeated(pair, stream_json):
    rule = pair.a.loss(every=2, sport=pair.server.port, min_payload=16, max_payload=16)
    report = run(pair, stream_json, "-u", "-n", "50k", "-P", 16, "-b", "1M", "-l", 100)
    assert rule.dropped > 0
    d, = report["directions"]
    assert d["loss"]["lost"] == 0 and d["loss"]["received"] == d["loss"]["sent"]
