"""yarnspec's options: defaults, their comments, who wins, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from yarnspec import options
from yarnspec.aliases import ALIASES, WITHOUT_COUNTERPART
from yarnspec.cli.config import command
from yarnspec.core.detectors.registry import DetectorSettings, detector_of
from yarnspec.core.slowness.host_speed import HostSpeeds
from yarnspec.errors import UsageError
from yarnspec.reference.options import yaml_text


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_flag_beats_environment_beats_file_beats_default(tmp_path: Path) -> None:
    file = write(
        tmp_path / "o.yaml", "am:\n  max_attempts: 3\ncluster:\n  connect_timeout: 3 s\nhistory:\n  retention: 3 d\n"
    )
    environ = {"YARNSPEC_AM__MAX_ATTEMPTS": "4", "YARNSPEC_CLUSTER__CONNECT_TIMEOUT": "4 s", "HOME": "/"}
    loaded = options.load(file, ["am.max_attempts=5"], environ)
    assert loaded.options.am.max_attempts == 5
    assert loaded.options.cluster.connect_timeout_ms == 4000
    assert loaded.options.history.retention_ms == 3 * 86_400_000
    assert loaded.origins["am.max_attempts"] == "flag"
    assert loaded.origins["cluster.connect_timeout"] == "environment"
    assert loaded.origins["history.retention"] == f"file {file}"
    assert loaded.origins["placement.mode"] == "default"
    assert loaded.warnings == ()


def test_dotted_names_work_in_the_file_too(tmp_path: Path) -> None:
    file = write(tmp_path / "o.yaml", "placement.mode: blacklist\n")
    assert options.load(file, (), {}).options.placement.mode == "blacklist"


def test_a_list_of_hosts_may_be_one_of_yaml(tmp_path: Path) -> None:
    file = write(tmp_path / "o.yaml", "blocklist:\n  never_hosts: [w1, w2]\nplacement.mode: auto\n")
    assert options.load(file, (), {}).options.blocklist.never == ("w1", "w2")
    assert options.load(None, ["blocklist.never_hosts=[w1, w2]"], {}).options.blocklist.never == ("w1", "w2")
    with pytest.raises(UsageError, match="must be text"):
        options.load(write(tmp_path / "o.yaml", "placement.mode: [auto]\n"), (), {})


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("placement.moed=auto", "Did you mean 'placement.mode'"),
        ("placement.mode=blacklst", "Did you mean 'blacklist'"),
        ("resources.wait_timeout=5", "no unit"),
        ("resources.wait_timeout=-5 s", "not a duration"),
        ("history.retention=0 s", "more than nothing"),
        ("am.skein_memory=large", "not a size"),
        ("am.max_attempts=0", "must be at least 1"),
        ("am.max_attempts=two", "not a whole number"),
        ("placement.max_blocked_share=1.5", "must be at least 0 and at most 1"),
        ("placement.max_blocked_share=nan", "not a number"),
        ("submit.wait=perhaps", "neither true nor false"),
        ("history.directory=", "must not be empty"),
        ("placement.mode", "GROUP.NAME=VALUE"),
    ],
)
def test_a_bad_setting_is_an_error_that_says_what_to_write(setting: str, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)) as caught:
        options.load(None, [setting], {})
    assert setting.split("=", maxsplit=1)[0] in caught.value.message


def test_an_unknown_variable_is_an_error_but_other_variables_are_not_options() -> None:
    with pytest.raises(UsageError, match="Did you mean 'YARNSPEC_PLACEMENT__MODE'"):
        options.load(None, (), {"YARNSPEC_PLACEMENT__MOED": "auto"})
    options.load(None, (), {"YARNSPEC_HOME": "/x", "PLACEMENT__MODE": "auto"})


@pytest.mark.parametrize("text", ["- a\n", "placement: auto\n", "placement:\n  mode: [auto]\n", "a: b: c\n", "x: 1\n"])
def test_a_malformed_file_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    file = write(tmp_path / "o.yaml", text)
    with pytest.raises(UsageError, match=re.escape(str(file))):
        options.load(file, (), {})


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        options.load(tmp_path / "none.yaml", (), {})


def test_yaml_that_would_run_code_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "o.yaml", "placement: !!python/object/apply:os.system ['true']\n")
    with pytest.raises(UsageError):
        options.load(file, (), {})


OLD = "jobmanager.adaptive-scheduler.resource-wait-timeout"
NEWER = "jobmanager.adaptive-scheduler.submission.resource-wait-timeout"


def test_another_systems_name_works_in_flag_environment_and_file(tmp_path: Path) -> None:
    nested = "jobmanager:\n  adaptive-scheduler:\n    resource-wait-timeout: 7 min\n"
    for loaded in (
        options.load(None, [f"{OLD}=7 min"], {}),
        options.load(None, (), {"YARNSPEC_JOBMANAGER__ADAPTIVE_SCHEDULER__RESOURCE_WAIT_TIMEOUT": "7 min"}),
        options.load(write(tmp_path / "a.yaml", f"{OLD}: 7 min\n"), (), {}),
        options.load(write(tmp_path / "b.yaml", nested), (), {}),
    ):
        assert loaded.options.resources.wait_timeout_ms == 7 * 60_000
        assert OLD in loaded.origins["resources.wait_timeout"]
        (warning,) = loaded.warnings
        assert OLD in warning
        assert "resources.wait_timeout=" in warning


OURS = "resources.wait_timeout"


@pytest.mark.parametrize("later", [OURS, OLD, NEWER])
@pytest.mark.parametrize("earlier", [OURS, OLD, NEWER])
def test_flag_beats_environment_beats_file_under_whatever_name(tmp_path: Path, earlier: str, later: str) -> None:
    file = write(tmp_path / "o.yaml", f"{earlier}: 7 min\n")
    environ = {options.environment_name(earlier): "7 min"}
    later_environ = {options.environment_name(later): "8 min"}
    for loaded, lost, won in (
        (options.load(file, [f"{later}=8 min"], {}), f"file {file}", "flag"),
        (options.load(file, (), later_environ), f"file {file}", "environment"),
        (options.load(None, [f"{later}=8 min"], environ), "environment", "flag"),
    ):
        assert loaded.options.resources.wait_timeout_ms == 8 * 60_000
        by = won if later == OURS else f"{won}, as {later}"
        assert loaded.origins[OURS] == by
        ignored = f"option '{earlier}' ({lost}) is deprecated and ignored: {OURS} is set as well ({by})"
        holds = f"option '{later}' ({won}) is deprecated: it is {OURS}=8 min now"
        assert list(loaded.warnings) == [ignored] * (earlier != OURS) + [holds] * (later != OURS)


@pytest.mark.parametrize(("loser", "winner"), [(OLD, NEWER), (OLD, OURS), (NEWER, OURS)])
def test_in_the_same_place_the_newer_of_other_systems_names_wins_and_our_own_over_both(
    tmp_path: Path, loser: str, winner: str
) -> None:
    ways = [f"{loser}=7 min", f"{winner}=8 min"]
    for settings in (ways, ways[::-1]):
        file = write(tmp_path / "o.yaml", "".join(f"{one.replace('=', ': ')}\n" for one in settings))
        for loaded in (options.load(None, settings, {}), options.load(file, (), {})):
            assert loaded.options.resources.wait_timeout_ms == 8 * 60_000
            (ignored,) = (warning for warning in loaded.warnings if f"'{loser}'" in warning)
            assert "ignored" in ignored
            assert "7 min" not in ignored


def _without(text: str, *names: str) -> str:
    return "".join(line for line in text.splitlines(True) if line.split(":")[0].strip() not in names)


def test_a_file_asks_for_what_it_sets_and_a_copy_of_the_defaults_for_what_it_changes(tmp_path: Path) -> None:
    def asked(text: str, *settings: str, **environ: str) -> frozenset[str]:
        return options.load(write(tmp_path / "o.yaml", text), settings, environ).asked

    whole = yaml_text()
    part = whole[whole.index("\nspeculation:") : whole.index("\ndetector:")]
    enabled = "speculation.enabled"
    assert asked("speculation:\n  enabled: true\n  min_copies: 3\n") == {enabled, "speculation.min_copies"}
    assert asked("flink.batch.speculative.enabled: true\n") == {enabled}
    for copy in (whole, part):
        assert asked(copy) == frozenset()
        # A copy that was made before there were all of the options is one as well.
        assert asked(_without(copy, "copy_writers", "log_interval")) == frozenset()
        assert asked(copy.replace("min_copies: 2", "min_copies: 3")) == {"speculation.min_copies"}
        assert asked(copy, "speculation.enabled=true") == {enabled}
        assert asked(copy, "flink.batch.speculative.enabled=true") == {enabled}
        assert asked(copy, YARNSPEC_SPECULATION__ENABLED="true") == {enabled}
    assert asked("recovery.enabled: true\n" + part) == {"recovery.enabled"}


def test_what_config_show_prints_asks_for_no_default(tmp_path: Path) -> None:
    shown = CliRunner().invoke(command, ["show", "-o", "yaml", "--set", "am.max_attempts=3"]).stdout
    assert options.load(write(tmp_path / "o.yaml", shown), (), {}).asked == {"am.max_attempts"}


SEEDS = {
    "slow-task-detector.check-interval": ("3 s", "detector.check_interval", "3 s"),
    "slow-task-detector.execution-time.baseline-lower-bound": ("2 min", "detector.baseline_lower_bound", "2 min"),
    "slow-task-detector.execution-time.baseline-ratio": ("0.5", "detector.baseline_ratio", 0.5),
    "slow-task-detector.execution-time.baseline-multiplier": ("2.5", "detector.baseline_multiplier", 2.5),
    "jobmanager.adaptive-batch-scheduler.speculative.enabled": ("false", "speculation.enabled", False),
    "jobmanager.adaptive-batch-scheduler.speculative.max-concurrent-executions": (
        "3",
        "speculation.max_concurrent_executions",
        3,
    ),
    "jobmanager.adaptive-batch-scheduler.speculative.block-slow-node-duration": (
        "90 s",
        "blocklist.slow_duration",
        "90 s",
    ),
    "flink.batch.speculative.enabled": ("false", "speculation.enabled", False),
    "flink.batch.speculative.interval.in.millis": ("100", "detector.check_interval", "100 ms"),
    "flink.batch.speculative.multiplier": ("2", "detector.baseline_multiplier", 2.0),
    "flink.batch.speculative.quantile": ("0.9", "detector.baseline_ratio", 0.9),
    # The proposal counts copies, the option attempts.
    "flink.batch.speculative.execution.count": ("1", "speculation.max_concurrent_executions", 2),
    "flink.batch.speculative.log.interval.in.millis": ("60000", "speculation.log_interval", "1 min"),
    "flink.blacklist.enable": ("false", "blocklist.enabled", False),
    "flink.blacklist.timeout.in.millis": ("90000", "blocklist.slow_duration", "90 s"),
    "jobmanager.adaptive-scheduler.resource-wait-timeout": ("7 min", "resources.wait_timeout", "7 min"),
    "jobmanager.adaptive-scheduler.submission.resource-wait-timeout": ("7 min", "resources.wait_timeout", "7 min"),
    "jobmanager.adaptive-scheduler.resource-stabilization-timeout": (
        "11 s",
        "resources.submission_stabilization",
        "11 s",
    ),
    "jobmanager.adaptive-scheduler.submission.resource-stabilization-timeout": (
        "11000",
        "resources.submission_stabilization",
        "11 s",
    ),
    "jobmanager.adaptive-scheduler.scaling-interval.min": ("31 s", "resources.rescale_cooldown", "31 s"),
    "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling": ("31 s", "resources.rescale_cooldown", "31 s"),
    "jobmanager.adaptive-scheduler.executing.resource-stabilization-timeout": (
        "61 s",
        "resources.rescale_stabilization",
        "61 s",
    ),
    "jobmanager.adaptive-scheduler.max-delay-for-scale-trigger": ("0", "resources.rescale_max_delay", "0 ms"),
    "jobmanager.adaptive-scheduler.rescale-trigger.max-delay": ("2 min", "resources.rescale_max_delay", "2 min"),
    "execution.batch.job-recovery.enabled": ("false", "recovery.enabled", False),
    "execution.batch.job-recovery.previous-worker.recovery.timeout": ("1 min", "recovery.window", "1 min"),
    "taskmanager.registration.timeout": ("2 min", "recovery.keep_for", "2 min"),
    "job-event.store.write-buffer.size": ("4mb", "recovery.journal_buffer", "4m"),
    "job-event.store.write-buffer.flush-interval": ("2 s", "recovery.flush_interval", "2 s"),
}

AS_BY_DEFAULT = {"flink.batch.speculative.execution.count"}


@pytest.mark.parametrize("alias", ALIASES)
def test_each_name_of_the_proposals_sets_its_option_in_its_unit(tmp_path: Path, alias: str) -> None:
    written, key, meant = SEEDS[alias]
    file = write(tmp_path / "o.yaml", f"{alias}: {written}\n")
    variable = options.environment_name(alias)
    for loaded in (
        options.load(None, [f"{alias}={written}"], {}),
        options.load(file, (), {}),
        options.load(None, (), {variable: written}),
    ):
        assert loaded.values()[key] == meant
        assert f"{key}=" in loaded.warnings[0]
    assert options.load(None, (), {}).values()[key] != meant or alias in AS_BY_DEFAULT


@pytest.mark.parametrize(
    ("setting", "key", "meant"),
    [
        ("slow-task-detector.check-interval=1000", "detector.check_interval", "1 s"),
        ("slow-task-detector.execution-time.baseline-lower-bound=0 s", "detector.baseline_lower_bound", "0 ms"),
        ("slow-task-detector.execution-time.baseline-lower-bound=0", "detector.baseline_lower_bound", "0 ms"),
        ("taskmanager.registration.timeout=300000", "recovery.keep_for", "5 min"),
        ("taskmanager.registration.timeout=0", "recovery.keep_for", "0 ms"),
        ("job-event.store.write-buffer.size=1048576", "recovery.journal_buffer", "1m"),
        ("job-event.store.write-buffer.size=512kb", "recovery.journal_buffer", "512k"),
        ("slow-task-detector.execution-time.baseline-ratio=0", "detector.baseline_ratio", 0.0),
        ("jobmanager.adaptive-batch-scheduler.speculative.block-slow-node-duration=90000",
         "blocklist.slow_duration", "90 s"),
        ("flink.batch.speculative.execution.count=2.0", "speculation.max_concurrent_executions", 3),
        # There 0 is "not at all" and a negative wait "for ever".
        (f"{OLD}=0", OURS, "1 ms"),
        (f"{OLD}=0 s", OURS, "1 ms"),
        (f"{NEWER}=0ms", OURS, "1 ms"),
        (f"{NEWER}=-1 ms", OURS, "0 ms"),
        (f"{NEWER}=-1", OURS, "0 ms"),
    ],
)  # fmt: skip
def test_values_are_read_as_the_proposals_wrote_them(tmp_path: Path, setting: str, key: str, meant: object) -> None:
    assert options.load(None, [setting], {}).values()[key] == meant
    file = write(tmp_path / "o.yaml", setting.replace("=", ": ") + "\n")
    assert options.load(file, (), {}).values()[key] == meant


def test_a_duration_that_may_be_off_is_off_or_a_duration(tmp_path: Path) -> None:
    key = "resources.rescale_max_delay"
    for text, meant in (("off", -1), ("OFF", -1), ("false", -1), ("0", 0), ("3 s", 3_000)):
        assert options.load(None, [f"{key}={text}"], {}).options.resources.rescale_max_delay_ms == meant
        file = write(tmp_path / "o.yaml", f"{key}: {text}\n")
        assert options.load(file, (), {}).options.resources.rescale_max_delay_ms == meant
    for text, words in (("5", "no unit"), ("-1", "not a duration"), ("soon", "not a duration")):
        with pytest.raises(UsageError, match=words):
            options.load(None, [f"{key}={text}"], {})
    for text in ("off", "-1"):
        with pytest.raises(UsageError):
            options.load(None, [f"resources.rescale_cooldown={text}"], {})
    with pytest.raises(UsageError, match="must be at least 0"):
        options.load(None, ["resources.min_executors=-1"], {})


LOWER = "slow-task-detector.execution-time.baseline-lower-bound"
RATIO = "slow-task-detector.execution-time.baseline-ratio"


@pytest.mark.parametrize("name", [one for one in ALIASES if one.startswith("slow-task-detector.execution-time.")])
def test_a_name_of_a_detector_of_the_proposals_chooses_it(tmp_path: Path, name: str) -> None:
    written = SEEDS[name][0]
    file = write(tmp_path / "o.yaml", f"{name}: {written}\n")
    for loaded, place in (
        (options.load(None, [f"{name}={written}"], {}), "flag"),
        (options.load(file, (), {}), f"file {file}"),
        (options.load(None, (), {}, [file]), f"file {file}"),
        (options.load(None, (), {options.environment_name(name): written}), "environment"),
    ):
        assert loaded.options.detector.kind == "execution-time"
        assert loaded.origins["detector.kind"] == f"{place}, as {name}"
        assert loaded.warnings[1:] == (
            f"option '{name}' ({place}) chooses the detector execution-time: "
            "set detector.kind as well to say which detector you want",
        )


def test_who_sets_the_detector_has_that_one(tmp_path: Path) -> None:
    for kind in ("progress", "execution-time", "input-weighted"):
        loaded = options.load(None, [f"{RATIO}=0.5"], {"YARNSPEC_DETECTOR__KIND": kind})
        assert (loaded.options.detector.kind, loaded.origins["detector.kind"]) == (kind, "environment")
        assert not [one for one in loaded.warnings if "chooses the detector" in one]
    # So it is in a file for all users.
    both = write(tmp_path / "both.yaml", f"detector: {{kind: progress}}\n{RATIO}: 0.5\n")
    loaded = options.load(None, (), {}, [both])
    assert (loaded.options.detector.kind, len(loaded.warnings)) == ("progress", 2)
    # A copy of the defaults sets no detector.
    copy = write(tmp_path / "o.yaml", yaml_text())
    assert options.load(copy, [f"{RATIO}=0.5"], {}).options.detector.kind == "execution-time"
    # A name that has lost chooses nothing.
    assert options.load(None, [f"{RATIO}=0.5", "detector.baseline_ratio=0.5"], {}).options.detector.kind == "progress"
    # Of several names the first one is said, and all that are chosen by.
    loaded = options.load(None, [f"{RATIO}=0.5", f"{LOWER}=1 s"], {})
    assert loaded.options.detector.kind == "execution-time"
    assert len([one for one in loaded.warnings if "chooses the detector" in one]) == 1


def test_the_names_that_only_warn_say_which_option_to_set() -> None:
    (warning,) = options.load(None, ["jobmanager.adaptive-scheduler.scaling-interval.max=5 s"], {}).warnings
    assert "resources.rescale_stabilization" in warning


@pytest.mark.parametrize("name", WITHOUT_COUNTERPART)
def test_a_name_that_means_nothing_here_is_accepted_and_told(tmp_path: Path, name: str) -> None:
    for loaded in (
        options.load(None, [f"{name}=3 min"], {}),
        options.load(write(tmp_path / "o.yaml", f"{name}: 3 min\n"), (), {}),
        options.load(None, (), {options.environment_name(name): "3 min"}),
    ):
        assert loaded.options == options.default_options()
        assert f"'{name}'" in loaded.warnings[0]
        assert "no effect" in loaded.warnings[0]


def test_the_count_of_copies_becomes_one_of_attempts() -> None:
    for copies, attempts in (("0", 1), ("1", 2), ("4", 5)):
        loaded = options.load(None, [f"flink.batch.speculative.execution.count={copies}"], {})
        assert loaded.options.speculation.max_concurrent_executions == attempts


@pytest.mark.parametrize("name", ["detector.baseline_ratio", "flink.batch.speculative.quantile"])
def test_what_the_chosen_detector_does_not_read_is_named(name: str) -> None:
    (warning,) = (each for each in options.load(None, [f"{name}=0.5"], {}).warnings if "no effect" in each)
    assert "'detector.baseline_ratio'" in warning
    assert name in warning
    assert "detector.kind is progress, which does not read it; only execution-time and input-weighted do" in warning
    for other in ("detector.kind=execution-time", "detector.kind=input-weighted", "speculation.enabled=false"):
        warnings = options.load(None, [f"{name}=0.5", other], {}).warnings
        assert not [each for each in warnings if "no effect" in each]


def test_a_copy_of_the_shipped_file_is_a_file_without_warnings(tmp_path: Path) -> None:
    copy = tmp_path / "yarnspec.yaml"
    copy.write_text(yaml_text(), encoding="utf-8")
    assert options.load(copy, [], {}).warnings == ()


def test_what_progress_alone_reads_is_named_under_another_detector() -> None:
    (warning,) = options.load(None, ["detector.task_proof=0.5", "detector.kind=execution-time"], {}).warnings
    assert "'detector.task_proof' (flag) has no effect" in warning
    assert options.load(None, ["detector.task_proof=0.5"], {}).warnings == ()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("flink.batch.speculative.interval.in.millis=1 s", "'1 s' is not a whole number"),
        ("flink.batch.speculative.execution.count=-1", "not a whole number"),
        ("flink.batch.speculative.execution.count=true", "not a whole number"),
        ("flink.batch.speculative.execution.count=1.5", "'1.5' is not a whole number"),
        ("flink.batch.speculative.quantile=1.5", "must be at least 0 and at most 1"),
        ("slow-task-detector.chek-interval=5 s", "Did you mean 'slow-task-detector.check-interval'"),
    ],
)
def test_a_bad_value_under_another_systems_name_is_an_error(setting: str, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        options.load(None, [setting], {})


def test_every_alias_leads_to_an_option() -> None:
    assert {alias.key for alias in ALIASES.values()} <= set(options.fields())


def test_options_survive_the_way_to_the_application_master() -> None:
    loaded = options.load(None, ["detector.kind=execution-time", "recovery.window=7 s"], {}).options
    assert msgspec.json.decode(msgspec.json.encode(loaded), type=options.Options) == loaded


def test_an_unknown_detector_is_an_error_wherever_it_is_named() -> None:
    with pytest.raises(UsageError, match="Did you mean 'progress'"):
        options.load(None, ["detector.kind=progres"], {})
    with pytest.raises(ValueError, match="there is no detector 'zscore', but progress, execution-time"):
        detector_of(DetectorSettings(kind="zscore"), HostSpeeds(DetectorSettings()))
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"kind": "zscore"}, DetectorSettings)


def test_config_show_prints_a_file_that_config_accepts(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["show", "-o", "yaml", "--set", "placement.mode=blacklist"])
    assert result.exit_code == 0
    file = write(tmp_path / "o.yaml", result.stdout)
    assert options.load(file, (), {}).options.placement.mode == "blacklist"


def test_what_config_show_prints_as_json_is_a_file_of_options(tmp_path: Path) -> None:
    shown = CliRunner().invoke(command, ["show", "-o", "json", "--set", "am.max_attempts=3"]).stdout
    loaded = options.load(write(tmp_path / "o.json", shown), (), {})
    assert loaded.asked == {"am.max_attempts"}
    assert loaded.warnings == ()


@pytest.mark.parametrize("number", ["2", "true", "'1'", "{a: 1}"])
def test_a_file_of_another_schema_is_refused(tmp_path: Path, number: str) -> None:
    file = write(tmp_path / "o.yaml", f"schema: {number}\nam:\n  max_attempts: 3\n")
    with pytest.raises(UsageError, match=f"{file}: .*'schema: 1'.*config show -o json"):
        options.load(file, (), {})


def test_config_show_names_origins_and_warns_on_stderr() -> None:
    result = CliRunner().invoke(command, ["show", "--origin", "-o", "json", "--set", f"{OLD}=7 min"])
    document = json.loads(result.stdout)
    assert document["schema"] == 1
    assert document["resources"]["wait_timeout"] == {"value": "7 min", "origin": f"flag, as {OLD}"}
    assert "is deprecated: it is resources.wait_timeout=7 min now" in result.stderr
    table = CliRunner().invoke(command, ["show", "--origin"]).stdout
    assert re.search(r"placement\.mode +auto +default", table)
    table = CliRunner().invoke(command, ["show", "--set", "blocklist.cluster_directory=/a[b]/c"]).stdout
    assert re.search(r"blocklist\.cluster_directory +/a\[b\]/c", table)
