import Basics
import Foundation
import Peer

/// Session descriptions that cost more than their size suggests, at every endpoint that takes one.
enum SDPAttacks {
    static let all: [Attack] = [
        Attack(
            "sdp-bomb-once",
            "One POST /whip of 64 KiB: 128 payload types and 3900 wildcard rtcp-fb lines, no two alike."
        ) { context in
            post(context, Bomb.feedback)
            context.rest()
        },
        Attack("sdp-bomb-post", "The same 5 times a second from one address.") { context in
            context.repeating(perSecond: 5) { post(context, Bomb.feedback) }
        },
        Attack(
            "sdp-bomb-patch",
            "One such offer as a WHIP session, then ICE restarts by PATCH, for which the server may read the kept offer again."
        ) { context in
            guard let answer = post(context, Bomb.feedback), let place = answer.headers["location"] else {
                // The offer was refused: a valid offer shows whether PATCH costs anything at all.
                guard let answer = post(context, Bomb.plain), let place = answer.headers["location"] else {
                    return context.rest()
                }
                return restart(context, place)
            }
            restart(context, place)
        },
        Attack("sdp-bomb-signal", "The same as offers on /signal, one after the other.") { context in
            try offers(context) { Bomb.feedback }
        },
        Attack(
            "sdp-bomb-rtx",
            "Offers of 60 H.264 formats, each with a retransmission format and long parameters, on /signal."
        ) { context in
            try offers(context) { Bomb.retransmission }
        },
        Attack("sdp-bomb-ssrc", "Offers of 4000 ssrc lines, no two alike, on /signal.") { context in
            try offers(context) { Bomb.sources }
        },
        Attack("sdp-sections", "Offers of 60 sections of 16 candidates and 14 extensions each, on /signal.") {
            context in
            try offers(context) { Bomb.sections }
        },
        Attack("sdp-rubbish", "Offers with a tenth of their bytes replaced at random, on /signal.") { context in
            let random = Opening(RandomBox(SeededRandom(seed: 5)))
            try offers(context) {
                var bytes = Array(Bomb.plain.utf8)
                for _ in 0..<bytes.count / 10 {
                    bytes[.random(in: 5..<bytes.count, using: &random.value.random)] = .random(
                        in: 10...126, using: &random.value.random)
                }
                return String(decoding: bytes, as: UTF8.self)
            }
        },
        Attack(
            "sdp-renegotiate",
            "A connected peer that offers anew with new ICE credentials as fast as the door takes it."
        ) { context in
            let intruder = try context.enter("sdp")
            try intruder.run(context, every: .milliseconds(20)) { _ throws(WireError) in
                var offer = intruder.peer.offer
                offer.ice = .random()
                try intruder.wire.send(["type": "offer", "sdp": offer.text])
            }
        },
        Attack(
            "candidates",
            "A connected peer that trickles 50 candidates a second, and PATCHes of 200 candidates to its WHIP session."
        ) { context in
            let place = post(context, Bomb.plain)?.headers["location"]
            let intruder = try context.enter("sdp")
            var number = 0
            try intruder.run(context, every: .milliseconds(20)) { _ throws(WireError) in
                number += 1
                let line =
                    "candidate:\(number) 1 udp 2130706431 127.0.\(number % 250).1 \(1024 + number % 60_000) typ host"
                try intruder.wire.send(["type": "candidate", "candidate": ["candidate": line, "sdpMid": "0"]])
                guard let place, number % 10 == 0 else { return }
                let lines = (0..<200).map {
                    "a=candidate:\($0) 1 udp 2130706431 127.0.3.\($0 % 250) \(1024 + $0) typ host"
                }
                let fragment =
                    (["m=audio 9 UDP/TLS/RTP/SAVPF 0", "a=mid:0"] + lines).joined(separator: "\r\n") + "\r\n"
                _ = try? context.wire().request(
                    "PATCH", place,
                    headers: [("Content-Type", "application/trickle-ice-sdpfrag"), ("If-Match", "\"ice-1\"")],
                    body: Array(fragment.utf8))
            }
        },
    ]

    private final class RandomBox {
        var random: SeededRandom
        init(_ random: SeededRandom) { self.random = random }
    }

    /// Sends POST /whip. Returns the answer if the offer was accepted.
    @discardableResult
    static func post(_ context: AttackContext, _ offer: String, room: String = "sdp", from number: Int = 1)
        -> HTTPAnswer?
    {
        do {
            let answer = try context.wire(number).request(
                "POST", "/whip/\(room)?name=Bomb", headers: [("Content-Type", "application/sdp")],
                body: Array(offer.utf8), timeout: .seconds(10))
            return answer.status == 201 ? answer : nil
        } catch {
            context.failed("POST: \(error)")
            return nil
        }
    }

    private static func restart(_ context: AttackContext, _ place: String) {
        while !context.isOver {
            let ice = ICECredentials.random()
            let fragment =
                "a=ice-ufrag:\(ice.ufrag)\r\na=ice-pwd:\(ice.password)\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\n"
            do {
                _ = try context.wire().request(
                    "PATCH", place, headers: [("Content-Type", "application/trickle-ice-sdpfrag"), ("If-Match", "*")],
                    body: Array(fragment.utf8),
                    timeout: .seconds(10))
            } catch {
                context.failed("PATCH: \(error)")
            }
            context.rest(.milliseconds(20))
        }
    }

    /// Sends offers on /signal, each after the answer to the one before, on a new connection when the old one was
    /// closed.
    private static func offers(_ context: AttackContext, _ offer: @escaping () -> String) throws {
        var sent = 0
        while !context.isOver {
            do {
                let wire = try SignalWire(to: context.http, from: context.address)
                try wire.join("sdp", as: "Bomb")
                while !context.isOver {
                    try wire.send(["type": "offer", "sdp": offer()])
                    sent += 1
                    // Waits for an answer or a refusal.
                    var isAnswered = false
                    while !isAnswered, !context.isOver {
                        switch wire.next(timeout: .seconds(1)) {
                        case .text(let text): isAnswered = text.contains(#""answer""#) || text.contains(#""error""#)
                        case .nothing: continue
                        case .closed(let reason): throw WireError("closed: \(reason)")
                        }
                    }
                }
            } catch {
                context.failed("\(error)")
                context.rest(.milliseconds(250))
            }
        }
        context.remark("\(sent) offers")
    }
}

/// The offers.
enum Bomb {
    /// Below `limits.sdpBytes`.
    private static let size = 65_000

    private static func shaped(_ shape: (inout HostileOffer) -> Void) -> String {
        guard let identity = try? HostilePeer.identity.get() else { return "" }
        var offer = HostileOffer(identity)
        shape(&offer)
        return offer.text
    }

    static var plain: String { shaped { _ in } }

    /// Repeats lines until the offer has the largest permitted size.
    private static func filled(_ start: [String], formats: [String] = [], _ line: (Int) -> String) -> String {
        shaped { offer in
            offer.extraFormats = formats
            offer.extraVideo = start
            var left = size - offer.text.utf8.count
            var lines: [String] = []
            while true {
                let next = line(lines.count)
                left -= next.utf8.count + 2
                guard left > 0 else { break }
                lines.append(next)
            }
            offer.extraVideo += lines
        }
    }

    static let feedback: String = {
        let formats = (0..<128).filter { ![96, 97, 102, 103].contains($0) }
        return filled(formats.map { "a=rtpmap:\($0) x/1" }, formats: formats.map(String.init)) {
            "a=rtcp-fb:* \(String($0, radix: 36))"
        }
    }()

    static let retransmission: String = {
        let main = (0..<60).map { $0 < 30 ? $0 : $0 + 4 }
        let formats = main + main.map { $0 + 64 }
        var lines: [String] = []
        for type in main {
            lines += ["a=rtpmap:\(type) H264/90000", "a=rtpmap:\(type + 64) rtx/90000"]
            lines += [
                "a=fmtp:\(type) packetization-mode=1;profile-level-id=42e01f;"
                    + (0..<40).map { "Key\($0)=\($0)" }.joined(separator: ";")
            ]
            lines += [
                "a=fmtp:\(type + 64) " + (0..<40).map { "Key\($0)=\($0)" }.joined(separator: ";") + ";APT=\(type)"
            ]
        }
        return filled(lines, formats: formats.map(String.init)) { "a=fmtp:\($0 % 60) Key\($0)=1" }
    }()

    static let sources: String = filled([]) { "a=ssrc:\(100_000 + $0) a" }

    static let sections: String = {
        var lines: [String] = []
        for section in 0..<60 {
            lines += [
                "m=audio 9 UDP/TLS/RTP/SAVPF 111", "c=IN IP4 0.0.0.0", "a=mid:s\(section)", "a=rtpmap:111 opus/48000/2",
            ]
            lines += (1...14).map { "a=extmap:\($0) urn:x:\(section):\($0)" }
            lines += (0..<12).map { "a=candidate:\($0) 1 udp 1 127.0.0.\($0) 9 typ host" }
        }
        return Bomb.plain + lines.joined(separator: "\r\n") + "\r\n"
    }()
}
