"""What only one channel needs is in its folder: few modules elsewhere name Telegram."""

from pathlib import Path

import gatepost

ROOT = Path(gatepost.__file__).parent
#: constants and settings, what assembles channels, and examples in help
MAX_MODULES = 10


def test_few_modules_outside_of_its_folder_name_telegram() -> None:
    folder = ROOT / "channels" / "telegram"
    modules = [path for path in ROOT.rglob("*.py") if not path.is_relative_to(folder)]
    naming = [str(path.relative_to(ROOT)) for path in modules if "telegram" in path.read_text().lower()]
    assert len(naming) <= MAX_MODULES, naming
