# SPDX-License-Identifier: MIT
"""TCP through a cable: what is counted at both ends, interval by interval, agrees."""
import pytest

from kit.net import poll
from kit.report import check_report, phase, side_of, total, warnings

QUICK = ("-t", "1s", "--warmup", "0.2s", "-i", "0.25s")


def run(pair, stream_json, *args, **kwargs):
    report = stream_json(pair.a, pair.server, *args, **kwargs)
    check_report(report)
    return report


@pytest.mark.parametrize("flows", [1, 8, 64])
@pytest.mark.parametrize("way", [(), ("-R",), ("--bidir",)], ids=["forth", "back", "both"])
def test_both_ends_agree(pair, stream_json, flows, way):
    report = run(pair, stream_json, *QUICK, "-P", flows, *way)
    names = {(): ["client to server"], ("-R",): ["server to client"]}
    labels = [d["label"] for d in report["directions"]]
    assert labels == names.get(way, ["client to server", "server to client"])
    for d in report["directions"]:
        assert d["flows"] == len(d["flow_rows"]) == flows
        assert d["received_bytes"] > 0
        assert len(phase(d, "warmup")) >= 1 and len(phase(d)) >= 4
        assert d["tcp"]["flows_sampled"] == flows
        assert d["tcp"]["cc"] == "cubic" and d["tcp"]["mss_bytes"] == 1448
        assert d["tcp"]["rtt_min_us"] <= d["tcp"]["rtt_mean_us"]
        assert total(d["flow_rows"], "retransmits") == d["tcp"]["retransmits"]


def test_ipv6(pair, stream_json):
    report = stream_json(pair.a, pair.b.ip6, "-p", pair.server.port, *QUICK)
    d = check_report(report)
    assert d["received_bytes"] > 0
    assert ":" in report["client"]["address"] and ":" in report["server"]["address"]
    assert d["tcp"]["mss_bytes"] == 1428


def test_ipv6_in_brackets_from_the_second_address(pair, stream_json):
    second = pair.a.add_addr("fd00:77:1::9/64")
    report = stream_json(pair.a, f"[{pair.b.ip6}]", "-p", pair.server.port, "-B", second,
                         "-n", "200k")
    check_report(report)
    assert second in report["client"]["address"]


@pytest.mark.parametrize("length", ["1", "7", "1000", "65537", "3Mi"])
def test_odd_message_sizes(pair, stream_json, length):
    report = run(pair, stream_json, *QUICK, "-l", length, "-P", 2)
    size = {"3Mi": 3 << 20}.get(length) or int(length)
    assert report["directions"][0]["message_bytes"] == size


@pytest.mark.parametrize("length", ["1", "7", "65537", "3Mi"])
def test_odd_message_sizes_backwards_by_bytes(pair, stream_json, length):
    size = 20000 if length in "17" else 7654321
    report = run(pair, stream_json, "-n", size, "-l", length, "-R", "-P", 3)
    assert report["directions"][0]["total_received_bytes"] == size


def test_no_warmup(pair, stream_json):
    report = run(pair, stream_json, "-t", "1s", "--warmup", 0, "-i", "0.5s", "-P", 4)
    d, = report["directions"]
    assert not phase(d, "warmup") and d["received_bytes"] > 0
    assert d["sent_bytes"] == d["total_sent_bytes"]


def test_cooldown(pair, stream_json):
    report = run(pair, stream_json, "-t", "1s", "--warmup", "0.3s", "--cooldown", "0.4s",
                 "-i", "0.1s", "-P", 4)
    d, = report["directions"]
    assert [len(phase(d, p)) for p in ("warmup", "measure", "cooldown")] == [3, 10, 4]
    assert d["sent_bytes"] + total(phase(d, "cooldown"), "sent_bytes") <= d["total_sent_bytes"]
    assert total(phase(d, "cooldown"), "sent_bytes") > 0


def test_interval_that_does_not_divide_the_window(pair, stream_json):
    report = run(pair, stream_json, "-t", "1s", "--warmup", "0.25s", "-i", "0.3s")
    assert report["directions"][0]["received_bytes"] > 0


@pytest.mark.parametrize("on", [False, True], ids=["off", "on"])
def test_nodelay_is_read_back(pair, stream_json, on):
    report = run(pair, stream_json, "-n", "1M", *(["--nodelay"] if on else []))
    for role in ("sender", "receiver"):
        assert side_of(report, report["directions"][0], role)["nodelay"] is on, role


@pytest.mark.parametrize("way", [(), ("-R",)], ids=["forth", "back"])
def test_mss_is_kept(pair, stream_json, way):
    report = run(pair, stream_json, "-n", "1M", "--mss", 600, *way)
    # the kernel takes the option for time stamps off
    assert report["directions"][0]["tcp"]["mss_bytes"] in (600, 588)


def test_mss_shows_in_the_frames(pair, stream_json):
    before = pair.a.counters()
    run(pair, stream_json, "-n", "3M", "--mss", 600)
    after = pair.a.counters()
    assert after["tx_packets"] - before["tx_packets"] >= 3000000 // 600


@pytest.mark.parametrize("name, way", [
    ("cubic", ()), ("cubic", ("-R",)), ("reno", ()), ("reno", ("-R",))])
def test_congestion_control_is_read_back(pair, stream_json, name, way):
    report = run(pair, stream_json, "-n", "1M", "--cc", name, *way)
    assert report["directions"][0]["tcp"]["cc"] == name


@pytest.mark.parametrize("way", [(), ("-R",)], ids=["forth", "back"])
def test_unknown_congestion_control_is_refused(pair, netdyno, way):
    done = pair.a.run([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "--cc", "nosuch",
                       *way])
    assert done.returncode in (1, 3)
    assert done.stdout.count("Gbit/s") == 0
    assert done.stderr.count("\n") == 1 and "nosuch" in done.stderr


@pytest.mark.parametrize("way", [(), ("-R",)], ids=["forth", "back"])
def test_dscp_is_in_the_packets(pair, stream_json, way):
    """Large segments without the mark are the control connection's, and few."""
    receiver = pair.b if not way else pair.a
    with receiver.loss(proto="tcp", family=4) as every:
        script = (f"insert rule inet {every.table} c ip dscp ef meta length > 1000 "
                  "counter name passed accept\n"
                  f"insert rule inet {every.table} c ip dscp != ef meta length > 1000 "
                  "counter name dropped accept\n")
        receiver.run(["nft", "-f", "-"], input=script, check=True)
        run(pair, stream_json, "-n", "3M", "--dscp", "ef", *way)
        plain, _ = every.counts()
    # a result in JSON is larger than 1000 bytes, too
    assert plain < 60


def test_bind_to_an_address(pair, stream_json):
    second = pair.a.add_addr("10.77.1.9/24")
    with pair.b.loss(proto="tcp", dport=pair.server.port) as every:
        pair.b.run(["nft", "-f", "-"], check=True,
                   input=f"insert rule inet {every.table} c ip saddr != {second} tcp dport "
                         f"{pair.server.port} counter name dropped drop\n")
        report = run(pair, stream_json, "-n", "1M", "-P", 2, "-B", second)
        assert every.dropped == 0
    assert second in report["client"]["address"]


def test_bind_to_several_addresses(pair, stream_json):
    more = [pair.a.add_addr(f"10.77.1.{n}/24") for n in (20, 21, 22)]
    table = "kitmany"
    rules = "\n".join(f"ip saddr {a} tcp flags & (syn | ack) == syn counter accept" for a in more)
    chain = f"chain c {{\ntype filter hook input priority 0;\n{rules}\n}}"
    pair.b.run(["nft", "-f", "-"], check=True, input=f"table inet {table} {{\n{chain}\n}}\n")
    run(pair, stream_json, "-n", "1M", "-P", 6, "-B", ",".join(more))
    listed = pair.b.run(["nft", "list", "table", "inet", table], check=True).stdout
    packets = [int(line.split("packets ")[1].split()[0])
               for line in listed.splitlines() if "packets" in line]
    assert sorted(packets) == [2, 2, 3]  # one has the control connection too


def test_bind_to_a_device(pair, stream_json):
    pair.join(pair.a, pair.b)  # e1, another cable
    pair.wait_path(pair.a, pair.b)
    target = pair.b.addrs4[1]
    report = stream_json(pair.a, target, "-p", pair.server.port, "-n", "1M", "-B", "%e1")
    check_report(report)
    assert report["client"]["machine"]["nic"] == "e1"


def test_bind_to_a_device_that_does_not_lead_there(pair, netdyno):
    done = pair.a.run([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "-B", "%lo",
                       "--connect-timeout", "1s"])
    assert done.returncode in (1, 3) and done.stderr.count("\n") == 1


def test_bind_to_nothing(pair, netdyno):
    for what in ("%nosuch0", "10.99.99.99"):
        done = pair.a.run([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "-B", what])
        assert done.returncode in (1, 2, 3)
        assert done.stderr.count("\n") == 1 and what.strip("%") in done.stderr


@pytest.mark.parametrize("way", [(), ("-R",)], ids=["forth", "back"])
def test_mptcp(pair, stream_json, netdyno, way):
    if "mptcp" not in pair.a.run([netdyno, "--version"]).stdout:
        pytest.skip("not built in")
    if pair.a.run(["cat", "/proc/sys/net/mptcp/enabled"]).stdout.strip() != "1":
        pytest.skip("this kernel has no MPTCP")
    before = pair.a.snmp()["MPTcpExt.MPCapableSYNTX"]
    report = run(pair, stream_json, "-n", "20M", "--mptcp", "-P", 2, *way)
    assert report["directions"][0]["transport"] == "mptcp"
    assert report["directions"][0]["received_bytes"] > 0
    assert pair.a.snmp()["MPTcpExt.MPCapableSYNTX"] >= before + 2


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("way", [(), ("-R",), ("--bidir",)], ids=["forth", "back", "both"])
def test_threads(pair, stream_json, threads, way):
    report = run(pair, stream_json, "-n", "50M", "-P", 4, "-T", threads, *way)
    assert report["client"]["threads"] == report["server"]["threads"] == threads


@pytest.mark.parametrize("flows, engine", [(1, "blocking"), (2, "blocking"), (1, "epoll"),
                                           (8, "epoll")])
@pytest.mark.parametrize("way", [(), ("-R",)], ids=["forth", "back"])
def test_engines(pair, stream_json, flows, engine, way):
    report = run(pair, stream_json, "-n", "50M", "-P", flows, "-T", min(flows, 2),
                 "--engine", engine, *way)
    for role in ("sender", "receiver"):
        assert side_of(report, report["directions"][0], role)["engine"] == engine, role


def test_engine_null_moves_nothing_over_the_cable(pair, stream_json):
    before = pair.a.counters()["tx_bytes"]
    report = stream_json(pair.a, pair.server, *QUICK, "--engine", "null")
    d, = report["directions"]
    assert d["total_sent_bytes"] > 0
    assert pair.a.counters()["tx_bytes"] - before < 1000000
    assert report["partial"] is False


@pytest.mark.parametrize("payload", ["random", "zero", "pattern"])
def test_payloads(pair, stream_json, payload):
    report = run(pair, stream_json, "-n", "5M", "--payload", payload)
    assert report["plan"]["payload"] == payload


@pytest.mark.parametrize("length", ["1", "1000", "65537", "1Mi"])
@pytest.mark.parametrize("way", [(), ("-R",), ("--bidir",)], ids=["forth", "back", "both"])
def test_verify_finds_every_byte_right(pair, stream_json, length, way):
    size = "50k" if length == "1" else "20M"
    report = run(pair, stream_json, "-n", size, "-l", length, "-P", 3, "--verify", *way)
    assert "corrupt" not in warnings(report)
    for d in report["directions"]:
        assert side_of(report, d, "receiver")["run"]["rx_corrupt"] == 0


def test_socket_buffers_are_read_back(pair, stream_json):
    report = run(pair, stream_json, "-n", "1M", "--sndbuf", "64Ki", "--rcvbuf", "128Ki")
    d, = report["directions"]
    assert side_of(report, d, "sender")["sndbuf_bytes"] == 2 * 65536
    assert side_of(report, d, "receiver")["rcvbuf_bytes"] == 2 * 131072
    assert "buffers_clamped" not in warnings(report)


def test_a_buffer_over_the_limit_is_told(pair, stream_json):
    report = run(pair, stream_json, "-n", "1M", "--rcvbuf", "1Gi")
    assert "buffers_clamped" in warnings(report)


def test_flows_of_a_busy_server_are_counted_apart(pair, stream_json, netdyno, slow):
    """A second test on the same server changes no count of the first."""
    other = pair.a.spawn([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "-t", "20s",
                          "-b", "5M", "-R", "--json-lines", "-o", "json"])
    other.wait_line('"interval"', 20 * slow)
    report = run(pair, stream_json, *QUICK, "-P", 4)
    assert "overlapped" in warnings(report)
    other.stop()
    poll("line of the other test", lambda: "test 1 from" in pair.server.stderr, 10 * slow)


@pytest.mark.plain
@pytest.mark.parametrize("flags", [(), ("-R",), ("--bidir",), ("-u", "-b", "10M")])
def test_window_is_not_cut_by_the_drain_limit(pair, stream_json, flags):
    """The limit on waiting for the tail counts from the end of sending, not from the start."""
    report = run(pair, stream_json, "-t", "3s", "--warmup", "0", "--drain", "1s", *flags)
    for direction in report["directions"]:
        assert direction["window_s"] > 2.8
    assert not report["partial"]
