"""The pages: their links lead somewhere, their commands exist, and what the code names is there."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from integration import picture
from integration.guide_blocks import GUIDES, ROOT, blocks, words
from yarnspec.cli.main import cli
from yarnspec.core.options.recovery import EPOCH_MAX, TASKS_PER_EPOCH, restarts_in_each
from yarnspec.gateway.flags.request import FLAGS
from yarnspec.options import fields

PAGES = tuple(
    ROOT / name
    for name in subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()
)  # fmt: skip
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"\bdocs/[\w/-]+\.md\b|\b[\w-]+-(?:facts|hooks)\.md\b")


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings get on GitHub."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#+ +(.*)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip()).lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        again = found[name] = found.get(name, -1) + 1
        if again:
            found[f"{name}-{again}"] = 0
    return set(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for one, image in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        target, _, anchor = (one or image).partition("#")
        if "://" in target:
            continue
        path = (page.parent / target).resolve() if target else page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            broken.append(one or image)
    assert not broken


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    linked = {(ROOT / "docs" / (one or image).partition("#")[0]).resolve() for one, image in LINK.findall(index)}
    pages = {*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/internals").glob("*.md")}
    assert pages - linked == {ROOT / "docs/README.md"}


def named_in_code() -> dict[str, str]:
    """Every document of ours that some code or comment names, and where."""
    found = {}
    for ending in ("py", "java", "yaml", "cfg", "toml"):
        for path in ROOT.rglob(f"*.{ending}"):
            if not {".venv", "target", "build", "typings"} & set(path.relative_to(ROOT).parts) and path != Path(
                __file__
            ):
                for name in NAMED.findall(path.read_text(encoding="utf-8", errors="replace")):
                    found[name] = str(path.relative_to(ROOT))
    return found


def test_documents_that_code_names_are_there() -> None:
    assert not {name: where for name, where in named_in_code().items() if not (ROOT / name).exists()}


def prose() -> Iterator[tuple[str, str]]:
    """The docstrings of the product, and the pages for those who change it, with the name of the file."""
    for room in ("yarnspec", "cli"):
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                    yield str(path.relative_to(ROOT)), str(node.value.value)
    inside = [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*/*.md")]
    for page in inside:
        yield str(page.relative_to(ROOT)), page.read_text(encoding="utf-8")


def test_files_of_code_that_docstrings_and_pages_name_are_there() -> None:
    """A name without its folders is enough. A name in capitals, as in cli/NAME.py, stands for any."""
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    known = {"/".join(parts[at:]) for parts in (name.split("/") for name in files) for at in range(len(parts))}
    gone = [
        f"{where}: {name}"
        for where, text in prose()
        for name in re.findall(r"(?<![\w./-])((?:[\w-]+/)*[\w-]+\.(?:py|java))\b", text)
        if name not in known and not Path(name).stem.isupper()
    ]
    assert not gone


def known_tests(path: Path) -> set[str]:
    """The tests in a file, as pytest or JUnit names them."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".java":
        return set(re.findall(r"@Test\s+(?:public )?void (\w+)\(", text))
    found = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
    return {name for name in found if name.rpartition("::")[2].startswith("test_")}


def test_the_tests_on_the_page_of_sparks_suites_exist_and_each_yes_names_one() -> None:
    page = (ROOT / "docs/spark-suites.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    answers = [row[-1].strip() for row in rows if row[-1].strip() not in ("holds here", "what to use")]
    forms = [text for text in answers if not text.startswith(("yes", "no", "does not apply"))]
    assert all(text.startswith("`yarnspec ") for text in forms)
    assert len(answers) > 150
    for text in answers:
        named = re.findall(r"`([\w/.-]+\.(?:py|java))::([\w:]+)`", text)
        assert named or not text.startswith("yes"), text
        assert re.match(r"(yes|no|does not apply)[:, ]|`yarnspec ", text), text
        for path, test in named:
            assert test in known_tests(ROOT / path), f"{path}::{test}"


def parsed(command: str) -> str:
    """What is wrong with a command of yarnspec's; empty when it exists with all its flags."""
    here: click.Command = cli
    path: list[str] = []
    given = words(command)[1:]
    context = click.Context(cli)
    flags = {name for one in FLAGS for text in one.names for name in text.split("/")}
    while given:
        word = given.pop(0)
        if word == "--":
            break
        if word.startswith("-"):
            known = {name for each in here.params for name in (*each.opts, *each.secondary_opts)}
            if word.partition("=")[0] not in known | {"-h", "--help"} | (flags if path == ["submit"] else set()):
                return f"{' '.join(path)} has no {word}"
            continue
        if isinstance(here, click.Group):
            below = here.get_command(context, word)
            if below is not None:
                here, path = below, [*path, word]
            elif here is cli:
                return f"there is no command {word}"
    return ""


def test_commands_on_the_pages_exist() -> None:
    commands = {command for block in blocks("sh") for command in block.commands if command.startswith("yarnspec ")}
    assert len(commands) > 20
    assert not [wrong for command in sorted(commands) if (wrong := parsed(command))]
    assert parsed("yarnspec status APP --nonsense")
    assert parsed("yarnspec nonsense APP")


def test_blocks_of_python_are_python() -> None:
    for block in blocks("python"):
        compile(block.text, block.page, "exec")


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_modules_and_options_on_the_pages_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for module in re.findall(r"python -m ((?:integration|yarnspec)[\w.]*)", text):
        assert find_spec(module.rstrip(".")), module
    options = re.findall(r"--set ([\w.-]+)=", text)
    assert not set(options) - set(fields())


@pytest.mark.parametrize("file", [picture.PICTURE, picture.HOSTS_PICTURE], ids=lambda file: file.name)
def test_the_pictures_of_the_page_show_its_templates(file: Path) -> None:
    stamp = picture.stamp_of(file.read_bytes())
    assert stamp == picture.page_digest(), "the page looks otherwise now: run `make docs`"


@pytest.mark.parametrize("page", ["options.md", "operators.md", "internals/recovery.md"])
def test_the_pages_say_how_many_restarts_there_are_room_for(page: str) -> None:
    most = [restarts_in_each(attempts) for attempts in (1, 2, 3, 4)]
    said = "at most {} restarts with max_attempts=1, {} with 2, {} with 3, {} with 4".format(*most)
    text = " ".join((ROOT / "docs" / page).read_text(encoding="utf-8").split())
    assert said in text
    assert re.search(rf"\b{EPOCH_MAX} (in all|epochs|driver epochs)", text)


def test_java_has_numbers_for_as_many_epochs() -> None:
    numbers = ROOT / "yarnspec/jvm/src/main/java/org/yarnspec/mapoutputs/EpochNumbers.java"
    text = numbers.read_text(encoding="utf-8")
    assert f"EPOCH_MAX = {EPOCH_MAX};" in text
    assert f"TASKS_PER_EPOCH = {TASKS_PER_EPOCH:_};" in text


def test_a_picture_keeps_its_stamp() -> None:
    plain = picture.PICTURE.read_bytes()
    assert picture.stamp_of(picture.stamped(plain, "0" * 64)) == "0" * 64
    assert picture.stamp_of(b"") == ""
