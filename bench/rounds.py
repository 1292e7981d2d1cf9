# SPDX-License-Identifier: MIT
"""Rounds of a comparison: calibrated, alternating, void when the machine was not quiet; tables.

The speed of a machine may swing by two within minutes, so absolute figures are no gates: a figure
is the median over rounds of the ratio of two tools that ran one right after the other.
"""
import argparse
import datetime
import hashlib
import json
import os
import platform
import statistics
import sys
import time

import lib

CALIBRATION_LIMIT = 0.15  # relative change of a calibration loop over a round
FOREIGN_LIMIT = 0.15      # cores, mean over a run
SAMPLES = 9
QUIET_S = 15.0            # at most, until the machine is as fast as it has been
LOOKS = 2                 # rounds, void or not, after which a peer that is far behind runs no more
BEHIND = 0.7              # of the best of its kind, in each of them
DONE, MISSED, NOTHING = 0, 1, 77


def _fastest(work):
    best = None
    for _ in range(SAMPLES):
        start = time.perf_counter_ns()
        work()
        took = time.perf_counter_ns() - start
        best = took if best is None else min(best, took)
    return best


def _alu():
    hashlib.pbkdf2_hmac("sha256", b"fixed", b"work", 4000)


def _getppid(call=os.getppid):
    for _ in range(4000):
        call()


def calibrate(cpus):
    """Nanoseconds of fixed work on each CPU: the fastest of a few tries, so that a preemption is
    not taken for a slow machine."""
    home = os.sched_getaffinity(0)
    speed = {}
    try:
        for cpu in sorted(cpus):
            os.sched_setaffinity(0, {cpu})
            speed[f"alu cpu{cpu}"] = _fastest(_alu)
            speed[f"getppid cpu{cpu}"] = _fastest(_getppid)
    finally:
        os.sched_setaffinity(0, home)
    return speed


def _slowest(speed, fastest):
    """How much longer than ever before the fixed work takes, at worst."""
    return max(took / fastest[what] - 1 for what, took in speed.items())


def _far_behind(looks, fields):
    """Tools that were far behind the best of each field they are in, in each of the rounds.
    fields: (metric, names), more is better."""
    behind, ahead = set(), set()
    for metric, names in fields:
        for name in names:
            late = all(name in look and look[name][metric] < BEHIND * max(
                look[n][metric] for n in names if n in look) for look in looks)
            (behind if late else ahead).add(name)
    return behind - ahead


def _why_void(before, after, samples):
    """Why a round does not count; an empty list when it does."""
    why = []
    moved, what = max((abs(after[k] / before[k] - 1), k) for k in before)
    if moved > CALIBRATION_LIMIT:
        why.append(f"calibration moved by {100 * moved:.0f} % ({what})")
    for label, sample in samples.items():
        for key, name in (("foreign_cores", "foreign CPU"), ("steal_cores", "stolen CPU")):
            if sample.get(key, 0.0) > FOREIGN_LIMIT:
                why.append(f"{name} {sample[key]:.2f} cores beside {label}")
        if sample.get("void"):
            why.append(f"{label}: {sample['void']}")
    return why


class Rounds:
    """Runs rounds within the bounds that options() read from the command line."""

    def __init__(self, args):
        self.wanted = args.rounds
        self.keep_void = args.keep_void
        self.deadline = time.monotonic() + args.limit
        self.fastest = {}

    def _wait_quiet(self, cpus):
        """Begin no round while the machine is slower than it was; what lasts is no longer waited
        for. Return the calibration."""
        patience = min(time.monotonic() + QUIET_S, self.deadline)
        while True:
            speed = calibrate(cpus)
            for what, took in speed.items():
                self.fastest[what] = min(took, self.fastest.get(what, took))
            if _slowest(speed, self.fastest) <= CALIBRATION_LIMIT:
                return speed
            if time.monotonic() > patience:
                self.fastest.update(speed)
                return speed

    def run(self, title, tools, cpus, may_fail=(), wanted=None, fields=()):
        """tools: label -> function that makes one run and returns its figures, run in this order
        in every round. A round that is void is repeated, up to three times the wanted number in
        all. wanted: rounds, where fewer than asked will do. A tool of may_fail that fails is left
        out from then on, and so is one that is far behind the best of its fields: of these only the
        best one counts. Return a record; its .rounds hold label -> figures."""
        wanted = min(wanted or self.wanted, self.wanted)
        record = {"case": title, "wanted": wanted, "rounds": [], "void": [], "failed": {},
                  "behind": []}
        tools, looks = dict(tools), []
        while len(record["rounds"]) < wanted and len(looks) < 3 * wanted:
            if time.monotonic() > self.deadline:
                record["stopped"] = "time limit"
                break
            before = self._wait_quiet(cpus)
            try:
                samples = self._samples(tools, may_fail, record["failed"])
            except lib.Failed as e:
                record["stopped"] = str(e)
                break
            why = _why_void(before, calibrate(cpus), samples)
            looks.append(samples)
            if why:
                record["void"].append(why)
            if not why or self.keep_void:
                record["rounds"].append(samples)
            print(f"{title}: round {len(looks)}: {'; '.join(why) if why else 'good'}",
                  file=sys.stderr, flush=True)
            if len(looks) == LOOKS:
                record["behind"] = sorted(_far_behind(looks, fields))
                for name in record["behind"]:
                    del tools[name]
        return record

    @staticmethod
    def _samples(tools, may_fail, failed):
        samples = {}
        for label, once in list(tools.items()):
            try:
                samples[label] = once()
            except lib.Failed as e:
                if label not in may_fail:
                    raise
                failed[label] = " ".join(str(e).split())[:CELL]
                print(f"left out: {label}: {e}", file=sys.stderr, flush=True)
                del tools[label]
        return samples


def _median(values):
    return statistics.median(values) if values else None


def judge(record, metric, subject, peer=None, target=None, limit=None):
    """One row of the table. target: ('>=' or '<=', number) for the ratio subject/peer; limit: the
    same for the subject's own figure."""
    pairs = [p for p in record["rounds"] if subject in p and (not peer or peer in p)]
    row = {"case": record["case"], "metric": metric, "valid": len(pairs),
           "void": len(record["void"]), "stopped": record.get("stopped"),
           "subject": _median([p[subject][metric] for p in pairs])}
    if peer:
        row["peer"] = _median([p[peer][metric] for p in pairs])
        row["ratio"] = _median([p[subject][metric] / p[peer][metric] for p in pairs
                                if p[peer][metric]])
    wanted, figure = (target, row.get("ratio")) if target else (limit, row["subject"])
    row["target"] = f"{'ratio ' if target else ''}{wanted[0]} {wanted[1]:g}" if wanted else None
    row["met"] = None
    if wanted and figure is not None and len(pairs) >= record["wanted"]:
        row["met"] = figure >= wanted[1] if wanted[0] == ">=" else figure <= wanted[1]
    return row


CELL = 160        # characters of a reason
NEAR_RAW = 0.95  # so near the raw program counts as reached where that leaves no room for the target
ROOM = 1.10      # what is room


def best(record, metric, names, high=True):
    """The name with the best median."""
    figures = {n: _median([p[n][metric] for p in record["rounds"] if n in p]) for n in names}
    figures = {n: f for n, f in figures.items() if f is not None}
    return (max if high else min)(figures, key=figures.get) if figures else None


def judge_best(record, metric, subject, peers, target, raw=None, of_raw=None, rival=None):
    """As judge(), beside the best of some peers, with the raw program beside.

    rival: the peer, where another figure than this one has chosen it. of_raw: the target for the
    ratio subject/raw, where that is asked and not the peers. Where the raw program leaves less than
    ROOM above the target, NEAR_RAW of it counts as reached.
    """
    high = (target or of_raw or (">=", 0))[0] == ">="
    peer = rival or best(record, metric, peers, high)
    row = judge(record, metric, subject, peer, target)
    row["peer_name"], row["of_raw"] = peer, None
    pairs = [p for p in record["rounds"] if raw in p and subject in p]
    if raw:
        row["raw_name"] = raw
        row["raw"] = _median([p[raw][metric] for p in pairs])
        row["of_raw"] = _median([p[subject][metric] / p[raw][metric] for p in pairs
                                 if p[raw][metric]])
    if of_raw:
        row["target"] = f"of raw {of_raw[0]} {of_raw[1]:g}"
        row["met"] = None
        if row["of_raw"] is not None and len(pairs) >= record["wanted"]:
            row["met"] = row["of_raw"] >= of_raw[1] if high else row["of_raw"] <= of_raw[1]
    elif row["met"] is False and row["of_raw"] and row.get("peer"):
        room = row["raw"] / row["peer"] / target[1]
        near = row["of_raw"] >= NEAR_RAW if high else row["of_raw"] <= 1 / NEAR_RAW
        row["met"] = near and (room < ROOM if high else room > 1 / ROOM)
        row["by_raw"] = row["met"]
    return row


def notes(record):
    """Sentences about tools that did not run in every round."""
    said = [f"{name} failed: {why}" for name, why in record["failed"].items()]
    if record["behind"]:
        said.append(f"{record['case']}: far behind in {LOOKS} rounds, and left out then: "
                    + ", ".join(record["behind"]))
    return said


def _figure(value):
    return "-" if value is None else f"{value:.4g}"


def _verdict(row):
    if row["met"] is None:
        return "none: too few valid rounds" if row["target"] else "-"
    if row.get("by_raw"):
        return "met: raw leaves no more"
    return "met" if row["met"] else "**missed**"


def _cells(row, peer, with_raw):
    """One line of the table."""
    rounds = f"{row['valid']}" + (f", {row['void']} void" if row["void"] else "")
    if row["stopped"]:
        rounds += f", stopped: {row['stopped'][:CELL]}"
    cells = [row["case"], row["metric"], _figure(row["subject"])]
    if peer:
        figure = _figure(row.get("peer"))
        if row.get("peer_name"):
            figure += f" ({row['peer_name']})"
        cells += [figure, _figure(row.get("ratio"))]
    if with_raw:
        figure = _figure(row.get("raw"))
        if row.get("raw") is not None:
            figure += f" ({row['raw_name']})"
        cells += [figure, _figure(row.get("of_raw"))]
    cells += [row["target"] or "-", _verdict(row), rounds]
    return "| " + " | ".join(str(c).replace("|", "/").replace("\n", " ") for c in cells) + " |"


def markdown(rows, subject, peer):
    with_raw = any("raw_name" in row for row in rows)
    head = ["case", "figure", subject, *([peer, "ratio"] if peer else []),
            *(["raw", "of raw"] if with_raw else []), "target", "verdict", "rounds"]
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head),
                      *(_cells(row, peer, with_raw) for row in rows)])


def facts():
    return {"time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "kernel": platform.release(), "cpus": len(os.sched_getaffinity(0)),
            "load": round(os.getloadavg()[0], 2)}


def options(purpose, seconds=2, places="same", choices=lib.PLACES):
    """The options that all comparisons have."""
    p = argparse.ArgumentParser(description=purpose)
    p.add_argument("--rounds", type=int, default=5, help="valid rounds wanted (default 5)")
    p.add_argument("--seconds", type=int, default=seconds,
                   help=f"measured time of a run (default {seconds})")
    p.add_argument("--place", default=places, choices=choices,
                   help=f"both ends on one CPU, on two, or left to the scheduler ({places})")
    p.add_argument("--cc", default="cubic", help="congestion control of all tools (cubic)")
    p.add_argument("--limit", type=float, default=600.0,
                   help="seconds after which no further round begins (default 600)")
    p.add_argument("--keep-void", action="store_true",
                   help="count void rounds too; the figures mean nothing then")
    p.add_argument("--json", metavar="FILE", help="write everything that was measured")
    p.add_argument("--subject", default="netdyno", help=argparse.SUPPRESS)
    return p


def parse(parser):
    args = parser.parse_args()
    if args.rounds < 1 or args.seconds < 1:
        parser.error("--rounds and --seconds begin at 1")
    return args


def report(title, args, rows, records, **more):
    """Print the table, write the JSON; return the exit code."""
    about = {**facts(), "place": args.place, "cc": args.cc, "seconds": args.seconds,
             "subject": args.subject, **more}
    if args.keep_void:
        about["keep_void"] = True
    print(f"### {title}\n")
    print(", ".join(f"{key} {'; '.join(value) if isinstance(value, list) else value}"
                    for key, value in about.items()) + "\n")
    print(markdown(rows, more.get("subject", args.subject), more.get("peer")))
    if args.keep_void and any(row["void"] for row in rows):
        print("\nVoid rounds are counted: no result.")
    print(flush=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"title": title, "about": about, "rows": rows, "records": records}, f,
                      indent=1)
            f.write("\n")
    if any(row["met"] is False and not (args.keep_void and row["void"]) for row in rows):
        return MISSED
    return DONE if any(row["valid"] for row in rows) else NOTHING


def guard(main):
    """Run a comparison's main(): a Skip is one sentence and exit code 77, a failure 1."""
    lib.tidy_exit()
    try:
        code = main()
    except lib.Skip as e:
        print(f"skipped: {e}")
        code = NOTHING
    except lib.Failed as e:
        print(f"failed: {e}", file=sys.stderr)
        code = MISSED
    sys.exit(code)
