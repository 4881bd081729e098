"""The table of docs/howto/waking.md is the one that the tests in the real programs have recorded."""

from tests.programs import waking_table as table


def test_the_docs_have_the_table_of_the_recorded_cells() -> None:
    assert table.read_docs()[1] == table.render_table(table.read_records()), "python -m tests.programs.waking_table"


def test_each_cell_is_one_of_the_table_and_of_the_installed_version() -> None:
    for situation, row in table.read_records().items():
        assert situation in table.SITUATIONS
        for program, cell in row.items():
            assert (program, situation) not in table.MISSING
            assert cell["version"] == table.read_version(program)
