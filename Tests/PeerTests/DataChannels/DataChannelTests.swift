import Basics
import Testing

@testable import Peer

/// Two data channel transports and a bad path between them, in virtual time.
private final class ChannelLink {
    let client = DataChannelTransport(role: .client, remoteMaximumMessage: 262_144, at: .zero)
    let server = DataChannelTransport(role: .server, remoteMaximumMessage: 262_144, at: .zero)
    var now = Instant.zero
    var loss = 0.0
    var duplication = 0.0
    var reordering = 0.0
    var clientEvents: [DataChannelEvent] = []
    var serverEvents: [DataChannelEvent] = []
    private var random: SeededRandom
    private var inFlight: [(at: Instant, order: Int, toServer: Bool, bytes: [UInt8])] = []
    private var order = 0

    init(seed: UInt64 = 1) {
        random = SeededRandom(seed: seed)
        client.start(at: now)
        server.start(at: now)
    }

    func run(for limit: Duration, until done: (ChannelLink) -> Bool = { _ in false }) {
        let end = now + limit
        var steps = 0
        collect()
        while !done(self), steps < 200_000 {
            steps += 1
            let next = [inFlight.first?.at, client.nextDeadline, server.nextDeadline].compactMap { $0 }.min()
            guard let next, next <= end else {
                now = end
                return
            }
            now = max(now, next)
            while let packet = inFlight.first, packet.at <= now {
                inFlight.removeFirst()
                (packet.toServer ? server : client).receive(packet.bytes, at: now)
                collect()
            }
            client.advance(to: now)
            server.advance(to: now)
            collect()
        }
    }

    private func collect() {
        while let bytes = client.nextTransmit() { carry(bytes, true) }
        while let bytes = server.nextTransmit() { carry(bytes, false) }
        while let event = client.nextEvent() { clientEvents.append(event) }
        while let event = server.nextEvent() { serverEvents.append(event) }
    }

    private func carry(_ bytes: [UInt8], _ toServer: Bool) {
        #expect(bytes.count <= 1132)
        for _ in 0..<(chance(duplication) ? 2 : 1) where !chance(loss) {
            let late = chance(reordering) ? Duration.milliseconds(Int64.random(in: 1...50, using: &random)) : .zero
            inFlight.append((now + .milliseconds(10) + late, order, toServer, bytes))
            order += 1
        }
        inFlight.sort { ($0.at, $0.order) < ($1.at, $1.order) }
    }

    private func chance(_ probability: Double) -> Bool {
        probability > 0 && Double.random(in: 0..<1, using: &random) < probability
    }
}

extension [DataChannelEvent] {
    fileprivate var messages: [DataChannelMessage] {
        compactMap { if case .message(_, let message) = $0 { message } else { nil } }
    }
}

@Suite struct DataChannelTests {
    @Test func `Both ends start, open by their role, and deliver text, binary and empty messages`() throws {
        let link = ChannelLink()
        let even = try #require(link.client.open(label: "chat ü", at: link.now))
        let odd = try #require(link.server.open(label: "b", ordered: false, at: link.now))
        #expect((even, odd) == (0, 1))
        let sent: [DataChannelMessage] = [.text("häl🙂o"), .binary([0, 255]), .text(""), .binary([])]
        for message in sent { #expect(link.client.send(message, on: even, at: link.now)) }
        link.run(for: .seconds(3))
        #expect(link.serverEvents.messages == sent)
        #expect(link.serverEvents.contains(.opened(0, label: "chat ü", byRemote: true)))
        #expect(link.clientEvents.contains(.opened(0, label: "chat ü", byRemote: false)))
        #expect(link.clientEvents.contains(.opened(1, label: "b", byRemote: true)))
    }

    @Test(arguments: 1...6)
    func `Over a bad path everything arrives once and in order, large messages too`(seed: UInt64) throws {
        let link = ChannelLink(seed: seed)
        (link.loss, link.duplication, link.reordering) = (0.1, 0.1, 0.2)
        let id = try #require(link.client.open(label: "x", at: link.now))
        var sent: [DataChannelMessage] = []
        for index in 0..<60 {
            let size = index == 30 ? 100_000 : index * 40
            sent.append(.binary([UInt8](repeating: UInt8(index), count: size)))
            #expect(link.client.send(sent[index], on: id, at: link.now))
        }
        link.run(for: .seconds(300)) { $0.serverEvents.messages.count >= sent.count }
        #expect(link.serverEvents.messages == sent)
    }

    @Test func `The largest message passes and a larger one is refused`() throws {
        let link = ChannelLink()
        let id = try #require(link.server.open(label: "x", at: link.now))
        let largest = DataChannelMessage.binary([UInt8](repeating: 3, count: 262_144))
        #expect(link.server.send(largest, on: id, at: link.now))
        #expect(!link.server.send(.binary([UInt8](repeating: 3, count: 262_145)), on: id, at: link.now))
        link.run(for: .seconds(60)) { $0.clientEvents.messages.count == 1 }
        #expect(link.clientEvents.messages == [largest])
    }

    @Test func `A closed channel's id is reused and starts anew`() throws {
        let link = ChannelLink()
        for round in 0..<3 {
            let id = try #require(link.client.open(label: "\(round)", at: link.now))
            #expect(id == 0)
            link.client.send(.text("\(round)"), on: id, at: link.now)
            link.run(for: .seconds(3))
            (round == 1 ? link.server : link.client).close(id, at: link.now)
            link.run(for: .seconds(3))
            #expect(link.clientEvents.last == .closed(0))
            #expect(link.serverEvents.last == .closed(0))
        }
        #expect(link.serverEvents.messages == [.text("0"), .text("1"), .text("2")])
    }

    @Test func `Abandoned messages do not delay those behind them`() throws {
        let link = ChannelLink(seed: 3)
        let id = try #require(link.client.open(label: "x", maxRetransmits: 0, at: link.now))
        link.run(for: .seconds(2))
        link.loss = 0.3
        for index in 0..<100 { link.client.send(.text("\(index)"), on: id, at: link.now + .milliseconds(Int64(index))) }
        link.run(for: .seconds(30))
        link.loss = 0
        link.client.send(.text("last"), on: id, at: link.now)
        link.run(for: .seconds(30))
        #expect(link.serverEvents.messages.last == .text("last"))
        #expect(link.client.backlog == 0)
    }

    @Test func `A silent peer is detected`() {
        let link = ChannelLink()
        link.run(for: .seconds(2))
        link.loss = 1
        link.run(for: .seconds(600))
        #expect(link.clientEvents.contains { if case .failed = $0 { true } else { false } })
    }
}

@Suite struct SCTPPacketTests {
    @Test func `The checksum is Castagnoli's`() {
        #expect(CRC32C.checksum(Array("123456789".utf8), zeroed: 0..<0) == 0xE306_9283)
    }

    @Test func `Packets are encoded and decoded unchanged, and damaged ones neither pass nor trap`() {
        let packet = SCTPPacket(
            source: 5000, destination: 5001, tag: 7,
            chunks: [
                .initiateAck(SCTPInit(tag: 1, window: 2, outbound: 3, inbound: 4, tsn: 5, cookie: [1, 2, 3])),
                .sack(SCTPSack(cumulative: 9, window: 8, gaps: [2...3, 5...5], duplicates: [4])),
                .data(
                    SCTPData(
                        tsn: 1, stream: 2, ssn: 3, ppid: 51, unordered: true, begins: true, ends: false, payload: [1])),
                .forwardTSN(7, [SCTPSkip(stream: 1, ssn: 2)]),
                .reconfig([
                    .resetOutgoing(request: 1, response: 2, lastTSN: 3, streams: [4]), .response(request: 1, result: 1),
                ]),
            ])
        let bytes = packet.encoded()
        #expect(SCTPPacket(parsing: bytes) == packet)
        var random = SeededRandom(seed: 11)
        for _ in 0..<3000 {
            var damaged = bytes
            for _ in 0..<3 {
                damaged[Int.random(in: 12..<damaged.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            damaged.removeLast(Int.random(in: 0...40, using: &random))
            let crc = CRC32C.checksum(damaged)
            for index in 0..<4 { damaged[8 + index] = UInt8(truncatingIfNeeded: crc >> (8 * UInt32(index))) }
            _ = SCTPPacket(parsing: damaged)
            let association = SCTPAssociation(SCTPConfiguration(), tag: 7, tsn: 1)
            association.start(at: .zero)
            association.receive(damaged, at: .zero)
            association.advance(to: Instant.zero + .seconds(1))
        }
        #expect(SCTPPacket(parsing: Array(bytes.dropLast())) == nil)
    }
}
