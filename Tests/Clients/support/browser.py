"""Headless browsers, controlled by their own remote protocols without a driver program: Chromium by CDP, Firefox by WebDriver BiDi."""

import asyncio
import atexit
import contextlib
import functools
import http.client
import itertools
import json
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import websockets

from support.lan import BOUND
from support.server import free_port


class Browser:
    def __init__(self, far=None):
        """`far`: the network of the browser (FarNetwork); None: the test's own."""
        self.far = far
        self.port = free_port()
        self.ids = itertools.count(1)
        self.pending = {}
        self.events = []
        self.process = None

    async def connect(self, url):
        there = {"sock": await asyncio.to_thread(self.far.connect, self.port)} if self.far else {}
        self.socket = await websockets.connect(url, max_size=1 << 26, **there)
        self.reader = asyncio.ensure_future(self.read())

    @functools.cached_property
    def profile(self):
        return Path(tempfile.mkdtemp(prefix="tessera-browser-"))

    def run(self, command, **options):
        # It ends with this process, also where that is killed.
        bound = BOUND if threading.current_thread() is threading.main_thread() else []
        self.process = subprocess.Popen(
            [*(self.far.prefix if self.far else []), *bound, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)

    def get(self, path):
        """Reads from the HTTP port of the remote protocol."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        if self.far:
            connection.sock = self.far.connect(self.port)
        connection.request("GET", path)
        try:
            return json.load(connection.getresponse())
        finally:
            connection.close()

    async def read(self):
        async for text in self.socket:
            message = json.loads(text)
            waiting = self.pending.pop(message.get("id"), None)
            if waiting and not waiting.done():
                waiting.set_result(message)
            elif "method" in message:
                self.events.append(message)

    async def call(self, method, timeout=30, **parameters):
        number = next(self.ids)
        self.pending[number] = asyncio.get_running_loop().create_future()
        await self.socket.send(json.dumps({"id": number, "method": method, "params": parameters, **self.session()}))
        answer = await asyncio.wait_for(self.pending[number], timeout)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer}")
        return answer["result"]

    def session(self):
        return {}

    async def wait_for(self, expression, timeout=20):
        """Waits until a JavaScript expression is truthy and returns it."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                value = await self.evaluate(expression)
            except RuntimeError as error:
                # The page's script has not been run yet.
                if "is not defined" not in str(error):
                    raise
                value = None
            if value:
                return value
            if time.monotonic() > deadline:
                raise TimeoutError(f"{expression} stayed {value!r} for {timeout} s; console: {self.console()[-10:]}")
            await asyncio.sleep(0.1)

    def console(self):
        return []

    async def disconnect(self):
        self.reader.cancel()
        await self.socket.close()

    async def close(self):
        await self.disconnect()
        self.end()

    def end(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


class Chromium(Browser):
    """A page in a profile of its own. All share one browser, which starts once; a page that needs other settings or another network, and one with
    `apart`, whose test stops or kills the browser, has its own."""

    COMMAND = [
        "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--allow-loopback-in-peer-connection",
        "--autoplay-policy=no-user-gesture-required", "--disable-background-timer-throttling",
        "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows", "--remote-allow-origins=*",
    ]

    def __init__(self, far=None, apart=False):
        super().__init__(far)
        self.apart, self.owner = apart or far is not None, None

    async def start(self, url, width=1280, height=800, mobile=False, flags=(), trusted=None):
        """`trusted`: an address whose page may use the camera without loopback or TLS; None: that of `url`."""
        origin = "/".join((trusted or url).split("/")[:3])
        if self.apart or flags or urlsplit(origin).hostname not in (None, "127.0.0.1", "localhost"):
            await self.launch(f"--window-size={width},{height}", f"--unsafely-treat-insecure-origin-as-secure={origin}", *flags)
        else:
            self.owner = await SharedChromium.running()
            await self.connect(f"ws://127.0.0.1:{self.owner.port}{await self.new_target(width, height)}")
        await self.call("Runtime.enable")
        await self.call("Page.enable")
        if mobile:
            await self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2, mobile=True)
        await self.call("Page.navigate", url=url)
        return self

    async def launch(self, *flags):
        """Starts a browser, and connects to its first page."""
        self.run([*self.COMMAND, f"--user-data-dir={self.profile}", f"--remote-debugging-port={self.port}", *flags, "about:blank"])
        deadline = time.monotonic() + 30
        while True:
            try:
                page = next(target for target in self.get("/json/list") if target["type"] == "page")
                break
            except (OSError, http.client.HTTPException, StopIteration):
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.1)
        await self.connect(page["webSocketDebuggerUrl"])

    async def new_target(self, width, height):
        """Opens a page in a new profile of the shared browser. The profile ends with this connection, even where a test does not close it."""
        self.control = Browser()
        await self.control.connect(self.owner.url)
        context = await self.control.call("Target.createBrowserContext", disposeOnDetach=True)
        target = await self.control.call("Target.createTarget", url="about:blank", newWindow=True, width=width, height=height, **context)
        return f"/devtools/page/{target['targetId']}"

    async def close(self):
        if not self.owner:
            return await super().close()
        await self.disconnect()
        await self.control.disconnect()

    async def evaluate(self, expression):
        result = await self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:2000])
        return result["result"].get("value")

    async def screenshot(self, path):
        import base64
        result = await self.call("Page.captureScreenshot", format="png")
        Path(path).write_bytes(base64.b64decode(result["data"]))

    def console(self):
        found = []
        for event in self.events:
            if event["method"] == "Runtime.consoleAPICalled":
                found.append(" ".join(str(a.get("value", a.get("description"))) for a in event["params"]["args"]))
            elif event["method"] == "Runtime.exceptionThrown":
                found.append(json.dumps(event["params"]["exceptionDetails"])[:600])
        return found


class SharedChromium(Chromium):
    """The browser of all pages that need none of their own."""

    current, starting = None, None

    def __init__(self):
        super().__init__(apart=True)

    @classmethod
    async def running(cls):
        if not cls.current or cls.current.process.poll() is not None:
            # Pages that are opened at once wait for the same start.
            cls.starting = cls.starting or asyncio.ensure_future(cls.begin())
            try:
                await cls.starting
            finally:
                cls.starting = None
        return cls.current

    @classmethod
    async def begin(cls):
        browser = cls()
        atexit.register(browser.end)
        await browser.launch()
        await browser.disconnect()
        browser.url = browser.get("/json/version")["webSocketDebuggerUrl"]
        cls.current = browser


class Firefox(Browser):
    # A profile that a Firefox of this process has used and closed: a start with its caches takes half of the time.
    used_profile = None
    PREFERENCES = {
        "media.navigator.streams.fake": True, "media.navigator.permission.disabled": True,
        "media.peerconnection.ice.obfuscate_host_addresses": False, "media.autoplay.default": 0,
        "media.autoplay.blocking_policy": 0, "media.autoplay.block-webaudio": False, "remote.active-protocols": 1, "browser.shell.checkDefaultBrowser": False,
        "datareporting.policy.dataSubmissionEnabled": False, "app.update.enabled": False, "network.captive-portal-service.enabled": False,
        "toolkit.startup.max_resumed_crashes": -1, "media.devices.insecure.enabled": True, "media.getusermedia.insecure.enabled": True,
        "dom.min_background_timeout_value": 4, "media.peerconnection.ice.loopback": True,
    }

    async def start(self, url, microphone=1000):
        """`microphone`: the tone of the fake microphone in Hz."""
        lines = [f'user_pref("{key}", {json.dumps(value)});' for key, value in [*self.PREFERENCES.items(), ("media.navigator.audio.fake_frequency", microphone)]]
        if Firefox.used_profile:
            shutil.copytree(Firefox.used_profile, self.profile, dirs_exist_ok=True)
        (self.profile / "user.js").write_text("\n".join(lines))
        self.run([
            "firefox-esr", "--headless", "--no-remote", "--profile", str(self.profile), f"--remote-debugging-port={self.port}", "about:blank",
        ], env={"HOME": str(self.profile), "PATH": "/usr/bin:/bin", "MOZ_DISABLE_CONTENT_SANDBOX": "1"})
        deadline = time.monotonic() + 40
        while True:
            try:
                await self.connect(f"ws://127.0.0.1:{self.port}/session")
                break
            except (OSError, websockets.InvalidHandshake):
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.2)
        await self.call("session.new", capabilities={})
        tree = await self.call("browsingContext.getTree")
        self.context = tree["contexts"][0]["context"]
        await self.call("session.subscribe", events=["log.entryAdded"])
        await self.call("browsingContext.navigate", context=self.context, url=url, wait="complete")
        return self

    async def close(self):
        if not Firefox.used_profile and not self.far:
            # It writes its caches when it is asked to end.
            with contextlib.suppress(RuntimeError, TimeoutError, websockets.WebSocketException):
                await self.call("browser.close", timeout=5)
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self.process.wait, 5)
                Firefox.used_profile = Path(tempfile.mkdtemp(prefix="tessera-firefox-"))
                atexit.register(shutil.rmtree, Firefox.used_profile, ignore_errors=True)
                shutil.copytree(self.profile, Firefox.used_profile, dirs_exist_ok=True, ignore=shutil.ignore_patterns("lock", ".parentlock"))
        await super().close()

    async def evaluate(self, expression):
        # BiDi describes values structurally; a JSON text is passed unchanged.
        result = await self.call(
            "script.evaluate", expression=f"Promise.resolve({expression}).then(v => JSON.stringify(v === undefined ? null : v))",
            target={"context": self.context}, awaitPromise=True, userActivation=True)
        if result["type"] != "success":
            raise RuntimeError(json.dumps(result)[:2000])
        return json.loads(result["result"]["value"])

    def console(self):
        return [event["params"].get("text") for event in self.events if event["method"] == "log.entryAdded"]
