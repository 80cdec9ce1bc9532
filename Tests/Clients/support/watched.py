"""The web client in a browser, with a camera of one colour and a microphone of one tone, and when its picture and sound went on."""

import json
from urllib.parse import urlencode

from support import CLIENTS
from support.browser import Chromium, Firefox
from support.media import COLOURS, TONES

SCRIPT = CLIENTS / "support" / "pages" / "watched.js"


class Watched:
    """What both browsers have. Members of a call have `name`, `frequency`, `state` and `gaps`."""

    def prepare(self, name, colour, frequency):
        self.name, self.colour, self.frequency = name, colour, frequency
        return "window.WATCHED = " + json.dumps({"colour": COLOURS[colour], "tone": frequency, "tones": TONES}) + ";" + SCRIPT.read_text()

    @staticmethod
    def address(endpoint, room, name):
        return f"{endpoint.url}/r/{room}?{urlencode({'name': name, 'join': 1})}"

    async def state(self, tones):
        """What the page knows of itself, and since when (ms of the epoch) its picture moves and it plays these tones without a pause."""
        return await self.evaluate(f"watched.state({json.dumps(tones)})")

    async def gaps(self, since, tones):
        """The longest gaps in ms of the picture and of the tones since then (ms of the epoch)."""
        return await self.evaluate(f"watched.gaps({since}, {json.dumps(tones)})")

    async def tell(self, **message):
        """The page's people ask the server for something."""
        await self.evaluate(f"(watched.messages.findLast(({{ type }}) => type === 'joined').socket.send(JSON.stringify({json.dumps(message)})), 0)")

    async def leave(self):
        await self.close()


class WatchedChromium(Watched, Chromium):
    async def join(self, endpoint, room, name, colour, frequency):
        script, url = self.prepare(name, colour, frequency), self.address(endpoint, room, name)
        await self.start("about:blank", 800, 600, trusted=url)
        # The page's policy permits no script of another kind, and the meter is one.
        await self.call("Page.setBypassCSP", enabled=True)
        await self.call("Page.addScriptToEvaluateOnNewDocument", source=script)
        await self.call("Page.navigate", url=url)
        return self


class WatchedFirefox(Watched, Firefox):
    async def join(self, endpoint, room, name, colour, frequency):
        script, url = self.prepare(name, colour, frequency), self.address(endpoint, room, name)
        await self.start("about:blank", microphone=frequency)
        await self.call("script.addPreloadScript", functionDeclaration=f"() => {{ {script} }}")
        await self.call("browsingContext.navigate", context=self.context, url=url, wait="complete")
        return self
