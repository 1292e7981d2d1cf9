# SPDX-License-Identifier: MIT
"""doctor: the size that crosses, the port that is shut, the peer's own findings; and its exit codes."""
import json
import subprocess

import pytest



def doctor(host, netdyno, *args, timeout=60):
    p = host.run([netdyno, "doctor", "-o", "json", *map(str, args)], timeout=timeout)
    assert p.returncode in (0, 4), p.stderr
    report = json.loads(p.stdout)
    assert (p.returncode == 4) == (report["warnings"] > 0)
    warned = [c for c in report["checks"] if c["severity"] == "warning"]
    assert len(warned) == report["warnings"]
    for c in warned:
        assert c["finding"] and c["why"] and c["mend"]
    return report


def check(report, key, where="path"):
    found, = [c for c in report["checks"] if c["key"] == key and c["where"] == where]
    return found


@pytest.fixture
def far(lab, serve):
    """a - r - b, with a server on b."""
    net = lab(hosts=3)
    net.server = serve(net.b)
    return net


def ask(net, netdyno, *args):
    return doctor(net.a, netdyno, net.b.ip4, "-p", net.server.port, *args)


def test_all_is_well(far, netdyno):
    report = ask(far, netdyno)
    assert check(report, "path_mtu")["severity"] == "ok"
    assert "1500" in check(report, "path_mtu")["finding"]
    for key in ("tcp_port", "udp_port", "clocks"):
        assert check(report, key)["severity"] == "ok", check(report, key)
    assert check(report, "rtt")["severity"] == "ok"


def narrow(net, size):
    """The router's end of the cable to the server: a sees it nowhere."""
    net.r.mtu(size, net.r.devs[1])


@pytest.mark.parametrize("family", [4, 6])
def test_a_router_that_says_so(far, netdyno, family):
    narrow(far, 1400)
    target = far.b.ip4 if family == 4 else far.b.ip6
    report = doctor(far.a, netdyno, target, "-p", far.server.port)
    found = check(report, "path_mtu")
    router = far.r.addrs4[0] if family == 4 else far.r.addrs6[0]
    assert found["severity"] == "warning"
    assert "1400 bytes cross" in found["finding"] and "1401 do not" in found["finding"]
    assert f"{router} says 1400" in found["finding"]


@pytest.mark.plain
def test_a_router_that_keeps_silent(far, netdyno):
    narrow(far, 1337)
    far.r.drop(proto="icmp", where="out")  # its own words; what it forwards is not among them
    found = check(ask(far, netdyno), "path_mtu")
    assert found["severity"] == "warning"
    assert "1337 bytes cross" in found["finding"] and "nobody on the way" in found["finding"]


def test_jumbo_frames_that_end_halfway(lab, serve, netdyno):
    net = lab(hosts=3, mtu=9000)
    net.server = serve(net.b)
    assert "9000 bytes cross" in check(ask(net, netdyno), "path_mtu")["finding"]
    narrow(net, 1500)
    found = check(ask(net, netdyno), "path_mtu")
    assert found["severity"] == "warning" and "1500 bytes cross" in found["finding"]


def test_a_host_that_answers_no_echo(pair, netdyno):
    pair.b.drop(proto="icmp")
    found = check(ask(pair, netdyno), "path_mtu")
    assert found["severity"] == "unknown" and "no echo" in found["finding"]


def test_udp_is_dropped(pair, netdyno):
    pair.b.drop(proto="udp", dport=pair.server.port)
    report = ask(pair, netdyno)
    assert check(report, "tcp_port")["severity"] == "ok"
    found = check(report, "udp_port")
    assert found["severity"] == "warning"
    assert "UDP" in found["finding"] and str(pair.server.port) in found["finding"]
    assert "firewall" in found["finding"]


def test_tcp_is_dropped(pair, netdyno):
    pair.b.drop(proto="tcp", dport=pair.server.port)
    report = ask(pair, netdyno)
    found = check(report, "tcp_port")
    assert found["severity"] == "warning" and "firewall" in found["finding"]
    assert check(report, "udp_port")["severity"] == "unknown"


def test_nothing_listens(pair, netdyno):
    report = doctor(pair.a, netdyno, pair.b.ip4, "-p", pair.b.free_port())
    found = check(report, "tcp_port")
    assert found["severity"] == "warning" and "nothing listens" in found["finding"]


def test_a_firewall_that_drops_by_policy(pair, netdyno):
    pair.a.run(["nft", "add", "table", "inet", "shut"], check=True)
    pair.a.run(["nft", "add", "chain", "inet", "shut", "in",
                "{ type filter hook input priority 0; policy drop; }"], check=True)
    found = check(doctor(pair.a, netdyno), "firewall", "here")
    assert found["severity"] == "warning" and "shut in" in found["finding"]


def test_a_shaper_is_named(pair, netdyno):
    pair.a.rate("50mbit")
    found = check(doctor(pair.a, netdyno, "--iface", pair.a.dev), "qdisc", "here")
    assert found["severity"] == "warning" and "tbf" in found["finding"]


@pytest.mark.parametrize("args, words", [
    (["--iface", "nope0"], "nope0"), (["-4", "-6", "192.0.2.1"], "exclude"), ([""], "HOST"),
])
def test_what_cannot_be(netdyno, args, words):
    p = subprocess.run([netdyno, "doctor", *args], capture_output=True, text=True, timeout=20)
    assert p.returncode == 2 and words in p.stderr and not p.stdout
