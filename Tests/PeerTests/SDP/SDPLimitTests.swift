import TestSupport
import Testing

@testable import Peer

/// The contents and the cost of a description are bounded.
@Suite("Limits of session descriptions") struct SDPLimitTests {
    private static let head = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n"
    private static let transport =
        "a=ice-ufrag:abcd\r\na=ice-pwd:abcdefghijklmnopqrstuv\r\na=fingerprint:sha-256 00:11\r\na=setup:actpass\r\n"
    private static let video =
        "m=video 9 UDP/TLS/RTP/SAVPF 96\r\n" + transport + "a=mid:0\r\na=rtcp-mux\r\na=rtpmap:96 VP8/90000\r\n"

    private static func numbered(_ count: Int, _ line: (Int) -> String) -> String {
        (0..<count).map { line($0) + "\r\n" }.joined()
    }

    /// 128 payload types of a section, all of a codec that we take, and their `m=` line.
    private static func crowded(_ kind: String, _ codec: String) -> String {
        let types = (0..<128).map(String.init)
        return "m=\(kind) 9 UDP/TLS/RTP/SAVPF \(types.joined(separator: " "))\r\n"
            + types.map { "a=rtpmap:\($0) \(codec)\r\n" }.joined()
    }

    /// Descriptions that fill `bytes` with one kind of line; each of them was chosen to cost as much as possible a
    /// byte.
    static func bombs(_ bytes: Int) -> [(name: String, text: String)] {
        func filled(_ start: String, _ line: (Int) -> String) -> String {
            var text = start
            var index = 0
            var lines = text.utf8.count { $0 == 10 }
            while lines < SDPLimits.lines {
                let next = line(index) + "\r\n"
                guard text.utf8.count + next.utf8.count <= bytes else { break }
                text += next
                index += 1
                lines += 1
            }
            return text
        }
        let section = head + video
        return [
            (
                "feedback of all codecs",
                filled(head + crowded("video", "VP8/90000") + transport) { "a=rtcp-fb:* \($0)" }
            ),
            (
                "sections full of codecs",
                filled(head) { _ in crowded("video", "VP8/90000") + transport + "a=rtcp-fb:* nack" }
            ),
            (
                "sections of H.264 that is not ours",
                filled(head) { _ in crowded("video", "H264/90000") + "a=fmtp:1 packetization-mode=2" }
            ),
            (
                "repair of repair",
                filled(section) { "a=rtpmap:\($0 % 64) rtx/90000\r\na=fmtp:\($0 % 64) apt=\($0 % 128)" }
            ),
            ("parameters", section + "a=fmtp:96 " + String(repeating: "A=b;", count: (bytes - 400) / 4) + "\r\n"),
            ("sources", filled(section) { "a=ssrc:\($0) cname:x" }),
            ("groups", filled(section) { "a=ssrc-group:FID \($0) \($0 + 1)" }),
            ("candidates", filled(section) { "a=candidate:\($0) 1 udp 1 192.0.2.1 \($0) typ host" }),
            ("no candidates", filled(section) { _ in "a=candidate:x" }),
            ("extensions", filled(section) { "a=extmap:\($0 % 255 + 1) urn:\($0)" }),
            (
                "fingerprints",
                filled(section) { _ in "a=fingerprint:sha-256 00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF" }
            ),
            ("mids", filled(head) { "m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:\($0)\r\na=mid:a\($0)\r\na=mid:b\($0)" }),
            ("restrictions", filled(section) { "a=rid:\($0) send" }),
            ("encodings", section + "a=simulcast:send " + String(repeating: "a,b;", count: (bytes - 400) / 4) + "\r\n"),
            ("groups of sections", filled(head) { "a=group:BUNDLE \($0) a b c d" } + video),
            ("attributes", filled(section) { "a=x\($0):y" }),
            ("lines", filled(section) { _ in "a=x" }),
            (
                "formats",
                head + "m=video 9 UDP/TLS/RTP/SAVPF " + String(repeating: "1 ", count: (bytes - 100) / 2) + "\r\n"
            ),
        ]
    }

    private static func answer(_ text: String) throws {
        let description = try SessionDescription(parsing: text)
        var negotiation = Negotiation(configuration: SDPFixtures.configuration())
        let (answer, _) = try negotiation.answer(description, newCredentials: SDPFixtures.credentials)
        _ = answer.description
    }

    private static func time(_ body: () throws -> Void) rethrows -> Duration {
        var best = Duration.seconds(3600)
        for _ in 0..<3 { best = min(best, try processorTime(body)) }
        return best
    }

    /// Lines times codecs was 4 s for 64 KiB; linear it is milliseconds in a debug build. The bound has room for a
    /// machine that is busy.
    @Test("No description of 64 KiB costs more than its length", arguments: bombs(65_536).map(\.name))
    func cost(name: String) throws {
        let text = try #require(Self.bombs(65_536).first { $0.name == name }).text
        #expect(text.utf8.count <= 65_536 + 4096)
        let cost = Self.time { try? Self.answer(text) }
        #expect(cost < .seconds(1), "\(name): \(cost)")
    }

    @Test(
        "Four times the text costs four times the time, not sixteen times",
        arguments: ["feedback of all codecs", "sources", "groups", "mids"])
    func growth(name: String) throws {
        let small = try #require(Self.bombs(16_384).first { $0.name == name }).text
        let large = try #require(Self.bombs(65_536).first { $0.name == name }).text
        let (first, second) = (Self.time { try? Self.answer(small) }, Self.time { try? Self.answer(large) })
        #expect(second < first * 9 + .milliseconds(100), "\(first), \(second)")
    }

    @Test(
        "Too many lines, sections or formats are an error that names the limit",
        arguments: [
            (head + video + numbered(4096) { _ in "a=x" }, "4096 lines"),
            (head + numbered(65) { "m=audio 9 RTP/SAVPF \($0)" }, "64 \"m=\" sections"),
            (head + "m=audio 9 RTP/SAVPF " + (0..<129).map(String.init).joined(separator: " ") + "\r\n", "128 formats"),
        ])
    func refused(text: String, limit: String) throws {
        let error = try #require(throws: SDPError.self) { try SessionDescription(parsing: text) }
        #expect(error.code == .malformed)
        #expect(error.message.contains(limit))
    }

    @Test("Optional attributes are read up to their limit, and the offer is answered")
    func ignored() throws {
        let text =
            Self.head + Self.numbered(100) { "a=session\($0)" } + Self.numbered(20) { "a=group:BUNDLE 0 \($0)" }
            + Self.video
            + Self.numbered(100) { "a=rtcp-fb:96 own\($0)" } + Self.numbered(100) { "a=rtcp-fb:* all\($0)" }
            + Self.numbered(100) { "a=ssrc:\($0) cname:x" } + Self.numbered(100) { "a=ssrc:1 a\($0):x" }
            + Self.numbered(100) { "a=ssrc-group:FID \($0) 1\($0)" }
            + "a=ssrc-group:SIM\(String(repeating: " 7", count: 100))\r\n"
            + Self.numbered(100) { "a=extmap:\($0 + 1) urn:\($0)" }
            + Self.numbered(100) { "a=fingerprint:sha-256 00:\(10 + $0 % 90)" }
            + Self.numbered(100) { "a=rid:r\($0) send" } + Self.numbered(100) { "a=msid:s t\($0)" }
            + Self.numbered(100) { "b=X\($0):1" }
            + "a=simulcast:send \((0..<100).map { "r\($0)" }.joined(separator: ";"))\r\n"
            + Self.numbered(100) { "a=more\($0)" }
            + "a=fmtp:96 \((0..<100).map { "p\($0)=1" }.joined(separator: ";"))\r\n"
        let description = try SessionDescription(parsing: text)
        let section = description.media[0]
        #expect(description.attributes.count == 64 && description.bundles.count == 16)
        #expect(section.codecs[0].feedback.count == 16 && section.codecs[0].parameters.entries.count == 64)
        #expect(section.ssrcs.count == 64 && section.ssrcs[1].attributes.count == 16)
        #expect(section.ssrcGroups.count == 32 && section.ssrcGroups.allSatisfy { $0.ssrcs.count <= 16 })
        #expect(section.extensions.count == 64 && section.fingerprints.count == 16 && section.rids.count == 16)
        #expect(section.msids.count == 16 && section.bandwidths.count == 16 && section.simulcast?.send.count == 16)
        #expect(section.attributes.count == 64)
        var negotiation = Negotiation(configuration: SDPFixtures.configuration())
        let (_, session) = try negotiation.answer(description, newCredentials: SDPFixtures.credentials)
        #expect(session.section(.video)?.codecs.first?.name == .vp8)
    }

    /// 64 sections, each with the codecs of Chromium: an offer that is nothing but large.
    @Test("A large valid offer is answered")
    func large() throws {
        let chromium = try SDPFixtures.text("chromium156-recvonly")
        let lines = chromium.split(separator: "\r\n").map(String.init)
        let start = try #require(lines.firstIndex { $0.hasPrefix("m=video") })
        let section = lines[start...]
        var text = lines[..<start].joined(separator: "\r\n") + "\r\n"
        for index in 0..<10 {
            text += section.map { $0.hasPrefix("a=mid:") ? "a=mid:v\(index)" : $0 }.joined(separator: "\r\n") + "\r\n"
        }
        #expect(text.utf8.count < 65_536)
        let description = try SessionDescription(parsing: text)
        #expect(description.media.count { $0.kind == .video } == 10)
        try Self.answer(text)
    }
}
