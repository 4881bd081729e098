"""The table of docs/howto/waking.md is the one that the tests in the real programs have recorded."""

from tests.programs import waking_table as table


def test_the_docs_have_the_table_of_the_recorded_cells() -> None:
    assert table.read_docs()[1] == table.render_table(table.read_records()), "python -m tests.programs.waking_table"


def test_no_cell_is_missing_and_each_is_of_the_installed_version() -> None:
    cells = {
        (program, situation): cell for situation, row in table.read_records().items() for program, cell in row.items()
    }
    wanted = {(program, situation) for situation in table.SITUATIONS for program in table.PROGRAMS}
    assert cells.keys() == wanted - table.MISSING.keys()
    assert {program: cell["version"] for (program, _), cell in cells.items()} == {
        program: table.read_version(program) for program in table.PROGRAMS
    }
