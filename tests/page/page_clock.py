"""
The timers of a page: messages at the edge stay, and what the page does after some seconds a test has it do now.

A test that waited for such seconds would only wait. `Page.pass_time` runs all timers of one length: an answer that
could be taken back until then is sent, and what is read again every few seconds is read again. The timers run by
themselves too, as in every browser.
"""

import json
import re
from pathlib import Path
from typing import Final

SOURCES: Final = Path(__file__).parents[2] / "web" / "src"
_TIME: Final = re.compile(r"(?m)^(?:export )?const (\w+) = ([0-9_]+);$")
#: the messages at the edge stay: how long somebody takes to read them is no matter of how fast this machine is
SCRIPT: Final = """(() => {
    const { setTimeout, clearTimeout, setInterval, clearInterval } = window;
    const timers = new Map();
    window.setTimeout = (run, time, ...rest) => {
        if (TOAST_TIMES.includes(time)) return 0;
        const start = () => (timers.delete(id), run(...rest));
        const id = setTimeout(start, time);
        timers.set(id, { time, start: () => (clearTimeout(id), start()) });
        return id;
    };
    window.setInterval = (run, time, ...rest) => {
        const id = setInterval(run, time, ...rest);
        timers.set(id, { time, start: () => run(...rest) });
        return id;
    };
    window.clearTimeout = (id) => (timers.delete(id), clearTimeout(id));
    window.clearInterval = (id) => (timers.delete(id), clearInterval(id));
    window.passTime = (length) => [...timers.values()].forEach(({ time, start }) => time === length && start());
})()"""


def read_times(file: str, *names: str) -> list[int]:
    """Return milliseconds that the sources of the page name."""
    times = {name: int(time.replace("_", "")) for name, time in _TIME.findall((SOURCES / file).read_text())}
    return [times[name] for name in names]


#: until an answer is sent, and until the sessions of a guest are read again
UNDO_TIME: Final = read_times("data/answer-queue.ts", "UNDO_TIME")[0]
SESSION_INTERVAL: Final = read_times("agents/guest.tsx", "INTERVAL")[0]
#: until the deliveries of a trigger are read again
DELIVERY_INTERVAL: Final = read_times("triggers/deliveries.tsx", "INTERVAL")[0]
#: until the dialog in which a guest is connected looks for its session again
CONNECT_INTERVAL: Final = 2_000


def build_script() -> str:
    """Return what runs in every page before its own scripts."""
    return SCRIPT.replace("TOAST_TIMES", json.dumps(read_times("ui/toasts.tsx", "SHORT", "LONG")))
