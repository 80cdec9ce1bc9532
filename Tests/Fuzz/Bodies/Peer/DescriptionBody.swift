import Basics
import Fuzzing

@testable import Peer

/// Session descriptions: parsed, written, answered, and offered again on the same connection.
enum DescriptionBody {
    /// The largest description that the gateway accepts (`limits.sdpBytes`).
    static let longestText = 65_536
    private static let mostParts = 4

    static let target = FuzzTarget(
        "sdp", covers: "session descriptions: parse, write, answer, offer again, restart",
        limits: WorkLimits(base: .milliseconds(10), perByte: .nanoseconds(500)),
        maximumLength: 32_768, seededRounds: 300, words: words, seeds: { seeds }, body: run)

    /// Consecutive descriptions of one peer, separated by lines of `===`.
    private static func run(_ input: FuzzInput, _ work: inout Work) {
        guard let identity = try? Identities.ours.get() else { return }
        let parts = input.bytes.split(separator: Array("===\n".utf8), maxSplits: mostParts - 1).map {
            expand(Array($0))
        }
        var configuration = PeerConfiguration(role: .server)
        configuration.candidates = [.host(SocketAddress(.v4(0xC000_0201), port: 40_000))]
        configuration.seed = 1
        guard let peer = try? PeerConnection(configuration, identity: identity, at: .zero) else { return }
        work.start()
        var now = Instant.zero
        for part in parts {
            work.step(bytes: part.utf8.count)
            if let description = try? SessionDescription(parsing: part) {
                let written = description.description
                guard (try? SessionDescription(parsing: written)) != nil else {
                    fatalError("sdp: of \(part.utf8.count) bytes we wrote \(written.utf8.count) that we cannot read")
                }
                answerAsClient(description)
            }
            _ = try? peer.answer(part, at: now)
            now += .milliseconds(100)
            peer.advance(to: now)
            while peer.nextEvent() != nil {}
            peer.flush { _, _ in }
        }
        work.weigh()
    }

    /// The same bytes as the answer to an offer of the server.
    private static func answerAsClient(_ description: SessionDescription) {
        var negotiation = Negotiation(
            configuration: NegotiationConfiguration(
                fingerprint: Fingerprint(algorithm: "sha-256", bytes: Array(0..<32)), isIceLite: false, candidates: [],
                audioSSRC: 1, videoSSRC: 2,
                videoRTXSSRC: 3, cname: "fuzz"))
        _ = negotiation.makeOffer(iceRestart: nil)
        if let session = try? negotiation.accept(answer: description) {
            var receiver = MediaReceiver(VideoReceiveConfiguration())
            receiver.configure(session, at: .zero)
        }
        _ = negotiation.makeOffer(iceRestart: .random())
    }

    /// Expands small inputs to long texts, so that a fuzzer finds faults that need length: a line `*300 a=x:#` becomes
    /// 300 lines, in each of which `#` is its number; `{0-127}` becomes these numbers, separated by spaces.
    static func expand(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for line in bytes.split(separator: 10, omittingEmptySubsequences: true) where text.count < longestText {
            var line = line
            var copies = 1
            if line.first == UInt8(ascii: "*") {
                let digits = line.dropFirst().prefix { (48...57).contains($0) }.prefix(5)
                copies = digits.reduce(0) { $0 * 10 + Int($1 - 48) }
                line = line.dropFirst(digits.count + 2)
            }
            let whole = expandNumbers(Array(line))
            for copy in 0..<copies where text.count < longestText {
                for byte in whole {
                    if copies > 1, byte == UInt8(ascii: "#") {
                        text += Array(String(copy).utf8)
                    } else {
                        text.append(byte)
                    }
                }
                text.append(10)
            }
        }
        return String(decoding: text.prefix(longestText), as: UTF8.self)
    }

    private static func expandNumbers(_ line: [UInt8]) -> [UInt8] {
        guard let open = line.firstIndex(of: UInt8(ascii: "{")),
            let close = line[open...].firstIndex(of: UInt8(ascii: "}"))
        else { return line }
        let numbers = line[(open + 1)..<close].split(separator: UInt8(ascii: "-")).compactMap {
            Int(String(decoding: $0.prefix(5), as: UTF8.self))
        }
        guard numbers.count == 2, numbers[0] >= 0, numbers[0] < numbers[1] else { return line }
        return line[..<open]
            + Array((numbers[0]...min(numbers[1], numbers[0] + 9999)).map(String.init).joined(separator: " ").utf8)
            + line[(close + 1)...]
    }

    private static var seeds: [[UInt8]] {
        let single = Offers.all.map { Array(unix($0.text).utf8) }
        // One pair of each browser or library.
        let pairs = Dictionary(grouping: Offers.all) { $0.name.prefix(6) }.values.filter { $0.count > 1 }.map {
            ($0[0], $0[1])
        }
        let again = pairs.sorted { $0.0.name < $1.0.name }.map { Array((unix($0.text) + "===\n" + unix($1.text)).utf8) }
        let long = manyLines.map { line in Array((short + "*0300 \(line)\n").utf8) }
        return single + again + long
    }

    /// One section, to which a line is added many times. libFuzzer changes a number within its digits: 0300 becomes
    /// 9999 sooner than 300 does.
    private static let short = """
        v=0
        o=- 1 2 IN IP4 127.0.0.1
        s=-
        t=0 0
        m=video 9 UDP/TLS/RTP/SAVPF {90-99}
        c=IN IP4 0.0.0.0
        a=ice-ufrag:abcd
        a=ice-pwd:abcdefghijklmnopqrstuvwx
        a=fingerprint:sha-256 \((0..<32).map { _ in "00" }.joined(separator: ":"))
        a=setup:actpass
        a=mid:0
        a=rtcp-mux
        *10 a=rtpmap:9# VP8/90000

        """

    private static let manyLines = [
        "a=rtpmap:# H264/90000", "a=fmtp:90 x=#", "a=fmtp:# apt=9#", "a=rtcp-fb:* x#", "a=rtcp-fb:90 y#",
        "a=extmap:# urn:x#", "a=ssrc:1# cname:x",
        "a=ssrc:1 x#:y", "a=ssrc-group:FID 1# 2#", "a=rid:# send", "a=candidate:1 1 udp # 10.0.0.1 9 typ host",
        "a=x-#:y",
        "a=fingerprint:sha-256 00:#", "m=video 9 UDP/TLS/RTP/SAVPF 9#", "a=group:BUNDLE #",
    ]

    private static func unix(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).map { $0 + "\n" }.joined()
    }

    private static let words = [
        "===\n", "*4000 ", "*128 a=", "{0-127}", "#", "\nm=audio 9 UDP/TLS/RTP/SAVPF ",
        "\nm=video 9 UDP/TLS/RTP/SAVPF ",
        "\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel",
        "a=rtpmap:", "a=fmtp:", "a=rtcp-fb:", "a=rtcp-fb:* ", "a=extmap:", "a=ssrc:", "a=ssrc-group:FID ", "a=rid:",
        "a=simulcast:send ",
        "a=candidate:", "a=mid:", "a=group:BUNDLE ",
        "a=setup:actpass", "a=setup:active", "a=setup:passive", "a=ice-ufrag:", "a=ice-pwd:", "a=ice-lite",
        "a=fingerprint:sha-256 ", "a=rtcp-mux",
        "a=rtcp-rsize", "a=sctp-port:",
        "a=max-message-size:", "a=sendrecv", "a=recvonly", "a=sendonly", "a=inactive", "a=bundle-only", "a=msid:",
        "b=AS:", "b=TIAS:",
        "a=end-of-candidates", "a=ice-options:",
        "VP8/90000", "H264/90000", "rtx/90000", "red/48000/2", "opus/48000/2", "apt=", "nack pli", "ccm tmmbr",
        "ccm fir", "goog-remb",
        "transport-cc", "profile-level-id=42e01f",
        "packetization-mode=1", "useinbandfec=1", "maxaveragebitrate=", "9223372036854775807", "4294967295",
        "18446744073709551615", "-1",
    ]
}
