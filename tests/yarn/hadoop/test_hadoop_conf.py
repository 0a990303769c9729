"""What the Hadoop configuration says is read by Hadoop's own rules, and what is shipped carries our overrides."""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yarnspec.errors import UsageError
from yarnspec.plan import USERS_HADOOP_CONF
from yarnspec.yarn.hadoop.hadoop_conf import (
    AM_EXPIRY_KEY,
    ATTEMPTS_KEY,
    PLACEMENT_PROVIDER,
    SHUTDOWN_KEY,
    HadoopConf,
    check_the_cluster,
    configuration_directories,
    system_user,
    write_conf_dir,
    write_conf_jar,
)
from yarnspec.yarn.hadoop.site_files import Property, read_site_file, render_site_file


def write_site(directory: Path, name: str, values: dict[str, str], *, final: frozenset[str] = frozenset()) -> None:
    content = render_site_file([Property(key, value, key in final) for key, value in values.items()])
    (directory / name).write_bytes(content)


def test_a_missing_directory_is_a_usage_error_that_says_what_to_export(tmp_path: Path) -> None:
    for nothing in ({}, {"HADOOP_CONF_DIR": ""}, {"HADOOP_CONF_DIR": ":", "YARN_CONF_DIR": " "}):
        with pytest.raises(UsageError, match=r"HADOOP_CONF_DIR is not set.*yarn-site.xml\.$"):
            HadoopConf.read(nothing)
    (tmp_path / "spark-env.sh").touch()
    with pytest.raises(UsageError, match=r"spark-env\.sh sets it; yarnspec does not read that file"):
        HadoopConf.read({}, sparks=tmp_path)
    with pytest.raises(UsageError, match="not a directory"):
        HadoopConf.read({"HADOOP_CONF_DIR": str(tmp_path / "nowhere")})
    with pytest.raises(UsageError, match=r"none of core-site\.xml"):
        HadoopConf.read({"HADOOP_CONF_DIR": str(tmp_path)})


def test_both_variables_are_class_path_entries_of_which_the_first_file_of_a_name_counts(tmp_path: Path) -> None:
    """HADOOP_CONF_DIR's directories come before YARN_CONF_DIR's; what is missing or empty is passed over."""
    hdfs, more, yarn = (tmp_path / name for name in ("hdfs", "more", "yarn"))
    for directory in (hdfs, more, yarn):
        directory.mkdir()
    write_site(hdfs, "core-site.xml", {"fs.defaultFS": "hdfs://one"})
    write_site(more, "core-site.xml", {"fs.defaultFS": "hdfs://two", "only.in.the.second": "x"})
    write_site(more, "hive-site.xml", {"hive.metastore.uris": "thrift://h"})
    write_site(yarn, "yarn-site.xml", {"yarn.resourcemanager.hostname": "rm"})
    (more / "ssl-client.xml").write_text("first")
    (yarn / "ssl-client.xml").write_text("second")
    environ = {"HADOOP_CONF_DIR": f"{hdfs}:{tmp_path}/nowhere::{more}", "YARN_CONF_DIR": f"{yarn}:{hdfs}"}
    conf = HadoopConf.read(environ)
    assert conf.directories == (hdfs, more, yarn)
    assert (conf.default_fs, conf.rm_addresses()[0].url) == ("hdfs://one", "http://rm:8088")
    assert conf.get("only.in.the.second") is None
    with zipfile.ZipFile(write_conf_jar(conf, tmp_path / "conf.jar", {})) as jar:
        sites = {name for name in jar.namelist() if name.endswith("-site.xml") and "/" not in name}
        assert sites == {"core-site.xml", "hive-site.xml", "yarn-site.xml"}
        assert b"hdfs://one" in jar.read("core-site.xml")
    # Hadoop's scripts get the same files as one directory.
    made = Path(conf.environ["HADOOP_CONF_DIR"])
    assert "YARN_CONF_DIR" not in conf.environ
    assert HadoopConf.from_directories([made]).default_fs == "hdfs://one"
    assert (made / "ssl-client.xml").read_text() == "first"
    assert configuration_directories(environ)[1] == (
        f"HADOOP_CONF_DIR names {tmp_path}/nowhere, which is not a directory",
    )
    # A directory that is mistyped may be the one that names the cluster.
    assert f"HADOOP_CONF_DIR names {tmp_path}/nowhere, which is not a directory" in check_the_cluster(environ)
    assert check_the_cluster({"HADOOP_CONF_DIR": str(hdfs)}).endswith("names the right cluster.")


def test_a_further_file_that_may_not_be_read_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_site(tmp_path, "core-site.xml", {"fs.defaultFS": "hdfs://one"})
    write_site(tmp_path, "hiveserver2-site.xml", {"a": "b"})
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: "hiveserver2" not in str(path) and may(path, mode))
    jar = write_conf_jar(HadoopConf.from_directories([tmp_path]), tmp_path / "conf.jar", {})
    with zipfile.ZipFile(jar) as shipped:
        assert {name for name in shipped.namelist() if name.endswith("-site.xml")} == {
            "core-site.xml",
            f"{USERS_HADOOP_CONF}/core-site.xml",
        }


def test_yarn_conf_dir_alone_is_the_configuration(tmp_path: Path) -> None:
    write_site(tmp_path, "yarn-site.xml", {"yarn.resourcemanager.hostname": "rm"})
    conf = HadoopConf.read({"YARN_CONF_DIR": str(tmp_path), "HADOOP_CONF_DIR": ""})
    assert conf.rm_addresses()[0].url == "http://rm:8088"
    assert conf.environ == {"HADOOP_CONF_DIR": str(tmp_path)}


def test_site_files_beside_sparks_configuration_come_first_as_on_sparks_class_path(tmp_path: Path) -> None:
    hadoop, spark, plain = (tmp_path / name for name in ("hadoop", "spark", "plain"))
    for directory in (hadoop, spark, plain):
        directory.mkdir()
    write_site(hadoop, "core-site.xml", {"fs.defaultFS": "hdfs://one", "a": "b"})
    write_site(hadoop, "yarn-site.xml", {"yarn.resourcemanager.hostname": "rm"})
    write_site(spark, "core-site.xml", {"fs.defaultFS": "hdfs://other"})
    environ = {"HADOOP_CONF_DIR": str(hadoop)}
    conf = HadoopConf.read(environ, sparks=spark)
    assert conf.directories == (spark, hadoop)
    assert (conf.default_fs, conf.get("a"), conf.get("yarn.resourcemanager.hostname")) == ("hdfs://other", None, "rm")
    (spark / "spark-defaults.conf").write_text("spark.ssl.keyPassword secret\n")
    (hadoop / "ssl-client.xml").write_text("<configuration/>\n")
    copied = {path.name for path in write_conf_dir(conf, tmp_path / "one", {}).iterdir()}
    assert copied == {"core-site.xml", "yarn-site.xml", "ssl-client.xml"}
    assert HadoopConf.read(environ, sparks=plain).directories == (hadoop,)
    assert HadoopConf.read(environ, sparks=tmp_path / "none").directories == (hadoop,)


def test_values_resolve_other_keys_the_environment_and_hadoops_defaults(tmp_path: Path) -> None:
    write_site(
        tmp_path,
        "yarn-site.xml",
        {
            "yarn.resourcemanager.hostname": "rm.example",
            "a": "${b}/x",
            "b": "${env.ROOM}",
            "c": "${env.NONE:-fallback}-${env.NONE-other}",
            "d": "${unknown.key}",
            "e": "${user.name}",
        },
    )
    conf = HadoopConf.from_directories([tmp_path], {"ROOM": "kitchen"})
    assert conf.get("a") == "kitchen/x"
    assert conf.get("c") == "fallback-other"
    assert conf.get("d") == "${unknown.key}"
    assert conf.get("e") == system_user()
    assert conf.get("yarn.resourcemanager.webapp.address") == "rm.example:8088"
    assert conf.get("missing") is None
    assert conf.get("missing", "x") == "x"


def test_a_value_that_refers_to_itself_is_an_error_and_not_an_endless_loop(tmp_path: Path) -> None:
    write_site(tmp_path, "core-site.xml", {"a": "${b}", "b": "${a}"})
    with pytest.raises(UsageError, match="refers to itself"):
        HadoopConf.from_directories([tmp_path]).get("a")


def test_a_final_property_is_not_overridden_by_a_later_file(tmp_path: Path) -> None:
    write_site(tmp_path, "core-site.xml", {"a": "first", "b": "first"}, final=frozenset({"a"}))
    write_site(tmp_path, "yarn-site.xml", {"a": "second", "b": "second"})
    conf = HadoopConf.from_directories([tmp_path])
    assert (conf.get("a"), conf.get("b")) == ("first", "second")


def test_numbers_and_truth_values(tmp_path: Path) -> None:
    write_site(tmp_path, "core-site.xml", {"n": " 7 ", "bad": "seven", "t": "TRUE", "odd": "maybe"})
    conf = HadoopConf.from_directories([tmp_path])
    assert conf.get_int("n", 1) == 7
    assert conf.get_int("none", 1) == 1
    with pytest.raises(UsageError, match="not a whole number"):
        conf.get_int("bad", 1)
    assert conf.get_bool("t")
    assert conf.get_bool("odd", default=True)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, [("", "http://127.0.0.1:8088")]),
        ({"yarn.resourcemanager.webapp.address": "rm:1"}, [("", "http://rm:1")]),
        ({"yarn.resourcemanager.hostname": "rm", "yarn.http.policy": "HTTPS_ONLY"}, [("", "https://rm:8090")]),
        (
            {
                "yarn.resourcemanager.ha.enabled": "true",
                "yarn.resourcemanager.ha.rm-ids": "rm1, rm2",
                "yarn.resourcemanager.webapp.address.rm1": "one:8188",
                "yarn.resourcemanager.hostname.rm2": "two",
            },
            [("rm1", "http://one:8188"), ("rm2", "http://two:8088")],
        ),
    ],
)
def test_resource_manager_addresses(tmp_path: Path, values: dict[str, str], expected: list[tuple[str, str]]) -> None:
    write_site(tmp_path, "yarn-site.xml", values)
    found = HadoopConf.from_directories([tmp_path]).rm_addresses()
    assert [(address.id, address.url) for address in found] == expected


def test_ha_without_an_address_names_the_missing_key(tmp_path: Path) -> None:
    write_site(
        tmp_path,
        "yarn-site.xml",
        {"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "rm1"},
    )
    with pytest.raises(UsageError, match=r"yarn\.resourcemanager\.hostname\.rm1"):
        HadoopConf.from_directories([tmp_path]).rm_addresses()


def test_the_user_is_hadoop_user_name_with_simple_authentication_only(tmp_path: Path) -> None:
    write_site(tmp_path, "core-site.xml", {})
    assert HadoopConf.from_directories([tmp_path], {"HADOOP_USER_NAME": "ada"}).user == "ada"
    assert HadoopConf.from_directories([tmp_path], {}).user == system_user()
    write_site(tmp_path, "core-site.xml", {"hadoop.security.authentication": "kerberos"})
    assert HadoopConf.from_directories([tmp_path], {"HADOOP_USER_NAME": "ada"}).user == system_user()


def test_for_another_user_everything_is_theirs_but_the_login(tmp_path: Path) -> None:
    write_site(tmp_path, "core-site.xml", {"fs.defaultFS": "hdfs://nn"})
    own = HadoopConf.from_directories([tmp_path], {"HADOOP_USER_NAME": "ada", "PATH": "/bin"})
    conf = own.acting_for("alice")
    assert (conf.user, conf.login, conf.proxy_user, conf.default_fs) == ("alice", "ada", "alice", "hdfs://nn")
    assert conf.environ == {
        "HADOOP_CONF_DIR": str(tmp_path),
        "HADOOP_PROXY_USER": "alice",
        "HADOOP_USER_NAME": "ada",
        "PATH": "/bin",
    }
    assert (own.user, own.login, own.proxy_user) == ("ada", "ada", None)
    assert "HADOOP_PROXY_USER" not in own.environ


def test_the_users_own_proxy_provider_becomes_the_delegate(tmp_path: Path) -> None:
    write_site(tmp_path, "yarn-site.xml", {"yarn.client.failover-proxy-provider": "com.example.Provider"})
    overrides = HadoopConf.from_directories([tmp_path]).placement_overrides()
    assert overrides["yarn.client.failover-proxy-provider"] == PLACEMENT_PROVIDER
    assert overrides["yarn.client.failover-no-ha-proxy-provider"] == PLACEMENT_PROVIDER
    assert overrides["yarnspec.delegate.failover-proxy-provider"] == "com.example.Provider"
    assert "yarnspec.delegate.failover-no-ha-proxy-provider" not in overrides
    assert overrides[AM_EXPIRY_KEY] == "2000"
    assert overrides[SHUTDOWN_KEY] == "1d"
    assert ATTEMPTS_KEY not in overrides
    for_master = HadoopConf.from_directories([tmp_path]).master_overrides(3)
    assert for_master == {**overrides, ATTEMPTS_KEY: "3"}


def test_the_shipped_jar_has_the_overrides_even_over_final_ones_and_keeps_values_unresolved(tmp_path: Path) -> None:
    source = tmp_path / "conf"
    source.mkdir()
    write_site(
        source, "core-site.xml", {"fs.defaultFS": "hdfs://nn", AM_EXPIRY_KEY: "1"}, final=frozenset({AM_EXPIRY_KEY})
    )
    write_site(source, "yarn-site.xml", {"x": "${env.HOME}/x"})
    conf = HadoopConf.from_directories([source])
    jar = write_conf_jar(conf, tmp_path / "conf.jar", conf.placement_overrides())
    assert stat.S_IMODE(jar.stat().st_mode) == 0o600
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(jar) as archive:
        archive.extractall(unpacked)
    shipped = HadoopConf.from_directories([unpacked], {"HOME": "/elsewhere"})
    assert shipped.get(AM_EXPIRY_KEY) == "2000"
    assert shipped.get("fs.defaultFS") == "hdfs://nn"
    assert shipped.get("x") == "/elsewhere/x"
    # What the program starts has none of our classes.
    users = HadoopConf.from_directories([unpacked / USERS_HADOOP_CONF])
    assert dict(users.items()) == dict(conf.items())
    for_spark = {item.name: item.value for item in read_site_file(unpacked / "__spark_hadoop_conf__.xml")}
    assert for_spark["fs.defaultFS"] == "hdfs://nn"
    assert not for_spark.keys() & conf.placement_overrides().keys()
    # The same configuration makes the same bytes.
    again = write_conf_jar(conf, tmp_path / "again.jar", conf.placement_overrides())
    assert again.read_bytes() == jar.read_bytes()


def test_the_conf_directory_carries_the_users_other_files_and_is_private(tmp_path: Path) -> None:
    source = tmp_path / "conf"
    source.mkdir()
    write_site(source, "core-site.xml", {"a": "1"})
    (source / "ssl-client.xml").write_text("<configuration/>")
    target = write_conf_dir(HadoopConf.from_directories([source]), tmp_path / "copy", {"b": "2"})
    assert stat.S_IMODE(target.stat().st_mode) == 0o700
    assert {path.name for path in target.iterdir()} == {"core-site.xml", "yarn-site.xml", "ssl-client.xml"}
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in target.iterdir())
    copy = HadoopConf.from_directories([target])
    assert (copy.get("a"), copy.get("b")) == ("1", "2")


def test_site_files_with_entities_bad_xml_or_loops_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "core-site.xml"
    path.write_text('<!DOCTYPE c [<!ENTITY x SYSTEM "file:///etc/passwd">]><configuration>&x;</configuration>')
    with pytest.raises(UsageError, match="entities"):
        read_site_file(path)
    path.write_text("<configuration>")
    with pytest.raises(UsageError, match="well-formed"):
        read_site_file(path)
    path.write_text(
        '<configuration xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="core-site.xml"/></configuration>'
    )
    with pytest.raises(UsageError, match="includes itself"):
        read_site_file(path)


def test_includes_and_the_short_form_are_read(tmp_path: Path) -> None:
    (tmp_path / "more.xml").write_text('<configuration><property name="b" value="2"/></configuration>')
    path = tmp_path / "core-site.xml"
    path.write_text(
        '<configuration xmlns:xi="http://www.w3.org/2001/XInclude">'
        "<property><name> a </name><value>1</value></property>"
        '<xi:include href="more.xml"/><xi:include href="none.xml"><xi:fallback/></xi:include>'
        "<property><name>empty</name></property></configuration>"
    )
    assert read_site_file(path) == [Property("a", "1"), Property("b", "2")]


_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1)


@given(st.lists(st.builds(Property, _TEXT, _TEXT, st.booleans())))
def test_what_is_written_is_read_back(properties: list[Property]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "core-site.xml"
        path.write_bytes(render_site_file(properties))
        assert read_site_file(path) == properties
