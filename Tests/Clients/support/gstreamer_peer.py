"""A participant with GStreamer's webrtcbin, over WHIP: it sends one colour and one tone, and keeps the last picture and the last second of audio.

Run by the system's Python, whose `gi` the tests' own environment lacks: `gstreamer_peer.py URL CODEC COLOUR TONE`. Each line on standard
input is a request: `picture FILE` writes the last picture's RGB bytes to the file and answers with its width and height and the number
of pictures so far, `sound FILE` does so with mono samples of 16 bits and their rate; the end of the input ends the call.
"""

import json
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstSdp", "1.0")
gi.require_version("GstWebRTC", "1.0")
gi.require_version("GstApp", "1.0")
from gi.repository import GLib, Gst, GstApp, GstSdp, GstWebRTC  # noqa: E402, F401

ENCODERS = {
    "H264": "x264enc tune=zerolatency speed-preset=ultrafast bitrate=400 key-int-max=60 ! video/x-h264,profile=constrained-baseline"
            " ! rtph264pay config-interval=-1 aggregate-mode=zero-latency ! application/x-rtp,media=video,encoding-name=H264,payload=96",
    "VP8": "vp8enc deadline=1 target-bitrate=400000 keyframe-max-dist=60 ! rtpvp8pay picture-id-mode=2"
           " ! application/x-rtp,media=video,encoding-name=VP8,payload=96",
}


class Peer:
    def __init__(self, url, codec, colour, frequency):
        self.url, self.session, self.pictures, self.picture, self.sound = url, None, 0, None, b""
        red, green, blue = (int(part) for part in colour.split(","))
        self.pipeline = Gst.parse_launch(
            "webrtcbin name=peer bundle-policy=max-bundle"
            f" videotestsrc is-live=true pattern=solid-color foreground-color={0xFF << 24 | red << 16 | green << 8 | blue}"
            f" ! video/x-raw,width=320,height=180,framerate=15/1 ! videoconvert ! {ENCODERS[codec]} ! peer."
            f" audiotestsrc is-live=true freq={frequency} volume=0.2 ! audio/x-raw,rate=48000,channels=1 ! opusenc ! rtpopuspay"
            " ! application/x-rtp,media=audio,encoding-name=OPUS,payload=97 ! peer.")
        self.peer = self.pipeline.get_by_name("peer")
        self.peer.connect("on-negotiation-needed", self.offer)
        self.peer.connect("notify::ice-gathering-state", self.gathered)
        self.peer.connect("notify::connection-state", lambda *_: self.tell(state=self.peer.get_property("connection-state").value_nick))
        self.peer.connect("pad-added", self.receive)
        self.posted = False
        self.pipeline.set_state(Gst.State.PLAYING)

    def tell(self, **message):
        print(json.dumps(message), flush=True)

    def offer(self, _):
        def created(promise):
            promise.wait()
            reply = promise.get_reply()
            self.peer.emit("set-local-description", reply.get_value("offer"), Gst.Promise.new())
        self.peer.emit("create-offer", None, Gst.Promise.new_with_change_func(created))

    def gathered(self, *_):
        if self.peer.get_property("ice-gathering-state") != GstWebRTC.WebRTCICEGatheringState.COMPLETE or self.posted:
            return
        self.posted = True
        offer = self.peer.get_property("local-description").sdp.as_text()
        request = urllib.request.Request(self.url, data=offer.encode(), headers={"Content-Type": "application/sdp"})
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                answer, self.session = response.read(), response.headers["Location"]
        except urllib.error.HTTPError as error:
            self.tell(error=f"{error.code} {error.read().decode(errors='replace')}")
            return
        _, message = GstSdp.SDPMessage.new_from_text(answer.decode())
        self.peer.emit("set-remote-description", GstWebRTC.WebRTCSessionDescription.new(GstWebRTC.WebRTCSDPType.ANSWER, message), None)
        self.tell(session=self.session, offer=offer)

    def receive(self, _, pad):
        if pad.direction != Gst.PadDirection.SRC:
            return
        decoder = Gst.ElementFactory.make("decodebin")
        decoder.connect("pad-added", self.decoded)
        self.pipeline.add(decoder)
        decoder.sync_state_with_parent()
        pad.link(decoder.get_static_pad("sink"))

    def decoded(self, _, pad):
        video = pad.get_current_caps().get_structure(0).get_name().startswith("video")
        kind = "videoconvert ! video/x-raw,format=RGB" if video else "audioconvert ! audioresample ! audio/x-raw,format=S16LE,rate=48000,channels=1"
        chain = Gst.parse_bin_from_description(f"queue ! {kind} ! appsink name=sink emit-signals=true sync=false max-buffers=5 drop=true", True)
        self.pipeline.add(chain)
        chain.get_by_name("sink").connect("new-sample", self.keep_picture if video else self.keep_sound)
        chain.sync_state_with_parent()
        pad.link(chain.get_static_pad("sink"))

    def keep_picture(self, sink):
        sample = sink.emit("pull-sample")
        shape = sample.get_caps().get_structure(0)
        width, height = shape.get_value("width"), shape.get_value("height")
        data = sample.get_buffer().extract_dup(0, sample.get_buffer().get_size())
        stride = len(data) // height
        self.picture = (width, height, b"".join(data[row * stride:row * stride + width * 3] for row in range(height)))
        self.pictures += 1
        return Gst.FlowReturn.OK

    def keep_sound(self, sink):
        buffer = sink.emit("pull-sample").get_buffer()
        self.sound = (self.sound + buffer.extract_dup(0, buffer.get_size()))[-2 * 48000:]
        return Gst.FlowReturn.OK

    def hang_up(self):
        self.pipeline.set_state(Gst.State.NULL)
        if self.session:
            urllib.request.urlopen(urllib.request.Request(urllib.parse.urljoin(self.url, self.session), method="DELETE"), timeout=10)

    def answer(self, line):
        what, path = line.split(maxsplit=1)
        width, height, data = (self.picture or (0, 0, b"")) if what == "picture" else (0, 0, self.sound)
        with open(path.strip(), "wb") as file:
            file.write(data)
        self.tell(width=width, height=height, pictures=self.pictures, bytes=len(data))


def main(url, codec, colour, frequency):
    Gst.init(None)
    peer = Peer(url, codec, colour, frequency)
    loop = GLib.MainLoop()

    def read():
        for line in sys.stdin:
            peer.answer(line)
        loop.quit()
    threading.Thread(target=read, daemon=True).start()
    loop.run()
    peer.hang_up()


if __name__ == "__main__":
    main(*sys.argv[1:])
