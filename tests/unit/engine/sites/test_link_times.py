"""How long what was sent was on its way: from the end of the last sender to the last slot that has its messages."""

from __future__ import annotations

from braid.engine.reports import SiteReport
from braid.engine.sites.link_times import observed_links
from braid.plan.layout import Layout, SiteSlots
from braid.state.site_state import LinkObservation, PointSums, Sent

LAYOUT = Layout(1, "sites", (3,), (1,), homes=(0, 1), sites=(SiteSlots("a", (0, 1)), SiteSlots("b", (2,))))


def report(slot: int, number: int, began: int, ended: int, *sent: Sent) -> SiteReport:
    return SiteReport(slot, number, sent=sent, began_us=began, ended_us=ended)


def test_a_round_waits_for_the_last_sender_and_for_its_own_last_slot() -> None:
    reports = [
        report(0, 0, 0, 1_000_000, Sent(0, 1, payload=900, framing=100)),
        report(1, 0, 0, 2_000_000, Sent(0, 1, payload=500)),
        report(2, 0, 0, 1_500_000),
        report(0, 1, 2_100_000, 2_200_000),
        report(1, 1, 2_300_000, 2_400_000),
        report(2, 1, 2_750_000, 2_800_000),
    ]
    assert list(observed_links(LAYOUT, 3, reports)) == [
        LinkObservation("b", "a", idle=PointSums.of(0.0, 0.3)),
        LinkObservation("a", "b", sent=PointSums.of(1500, 0.75)),
    ]


def test_tasks_without_clocks_say_nothing() -> None:
    reports = [SiteReport(slot, number, sent=(Sent(0, 1, 10),)) for slot in range(3) for number in range(2)]
    assert list(observed_links(LAYOUT, 3, reports)) == []


def test_of_several_senders_the_one_that_sent_most_counts() -> None:
    sites = (SiteSlots("a", (0,)), SiteSlots("b", (1,)), SiteSlots("c", (2,)))
    layout = Layout(1, "sites", (3,), (1,), homes=(0, 1, 2), sites=sites)
    reports = [report(slot, 0, 0, 1_000_000, Sent(slot, 2, 10**slot)) for slot in range(2)]
    reports += [report(2, 0, 0, 1_000_000)]
    reports += [report(slot, 1, 1_500_000, 1_600_000) for slot in range(3)]
    found = list(observed_links(layout, 3, reports))
    assert [one for one in found if one.target == "c"] == [LinkObservation("b", "c", sent=PointSums.of(10, 0.5))]
    assert {(one.source, one.target) for one in found if one.idle.points} == {
        ("b", "a"),
        ("c", "a"),
        ("a", "b"),
        ("c", "b"),
    }
