import Basics
import Foundation
import RoomMedia
import Streaming
import Testing

@testable import Admission
@testable import Conference
@testable import Gateway
@testable import Management
@testable import Settings
@testable import WebServer

@Suite struct ConfigurationLoaderTests {
    private func load(_ yaml: String, environment: [String: String] = [:], flags: [ConfigurationLoader.Flag] = [])
        throws -> TesseraConfiguration
    {
        try ConfigurationLoader.load(file: .init(name: "t.yaml", text: yaml), environment: environment, flags: flags)
    }

    private func faults(_ yaml: String, environment: [String: String] = [:], flags: [ConfigurationLoader.Flag] = [])
        -> [String]
    {
        do {
            _ = try load(yaml, environment: environment, flags: flags)
            return []
        } catch let faults as ConfigurationFaults {
            return faults.faults.map(\.description)
        } catch { return ["\(error)"] }
    }

    @Test func `without settings the defaults apply`() throws {
        #expect(try ConfigurationLoader.load() == TesseraConfiguration())
        #expect(try load("") == TesseraConfiguration())
        #expect(try load("# nothing\nhttp:\n") == TesseraConfiguration())
    }

    @Test func `every key of the contract is accepted`() throws {
        let all = try load(
            """
            http:      { listen: "[::]:9090", tls: { certificate: c.pem, key: k.pem, selfSigned: false }, allowedOrigins: ["https://a.example", "*"], hosts: [Meet.example], publicURL: "https://meet.example/", frameAncestors: ["https://portal.example"], trustedProxies: [127.0.0.1, 10.0.0.0/8] }
            media:     { listen: 127.0.0.1:0, announce: [198.51.100.7, "2001:db8::1"], tcp: false }
            ice:       { stun: [stun:s.example:3478], turn: { urls: ["turn:t.example:3478?transport=udp"], secret: "x", ttl: 90m } }
            rooms:     { layout: speaker, onPresent: off, withoutSelf: false, passthrough: off, width: 640, height: 360, framesPerSecond: 15, maxParticipants: 5, emptyTimeout: 500ms, create: api,
                         views: {recording: {layout: single, width: 1920, height: 1080, framesPerSecond: 25, names: false, renditions: [{height: 1080, bitrate: 4M}]}, guests: } }
            video:     { codecs: [vp8], renditions: [ {height: 180, framesPerSecond: 15, bitrate: 110k}, {height: 720, bitrate: 1.5M} ] }
            audio:     { bitrate: 24k, maxSpeakers: 3 }
            recording: { directory: r, start: onFirstJoin, segment: 10m, maxLength: 12h, maxSize: 20GiB, preRoll: 30s, container: mp4, audio: opus, minimumFree: 500MiB, startsPerMinute: 3, tracks: true, perRoom: 2 }
            streams:   { schemes: [srt], hosts: [live.example, "*.cdn.example", 10.1.0.0/16], keyframeInterval: 1s, minimumFrameRate: 12, maxPerRoom: 2, retryFor: 1h, authorities: ca.pem }
            auth:      { mode: token, secret: "the secret of the portal, of 32 bytes", adminToken: "the administrator", issuer: i, audience: a }
            layouts:   { directory: l }
            doors:     { appRTC: false, webrtcDemo: false, socketIO: false, rawTCP: "" }
            limits:    { joinsPerSecondPerAddress: 50, messageBytes: 65536, sdpBytes: 32768, requestsPerSecondPerAddress: 7,
                         connections: 100, connectionsPerAddress: 20, rooms: 10, roomsPerAddress: 2, seats: 30, seatsPerAddress: 4, halfOpen: 9,
                         halfOpenPerAddress: 3, viewsPerRoom: 0, mediaConnections: 40, mediaConnectionsPerAddress: 5, loopShare: 0.5,
                         decodedPixelsPerSecond: 1000000, decodedPixelsPerSecondInAll: 2000000 }
            """)
        #expect(all.http.listen == Endpoint(host: "::", port: 9090))
        #expect(all.media.announce.map(\.description) == ["198.51.100.7", "2001:db8::1"])
        #expect(all.ice.turn.ttl == .seconds(5400))
        #expect(all.rooms.emptyTimeout == .milliseconds(500))
        #expect(all.rooms.create == .api)
        #expect(all.rooms.settings.onPresent == .off)
        #expect(!all.rooms.settings.withoutSelf && TesseraConfiguration().rooms.settings.withoutSelf)
        #expect(all.rooms.settings.passthrough == .off && TesseraConfiguration().rooms.settings.passthrough == .auto)
        #expect(try load("rooms: {passthrough: auto}").rooms.settings.passthrough == .auto)
        let recorded = try #require(all.rooms.settings.views["recording"])
        #expect(recorded.layout == "single" && recorded.height == 1080 && recorded.framesPerSecond == 25)
        #expect(recorded.names == false && recorded.renditions?.map(\.height) == [1080])
        #expect(all.rooms.settings.views["guests"] == ViewSettings())
        #expect(
            all.video.renditions.map(\.height) == [720, 180], "from the best to the smallest, however they were written"
        )
        #expect(all.video.renditions.map(\.bitRate.bitsPerSecond) == [1_500_000, 110_000])
        #expect(all.recording.files.segment == .seconds(600))
        #expect(all.recording.files.audio == .opus)
        #expect(all.auth.mode == .token)
        #expect(all.limits.joinsPerSecondPerAddress == 50)
        #expect(all.http.hosts == ["meet.example"] && all.http.publicURL == "https://meet.example")
        #expect(all.http.trustedProxies.map(\.description) == ["127.0.0.1/32", "10.0.0.0/8"])
        #expect(all.recording.files.minimumFree == 500 << 20)
        #expect(all.recording.files.maxLength == .seconds(12 * 3600) && all.recording.files.maxSize == 20 << 30)
        #expect(all.recording.files.preRoll == .seconds(30))
        #expect(all.streams.schemes == [.srt] && all.streams.maxPerRoom == 2 && all.streams.retryFor == .seconds(3600))
        #expect(all.streams.hosts.map(\.description) == ["live.example", "*.cdn.example", "10.1.0.0/16"])
        #expect(all.streams.keyframeInterval == .seconds(1) && all.streams.minimumFrameRate == 12)
        #expect(all.streams.authorities == "ca.pem")
        #expect(
            all.limits.connections == 100 && all.limits.conference.seatsPerAddress == 4
                && all.limits.conference.loopShare == 0.5)
        let conference = ConferenceConfiguration(all)
        #expect(conference.limits == all.limits.conference)
        #expect(conference.recording.minimumFree == 500 << 20 && conference.recording.startsPerMinute == 3)
        #expect(conference.recording.tracks && conference.recording.perRoom == 2)
    }

    @Test func `the environment overrides the file, and flags override both`() throws {
        let yaml = "rooms: {width: 640, height: 480, layout: speaker}\nhttp: {listen: 127.0.0.1:1}"
        let environment = ["TESSERA_ROOMS_WIDTH": "800", "TESSERA_HTTP_LISTEN": "127.0.0.1:2", "HOME": "/"]
        let settings = try load(
            yaml, environment: environment,
            flags: [.init(name: "--listen", path: "http.listen", values: ["127.0.0.1:3"])])
        #expect(settings.rooms.settings.width == 800)
        #expect(settings.rooms.settings.height == 480)
        #expect(settings.http.listen.port == 3)
    }

    /// The conference's configuration with these settings.
    private func recording(
        _ yaml: String, _ environment: [String: String], _ flag: (String, String)? = nil
    ) throws -> ConferenceConfiguration.Recording {
        let flags = flag.map { [ConfigurationLoader.Flag(name: "--flag", path: $0.0, values: [$0.1])] } ?? []
        return ConferenceConfiguration(try load(yaml, environment: environment, flags: flags)).recording
    }

    @Test
    func
        `recording.minimumFree comes from the file, the environment and a flag, and reaches the conference`()
        throws
    {
        let (yaml, environment) = ("recording: {minimumFree: 2GiB}", ["TESSERA_RECORDING_MINIMUMFREE": "3GiB"])
        #expect(try recording("", [:]).minimumFree == 1 << 30)
        #expect(try recording(yaml, [:]).minimumFree == 2 << 30)
        #expect(try recording(yaml, environment).minimumFree == 3 << 30)
        #expect(try recording(yaml, environment, ("recording.minimumFree", "4GiB")).minimumFree == 4 << 30)
        #expect(
            faults("", environment: ["TESSERA_RECORDING_MINIMUMFREE": "much"]).first?.contains(
                "TESSERA_RECORDING_MINIMUMFREE") == true)
    }

    @Test
    func
        `recording.startsPerMinute comes from the file, the environment and a flag, and reaches the conference`()
        throws
    {
        let (yaml, environment) = ("recording: {startsPerMinute: 2}", ["TESSERA_RECORDING_STARTSPERMINUTE": "3"])
        #expect(try recording("", [:]).startsPerMinute == 12)
        #expect(try recording(yaml, [:]).startsPerMinute == 2)
        #expect(try recording(yaml, environment).startsPerMinute == 3)
        #expect(try recording(yaml, environment, ("recording.startsPerMinute", "4")).startsPerMinute == 4)
        #expect(faults("recording: {startsPerMinute: 0}").first?.contains("1 to 1000") == true)
    }

    @Test func `lists in the environment are comma-separated or YAML`() throws {
        let settings = try load(
            "",
            environment: [
                "TESSERA_VIDEO_CODECS": "vp8, h264", "TESSERA_MEDIA_ANNOUNCE": "192.0.2.1",
                "TESSERA_VIDEO_RENDITIONS": "[{height: 360, bitrate: 400k}]",
            ])
        #expect(settings.video.codecs == [.vp8, .h264])
        #expect(settings.media.announce == [.v4(0xC000_0201)])
        #expect(settings.video.renditions == [.init(height: 360, framesPerSecond: nil, bitRate: .kilobits(400))])
    }

    @Test(arguments: [
        ("rooms: {witdh: 640}", "rooms.witdh: 640: there is no such key; did you mean rooms.width? (t.yaml:1)"),
        (
            "rooms: {width: wide}",
            "rooms.width: wide: not allowed; allowed is an even number from 160 to 3840 (t.yaml:1)"
        ),
        (
            "rooms: {width: \"640\"}",
            "rooms.width: \"640\": not allowed; allowed is an even number from 160 to 3840 (t.yaml:1)"
        ),
        (
            "rooms:\n  width: 641",
            "rooms.width: 641: not allowed; allowed is an even number from 160 to 3840 (t.yaml:2)"
        ),
        (
            "rooms: {passthrough: true}",
            "rooms.passthrough: true: not allowed; allowed is auto or off (t.yaml:1)"
        ),
        (
            "rooms: {transition: 1m}",
            "rooms.transition: 1m: not allowed; allowed is a duration such as 500ms, 10s, 5m or 24h, at most 2s (t.yaml:1)"
        ),
        (
            "rooms: {presets: {a: {}, 'board-*': {pin: '12', widht: 640}}}",
            "rooms.presets: board-*: widht: there is no such key; did you mean width?; allowed are "
                + PresetReader.keys.joined(separator: ", ") + " (t.yaml:1)"
        ),
        (
            "rooms: {presets: {a: {width: 641}}}",
            "rooms.presets: a: width: not allowed; allowed is an even number from 160 to 3840 (t.yaml:1)"
        ),
        (
            "rooms: {presets: {a/b: {}}}",
            "rooms.presets: a/b: a room's name, or a pattern with *, has \(Names.roomRule) (t.yaml:1)"
        ),
        ("rooms: {presets: {a: {pin: x}}}", "rooms.presets: a: pin: \(RoomPIN.rule), or nothing (t.yaml:1)"),
        ("rooms: {create: never}", "rooms.create: never: not allowed; allowed is onJoin or api (t.yaml:1)"),
        ("media: {tcp: maybe}", "media.tcp: maybe: not allowed; allowed is true or false (t.yaml:1)"),
        ("width: 640", "width: 640: there is no such key; did you mean rooms.width? (t.yaml:1)"),
        (
            "video: {codecs: [av1]}",
            "video.codecs: av1: av1 is sent and not received: name h264 or vp8 beside it, which clients send"
        ),
    ])
    func `a fault has key, value, allowed values and line`(yaml: String, line: String) {
        #expect(faults(yaml) == [line])
    }

    @Test(arguments: [
        "http: {listen: 8080}", "http: {listen: \"1.2.3:80\"}", "media: {listen: localhost}",
        "media: {announce: [nowhere]}",
        "ice: {stun: [stun.example]}", "ice: {turn: {urls: [\"turn:x\"]}}", "rooms: {emptyTimeout: 30}",
        "rooms: {emptyTimeout: -1s}",
        "rooms: {onPresent: Off!}",
        "rooms: {views: [a]}", "rooms: {views: {main: {}}}", "rooms: {views: {A: {}}}",
        "rooms: {views: {a: {width: 91}}}", "rooms: {views: {a: {renditions: []}}}", "rooms: {views: {a: {names: 1}}}",
        "rooms: {views: {a: {size: 9}}}",
        "rooms: {layout: ../x}", "video: {codecs: []}", "video: {codecs: [av1]}", "video: {codecs: [vp8, vp8]}",
        "video: {renditions: []}", "video: {renditions: [{height: 720}]}",
        "video: {renditions: [{height: 720, bitrate: 1M, x: 1}]}",
        "video: {renditions: [{height: 720, bitrate: 1M}, {height: 720, bitrate: 2M}]}", "audio: {bitrate: 1k}",
        "audio: {bitrate: 1e5}",
        "recording: {segment: 1s}", "recording: {maxLength: 9s}", "recording: {maxSize: -1}",
        "streams: {schemes: [http]}", "streams: {hosts: [\"a b\"]}", "streams: {hosts: [\"rtmp://a\"]}",
        "streams: {keyframeInterval: 11s}", "streams: {maxPerRoom: 17}", "streams: {minimumFrameRate: 0}",
        "recording: {preRoll: 1s}", "recording: {preRoll: 91s}", "recording: {perRoom: 0}",
        "recording: {container: mkv}", "auth: {mode: token}", "limits: {sdpBytes: 12}",
        "http: {tls: {certificate: a}}", "http: {tls: {certificate: a, key: b, selfSigned: true}}", "rooms: 7",
        "[1, 2]", "a: {b: [",
        "http: {listen: 0.0.0.0:50000}", "http: {allowedOrigins: [\"example.com\"]}", "rooms: {framesPerSecond: 0}",
        "rooms: {framesPerSecond: 99999999999999999999}", "auth: {secret: short}", "auth: {adminToken: letmein}",
        "auth: {mode: token, secret: 0123456789012345678901234567890}", "http: {hosts: [\"meet.example:8080\"]}",
        "http: {hosts: [127.0.0.1]}",
        "http: {publicURL: meet.example}", "http: {trustedProxies: [proxy]}", "http: {trustedProxies: [10.0.0.0/33]}",
        "limits: {connections: 1}", "limits: {connections: 100, connectionsPerAddress: 200}",
        "limits: {seats: 5, seatsPerAddress: 6}",
        "limits: {loopShare: 0}", "limits: {loopShare: 1.5}", "recording: {minimumFree: -1}",
        "recording: {minimumFree: much}", "doors: {rawTCP: 8000}", "doors: {rawTCP: \"0.0.0.0:8080\"}",
        "tracing: {otlp: \"localhost:4318\"}", "tracing: {otlp: \"http://\"}",
        "tracing: {otlp: \"http://10.0.0.1:65536/v1/traces\"}", "tracing: {otlp: \"http://:4318\"}",
        "cluster: {etcd: [\"10.0.0.1:2379\"]}", "cluster: {etcd: [\"http://10.0.0.1:2379\"]}",
        "cluster: {etcd: [\"http://10.0.0.1:2379\"], secret: short}", "cluster: {node: \"a b\"}",
        "cluster: {etcd: [\"http://10.0.0.1:99999\"], secret: 0123456789012345678901234567890123}",
        "cluster: {zone: a/b}",
        "cluster: {listen: 8081}", "cluster: {advertise: here}", "cluster: {ttl: 1s}", "cluster: {drain: {mode: now}}",
        "cluster: {drain: {within: 0s}}",
        "cluster: {etcd: [\"http://e:2379\"], secret: 0123456789012345678901234567890123, tls: {certificate: c.pem}}",
        "cluster: {etcd: [\"http://e:2379\"], secret: 0123456789012345678901234567890123, listen: \"0.0.0.0:8080\"}",
        "{cluster: {etcd: [\"http://e:2379\"], secret: 0123456789012345678901234567890123}, auth: {secret: 0123456789012345678901234567890123}}",
    ])
    func `impossible values stop the start with one line each`(yaml: String) {
        let lines = faults(yaml)
        #expect(lines.count == 1, "\(lines)")
        #expect(lines.allSatisfy { !$0.contains("\n") })
    }

    @Test func `media can listen on a name of this machine`() throws {
        let named = try ConfigurationLoader.load(file: .init(name: "c", text: "media: {listen: localhost:50001}"))
        #expect(named.media.listen.ip.isLoopback && named.media.listen.port == 50001)
    }

    @Test func `all faults are reported at once`() {
        #expect(faults("rooms: {width: 1, height: 1}\nx: 1", environment: ["TESSERA_AUDIO_BITRATE": "no"]).count == 4)
    }

    @Test func `the program that delivers recordings keeps its words as they are`() throws {
        let words = ["sh", "-c", "a \"b\", c", "{file}", "{files}", "s:m/{room}/{id}"]
        let yaml = #"recording: {onFinished: [sh, -c, "a \"b\", c", "{file}", "{files}", "s:m/{room}/{id}"]}"#
        #expect(try recording(yaml, [:]).onFinished == words)
        #expect(try recording("", [:]).onFinished.isEmpty && recording(yaml, [:]).retryFor == .seconds(72 * 3600))
        #expect(try recording("", ["TESSERA_RECORDING_ONFINISHED": "[a, \"{id}\"]"]).onFinished == ["a", "{id}"])
        #expect(try recording("recording: {onFinished: []}", [:]).onFinished.isEmpty)
        #expect(faults(#"recording: {onFinished: [a, "x{files}"]}"#).first?.contains("one by itself") == true)
        #expect(faults(#"recording: {onFinished: ["{file}"]}"#).first?.contains("program comes first") == true)
        for bad in ["rclone", "{a: b}", "[a, [b]]", "7"] {
            #expect(faults("recording: {onFinished: \(bad)}").first?.contains("allowed is a list of a program") == true)
        }
    }

    @Test func `recordings are kept for days, and up to a size`() throws {
        let kept = try recording("recording: {keep: 30d, maxBytes: 500GiB, retryFor: 1d, deliveryLimit: 1h}", [:])
        #expect(kept.keep == .seconds(30 * 86400) && kept.maxBytes == 500 << 30)
        #expect(kept.retryFor == .seconds(86400) && kept.deliveryLimit == .seconds(3600))
        let none = try recording(#"recording: {keep: "", maxBytes: ""}"#, [:])
        #expect(none.keep == .zero && none.maxBytes == 0)
        #expect(faults("recording: {keep: 5m}").first?.contains("from 1h") == true)
    }

    @Test func `a total can be lowered alone`() throws {
        #expect(try load("limits: {connections: 100, seats: 5, rooms: 2}").limits.connections == 100)
    }

    @Test func `short secrets are not printed`() {
        #expect(!faults("auth: {mode: token, secret: geheim, adminToken: geheim}").contains { $0.contains("geheim") })
    }

    @Test(arguments: [
        ("0", 0), ("4096", 4096), ("100k", 100_000), ("1MiB", 1 << 20), ("1GiB", 1 << 30), ("1.5G", 1_500_000_000),
    ])
    func `sizes`(text: String, bytes: Int) throws {
        #expect(try load("recording: {minimumFree: \(text)}").recording.files.minimumFree == bytes)
    }

    @Test func `every key is in the documentation`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = root.appendingPathComponent("Sources/Gateway/Gateway.docc/Configuration.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        for key in ConfigurationSchema.keys {
            let last = String(key.path.split(separator: ".").last ?? "")
            #expect(text.contains("`\(key.path)`") || text.contains("`.\(last)`"), "\(key.path)")
        }
    }

    @Test func `traces have a collector or none`() throws {
        #expect(try load("tracing: {otlp: \"\"}").tracing.otlp.isEmpty)
        #expect(try load("tracing: {otlp: \"http://c:4318/v1/traces\"}").tracing.otlp == "http://c:4318/v1/traces")
    }

    @Test func `the raw TCP endpoint has an address or none`() throws {
        #expect(try load("doors: {rawTCP: \"\"}").doors.rawTCP == nil)
        #expect(try load("doors: {rawTCP: 127.0.0.1:8000}").doors.rawTCP == Endpoint(host: "127.0.0.1", port: 8000))
        #expect(faults("doors: {rawTCP: 8000}").first?.contains("HOST:PORT") == true)
        #expect(faults("doors: {rawTCPRoom: a/b}").first?.contains("a room's id") == true)
    }

    @Test func `secrets are not printed`() {
        let lines = faults("auth: {secret: [geheim], adminToken: {a: geheim}}\nice: {turn: {secret: [geheim]}}")
        #expect(lines.count == 3)
        #expect(!lines.contains { $0.contains("geheim") })
    }

    @Test func `an unknown variable is a fault unless Kubernetes made it`() {
        #expect(faults("", environment: ["TESSERA_ROOM_WIDTH": "1"]).first?.contains("TESSERA_ROOMS_WIDTH") == true)
        #expect(
            faults("", environment: ["TESSERA_PORT": "tcp://10.0.0.1:80", "TESSERA_SERVICE_HOST": "10.0.0.1"]).isEmpty)
    }

    @Test(arguments: [
        ("500ms", 0.5), ("10s", 10), ("1.5s", 1.5), ("2m", 120), ("24h", 86400), ("0", 0), ("250us", 0.00025),
    ])
    func `durations`(text: String, seconds: Double) {
        #expect(Duration(setting: text)?.inSeconds == seconds)
    }

    @Test(arguments: ["", "s", "10", "-1s", "1e3s", "nan s", "infs", "1 s", "0x1s", "999999999999999999h"])
    func `invalid durations`(text: String) { #expect(Duration(setting: text) == nil) }

    @Test func `a preset has the members of PUT rooms`() throws {
        #expect(Set(PresetReader.keys) == Set(RoomSettingsChange.keys))
        let settings = try load(
            """
            rooms:
              presets:
                board: { layout: speaker, onPresent: off, width: 640, height: 360, framesPerSecond: 15, locked: true,
                  layoutLocked: true, admit: moderator, pin: 4711, maxParticipants: 7, maxViewers: 9,
                  hostKey: key-of-the-board-1234567, muteOnEntry: true, share: presenters, chat: presenters,
                  unmute: presenters,
                  hls: true, views: { guests: { layout: grid } } }
                "class-*":
            """)
        let changed = try #require(settings.rooms.presets.change(for: "board"))
        var expected = RoomSettingsChange()
        (expected.layout, expected.onPresent, expected.width, expected.height) = ("speaker", .off, 640, 360)
        (expected.framesPerSecond, expected.locked, expected.layoutLocked) = (15, true, true)
        (expected.admit, expected.pin, expected.maxParticipants, expected.maxViewers) = (.moderator, "4711", 7, 9)
        expected.hls = true
        (expected.hostKey, expected.muteOnEntry) = ("key-of-the-board-1234567", true)
        (expected.share, expected.chat, expected.unmute) = (.presenters, .presenters, .presenters)
        var guests = ViewSettings()
        guests.layout = "grid"
        expected.views = ["guests": guests]
        #expect(changed == expected)
        #expect(settings.rooms.presets.change(for: "class-2") == RoomSettingsChange())
        #expect(settings.rooms.presets.change(for: "other") == nil)
    }
}
