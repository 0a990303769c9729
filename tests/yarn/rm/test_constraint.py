"""Users' placement constraints: what is taken, what is wrong with the rest, and which hosts suit."""

from __future__ import annotations

import pytest

from yarnspec.core.messages.settings import Settings
from yarnspec.core.options.placement import PlacementSettings
from yarnspec.errors import UsageError
from yarnspec.yarn.rm.constraint import check_hosts, check_tags, in_effect, parse

PYTHON = "rm.yarn.io/python"


@pytest.mark.parametrize(
    ("text", "sent", "follows"),
    [
        ("notin,node,all/hbase", "notin,node,all/hbase", False),
        ("NOTIN, rack,a, not-self/b", "notin,rack,a,not-self/b", False),
        ("in,NODE,all/hbase", "in,node,all/hbase", True),
        ("cardinality,node,spark, 00,2147483647", "cardinality,node,spark,0,2147483647", True),
        ("python=3.11", "rm.yarn.io/python=3.11", False),
        (" nm.yarn.io/disk != ssd", "nm.yarn.io/disk!=ssd", False),
        ("or(a=1:and (b=2:in,rack,self/y,z))", "or(rm.yarn.io/a=1:and(rm.yarn.io/b=2:in,rack,self/y,z))", True),
        (" And( python = 3 : notin,node,x ) ", "and(rm.yarn.io/python=3:notin,node,x)", False),
    ],
)
def test_what_is_meant_is_sent_to_yarn_in_its_plain_form(text: str, sent: str, follows: bool) -> None:
    """What YARN makes of each text that is sent: ``UserConstraintTest.java``."""
    assert str(parse(text)) == sent
    assert str(parse(sent)) == sent
    assert parse(text).follows_tags(()) is follows


@pytest.mark.parametrize(
    ("text", "part", "why"),
    [
        ("python=3:notin,node,x", "python=3:notin,node,x", "only inside and("),
        ("and(a=1:in,node)", "in,node", "YARN takes this for always true"),
        ("or(a=1:a=2,3)", "a=2,3", "only the first of several values"),
        ("in,host,x", "in,host,x", "'host' is no scope"),
        ("in,node,app-id/x", "in,node,app-id/x", "'app-id/' is no namespace here"),
        ("notin,node,x,,y", "notin,node,x,,y", "a tag is empty"),
        ("cardinality,node,x,3,1", "cardinality,node,x,3,1", "the least (3) is more than the most (1)"),
        ("cardinality,node,x", "cardinality,node,x", "needs a scope, a tag, the least and the most"),
        ("cardinality,node,x,0,b", "cardinality,node,x,0,b", "no whole numbers"),
        ("cardinality,node,x,0,2147483648", "cardinality,node,x,0,2147483648", "no whole numbers up to 2147483647"),
        ("cardinality,node,x,0,\u0662", "cardinality,node,x,0,\u0662", "no whole numbers"),
        ("and(a=1)", "and(a=1)", "at least two constraints"),
        ("and(a=1:b=2", "and(a=1:b=2", "parentheses do not match"),
        ("and(a=1:b=2)c", "and(a=1:b=2)c", "parentheses do not match"),
        ("not(a=1:b=2)", "not(", "only and(…) and or(…)"),
        ("and(a=1:)", "", "a constraint is missing here"),
        ("near,node,x", "near,node,x", "none of in,SCOPE,TAG"),
        ("=3", "=3", "no name of a node attribute"),
        ("a=", "a=", "no value of a node attribute"),
    ],
)
def test_what_is_wrong_is_named(text: str, part: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(text)
    assert f"'{part}' (from character {text.index(part, 0 if part else text.index(')')) + 1}) is wrong" in str(
        refused.value
    )
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("text", "most", "spread"),
    [
        ("notin,node,etl", 1, True),
        ("and(notin,node,etl:notin,node,all/hbase)", 1, True),
        ("cardinality,node,etl,0,2", 3, True),
        ("and(python=3:and(cardinality,node,self/etl,0,4:cardinality,node,all/job,0,1))", 2, True),
        ("cardinality,node,etl,0,2147483647", 0, False),
        ("cardinality,node,etl,1,2", 0, False),
        ("cardinality,node,etl,hbase,0,2", 0, False),
        ("and(cardinality,node,etl,0,1:in,node,all/hbase)", 0, False),
        ("or(cardinality,node,etl,0,1:python=3)", 0, False),
        ("or(notin,node,etl:python=3)", 0, True),
        ("notin,rack,etl", 0, True),
        ("notin,node,not-self/etl", 0, True),
        ("python=3", 0, True),
    ],
)
def test_a_condition_on_tags_of_its_own_is_a_limit(text: str, most: int, *, spread: bool) -> None:
    options = PlacementSettings(tags="etl, job", constraint=text)
    found = in_effect(Settings(initial_executors=1, executor_memory_mb=1, placement=options))
    assert (found.placement.max_per_host, found.placement.spread) == (most, spread)
    assert found.limited_by == ("placement.constraint" if most else "placement.max_per_host")


@pytest.mark.parametrize(("asked", "limit"), [(1, (1, "placement.max_per_host")), (4, (3, "placement.constraint"))])
def test_the_smaller_of_two_limits_holds(asked: int, limit: tuple[int, str]) -> None:
    options = PlacementSettings(tags="etl", constraint="cardinality,node,etl,0,2", max_per_host=asked)
    found = in_effect(Settings(initial_executors=1, executor_memory_mb=1, placement=options))
    assert (found.placement.max_per_host, found.limited_by) == limit


def test_nothing_at_all_is_wrong_too() -> None:
    with pytest.raises(UsageError, match="it is empty"):
        parse("  ")
    with pytest.raises(UsageError, match="'b c' is no allocation tag"):
        check_tags("a,b c")


HOSTS = [{PYTHON: "3.11", "nm.yarn.io/disk": "ssd"}, {PYTHON: "3.9"}, {}]


@pytest.mark.parametrize(
    ("text", "suits"),
    [
        ("python=3.11", [True, False, False]),
        ("python!=3.11", [False, True, True]),
        ("and(python!=3.9:notin,node,x)", [True, False, True]),
        ("or(python=3.9:nm.yarn.io/disk=ssd)", [True, True, False]),
    ],
)
def test_hosts_suit_by_their_attributes(text: str, suits: list[bool]) -> None:
    assert [parse(text).can_hold(host) for host in HOSTS] == suits
    check_hosts(parse(text), HOSTS)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("python=3.12", "no running host satisfies 'rm.yarn.io/python=3.12': they have rm.yarn.io/python=3.11, 3.9"),
        ("and(notin,node,x:gpu=yes)", "none has the attribute rm.yarn.io/gpu"),
        ("and(python=3.9:nm.yarn.io/disk=ssd)", "none of the 3 running hosts satisfies all of it at once"),
    ],
)
def test_a_constraint_that_no_host_satisfies_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_hosts(parse(text), HOSTS)
    assert why in str(refused.value)
