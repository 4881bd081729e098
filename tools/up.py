"""
Start the gateway of this folder. What has not been done yet is done before:

    [1/4] preparing .venv ... 1.9 s
    [2/4] installing 62 packages ... 2.8 s
    [3/4] building the page ... 5.2 s
    [4/4] starting the gateway

The page is built while packages are installed. If it cannot be built, the gateway starts without it, or with the one
that was built before.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path

from tools import install, node, page, pypi
from tools.clone_lock import hold_lock
from tools.steps import Steps


def prepare() -> None:
    """Install the packages and build the page, unless it has been done."""
    needs_packages, needs_page = not install.can_run(), not page.is_built()
    if not needs_packages and not needs_page:
        return
    steps = Steps(2 * needs_packages + needs_page + 1)
    opened: Future[pypi.Installer] = Future()  # Node.js is installed with the same
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:  # the thread ends before the installer is closed
        open_installer = (lambda: nullcontext(opened.result())) if needs_packages else pypi.open_installer
        words = "building the page" if node.find_node() else "getting Node.js and building the page"
        building = pool.submit(_build_page, open_installer) if needs_page else None
        if needs_packages:
            try:
                opened.set_result(install.prepare(steps, stack))
                install.install(install.RUN, steps, opened.result())
            finally:
                opened.cancel()  # the thread does not wait for an installer that could not be opened
        if building is not None:
            try:
                with steps.show(words) as step:
                    step.seconds = building.result()
            except node.BuildError as error:
                served = "with the page as it was" if page.exists() else "without its page"
                print(f"the gateway starts {served}, `make page` builds it later: {error}", file=sys.stderr)
    steps.announce("starting the gateway")


def _build_page(open_installer: Callable[[], AbstractContextManager[pypi.Installer]]) -> float:
    """Build the page, and return the seconds that it took."""
    started = time.monotonic()
    page.build(node.ensure_node(open_installer=open_installer))
    return time.monotonic() - started


def start() -> None:
    """Make a home here, unless there is one, and become its gateway."""
    home = Path(os.environ.get("GATEPOST_HOME") or ".gatepost").expanduser()
    if not (home / "admin.key").exists():
        subprocess.run([install.GATEPOST, "init", "--json"], stdout=subprocess.DEVNULL, check=True)
    os.execv(install.GATEPOST, ["gatepost", "up"])  # noqa: S606 - nothing here comes from outside


if __name__ == "__main__":
    try:
        with hold_lock():
            prepare()
        start()
    except (pypi.InstallError, OSError) as error:
        sys.exit(f"error: {error}")
    except subprocess.CalledProcessError as error:  # it has said why
        sys.exit(error.returncode)
    except KeyboardInterrupt:
        sys.exit(130)
