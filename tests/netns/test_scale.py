# SPDX-License-Identifier: MIT
"""Many flows on two threads, through the loopback interface of one host."""
import json
import re
import resource

import pytest

from kit import ntttcp
from kit.report import check_report, side_of, warnings


@pytest.fixture
def alone(lab, serve, stream_json):
    """run(*args, **options): a client and its server in one host."""
    net = lab()

    def run(*args, **options):
        run.server = run.server or serve(net.a)
        return stream_json(net.a, "127.0.0.1", "-p", run.server.port, "-T", 2, *args, timeout=100,
                           **options)

    run.server, run.host = None, net.a
    return run


def plain(slow):
    if slow > 1:
        pytest.skip("plain build only")


@pytest.mark.parametrize("way", [(), ("-R",)], ids=["forth", "back"])
def test_a_thousand_flows(alone, way):
    report = alone("-P", 1000, "-t", "1s", "--warmup", "0.5s", *way)
    d = check_report(report)
    assert d["flows"] == 1000 and d["failed_flows"] == 0
    assert all(row["received_bytes"] > 0 for row in d["flow_rows"])
    assert "same_host" in warnings(report)


def test_a_thousand_flows_both_ways_by_bytes(alone):
    report = alone("-P", 1000, "--bidir", "-n", "100M")
    check_report(report)
    assert [d["total_received_bytes"] for d in report["directions"]] == [100000000] * 2


def test_a_thousand_datagram_flows(alone):
    report = alone("-u", "-P", 1000, "-t", "1s", "--warmup", "0.2s", "-b", "40M", "-l", 500)
    d = check_report(report)
    assert all(row["received_messages"] > 0 for row in d["flow_rows"])


def test_round_trips_of_a_thousand_flows(alone):
    report = alone("--shape", "rr", "-P", 1000, "-t", "1s", "--warmup", "0.2s")
    d, = report["directions"]
    assert report["partial"] is False and d["failed_flows"] == 0
    assert all(row["received_messages"] > 0 for row in d["flow_rows"])


def test_ten_thousand_flows(alone, slow):
    plain(slow)
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 10100:
        pytest.skip("too few descriptors")
    report = alone("-P", 10000, "-t", "1s", "--warmup", "1s")
    d = check_report(report)
    assert d["flows"] == len(d["flow_rows"]) == 10000 and d["failed_flows"] == 0


@pytest.mark.limit(180)
def test_thirty_thousand_flows_with_descriptor_tables_of_their_own(alone, slow):
    plain(slow)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if limit > 60000:
        pytest.skip("one table is enough here")
    if limit < 15100:
        pytest.skip("too few descriptors")
    sources = ",".join(f"127.0.0.{n}" for n in range(2, 6))
    report = alone("-P", 30000, "-t", "1s", "--warmup", "1s", "-B", sources)
    d = check_report(report)
    assert d["flows"] == len(d["flow_rows"]) == 30000 and d["failed_flows"] == 0
    # and the server serves the next one
    check_report(alone("-n", "1M", "-P", 2))


def test_ten_thousand_flows_of_sixteen_threads(alone, slow):
    plain(slow)
    for _ in range(2):
        check_report(alone("-P", 9500, "-T", 16, "-n", "9M"))


@pytest.mark.parametrize("flows", [300, 450, 900])
def test_flows_of_a_server_with_a_thousand_descriptors(alone, netdyno, slow, flows):
    if flows > 512:  # needs descriptor tables of their own
        plain(slow)
    host = alone.host
    port = host.free_port()
    server = host.spawn(["sh", "-c", 'ulimit -n 1024; exec "$@"', "sh", netdyno, "serve", "-p",
                         port])
    server.wait_line("listening", 20 * slow, "stderr")
    for _ in range(4):
        done = host.run([netdyno, "stream", "127.0.0.1", "-p", port, "-P", flows, "-n", "3M",
                         "-o", "json"])
        assert done.returncode == 0, done.stderr


def test_descriptor_tables_of_their_own_at_a_lower_limit(alone, netdyno, slow):
    """The same, small: 1,200 flows where a process may have 800 descriptors."""
    plain(slow)  # TSan takes equal numbers in two tables for one descriptor
    host = alone.host
    port = host.free_port()
    low = ["sh", "-c", 'ulimit -n 800; exec "$@"', "sh"]
    server = host.spawn([*low, netdyno, "serve", "-p", port])
    server.wait_line("listening", 20 * slow, "stderr")
    for way in ((), ("-R",), ("--bidir",), ("-u", "-b", "10M")):
        flows = 600 if way == ("--bidir",) else 1200
        done = host.run([*low, netdyno, "stream", "127.0.0.1", "-p", port, "-P", flows, "-T", 2,
                         "-n", "3M", *way, "-o", "json"])
        assert done.returncode == 0, (way, done.stderr)
        report = json.loads(done.stdout)
        check_report(report)
        for d in report["directions"]:
            assert d["total_received_bytes"] == 3000000
            assert side_of(report, d, "sender")["run"]["tx_bytes"] == 3000000


def test_flows_beyond_all_descriptors_are_refused(alone, netdyno, slow):
    host = alone.host
    low = ["sh", "-c", 'ulimit -n 200; exec "$@"', "sh"]
    port = host.free_port()
    server = host.spawn([netdyno, "serve", "-p", port])
    server.wait_line("listening", 20 * slow, "stderr")
    done = host.run([*low, netdyno, "stream", "127.0.0.1", "-p", port, "-P", 500, "-T", 2])
    assert done.returncode in (1, 2)
    assert len(done.stderr.splitlines()) == 1 and "descriptors" in done.stderr
    assert "500" in done.stderr and "200" in done.stderr and "2 threads" in done.stderr


def test_source_ports_that_do_not_suffice(alone, netdyno):
    host = alone.host
    host.sysctl("net.ipv4.ip_local_port_range", "40000 40099")
    done = host.run([netdyno, "stream", "127.0.0.1", "-P", 101, "-T", 2])
    assert done.returncode in (1, 2)
    said, = done.stderr.splitlines()
    assert "-P 101" in said and "100 ports" in said and "-B" in said
    done = host.run([netdyno, "stream", "127.0.0.1", "-P", 300, "-T", 2, "-B",
                     "127.0.0.2,127.0.0.3"])
    said, = done.stderr.splitlines()
    assert "2 source addresses" in said and "100 ports each" in said


def test_several_sources_lift_the_limit_of_ports(alone):
    alone.host.sysctl("net.ipv4.ip_local_port_range", "40000 40199")
    report = alone("-P", 500, "-n", "5M", "-B", "127.0.0.2,127.0.0.3,127.0.0.4,127.0.0.5")
    assert check_report(report)["total_received_bytes"] == 5000000


def test_ports_taken_by_others_are_told(alone, netdyno, slow):
    """The range is wide enough, but others sit on it."""
    host = alone.host
    server = host.spawn([netdyno, "serve", "-p", 7575])
    server.wait_line("listening", 20 * slow, "stderr")
    host.sysctl("net.ipv4.ip_local_port_range", "40000 40019")
    held = []
    for port in range(40000, 40012):
        s = host.socket()
        s.bind(("", port))
        s.listen()
        held.append(s)
    done = host.run([netdyno, "stream", "127.0.0.1", "-P", 16, "-n", "1M"])
    for s in held:
        s.close()
    assert done.returncode in (1, 3)
    assert "no source port" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("also", [False, True], ids=["receiver", "server"])
def test_many_connections_to_another_tools_receiver(alone, netdyno, tmp_path, slow, also):
    """Seven hundred at once: more than one round of what it accepts, and of what it sets up."""
    host, folder = alone.host, ntttcp.links(tmp_path, netdyno)
    if also:
        server = host.spawn([netdyno, "serve", "-p", host.free_port(), "--also", "ntttcp:5001+64"])
        server.wait_line("serving ntttcp", 20 * slow, "stderr")
    else:
        server = host.spawn([folder / "ntttcp", "-r", "-P", 64, "-t", 1])
        server.wait_line("threads created", 20 * slow)
    sender = host.spawn([folder / "ntttcp", "-s127.0.0.1", "-P", 64, "-n", 11, "-t", 1])
    ntttcp.ended(sender, within=60)
    assert "704 connections tested" in sender.stdout
    if also:
        server.wait_line("ntttcp test 1: TCP 704 flows", 20 * slow, "stderr")
    else:
        ntttcp.ended(server, within=20)
        assert re.search(r"throughput\s*:[0-9.]+", server.stdout)
