"""The table of docs/howto/waking.md is the one that the tests in the real programs have recorded."""

from tests.programs import waking_table as table


def test_the_docs_have_the_table_of_the_recorded_cells() -> None:
    assert table.read_docs()[1] == table.render_table(table.read_records()), "python -m tests.programs.waking_table"


def test_no_cell_is_missing_and_each_is_of_the_installed_version() -> None:
    records = table.read_records()
    wanted = {(program, situation) for situation in table.SITUATIONS for program in table.PROGRAMS} - set(table.MISSING)
    recorded = {(program, situation) for situation, row in records.items() for program in row}
    assert recorded == wanted
    assert all(
        cell["version"] == table.read_version(program) for row in records.values() for program, cell in row.items()
    )
