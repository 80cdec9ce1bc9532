import Basics
import Testing

@testable import Peer

@Suite("CodecMatching")
struct CodecMatchingTests {
    private func matching(_ change: (inout NegotiationConfiguration) -> Void = { _ in }) -> CodecMatching {
        var configuration = SDPFixtures.configuration()
        change(&configuration)
        return CodecMatching(configuration: configuration)
    }

    /// A section with these payload types and attribute lines.
    private func section(_ kind: String, _ types: String, _ lines: [String]) throws -> MediaDescription {
        let text = ["v=0", "o=- 1 1 IN IP4 0.0.0.0", "s=-", "t=0 0", "m=\(kind) 9 UDP/TLS/RTP/SAVPF \(types)"] + lines
        return try #require(
            try SessionDescription(parsing: text.map { $0 + "\r\n" }.joined()).media.first)
    }

    private let video = [
        "a=rtpmap:96 VP8/90000", "a=rtpmap:97 rtx/90000", "a=fmtp:97 apt=96",
        "a=rtpmap:98 H264/90000", "a=fmtp:98 profile-level-id=64001f;packetization-mode=0",
        "a=rtpmap:99 H264/90000", "a=fmtp:99 profile-level-id=42e01f;packetization-mode=0",
        "a=rtpmap:100 H264/90000", "a=fmtp:100 profile-level-id=64001f;packetization-mode=1",
        "a=rtpmap:101 H264/90000", "a=fmtp:101 profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1",
        "a=rtpmap:102 VP9/90000",
    ]

    @Test("Codecs stand in the offer's order or the configured one, and H.264 formats by rank")
    func order() throws {
        let section = try section("video", "96 97 98 99 100 101 102", video)
        #expect(matching().codecs(of: section).map(\.payloadType) == [96, 101, 100, 99, 98])
        let h264First = matching { $0.videoCodecs = [.h264, .vp8] }
        #expect(h264First.codecs(of: section).map(\.payloadType) == [101, 100, 99, 98, 96])
        #expect(matching { $0.videoCodecs = [.vp8] }.codecs(of: section).map(\.payloadType) == [96])
    }

    @Test("AV1 stands last where it is configured, and only where we send and the peer can send another")
    func av1() throws {
        let lines =
            video + [
                "a=rtpmap:45 AV1/90000", "a=fmtp:45 level-idx=5;profile=0;tier=0", "a=rtpmap:46 rtx/90000",
                "a=fmtp:46 apt=45",
            ]
        let section = try section("video", "45 46 96 97 98 99 100 101 102", lines)
        let matching = matching { $0.videoCodecs = [.av1, .h264] }
        let codecs = matching.codecs(of: section)
        #expect(codecs.map(\.payloadType) == [101, 100, 99, 98, 45] && codecs.last?.rtxPayloadType == 46)
        #expect(matching.codecs(of: section, isSent: false).map(\.payloadType) == [101, 100, 99, 98])
        #expect(self.matching().codecs(of: section).map(\.name).contains(.av1) == false)
        let description = try #require(matching.descriptions(codecs).first { $0.payloadType == 45 })
        #expect(description.name == "AV1" && description.parameters["level-idx"] == "5")
        let alone = try self.section("video", "45", Array(lines.suffix(4)))
        #expect(!matching.hasCodec(alone) && matching.codecs(of: alone).isEmpty)
        for unusable in ["profile=1", "level-idx=4;profile=0"] {
            let other = try self.section(
                "video", "45 101", [video[9], video[10], "a=rtpmap:45 AV1/90000", "a=fmtp:45 \(unusable)"])
            #expect(matching.codecs(of: other).allSatisfy { $0.name != .av1 }, "\(unusable)")
        }
    }

    @Test("Unknown codecs and unusable formats do not match")
    func unusable() throws {
        let strange = try section(
            "video", "96 97 98 99",
            [
                "a=rtpmap:96 VP9/90000", "a=rtpmap:97 H264/90000",
                "a=fmtp:97 packetization-mode=2;profile-level-id=42e01f", "a=rtpmap:98 VP8/8000",
                "a=rtpmap:99 H264/90000", "a=fmtp:99 profile-level-id=+2e01f",
            ])
        #expect(!matching().hasCodec(strange) && matching().codecs(of: strange).isEmpty)
        let audio = try section("audio", "0 96 97", ["a=rtpmap:96 opus/8000/2", "a=rtpmap:97 VP8/90000"])
        #expect(!matching().hasCodec(audio))
    }

    @Test("Payload types that look like RTCP are not used", arguments: [64, 72, 95])
    func looksLikeRTCP(type: Int) throws {
        let section = try section(
            "video", "\(type) 96 \(type - 1)",
            ["a=rtpmap:\(type) VP8/90000", "a=rtpmap:96 VP8/90000", "a=rtpmap:63 rtx/90000", "a=fmtp:63 apt=96"])
        #expect(matching().codecs(of: section).map(\.payloadType) == [96])
        let repair = try self.section(
            "video", "96 \(type)", ["a=rtpmap:96 VP8/90000", "a=rtpmap:\(type) rtx/90000", "a=fmtp:\(type) apt=96"])
        #expect(matching().codecs(of: repair).map(\.rtxPayloadType) == [nil])
    }

    @Test("Each codec gets the first rtx payload type that names it")
    func repairs() throws {
        let section = try section(
            "video", "96 97 98 99 100",
            [
                "a=rtpmap:96 VP8/90000", "a=rtpmap:98 H264/90000",
                "a=fmtp:98 profile-level-id=42e01f;packetization-mode=1", "a=rtpmap:97 rtx/90000", "a=fmtp:97 apt=98",
                "a=rtpmap:99 rtx/90000", "a=fmtp:99 apt=96", "a=rtpmap:100 rtx/90000", "a=fmtp:100 apt=96",
            ])
        let codecs = matching().codecs(of: section)
        #expect(codecs.map(\.payloadType) == [96, 98] && codecs.map(\.rtxPayloadType) == [99, 97])
    }

    /// RFC 4585 §4.2.
    @Test("Feedback is what both ends support, and transport-cc needs its header extension")
    func feedback() throws {
        let lines = [
            "a=rtpmap:96 VP8/90000", "a=rtcp-fb:96 nack", "a=rtcp-fb:96 nack pli", "a=rtcp-fb:96 transport-cc",
            "a=rtcp-fb:96 nack rpsi",
        ]
        let bare = try section("video", "96", lines)
        #expect(matching().codecs(of: bare).first?.feedback == [.nack, .pli])
        let extended = try section("video", "96", lines + ["a=extmap:3 \(HeaderExtension.transportCC.rawValue)"])
        #expect(matching().codecs(of: extended).first?.feedback == [.nack, .pli, .transportCC])
        #expect(matching { $0.feedback = .pli }.codecs(of: extended).first?.feedback == .pli)
    }

    @Test("Audio has one codec, and red counts where all its blocks are of that codec")
    func redundancy() throws {
        func red(_ parameters: String) throws -> UInt8? {
            let section = try self.section(
                "audio", "111 63 0",
                ["a=rtpmap:111 opus/48000/2", "a=rtpmap:63 red/48000/2", "a=fmtp:63 \(parameters)"])
            let codecs = matching().codecs(of: section)
            #expect(codecs.map(\.payloadType) == [111])
            return codecs.first?.redPayloadType
        }
        #expect(try red("111/111") == 63)
        #expect(try red("111/111/111") == 63)
        #expect(try red("111") == nil)
        #expect(try red("111/0") == nil)
        let offered = try section(
            "audio", "111 63",
            ["a=rtpmap:111 opus/48000/2", "a=rtpmap:63 red/48000/2", "a=fmtp:63 111/111"])
        #expect(matching { $0.takesRedundantAudio = false }.codecs(of: offered).first?.redPayloadType == nil)
    }

    @Test("A description lists each codec with its rtx, and repeats the H.264 format")
    func descriptions() throws {
        let section = try section("video", "96 97 98 99 100 101 102", video)
        let matching = matching()
        let lines = matching.descriptions(matching.codecs(of: section))
        #expect(lines.map(\.payloadType) == [96, 97, 101, 100, 99, 98])
        #expect(lines.map(\.name) == ["VP8", "rtx", "H264", "H264", "H264", "H264"])
        #expect(lines[1].parameters["apt"] == "96")
        for line in lines where line.name == "H264" {
            #expect(
                H264Format(line.parameters) == section.codec(line.payloadType).flatMap { H264Format($0.parameters) })
        }
    }

    @Test("Header extensions are taken once each, where they are known and the id fits the form")
    func extensions() throws {
        let section = try section(
            "video", "96",
            ["a=rtpmap:96 VP8/90000"]
                + [
                    (1, HeaderExtension.mid), (1, .rid), (2, .rid), (3, .rid), (15, .transportCC), (16, .absSendTime),
                    (4, .audioLevel), (5, .videoOrientation),
                ].map { "a=extmap:\($0.0) \($0.1.rawValue)" }
                + ["a=extmap:6 urn:example:unknown", "a=extmap:7/inactive \(HeaderExtension.playoutDelay.rawValue)"])
        #expect(matching().extensions(of: section, mixed: false).map(\.id) == [1, 2])
        let mixed = matching().extensions(of: section, mixed: true)
        #expect(mixed.map(\.id) == [1, 2, 16])
        let map = CodecMatching.map(mixed)
        #expect(map[.mid] == 1 && map[.rid] == 2 && map[.absSendTime] == 16 && map[.transportCC] == nil)
    }
}
