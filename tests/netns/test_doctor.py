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


def firewall_of(host, netdyno, chain, *args):
    host.run(["nft", "flush", "ruleset"], check=True)
    host.run(["nft", "-f", "-"], input=f"""table inet wall {{
        set shut {{ type inet_service; elements = {{ 22, 7575 }}; }}
        chain more {{ tcp dport 7575 drop; }}
        chain in {{ type filter hook input priority 0; {chain} }}
    }}""", check=True)
    return check(doctor(host, netdyno, "--iface", host.dev, *args), "firewall", "here")


@pytest.mark.parametrize("chain, words", [
    ("udp dport 7575 drop;", "drops UDP to port 7575"),
    ("tcp dport { 22, 7000-8000 } reject;", "drops TCP to port 7575"),
    ("tcp dport @shut counter drop;", "drops TCP to port 7575"),
    ("ct state established accept; jump more;", "wall more drops TCP to port 7575"),
    ("meta nfproto ipv4 meta l4proto udp drop;", "drops UDP over IPv4"),
    ("ip protocol udp th dport 7575 drop;", "drops UDP over IPv4 to port 7575"),
    ("udp dport vmap { 53 : accept, 7575 : drop };", "drops UDP to port 7575"),
    ("policy drop; tcp dport 7575 accept;", "policy of inet wall in drops UDP to port 7575"),
    ('iifname "lo" accept; drop;', "drops TCP to port 7575"),
])
@pytest.mark.plain
def test_a_rule_that_drops_the_port(pair, netdyno, chain, words):
    found = firewall_of(pair.a, netdyno, chain)
    assert found["severity"] == "warning" and words in found["finding"], found["finding"]


@pytest.mark.parametrize("chain, words", [
    ("tcp dport 22 drop;", "let the test's port in"),
    ("tcp dport 7575 accept; tcp dport @shut drop;", "let the test's port in"),
    ("policy drop; ct state { established, related } accept; meta l4proto { tcp, udp } th dport 7575 accept;",
     "let the test's port in"),
    ("ct state invalid drop; tcp flags & (fin|syn|rst|ack) != syn ct state new drop;", "let the test's port in"),
    ('iifname "lo" drop;', "let the test's port in"),
    ("ip saddr 192.0.2.0/24 udp dport 7575 drop;", "may drop UDP over IPv4 to port 7575"),
    ("@th,16,16 7575 ip dscp 3 drop;", "may drop"),
])
@pytest.mark.plain
def test_a_rule_that_need_not_drop_it(pair, netdyno, chain, words):
    found = firewall_of(pair.a, netdyno, chain)
    assert found["severity"] == "note" and words in found["finding"], found["finding"]


def test_the_port_asked_for_is_the_one_that_is_judged(pair, netdyno):
    rule = "udp dport 9999 drop;"
    assert firewall_of(pair.a, netdyno, rule)["severity"] == "note"
    assert firewall_of(pair.a, netdyno, rule, "-p", 9999)["severity"] == "warning"


def test_ports_of_other_tools(pair, netdyno):
    rule = "tcp dport { 5000, 5016 } drop; udp dport 11111 drop;"
    assert firewall_of(pair.a, netdyno, rule)["severity"] == "note"
    assert firewall_of(pair.a, netdyno, rule, "--also", "ntttcp:6001,netperf")["severity"] == "note"
    found = firewall_of(pair.a, netdyno, rule, "--also", "ntttcp", "--also", "sockperf")["finding"]
    assert "TCP to port 5000" in found and "TCP to port 5016" in found and "UDP to port 11111" in found
    shut = firewall_of(pair.a, netdyno, "policy drop;", "--also", "ntttcp")
    assert shut["severity"] == "warning" and shut["finding"].endswith("and more")


def test_rules_that_nobody_may_read(pair, netdyno):
    firewall_of(pair.a, netdyno, "udp dport 7575 drop;")
    p = pair.a.run(["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin", netdyno, "doctor",
                    "-o", "json"], timeout=60)
    assert p.returncode in (0, 4), p.stderr
    found = check(json.loads(p.stdout), "firewall", "here")
    assert found["severity"] == "unknown" and "root" in found["finding"]


def test_rules_of_iptables(pair, netdyno):
    if pair.a.run(["sh", "-c", "command -v iptables-nft"]).returncode:
        pytest.skip("iptables-nft is not installed")
    add = ["iptables-nft", "-A", "INPUT"]
    pair.a.run([*add, "-p", "tcp", "-m", "multiport", "--dports", "1,7575", "-j", "DROP"], check=True)
    found = check(doctor(pair.a, netdyno), "firewall", "here")
    assert found["severity"] == "note" and "could not be read" in found["finding"]
    pair.a.run([*add, "-p", "udp", "--dport", "7575", "-j", "REJECT"], check=True)
    found = check(doctor(pair.a, netdyno), "firewall", "here")
    assert found["severity"] == "warning" and "UDP over IPv4 to port 7575" in found["finding"]


def test_a_shaper_is_named(pair, netdyno):
    pair.a.rate("50mbit")
    found = check(doctor(pair.a, netdyno, "--iface", pair.a.dev), "qdisc", "here")
    assert found["severity"] == "warning" and "tbf" in found["finding"]


@pytest.mark.parametrize("args, words", [
    (["--iface", "nope0"], "nope0"), (["-4", "-6", "192.0.2.1"], "exclude"), (["--also", "nope"], "sockperf[:PORT]"), ([""], "HOST"),
])
def test_what_cannot_be(netdyno, args, words):
    p = subprocess.run([netdyno, "doctor", *args], capture_output=True, text=True, timeout=20)
    assert p.returncode == 2 and words in p.stderr and not p.stdout
