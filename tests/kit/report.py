# SPDX-License-Identifier: MIT
"""What holds for every report of a whole test: counts of the program compared with each other."""


def phase(direction, name="measure"):
    return [i for i in direction["intervals"] if i["phase"] == name]


def total(rows, key):
    """The sum; an end that had finished by then has no figure."""
    return sum(row[key] or 0 for row in rows)


def near(a, b, ratio):
    return abs(a - b) <= ratio * max(abs(a), abs(b))


def warnings(report):
    return [w["key"] for w in report["warnings"]]


def side_of(report, direction, role):
    """What the "sender" or "receiver" of a direction measured of its workload."""
    part, = [p for p in report[direction[role]]["parts"]
             if p["workload"] == direction["workload"]]
    return part


def _check_intervals(d):
    rows = d["intervals"]
    order = ["warmup", "measure", "cooldown", "drain"]
    phases = [order.index(i["phase"]) for i in rows]
    assert phases == sorted(phases), phases
    for before, after in zip(rows, rows[1:]):
        assert before["end_s"] >= before["start_s"]
        assert after["start_s"] >= before["start_s"]
    for way in ("sent", "received"):
        key = f"{way}_bytes"
        assert total(phase(d), key) == d[key], f"{key} of the window"
        assert total(rows, key) == d[f"total_{key}"], f"{key} of the run"
        if d["datagram"] or d["transactional"]:
            key = f"{way}_messages"
            assert total(rows, key) == d[f"total_{key}"], f"{key} of the run"


def _check_flows(d):
    rows = d["flow_rows"]
    assert [r["flow"] - rows[0]["flow"] for r in rows] == list(range(d["flows"]))
    assert [r["error"] for r in rows if r["error"]] == [] and d["failed_flows"] == 0
    assert total(rows, "sent_bytes") == d["total_sent_bytes"]
    assert total(rows, "received_bytes") == d["total_received_bytes"]
    in_window = total(rows, "goodput_bps") * d["window_s"] / 8
    assert near(in_window, d["received_bytes"], 1e-6), (in_window, d["received_bytes"])
    if d["flows"] > 1:
        assert d["start_skew_ms"] >= d["start_skew_p50_ms"] >= 0
        if d["total_received_bytes"]:
            spread = d["spread"]
            assert spread["min_bps"] <= spread["median_bps"] <= spread["max_bps"]
            assert 1 / d["flows"] - 1e-9 <= spread["jain"] <= 1 + 1e-9 or not d["received_bytes"]
    else:
        assert d["start_skew_ms"] is None


def _check_sides(report, d):
    sent, got = (side_of(report, d, role) for role in ("sender", "receiver"))
    assert sent["active"] and not got["active"]
    assert sent["run"]["tx_bytes"] == d["total_sent_bytes"]
    assert got["run"]["rx_bytes"] == d["total_received_bytes"]
    assert sent["window"]["tx_bytes"] == d["sent_bytes"]
    assert got["window"]["rx_bytes"] == d["received_bytes"]
    if report["server"]["threads"] == 1:
        rate = 8 * d["received_bytes"] / d["window_s"]
        assert near(rate, d["goodput_bps"], 1e-9), "one worker: the mean is exact"


def check_direction(report, d):
    assert d["total_received_bytes"] <= d["total_sent_bytes"] or d["loss"]["duplicate"]
    assert d["received_bytes"] <= d["total_sent_bytes"] or d["loss"]["duplicate"]
    _check_intervals(d)
    _check_flows(d)
    _check_sides(report, d)
    if d["asked_window_s"] and not near(d["window_s"], d["asked_window_s"], 0.011):
        assert "window_off" in warnings(report)


def check_stream(report, d):
    """Both ends agree to the byte once everything has come."""
    check_direction(report, d)
    assert d["agreed"] is True
    assert d["total_sent_bytes"] == d["total_received_bytes"]
    assert "drain_incomplete" not in warnings(report)


def check_datagrams(report, d):
    """sent = received + lost, and the ledger's rows add up."""
    check_direction(report, d)
    loss = d["loss"]
    assert loss["offered"] == loss["sent"] + loss["refused"]
    assert loss["sent"] == d["total_sent_messages"] == total(d["flow_rows"], "sent_messages")
    assert loss["received"] == total(d["flow_rows"], "received_messages")
    assert loss["received"] + (loss["duplicate"] or 0) == d["total_received_messages"]
    assert loss["sent"] == loss["received"] + loss["lost"]
    assert loss["lost"] == total(d["flow_rows"], "lost_messages")
    assert near(loss["lost_ratio"], loss["lost"] / loss["sent"], 1e-9)
    assert d["agreed"] is (loss["lost"] == 0)
    placed = sum(loss[k] for k in ("qdisc_drops", "sender_nic_drops", "receive_buffer_drops",
                                   "no_port", "checksum", "receiver_nic_drops", "unassembled"))
    assert loss["unplaced"] == max(loss["lost"] - placed, 0)


def check_report(report):
    """A complete test of bulk traffic."""
    assert report["tool"] == "netdyno" and report["partial"] is False
    for d in report["directions"]:
        (check_datagrams if d["datagram"] else check_stream)(report, d)
    return report["directions"][0]
