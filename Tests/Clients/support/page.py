"""A browser with the web client, and functions to operate and observe it."""

import asyncio
import importlib.util
import json
import subprocess
import time
from pathlib import Path

from support.browser import Chromium
from support.server import ROOT

WEB = ROOT / "Sources" / "Web"

# A probe in the page: it records the page's sockets and their messages, and replaces the shared screen by a canvas.
PROBE = """
(() => {
  const Native = WebSocket;
  window.probe = { sockets: [], messages: [], sent: [], problems: [] };
  window.WebSocket = class extends Native {
    constructor(...all) {
      super(...all);
      probe.sockets.push(this);
      this.addEventListener('message', ({ data }) => probe.messages.push(JSON.parse(data)));
    }
    send(text) {
      probe.sent.push(JSON.parse(text));
      super.send(text);
    }
  };
  addEventListener('error', event => probe.problems.push(event.message));
  addEventListener('unhandledrejection', event => probe.problems.push(String(event.reason)));
  document.addEventListener('securitypolicyviolation', event => probe.problems.push(`CSP: ${event.violatedDirective} ${event.blockedURI}`));
  // A message as if the server had sent it.
  probe.tell = message => probe.sockets.at(-1).onmessage({ data: JSON.stringify(message) });
  probe.last = type => probe.messages.findLast(message => message.type === type);
  probe.screen = () => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [1280, 720];
    const pen = canvas.getContext('2d');
    let turn = 0;
    setInterval(() => {
      pen.fillStyle = '#e0e0ff';
      pen.fillRect(0, 0, 1280, 720);
      pen.fillStyle = '#202060';
      pen.fillRect(100 + turn++ % 40 * 10, 300, 80, 80);
    }, 80);
    return canvas.captureStream(12);
  };
})();
"""

# How far each visible control extends beyond the window; the list must be empty.
OUTSIDE = """
[...document.querySelectorAll('button, input, select, [role=tab]')].filter(control => control.checkVisibility()).map(control => {
  const box = control.getBoundingClientRect();
  // What a list scrolls out of sight is reachable by scrolling it.
  const list = control.closest('.choices, .people, #messages, #recordings, #breakout');
  const isOut = box.left < -0.5 || box.right > innerWidth + 0.5 || (!list && (box.top < -0.5 || box.bottom > innerHeight + 0.5));
  return isOut ? `${control.id || control.textContent} ${Math.round(box.left)},${Math.round(box.top)} ${Math.round(box.right)},${Math.round(box.bottom)}` : null;
}).filter(Boolean)
"""
# The package's own Python part needs Selenium; only its script is used.
AXE = Path(importlib.util.find_spec("axe_core_python").submodule_search_locations[0], "axe.min.js")
FINDINGS = """axe.run(document, %s).then(({ violations, passes }) => (passes.length >= %d ? violations : [{ id: 'too few rules ran', impact: 'serious', nodes: [] }])
  .filter(({ impact }) => ['serious', 'critical'].includes(impact))
  .map(({ id, nodes }) => [id, nodes.map(({ target, any, all }) => `${target} ${[...any, ...all].map(({ message }) => message)}`)]))"""


def module(name):
    """An expression with what a module of the page exports. The server has it only within the bundles, which hand nothing out."""
    bundle = subprocess.run(["esbuild", str(WEB / name), "--bundle", "--format=iife", "--global-name=found"], check=True, capture_output=True, text=True)
    return f"(() => {{ {bundle.stdout}\nreturn found; }})()"


# The dialogs that come a moment after their buttons were pressed, since their scripts are loaded then.
DIALOGS = {
    "#open-room": "room-menu", ".more": "person-menu", "#open-invite": "invite", "#alone-invite": "invite", "#open-layout": "layout-menu",
    "#open-settings": "settings", "#toggle-record": "recordings", "#room-breakout": "breakout", "#open-breakout": "breakout",
}


class Page(Chromium):
    """A browser with the web client, and functions to operate and observe it."""

    async def open(self, url, width, height, mobile, shots):
        self.shots = shots
        await self.start("about:blank", width, height, trusted=url)
        await self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if mobile else 1, mobile=mobile)
        await self.call("Page.addScriptToEvaluateOnNewDocument", source=PROBE)
        await self.call("Page.navigate", url=url)
        if url != "about:blank":
            await self.wait_for("location.href !== 'about:blank' && document.readyState === 'complete'")
        return self

    async def click(self, selector):
        """Clicks at the middle of the visible part, so that an element that covers it gets the click; waits for the dialog of its button."""
        if selector == "#notice button":
            # A button of a notice that has just changed does nothing for 0.6 s.
            await asyncio.sleep(0.7)
        box = await self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{ block: 'nearest' }});"
            " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2, b.width]; })()")
        assert box[2] > 0, f"{selector} cannot be seen"
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)
        if selector in DIALOGS:
            await self.wait_for(f"document.getElementById('{DIALOGS[selector]}')?.open", 5)

    async def type(self, selector, text):
        await self.evaluate(f"(document.querySelector({json.dumps(selector)}).select(), 0)")
        await self.evaluate(f"(document.querySelector({json.dumps(selector)}).focus(), 0)")
        await self.call("Input.insertText", text=text)

    async def set_pin(self, pin):
        """Gives the room a PIN, as its moderator; the room's menu stays open."""
        await self.click("#open-people")
        await self.click("#open-room")
        await self.type("#room-pin", pin)
        await self.click("#room-pin-set")
        await self.wait_for("probe.last('room')?.pin && !document.getElementById('room-pin-clear').hidden")

    async def key(self, key, kinds=("keyDown", "keyUp")):
        """Presses and releases a key. The browser's own actions, such as closing a dialog, need the key's number."""
        number = {"Escape": 27, "Tab": 9, "Enter": 13, " ": 32}.get(key, 0)
        text = {"Enter": "\r", " ": " "}.get(key)
        for kind in kinds:
            await self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=number,
                            **({"text": text} if text and kind == "keyDown" else {}))

    async def insist(self, expression, act, timeout=40):
        """Does what a user does, and again each time that the server refuses it: a busy one makes no picture for one alone."""
        deadline = time.monotonic() + timeout
        while True:
            refusals = await self.evaluate("probe.messages.filter(({ type }) => type === 'error').length")
            await act()
            await self.wait_for(f"({expression}) || probe.messages.filter(({{ type }}) => type === 'error').length > {refusals}", timeout)
            if await self.evaluate(expression):
                return
            assert time.monotonic() < deadline, f"it was refused for {timeout} s: {await self.evaluate('probe.last(`error`)')}"
            await asyncio.sleep(1)

    async def tell(self, **message):
        """Gives the page a message as if the server had sent it."""
        await self.evaluate(f"(probe.tell({json.dumps(message)}), 0)")

    async def shot(self, name):
        await self.screenshot(self.shots / f"{name}.png")

    async def fits(self, where):
        overflow = await self.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0, f"{where}: {overflow} pixels of horizontal scroll"
        outside = await self.evaluate(OUTSIDE)
        assert not outside, f"{where}: outside of the window: {outside}"

    async def audit(self, where, colours_only=False):
        """Axe's findings that are serious or worse; there must be none. `colours_only`: by the rules for colours alone, where nothing else has changed
        since an audit by all rules, which takes seconds."""
        if not await self.evaluate("Boolean(window.axe)"):
            await self.call("Runtime.evaluate", expression=AXE.read_text())
        findings = await self.evaluate(FINDINGS % (("{ runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } }", 1) if colours_only else ("{}", 16)))
        assert not findings, f"{where}: {json.dumps(findings, indent=1)}"

    async def is_moving(self, timeout=15):
        """Whether the picture is decoded and new frames arrive."""
        frames = "document.getElementById('mix').getVideoPlaybackQuality().totalVideoFrames"
        await self.wait_for("document.getElementById('mix')?.videoWidth > 0", timeout)
        before = await self.evaluate(frames)
        await self.wait_for(f"{frames} > {before} + 5", timeout)

    def people(self):
        return self.evaluate(
            "[...document.querySelectorAll('#people-list li[data-participant]')].map(row => [row.querySelector('.who').textContent,"
            " [...row.querySelectorAll('svg')].map(icon => icon.getAttribute('aria-label'))])")

    async def person(self, name, mark, timeout=8):
        """Waits until the list has this mark beside the name."""
        deadline = time.monotonic() + timeout
        while True:
            people = await self.people()
            if any(who.startswith(name) and mark in marks for who, marks in people):
                return
            assert time.monotonic() < deadline, f"no “{mark}” at {name}: {people}"
            await asyncio.sleep(0.1)
