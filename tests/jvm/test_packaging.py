"""What an installation holds: every package, and nothing under a name that is not ours."""

import configparser
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def options() -> dict[str, list[str]]:
    """Read the lists of setup.cfg's [options]."""
    metadata = configparser.ConfigParser()
    metadata.read(ROOT / "setup.cfg", encoding="utf-8")
    return {key: value.split("\n")[1:] for key, value in metadata["options"].items()}


def test_every_package_is_listed() -> None:
    own = [path.parent for path in (ROOT / "yarnspec").rglob("__init__.py") if "src" not in path.parts]
    names = {".".join(path.relative_to(ROOT).parts) for path in own} | {"yarnspec.cli", "yarnspec.conf"}
    assert set(options()["packages"]) == names


def test_the_rooms_outside_the_package_are_installed_inside_it() -> None:
    assert options()["package_dir"] == ["yarnspec.cli = cli", "yarnspec.conf = conf"]
    assert all(name.split(".")[0] == "yarnspec" for name in options()["packages"])


def test_the_scenarios_are_installed() -> None:
    metadata = configparser.ConfigParser()
    metadata.read(ROOT / "setup.cfg", encoding="utf-8")
    patterns = metadata["options.package_data"]["yarnspec.conf"].split(", ")
    shipped = {path for pattern in patterns for path in (ROOT / "conf").glob(pattern)}
    assert shipped == set((ROOT / "conf").rglob("*.yaml"))


def test_every_dependency_is_bounded() -> None:
    assert all("<" in each or "==" in each for each in options()["install_requires"])


def test_mvnw_is_a_shell_script_that_can_be_run() -> None:
    done = subprocess.run(["sh", "-n", str(ROOT / "mvnw")], check=False)
    assert done.returncode == 0
    assert (ROOT / "mvnw").stat().st_mode & 0o111
