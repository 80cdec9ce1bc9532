package import Basics

/// The options of `tessera call`.
package struct CallOptions: Sendable {
    /// The server: `http://host:port`, `https://…`, or the signalling address itself (`ws://…/signal`).
    package var url: String
    package var room: String
    /// The name that other participants see; with `count` above one a number is added.
    package var name: String
    /// A file whose video is sent in a loop; nil sends a test pattern that flashes once a second.
    package var video: String?
    /// A file whose audio is sent in a loop; nil sends the video file's audio, or a beep with each flash.
    package var audio: String?
    /// The codec to send, and the preferred one to receive.
    package var codec: VideoCodec
    /// The file for the received media; with `count` above one a number is added before the extension.
    package var save: String?
    /// The number of participants.
    package var count: Int
    /// How long to stay; nil until interrupted or removed by the server.
    package var duration: Duration?
    /// An access token, for servers with `auth.mode: token`.
    package var token: String?
    /// The room's PIN, where it has one.
    package var pin: String?

    package init(
        url: String, room: String, name: String, video: String? = nil, audio: String? = nil, codec: VideoCodec = .h264,
        save: String? = nil, count: Int = 1, duration: Duration? = nil, token: String? = nil,
        pin: String? = nil
    ) {
        self.url = url
        self.room = room
        self.name = name
        self.video = video
        self.audio = audio
        self.codec = codec
        self.save = save
        self.count = count
        self.duration = duration
        self.token = token
        self.pin = pin
    }
}

/// Why a call failed, in a sentence for the user of the command.
package struct CallError: Error, CustomStringConvertible {
    package var description: String

    package init(_ description: String) {
        self.description = description
    }
}
