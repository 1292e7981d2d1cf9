# SPDX-License-Identifier: MIT
"""Datagrams in pieces (GSO, GRO) and cut short: none is counted twice, and every lost one is known."""
import pytest

from kit.report import check_report, side_of, warnings

QUICK = ("-u", "-t", "1s", "--warmup", "0.1s", "-i", "0.25s")
GSO = ("--gso", 64)
BOTH = (*GSO, "--gro", "on")


def run(pair, stream_json, *args, **kwargs):
    report = stream_json(pair.a, pair.server, *args, **kwargs)
    check_report(report)
    return report


def parts(report):
    """What sender and receiver of the one direction say, and the direction."""
    d, = report["directions"]
    sender, receiver = side_of(report, d, "sender"), side_of(report, d, "receiver")
    return sender, receiver, d


def check_nothing_lost(d, messages):
    assert (d["loss"]["sent"], d["loss"]["received"]) == (messages, messages)
    assert d["loss"]["lost"] == 0 and d["agreed"]
    assert not d["loss"]["duplicate"] and not d["loss"]["reordered"]


def offloads(pair, on):
    for host in (pair.a, pair.b):
        host.offloads(on)


@pytest.mark.parametrize("on", [True, False], ids=["offloads", "frames"])
@pytest.mark.parametrize("size", [1, 7, 8, 15, 16, 100, 1472])
def test_pieces_are_cut_right(pair, stream_json, size, on):
    """2000 datagrams at a rate that loses none: in pieces there and back, whatever cuts them."""
    offloads(pair, on)
    report = run(pair, stream_json, "-u", "-l", size, "-n", 2000 * size, "--rate", 100000, *BOTH)
    sender, receiver, d = parts(report)
    check_nothing_lost(d, 2000)
    assert d["total_received_bytes"] == 2000 * size
    assert sender["tx_technique"].startswith("gso ") and receiver["rx_technique"] == "gro"
    assert sender["run"]["tx_stacked"] < sender["run"]["tx_messages"]
    assert receiver["run"]["rx_dropped"] == 0
    if on:
        assert receiver["run"]["rx_stacked"] < receiver["run"]["rx_messages"]


@pytest.mark.parametrize("on", [True, False], ids=["offloads", "frames"])
def test_pieces_are_verified(pair, stream_json, on):
    """Every byte, in a number of bytes that is no multiple of anything."""
    offloads(pair, on)
    report = run(pair, stream_json, "-u", "-n", 3000017, "-l", 1237, "-b", "400M", "--verify",
                 "-P", 3, *BOTH)
    _, receiver, d = parts(report)
    assert d["total_received_bytes"] == 3000017 and d["loss"]["lost"] == 0
    assert not receiver["run"]["rx_corrupt"] and not receiver["run"]["rx_foreign"]


@pytest.mark.parametrize("gro", ["on", "off"])
@pytest.mark.parametrize("size, flows", [(8, 1), (100, 4), (1472, 1)])
def test_loss_of_frames_is_counted_exactly(pair, stream_json, size, flows, gro):
    """With offloads off every datagram is a frame before it is lost."""
    offloads(pair, False)
    rule = pair.b.loss(every=10, min_payload=size, max_payload=size, dport=pair.server.port)
    report = run(pair, stream_json, "-u", "-l", size, "-n", 5000 * size, "--rate", 20000,
                 "-P", flows, *GSO, "--gro", gro)
    _, receiver, d = parts(report)
    dropped, passed = rule.counts()
    assert dropped == 500 and dropped + passed == 5000
    assert (d["loss"]["lost"], d["loss"]["received"]) == (dropped, passed)
    assert d["loss"]["unplaced"] == dropped and receiver["run"]["rx_dropped"] == 0
    assert not d["loss"]["duplicate"] and not d["loss"]["reordered"]


def test_loss_of_pieces_is_counted_in_datagrams(pair, stream_json):
    """With offloads on a filter loses whole pieces; numbers tell how many datagrams that were."""
    offloads(pair, True)
    rule = pair.b.loss(every=5, min_payload=101, dport=pair.server.port)
    report = run(pair, stream_json, "-u", "-l", 100, "-n", 1000000, "--rate", 100000, *BOTH)
    _, receiver, d = parts(report)
    loss = d["loss"]
    assert rule.dropped > 0 and loss["lost"] > rule.dropped
    assert loss["sent"] == 10000 and loss["received"] + loss["lost"] == 10000
    assert receiver["run"]["rx_unique"] == loss["received"]


def test_auto_is_named_and_loses_nothing_unseen(pair, stream_json):
    report = run(pair, stream_json, *QUICK, "-l", 1000)
    sender, receiver, d = parts(report)
    assert sender["tx_technique"].startswith("gso 65: one pass of the stack")
    assert receiver["rx_technique"] == "gro"
    assert d["loss"]["sent"] == d["loss"]["received"] + d["loss"]["lost"]


def test_a_piece_of_one_is_called_so(pair, stream_json):
    report = run(pair, stream_json, "-u", "-l", 65507, "-n", 20 * 65507, "--rate", 200, "--fragment",
                 "--gso", 4)
    assert parts(report)[0]["tx_technique"].startswith("gso 1: one by one, ")


@pytest.mark.parametrize("args", [("--gso", "off"), ("-b", "10M"), ("--rate", 1000)],
                         ids=["off", "bitrate", "rate"])
def test_auto_is_off(pair, stream_json, args):
    report = run(pair, stream_json, *QUICK, *args)
    sender, receiver, _ = parts(report)
    assert sender["tx_technique"] == "copy" and receiver["rx_technique"] == "copy"
    assert sender["run"]["tx_stacked"] == sender["run"]["tx_messages"]


@pytest.mark.parametrize("gro", [("--gro", "off"), ("--gro", "on"), ("--rx", "trunc")],
                         ids=lambda a: a[-1])
def test_drops_are_told_by_the_socket(pair, stream_json, gro):
    """A buffer of 4 KiB: what is lost is what its sockets dropped."""
    report = run(pair, stream_json, *QUICK, "-l", 500, "--gso", "off", "--rcvbuf", "4Ki", "-P", 2,
                 *gro)
    _, receiver, d = parts(report)
    dropped = receiver["run"]["rx_dropped"]
    assert dropped > 0
    assert d["loss"]["lost"] <= dropped + d["loss"]["receiver_backlog_drops"]
    assert d["loss"]["lost"] >= dropped
    assert sum(row["dropped_messages"] for row in d["flow_rows"]) == dropped


def test_heads_are_enough(pair, stream_json):
    report = run(pair, stream_json, "-u", "-l", 1400, "-n", 1400 * 3000 + 99, "--rate", 30000,
                 "--rx", "trunc")
    _, receiver, d = parts(report)
    check_nothing_lost(d, 3001)
    assert d["total_received_bytes"] == 1400 * 3000 + 99
    assert receiver["rx_technique"] == "trunc"


def test_pieces_without_checksum_offload(pair, stream_json):
    """A kernel that refuses pieces there gets datagrams; one that takes them does not."""
    pair.a.run(["ethtool", "-K", pair.a.dev, "tx", "off"], check=True)
    report = run(pair, stream_json, "-u", "-l", 1000, "-n", 2000000, "--rate", 50000, *BOTH)
    sender, _, d = parts(report)
    check_nothing_lost(d, 2000)
    assert sender["tx_technique"].startswith(("gso 64: ", "gso 65: ", "copy: one by one"))


def test_large_buffer_is_reported(pair, stream_json):
    report = run(pair, stream_json, *QUICK, "-b", "1M")
    _, receiver, _ = parts(report)
    assert receiver["rcvbuf_bytes"] >= 212992
    assert "receive_buffer_drops" not in warnings(report)


@pytest.mark.parametrize("wait", ["auto", "block", "nap", "spin"])
def test_waits(pair, stream_json, wait):
    report = run(pair, stream_json, "-u", "-l", 100, "-n", 100 * 5000, "--rate", 20000,
                 "--wait", wait)
    check_nothing_lost(parts(report)[2], 5000)


def test_busy_poll(pair, stream_json):
    report = run(pair, stream_json, *QUICK, "-b", "10M", "--busy-poll", 50, "--spin")
    d, = report["directions"]
    assert d["loss"]["lost"] == 0 and report["plan"]["busy_poll_us"] == 50


@pytest.mark.parametrize("args, words", [
    (("--gso", 8, "--tx", "copy"), "--gso and --tx exclude each other"),
    (("--gro", "on", "--rx", "trunc"), "--gro and --rx exclude each other"),
    (("--rx", "trunc", "--verify"), "--rx trunc and --verify exclude each other"),
    (("--shape", "rr", "--gso", 8), "no meaning with --shape rr"),
    (("--gso", 129), "outside 1..128"),
])
def test_refused(pair, netdyno, args, words):
    done = pair.a.run([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, *QUICK, *args])
    assert done.returncode in (1, 2, 3) and words in done.stderr
