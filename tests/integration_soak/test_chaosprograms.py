"""Which programs the chaos runs, and when their results are right."""

from __future__ import annotations

import json
from itertools import islice
from typing import cast

from integration.cluster import Cluster
from integration.soak.chaosprograms import OUTPUT, PROGRAMS, in_turn, printed_only
from integration.soak.programs import files

BY_NAME = {program.name: program for program in PROGRAMS}
WRITTEN = json.dumps({"result": "written"})


class Files:
    """The files that a job left in HDFS."""

    def __init__(self, number: int) -> None:
        self.texts: dict[str, list[str]] = {}
        for name, lines in files.expected_outputs(number).items():
            directory = f"{OUTPUT}/{number}/{name}"
            half = len(lines) // 2
            self.texts |= {f"{directory}/part-0": lines[half:], f"{directory}/part-1": lines[:half]}
            self.texts[f"{directory}/_SUCCESS"] = ["this is no row"]

    def hdfs_list(self, path: str) -> list[str]:
        return [name.removeprefix(f"{path}/") for name in self.texts if name.startswith(f"{path}/")]

    def hdfs_read(self, path: str) -> bytes:
        return "".join(f"{line}\n" for line in self.texts[path]).encode()


def test_each_program_comes_once_in_a_turn_and_the_seed_decides_when() -> None:
    turns = [[program.name for program in islice(in_turn(seed), 30)] for seed in range(5)]
    for turn in turns:
        assert all(set(turn[at : at + 3]) == set(BY_NAME) for at in range(0, 30, 3))
    assert turns[3] == [program.name for program in islice(in_turn(3), 30)]
    assert len({tuple(turn) for turn in turns}) == len(turns)
    assert all(program.file.is_file() for program in PROGRAMS)


def test_only_the_right_result_may_be_printed() -> None:
    assert printed_only('a warning\n{"result": "1"}\n{"result": "1"}\n', "1")
    assert not printed_only('{"result": "2"}\n{"result": "1"}\n', "1")
    assert not printed_only("a warning\n", "1")
    program = BY_NAME["frames"]
    assert program.is_right(cast("Cluster", None), 7, json.dumps({"result": program.expected(7)}))
    assert not program.is_right(cast("Cluster", None), 7, json.dumps({"result": program.expected(8)}))


def test_of_a_program_that_writes_the_files_are_compared() -> None:
    def right(left: Files, stdout: str = WRITTEN) -> bool:
        return BY_NAME["files"].is_right(cast("Cluster", left), 7, stdout)

    assert right(Files(7))
    assert not right(Files(7), "")
    assert not right(Files(8))
    part = f"{OUTPUT}/7/added/part-0"
    twice, less, gone = Files(7), Files(7), Files(7)
    twice.texts[f"{part}-again"] = twice.texts[part]
    less.texts[part] = less.texts[part][1:]
    del gone.texts[part], gone.texts[part.replace("part-0", "part-1")]
    assert not any(map(right, (twice, less, gone)))
