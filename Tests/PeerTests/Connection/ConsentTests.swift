import Basics
import Simulation
import Testing

@testable import Peer

/// Peers that send no checks after nomination, as libnice 0.1.21 without consent freshness (GStreamer's webrtcbin of
/// Debian 12), and peers that send nothing that is authentic.
@Suite("A peer that sends no checks stays as long as it proves that it is there")
struct ConsentTests {
    /// Three times the time of consent (RFC 7675 §5.1), and some.
    private static let longTime = Duration.seconds(100)

    private static func isRequest(_ bytes: [UInt8]) -> Bool { bytes.starts(with: [0, 1]) }
    private static func isResponse(_ bytes: [UInt8]) -> Bool { bytes.starts(with: [1, 1]) }
    /// RFC 7983 §7.
    private static func isMedia(_ bytes: [UInt8]) -> Bool { (128...191).contains(bytes.first ?? 0) }
    private static func isReport(_ bytes: [UInt8]) -> Bool { isMedia(bytes) && (192...223).contains(bytes[1]) }

    /// A connected call whose client sends no checks any more, and whatever else `isSent` says.
    private func quiet(
        seed: UInt64, isSent: @escaping ([UInt8]) -> Bool = { _ in true }
    ) throws -> SimulatedCall {
        var client = PeerConfiguration(role: .client)
        // Its own consent is not the subject.
        (client.ice.consentInterval, client.ice.consentTimeout) = (.seconds(3600), .seconds(3600))
        client.ice.interruptedAfter = .seconds(3600)
        let media = CallMedia()
        media.frameBytes = 600
        let call = try SimulatedCall.connected(seed: seed, media: media, client: client, for: .seconds(2))
        call.collectsEvents = false
        call.filter = { side, bytes in side == .client && !isSent(bytes) }
        return call
    }

    /// Runs, with the keepalive of libnice every 25 s, until the server's side ends. Returns how long it stayed.
    private func run(
        _ call: SimulatedCall, for time: Duration = longTime, every step: Duration = .milliseconds(500),
        _ each: (SimulatedCall) -> Void = { _ in }
    ) -> Duration {
        let start = call.now
        var nextKeepalive = start
        while call.now - start < time, call.server.isConnected {
            if call.now >= nextKeepalive {
                nextKeepalive += .seconds(25)
                call.inject(STUNMessage(.indication, transaction: .init(high: 1, low: 1)).encoded(password: nil))
            }
            each(call)
            call.run(for: step)
        }
        return call.now - start
    }

    @Test(
        "By media and indications alone, whether it answers our checks or not",
        arguments: [true, false])
    func sender(answers: Bool) throws {
        let call = try quiet(seed: 31) { answers || !Self.isResponse($0) }
        var requests = 0
        call.onDatagram = { side, bytes, _ in if side == .client, Self.isRequest(bytes) { requests += 1 } }
        let stayed = run(call)
        #expect(stayed >= Self.longTime && requests == 0)
        call.collectsEvents = true
        let since = call.now
        call.run(for: .seconds(3))
        #expect(call.frames(.server, since: since) > 65 && call.frames(.client, since: since) > 65)
    }

    @Test("A muted peer stays by its reports alone, and a peer without media by its answers to our checks")
    func quietPeers() throws {
        let reporter = try quiet(seed: 32) { Self.isReport($0) }
        let byReports = run(reporter)
        #expect(byReports >= Self.longTime)

        let answerer = try quiet(seed: 33) { Self.isResponse($0) }
        var interruptions = 0
        answerer.onEvent = { _, side, event in
            if side == .server, case .interrupted = event { interruptions += 1 }
        }
        let byAnswers = run(answerer)
        #expect(byAnswers >= Self.longTime && interruptions == 0)
    }

    @Test("Messages of a data channel keep it too")
    func messages() throws {
        let open = try quiet(seed: 35)
        open.client.openChannel(label: "x", at: open.now)
        open.run(for: .seconds(2))
        open.filter = { side, bytes in side == .client && !(20...63).contains(bytes[0]) }
        // Longer ends the association itself: a peer that answers none of our checks gets three times its bytes, in which
        // the acknowledgements compete with the media.
        let talking = run(open, for: .seconds(120), every: .seconds(10)) {
            #expect($0.client.sendMessage(.text("here"), label: "x", at: $0.now))
        }
        #expect(talking >= .seconds(120))
    }

    @Test("Silence, keepalives without answers, forged media and repeated media end it after 30 s")
    func nothingAuthentic() throws {
        for garbage in ["nothing", "forged", "repeated"] {
            let call = try quiet(seed: 36)
            var heard: [[UInt8]] = []
            call.onDatagram = { side, bytes, _ in if side == .client, Self.isMedia(bytes) { heard.append(bytes) } }
            call.run(for: .seconds(2))
            call.onDatagram = { _, _, _ in }
            call.filter = { side, _ in side == .client }
            try #require(heard.count > 100 && heard.contains(where: Self.isReport))
            call.run(for: .milliseconds(200))
            var next = 0
            let stayed = run(call, for: .seconds(60), every: .milliseconds(100)) { call in
                guard garbage != "nothing" else { return }
                for _ in 0..<10 {
                    var bytes = heard[next % heard.count]
                    next += 1
                    if garbage == "forged" { bytes[bytes.count - 1] ^= 1 }
                    call.inject(bytes)
                }
            }
            #expect((Duration.seconds(29)...Duration.seconds(30.5)).contains(stayed), "\(garbage): \(stayed)")
        }
    }

    /// It may have gone and forge its old address (RFC 8445 §19.5): its media proves where it sends from only.
    @Test("A peer that answers none of our checks is sent at most three times what it sends")
    func limit() throws {
        let call = try quiet(seed: 37) { Self.isReport($0) }
        let early = run(call, for: .seconds(35))
        #expect(early >= .seconds(35))
        var (received, sent) = (0, 0)
        call.onDatagram = { side, bytes, _ in
            if side == .server { sent += bytes.count } else if Self.isReport(bytes) { received += bytes.count }
        }
        let later = run(call, for: .seconds(60))
        // Beside it, our own checks: bursts of five, four seconds apart.
        #expect(later >= .seconds(60) && received > 0 && sent <= 3 * received + 60 * 2 * 120, "\(sent), \(received)")
        // When it answers again, the limit is over.
        call.filter = { _, _ in false }
        call.collectsEvents = true
        call.run(for: .seconds(20))
        let since = call.now
        call.run(for: .seconds(3))
        #expect(call.frames(.client, since: since) > 65)
    }
}
