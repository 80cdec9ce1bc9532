import Basics

@testable import Peer

/// Two DTLS transports and the bad path between them, in virtual time.
final class DTLSLink {
    let client: DTLSTransport
    let server: DTLSTransport
    var now = Instant(nanoseconds: 5_000_000_000)
    let oneWay = Duration.milliseconds(10)

    /// Chances of each mishap for a datagram, 0…1.
    var loss = 0.0
    var duplication = 0.0
    var reordering = 0.0
    /// Drops the n-th datagram of a side (counted from 0).
    var drop: (_ fromClient: Bool, _ index: Int) -> Bool = { _, _ in false }

    private(set) var clientEvents: [DTLSEvent] = []
    private(set) var serverEvents: [DTLSEvent] = []
    private(set) var largest = 0
    private var random: SeededRandom
    private var sent = [0, 0]
    private var inFlight: [(at: Instant, order: Int, toServer: Bool, bytes: [UInt8])] = []
    private var order = 0

    init(
        client: DTLSIdentity, server: DTLSIdentity, seed: UInt64 = 1, exchangeFingerprints: Bool = true,
        configuration: DTLSConfiguration = DTLSConfiguration(), ofClient: DTLSConfiguration? = nil
    ) throws {
        random = SeededRandom(seed: seed)
        self.client = try DTLSTransport(
            role: .client, identity: client, configuration: ofClient ?? configuration, at: now)
        self.server = try DTLSTransport(role: .server, identity: server, configuration: configuration, at: now)
        if exchangeFingerprints {
            self.client.setRemoteFingerprints([server.fingerprint])
            self.server.setRemoteFingerprints([client.fingerprint])
        }
    }

    func start() {
        server.start(at: now)
        client.start(at: now)
    }

    /// Runs until `limit` has passed or `done`; returns the time that it took.
    @discardableResult
    func run(for limit: Duration, until done: (DTLSLink) -> Bool = { _ in false }) -> Duration {
        let begin = now
        let end = now + limit
        collect()
        while !done(self) {
            let next = [inFlight.first?.at, client.nextDeadline, server.nextDeadline].compactMap { $0 }.min()
            guard let next, next <= end else {
                now = end
                break
            }
            now = max(now, next)
            while let datagram = inFlight.first, datagram.at <= now {
                inFlight.removeFirst()
                datagram.bytes.withUnsafeBytes { (datagram.toServer ? server : client).receive($0, at: now) }
                collect()
            }
            client.advance(to: now)
            server.advance(to: now)
            collect()
        }
        return now - begin
    }

    func collect() {
        while let bytes = client.nextTransmit() { carry(bytes, fromClient: true) }
        while let bytes = server.nextTransmit() { carry(bytes, fromClient: false) }
        while let event = client.nextEvent() { clientEvents.append(event) }
        while let event = server.nextEvent() { serverEvents.append(event) }
    }

    private func carry(_ bytes: [UInt8], fromClient: Bool) {
        largest = max(largest, bytes.count)
        let index = sent[fromClient ? 0 : 1]
        sent[fromClient ? 0 : 1] += 1
        guard !drop(fromClient, index) else { return }
        let copies = chance(duplication) ? 2 : 1
        for _ in 0..<copies where !chance(loss) {
            let late = chance(reordering) ? Duration.milliseconds(Int64.random(in: 1...60, using: &random)) : .zero
            inFlight.append((now + oneWay + late, order, fromClient, bytes))
            order += 1
        }
        inFlight.sort { ($0.at, $0.order) < ($1.at, $1.order) }
    }

    private func chance(_ probability: Double) -> Bool {
        probability > 0 && Double.random(in: 0..<1, using: &random) < probability
    }

    var clientKeys: SRTPKeys? { Self.keys(clientEvents) }
    var serverKeys: SRTPKeys? { Self.keys(serverEvents) }
    var bothConnected: Bool { clientKeys != nil && serverKeys != nil }

    private static func keys(_ events: [DTLSEvent]) -> SRTPKeys? {
        for case .connected(let keys) in events { return keys }
        return nil
    }
}

extension [DTLSEvent] {
    var data: [[UInt8]] {
        compactMap { if case .data(let bytes) = $0 { bytes } else { nil } }
    }
    var failure: String? {
        for case .failed(let reason) in self { return reason }
        return nil
    }
}

/// Keys cost milliseconds to make, so the tests share them.
enum TestIdentities {
    static let first = Result { try DTLSIdentity.generate() }
    static let second = Result { try DTLSIdentity.generate() }
    static let rsa = Result { try DTLSIdentity.generate(.rsa2048) }
}
