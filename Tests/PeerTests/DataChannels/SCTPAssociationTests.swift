import Basics
import Testing

@testable import Peer

/// One association whose peer is the test.
@Suite("SCTP under pressure") struct SCTPAssociationTests {
    private func established() -> SCTPAssociation {
        let association = SCTPAssociation(SCTPConfiguration(), tag: 5, tsn: 99)
        deliver(.cookieEcho([0, 0, 0, 9, 0, 1, 0, 0, 0, 0, 0, 100, 1]), to: association, at: .zero)
        _ = association.takePackets()
        return association
    }

    private func deliver(_ chunk: SCTPChunk, to association: SCTPAssociation, at now: Instant) {
        var bytes: [UInt8] = []
        chunk.encode(into: &bytes)
        FuzzBodies.sctp(bytes, into: association, at: now)
    }

    private func sent(_ association: SCTPAssociation) -> [SCTPChunk] {
        association.takePackets().flatMap { SCTPPacket(parsing: $0)?.chunks ?? [] }
    }

    private func numbers(_ chunks: [SCTPChunk]) -> [UInt32] {
        chunks.compactMap { if case .data(let data) = $0 { data.tsn } else { nil } }
    }

    @Test("Three reports of a gap retransmit the chunk before any timer")
    func fastRetransmit() {
        let association = established()
        for _ in 0..<5 {
            _ = association.send([UInt8](repeating: 1, count: 100), ppid: 53, stream: 1, SCTPReliability(), at: .zero)
        }
        #expect(numbers(sent(association)) == [99, 100, 101, 102, 103])
        for upper in 2...4 as ClosedRange<UInt16> {
            #expect(numbers(sent(association)).isEmpty)
            deliver(
                .sack(SCTPSack(cumulative: 98, window: 65_536, gaps: [2...upper], duplicates: [])), to: association,
                at: .zero)
        }
        #expect(numbers(sent(association)) == [99])
    }

    @Test("A closed window is probed for minutes and opens again")
    func closedWindow() throws {
        let association = established()
        var now = Instant.zero
        _ = association.send([1], ppid: 53, stream: 1, SCTPReliability(), at: now)
        _ = association.send([2], ppid: 53, stream: 1, SCTPReliability(), at: now)
        while now < .zero + .seconds(300) {
            let isProbed = !numbers(sent(association)).isEmpty
            if isProbed {
                deliver(.sack(SCTPSack(cumulative: 98, window: 0, gaps: [], duplicates: [])), to: association, at: now)
            }
            now = max(now + .milliseconds(1), association.nextDeadline ?? now + .seconds(1))
            association.advance(to: now)
        }
        #expect(association.state == .established)
        deliver(.sack(SCTPSack(cumulative: 100, window: 65_536, gaps: [], duplicates: [])), to: association, at: now)
        #expect(association.buffered == 0)
    }

    @Test("An expired message is skipped with FORWARD-TSN")
    func lifetime() {
        let association = established()
        _ = association.send([1], ppid: 53, stream: 1, SCTPReliability(lifetime: .milliseconds(100)), at: .zero)
        #expect(numbers(sent(association)) == [99])
        association.advance(to: .zero + .milliseconds(101))
        let skips = sent(association).compactMap {
            if case .forwardTSN(let tsn, let skips) = $0 { (tsn, skips) } else { nil }
        }
        #expect(skips.first?.0 == 99)
        #expect(skips.first?.1 == [SCTPSkip(stream: 1, ssn: 0)])
    }

    @Test("Resets that cross end in one reset each way")
    func crossingResets() {
        let association = established()
        association.reset(1, at: .zero)
        deliver(
            .reconfig([.resetOutgoing(request: 100, response: 98, lastTSN: 99, streams: [1])]), to: association,
            at: .zero)
        deliver(.reconfig([.response(request: 99, result: 1)]), to: association, at: .zero)
        let events = association.takeEvents()
        #expect(events.contains(.incomingReset([1])))
        #expect(events.contains(.outgoingReset([1])))
        #expect(!association.resets.isUnderWay)
    }

    @Test("A chunk without data ends the association (RFC 9260 §6.2)")
    func emptyData() {
        let association = established()
        deliver(
            .data(
                SCTPData(tsn: 100, stream: 1, ssn: 0, ppid: 53, unordered: false, begins: true, ends: true, payload: [])
            ),
            to: association, at: .zero)
        #expect(association.state == .closed)
    }

    @Test("An association whose peer has gone silent needs no more wake-ups", arguments: [false, true])
    func silence(sends: Bool) throws {
        let association = established()
        if sends {
            _ = association.send([1], ppid: 53, stream: 1, SCTPReliability(), at: .zero)
        } else {
            association.reset(1, at: .zero)
        }
        var now = Instant.zero
        while association.state != .closed, now < .zero + .seconds(600) {
            now = max(now, try #require(association.nextDeadline))
            association.advance(to: now)
        }
        #expect(association.state == .closed)
        #expect(association.nextDeadline == nil)
    }

    @Test("Data before the association is established needs no wake-up")
    func earlyData() throws {
        let association = SCTPAssociation(SCTPConfiguration(), tag: 5, tsn: 99)
        association.start(at: .zero)
        deliver(
            .data(
                SCTPData(
                    tsn: 100, stream: 1, ssn: 0, ppid: 53, unordered: false, begins: true, ends: true, payload: [1])),
            to: association, at: .zero)
        let now = Instant.zero + .milliseconds(500)
        association.advance(to: now)
        #expect(try #require(association.nextDeadline) > now)
    }

    @Test("Tiny chunks that complete no message fill the window, not the memory")
    func tinyChunks() {
        let association = established()
        for number in UInt32(0)..<8000 {
            let data = SCTPData(
                tsn: 102 &+ number, stream: 1, ssn: 0, ppid: 53, unordered: false, begins: false, ends: false,
                payload: [1])
            deliver(.data(data), to: association, at: .zero)
        }
        #expect(association.receiver.fragments > 3000)
        #expect(association.held >= association.receiver.fragments * 256)
        #expect(association.held <= association.configuration.receiveWindow)
        #expect(association.statistics.refusedChunks > 3000)
    }

    @Test("Many requests in one packet are answered in packets that fit")
    func manyQuestions() {
        let association = established()
        var chunks: [UInt8] = []
        for _ in 0..<100 { SCTPChunk.heartbeat([0, 1, 0, 8, 1, 2, 3, 4]).encode(into: &chunks) }
        FuzzBodies.sctp(chunks, into: association, at: .zero)
        let packets = association.takePackets()
        #expect(packets.allSatisfy { $0.count <= association.configuration.packetSize })
        #expect(packets.flatMap { SCTPPacket(parsing: $0)?.chunks ?? [] }.count == 100)
    }
}
