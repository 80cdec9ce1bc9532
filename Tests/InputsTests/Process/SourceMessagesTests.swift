import Basics
import Codecs
import Testing

@testable import Inputs

@Suite struct SourceMessagesTests {
    @Test(
        arguments: [
            .open(
                SourceOpening(
                    origin: .url("srt://1.2.3.4:5", options: ["mode": "caller", "latency": "7"], protocols: "srt"),
                    formats: "mpegts", maxPixels: 9, rights: 3)),
            .open(SourceOpening(origin: .rtsp("rtsp://[::1]/ä"), formats: "rtsp", maxPixels: 1)),
            .open(SourceOpening(origin: .file(name: "a.mp4", length: 1 << 40), formats: "", maxPixels: 0)),
            .open(
                SourceOpening(
                    origin: .bytes(name: "n", length: nil, isSeekable: false), formats: "hls", maxPixels: 2)),
            .next(released: []), .next(released: [1, .max]), .rewind, .bytes([]), .bytes([1, 2]), .sought,
            .nested(7, length: nil, isSeekable: true), .refused(isFinal: true),
        ] as [SourceRequest])
    func `requests come back as they were`(request: SourceRequest) throws {
        #expect(try SourceRequest(request.message) == request)
    }

    @Test(
        arguments: [
            .connected, .opened(SourceReply.Streams(hasVideo: true, hasAudio: false, rotation: 3, width: 4, height: 5)),
            .packet(
                SourceReply.Packet(
                    kind: .audio, id: 1, byteCount: 2, isKeyframe: true, time: .milliseconds(-5), duration: .seconds(1))
            ),
            .packet(
                SourceReply.Packet(
                    kind: .video, id: .max, byteCount: 0, isKeyframe: false, time: nil, duration: .zero)),
            .end(isFinite: true), .rewound(false), .failed(.noMedia, "why"), .read(1, count: 2), .seek(3, to: 4),
            .nested("http://a/b", 1..<9), .nested("", nil), .close(8),
        ] as [SourceReply])
    func `replies come back as they were`(reply: SourceReply) throws {
        #expect(try SourceReply(reply.message) == reply)
    }

    @Test(
        arguments: [
            .decode(1, .kept), .decode(2, .shifted(.seconds(-9))), .decode(3, .set(.zero)), .drain(.audio),
            .flush(.video), .taken,
        ] as [DecodingRequest])
    func `requests of decoding come back as they were`(request: DecodingRequest) throws {
        #expect(try DecodingRequest(request.message) == request)
    }

    @Test(
        arguments: [
            .picture(width: 1, height: 2, time: .seconds(3)), .samples([0.5, -1], time: nil), .samples([], time: .zero),
            .done(width: 0, height: 1, isFaulty: true),
        ] as [DecodingReply])
    func `replies of decoding come back as they were`(reply: DecodingReply) throws {
        #expect(try DecodingReply(reply.message) == reply)
    }

    /// What comes from the process is from outside: it never traps, and no time or sample leaves its bounds.
    @Test func `rubbish is an error or within the bounds`() {
        var random = SeededRandom(seed: 23)
        for _ in 0..<20_000 {
            let length = Int.random(in: 0...40, using: &random)
            let message = Message(
                kind: UInt8.random(in: 0...11, using: &random),
                body: (0..<length).map { _ in Bool.random(using: &random) ? .random(in: 0...255, using: &random) : 255 }
            )
            if case .packet(let packet) = try? SourceReply(message) {
                #expect(packet.duration >= .zero && packet.duration < .seconds(1 << 31))
                #expect(packet.time.map { $0 > .seconds(-(1 << 31)) && $0 < .seconds(1 << 31) } ?? true)
            }
            if case .samples(let samples, _) = try? DecodingReply(message) {
                #expect(samples.allSatisfy { $0.isFinite && abs($0) <= 8 })
            }
            _ = try? SourceRequest(message)
            _ = try? DecodingRequest(message)
        }
    }
}
