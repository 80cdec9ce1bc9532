import Basics
import Fuzzing
import Peer

@testable import Admission
@testable import AppEndpoints
@testable import Conference
@testable import Gateway
@testable import Management
@testable import Settings
@testable import Signalling
@testable import WebServer

/// Texts that are received over HTTP and WebSocket, and the configuration file.
enum TextBodies {
    static let all = [fragment, message, request, configuration, demo, rawTCP]

    /// Trickled candidates of WHIP (RFC 8840).
    static let fragment = FuzzTarget(
        "fragment", covers: "SDP fragments of WHIP", maximumLength: 16_384,
        words: [
            "a=ice-ufrag:", "a=ice-pwd:", "a=candidate:", "a=end-of-candidates", "a=mid:",
            "m=audio 9 UDP/TLS/RTP/SAVPF 0",
        ],
        seeds: {
            [
                "a=ice-ufrag:abcd\r\na=ice-pwd:abcdefghijklmnopqrstuv\r\nm=audio 9 RTP/AVP 0\r\na=mid:0\r\na=candidate:1 1 udp 1 10.0.0.1 9 typ host\r\na=end-of-candidates\r\n",
                "a=end-of-candidates\n",
            ].map { Array($0.utf8) }
        }
    ) { input, work in
        work.step(bytes: input.bytes.count)
        let text = String(decoding: input.bytes, as: UTF8.self)
        guard let fragment = try? SDPFragment(parsing: text) else { return }
        let answer = fragment.answer(ufrag: "u", password: "p", candidates: fragment.candidates)
        work.step(bytes: answer.utf8.count)
        _ = try? SDPFragment(parsing: answer)
        work.weigh()
    }

    /// Messages of the signalling connection.
    static let message = FuzzTarget(
        "message", covers: "JSON messages of the signalling connection", limits: WorkLimits(perByte: .microseconds(2)),
        maximumLength: 65_536,
        words: jsonWords + ClientMessage.types.map { "\"\($0)\"" },
        seeds: {
            [
                #"{"type":"join","room":"a","name":"b","token":null,"role":"moderator","layout":"grid","resume":{"participant":"1","token":"2"}}"#,
                #"{"type":"offer","sdp":"v=0\r\n"}"#,
                #"{"type":"candidate","candidate":{"candidate":"candidate:1 1 udp 1 10.0.0.1 9 typ host"}}"#,
                #"{"type":"candidate","candidate":null}"#, #"{"type":"state","audio":true,"video":false,"hand":true}"#,
                #"{"type":"layout","name":"grid","scope":"me","pin":["a","b"]}"#,
                #"{"type":"present","on":true}"#, #"{"type":"chat","text":"\ud83d\ude00","to":"a"}"#,
                #"{"type":"record","action":"start"}"#,
                #"{"type":"moderate","action":"volume","participant":"a","role":"viewer","volume":1.5}"#,
                #"{"type":"room","locked":true,"layoutLocked":false,"admit":"moderator","pin":"2718"}"#,
                #"{"type":"leave"}"#,
            ].map { Array($0.utf8) }
        }
    ) { input, work in
        work.step(bytes: input.bytes.count)
        _ = try? ClientMessage.parse(String(decoding: input.bytes, as: UTF8.self))
        work.weigh()
    }

    /// Frames of WebRTC demo clients, through their session.
    static let demo = FuzzTarget(
        "demo", covers: "JSON messages of WebRTC demo clients", limits: WorkLimits(perByte: .microseconds(2)),
        maximumLength: 65_536,
        words: jsonWords + WebRTCDemoMessage.types.map { "\"\($0)\"" } + ["\"payload\":", "\"offer\""],
        seeds: {
            [
                #"{"type":"SessionDescription","payload":{"sdp":"v=0\r\na=rtpmap:111 opus\/48000\/2\r\n","type":"offer"}}"#,
                #"{"type":"IceCandidate","payload":{"sdpMLineIndex":0,"sdpMid":"0","sdp":"candidate:1 1 udp 1 10.0.0.1 9 typ host"}}"#,
                #"{"type":"SessionDescription","payload":{"type":"prAnswer","sdp":""}}"#,
            ].map { Array($0.utf8) }
        }
    ) { input, work in
        work.step(bytes: input.bytes.count)
        var session = WebRTCDemoSession(sdpLimit: 65_536)
        for action in session.received(input.bytes) {
            guard case .join(let offer) = action else { continue }
            work.step(bytes: offer.utf8.count)
            _ = DTLSFingerprints(of: offer)
            session.joined()
            _ = session.answered(offer)
        }
        _ = session.received(input.bytes)
        let text = String(decoding: input.bytes, as: UTF8.self)
        _ = WebRTCDemoTarget(uri: text, defaultRoom: "lobby")
        work.weigh()
    }

    /// The bytes of one raw TCP connection.
    static let rawTCP = FuzzTarget(
        "rawtcp", covers: "frames and messages of raw TCP clients", limits: WorkLimits(perByte: .microseconds(2)),
        maximumLength: 65_600,
        words: jsonWords + RawTCPMessage.types.map { "\"\($0)\"" } + ["\"detail_info\":{", "\u{0}\u{61}"],
        seeds: {
            [
                #"{"type":"login_req","source":0,"destination":0,"status":0,"detail_info":{"device_type":"ios"}}"#,
                #"{"type":"heartbeat_req","source":7,"detail_info":{"":""}}"#,
                #"{"type":"sdp","source":7,"detail_info":{"sdp":{"sdp":"v=0\r\n","type":"answer"}}}"#,
                #"{"type":"icecandidate","detail_info":{"icecandidate":{"candidate":"candidate:1","sdpMLineIndex":0,"sdpMid":"0"}}}"#,
            ].map { RawTCPFrame.encode(Array($0.utf8)) ?? [] }
        }
    ) { input, work in
        // Whole, and in reads of a few bytes: the result is the same.
        let whole = rawTCPMessages(input.bytes, read: max(1, input.bytes.count), work)
        let pieces = rawTCPMessages(input.bytes, read: 7, work)
        precondition(whole == pieces, "the reader depends on the size of reads")
        work.weigh()
    }

    private static func rawTCPMessages(_ bytes: [UInt8], read size: Int, _ work: borrowing Work) -> [RawTCPMessage] {
        var reader = RawTCPFrameReader(maxJSON: RawTCPFrame.maxJSON)
        var session = RawTCPSession(sdpLimit: 65_536, at: .zero)
        var messages: [RawTCPMessage] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            reader.append(bytes[start..<min(start + size, bytes.count)])
            do {
                while let json = try reader.next() {
                    messages.append(try RawTCPMessage.parse(json))
                    for action in session.received(messages[messages.count - 1], at: .zero) {
                        guard case .join = action else { continue }
                        _ = session.joined(as: 7, isAgain: false, at: .zero)
                        _ = session.offered(json, at: .zero)
                    }
                }
            } catch {
                break
            }
        }
        while session.nextFrame(at: .zero) != nil {}
        return messages
    }

    /// Bodies of the API.
    static let request = FuzzTarget(
        "request", covers: "JSON bodies of the API", limits: WorkLimits(perByte: .microseconds(2)),
        maximumLength: 65_536,
        words: jsonWords + RoomSettingsChange.keys.map { "\"\($0)\"" },
        seeds: {
            [
                #"{"layout":"grid","width":1280,"height":720,"framesPerSecond":30,"locked":true,"maxParticipants":10}"#,
                #"{"audio":true,"video":null,"role":"viewer"}"#, #"[[[[1e400,-0,"\u0000"]]]]"#,
            ]
            .map { Array($0.utf8) }
        }
    ) { input, work in
        work.step(bytes: input.bytes.count)
        if let body = try? ObjectBody(input.bytes, keys: RoomSettingsChange.keys) {
            _ = try? RoomSettingsChange(body)
            _ = JSONValue.object(body.members).bytes
        }
        if let body = try? ObjectBody(input.bytes, keys: ParticipantChange.keys) { _ = try? ParticipantChange(body) }
        work.weigh()
    }

    /// The configuration file.
    static let configuration = FuzzTarget(
        "configuration", covers: "the configuration file and the environment",
        limits: WorkLimits(base: .milliseconds(50), perByte: .microseconds(20)), maximumLength: 4096, seededRounds: 500,
        words: ConfigurationSchema.keys.map { $0.path.split(separator: ".").last.map { "\($0): " } ?? "" },
        seeds: {
            [
                "http:\n  port: 8080\nrooms:\n  layout: grid\nvideo:\n  renditions:\n    - {height: 720, bitrate: 2M}\nauth:\n  mode: token\n  secret: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'\n",
                "limits: {sdpBytes: 99999999999999999999}\n", "a: &x [*x]\n",
            ].map { Array($0.utf8) }
        }
    ) { input, work in
        work.step(bytes: input.bytes.count)
        let text = String(decoding: input.bytes, as: UTF8.self)
        _ = try? ConfigurationLoader.load(file: .init(name: "fuzz.yaml", text: text))
        _ = try? ConfigurationLoader.load(
            environment: Dictionary(ConfigurationSchema.keys.prefix(200).map { ($0.environmentName, text) }) {
                first, _ in first
            })
        work.weigh()
    }

    private static let jsonWords = [
        "\"type\"", "null", "true", "{\"a\":", "[[", "\\ud800", "\\u0000", "1e308", "-0", "9223372036854775808",
        "\u{FEFF}",
    ]
}
