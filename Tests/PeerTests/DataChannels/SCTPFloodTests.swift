import Basics
import TestSupport
import Testing

@testable import Peer

/// Floods of a hostile peer into an association: each once held the loop for seconds, or memory without bound.
@Suite("SCTP floods") struct SCTPFloodTests {
    private func established(_ configuration: SCTPConfiguration = SCTPConfiguration(), forwards: Bool = true)
        -> SCTPAssociation
    {
        let association = SCTPAssociation(configuration, tag: 5, tsn: 99)
        flood(association, [.cookieEcho([0, 0, 0, 9, 0, 16, 0, 0, 0, 0, 0, 100, forwards ? 1 : 0])])
        _ = association.takePackets()
        _ = association.takeEvents()
        return association
    }

    /// Puts the chunks into packets as full as a peer would make them.
    private func flood(_ association: SCTPAssociation, _ chunks: [SCTPChunk], at now: Instant = .zero) {
        var bytes: [UInt8] = []
        for chunk in chunks {
            var next: [UInt8] = []
            chunk.encode(into: &next)
            if bytes.count + next.count > 1120 {
                FuzzBodies.sctp(bytes, into: association, at: now)
                bytes = []
            }
            bytes += next
        }
        if !bytes.isEmpty { FuzzBodies.sctp(bytes, into: association, at: now) }
    }

    private func data(
        _ tsn: UInt32, stream: UInt16 = 1, ssn: UInt16 = 0, begins: Bool = false, ends: Bool = false,
        unordered: Bool = false, size: Int = 1
    ) -> SCTPChunk {
        .data(
            SCTPData(
                tsn: tsn, stream: stream, ssn: ssn, ppid: 53, unordered: unordered, begins: begins, ends: ends,
                payload: [UInt8](repeating: 7, count: size)))
    }

    private func answers(_ association: SCTPAssociation) -> [SCTPChunk] {
        association.takePackets().flatMap { SCTPPacket(parsing: $0)?.chunks ?? [] }
    }

    private func time(_ body: () -> Void) -> Duration { processorTime(body) }

    /// Four times the work in four times the time, where it once was sixteen times. Other tests run meanwhile: the best
    /// of three counts.
    private func growsLinearly(_ count: Int, _ body: (Int) -> Void) -> Bool {
        func best(_ count: Int) -> Duration { (0..<3).map { _ in time { body(count) } }.min() ?? .zero }
        return best(count * 4) < best(count) * 9 + .milliseconds(100)
    }

    @Test("Fragments of one byte cost the same each, however many there are")
    func fragments() {
        let isLinear = growsLinearly(900) { count in
            let association = established()
            flood(association, (0..<UInt32(count)).map { data(100 &+ $0, begins: $0 == 0) })
            #expect(association.receiver.fragments == count)
        }
        #expect(isLinear)
    }

    @Test("Fragments in reverse order cost the same each")
    func backwards() {
        let isLinear = growsLinearly(900) { count in
            let association = established()
            flood(association, (0..<UInt32(count)).reversed().map { data(101 &+ $0) })
            #expect(association.receiver.fragments == count)
        }
        #expect(isLinear)
    }

    @Test("A message in four thousand parts, in any order, is completed", arguments: seeds([1, 2]))
    func parts(seed: UInt64) {
        let association = established()
        var random = SeededRandom(seed: seed)
        let count = 3000 as UInt32
        let order = seed == 1 ? Array(0..<count) : (0..<count).sorted { _, _ in Bool.random(using: &random) }
        var events: [SCTPEvent] = []
        for _ in 0..<20 {
            flood(association, order.map { data(100 &+ $0, begins: $0 == 0, ends: $0 == count - 1) })
            events = association.takeEvents()
            if !events.isEmpty { break }
        }
        #expect(events == [.message(stream: 1, ppid: 53, payload: [UInt8](repeating: 7, count: Int(count)))])
        #expect(association.held == 0)
    }

    @Test("Messages that begin and never end hold nothing", arguments: [1, 1000])
    func beginnings(size: Int) {
        let association = established()
        for number in UInt32(0)..<5_000 {
            flood(
                association,
                [
                    data(
                        100 &+ number, stream: UInt16(number % 500), ssn: UInt16(truncatingIfNeeded: number),
                        begins: true, size: size)
                ])
        }
        #expect(association.state == .established)
        #expect(association.held <= 2 * (size + 256))
        #expect(association.statistics.discardedChunks == 4_999)
    }

    @Test("Ordered messages ahead of their turn fill the window and no more, and a sender that continues is cut off")
    func ahead() {
        let association = established()
        var most = 0
        for number in UInt32(0)..<20_000 where association.state == .established {
            flood(
                association,
                [
                    data(
                        100 &+ number, ssn: UInt16(truncatingIfNeeded: number % 30_000 + 1), begins: true, ends: true,
                        size: 1000)
                ])
            most = max(most, association.held)
        }
        #expect(most <= association.configuration.receiveWindow)
        #expect(association.state == .closed)
        #expect(answers(association).contains { if case .abort = $0 { true } else { false } })
    }

    @Test("A gap that is filled again and again holds the window and two messages at most")
    func filling() {
        let association = established()
        // A chunk far ahead makes each chunk before it fill a gap.
        flood(association, [data(100 &+ 16_000, begins: true, ends: true)])
        var most = 0
        for number in UInt32(0)..<15_000 where association.state == .established {
            flood(association, [data(100 &+ number, ssn: UInt16(number + 1), begins: true, ends: true, size: 1000)])
            most = max(most, association.held)
        }
        let configuration = association.configuration
        #expect(most <= configuration.receiveWindow + 2 * configuration.maximumMessage)
        #expect(association.state == .closed)
    }

    @Test("Every other chunk makes a bounded number of ranges, and a SACK names few of them")
    func torn() {
        let isLinear = growsLinearly(1500) { count in
            let association = established()
            // Incomplete and far from one another: each is a part of its own, and of parts 512 are held.
            flood(association, (0..<UInt32(count)).map { data(102 &+ 2 * $0) })
            let sacks = answers(association).compactMap { if case .sack(let sack) = $0 { sack } else { nil } }
            #expect(sacks.allSatisfy { $0.gaps.count <= 200 })
            #expect(association.receiver.fragments == min(count, 512))
            #expect(association.statistics.refusedChunks == max(0, count - 512))
        }
        #expect(isLinear)
        let association = established()
        flood(association, (0..<1500).map { data(102 &+ 2 * $0, begins: true, ends: true, unordered: true) })
        // The first packet bundles; whole messages are delivered at once, and only their numbers are kept.
        #expect(association.statistics.refusedChunks == 1500 - 1024)
    }

    @Test("Overlapping gap blocks in a SACK are visited once")
    func overlappingGaps() {
        let association = established()
        for _ in 0..<3000 { _ = association.send([1], ppid: 53, stream: 1, SCTPReliability(), at: .zero) }
        let gaps = [ClosedRange<UInt16>](repeating: 1...UInt16.max, count: 270)
        let cost = time {
            for _ in 0..<100 {
                flood(association, [.sack(SCTPSack(cumulative: 98, window: 1 << 20, gaps: gaps, duplicates: []))])
            }
        }
        // 100 packets x 270 blocks x 3000 chunks were 80 million steps.
        #expect(cost < .seconds(3))
    }

    @Test("One packet full of SACKs, FORWARD-TSNs, cookies or RE-CONFIGs is answered once")
    func manyOfAKind() {
        let association = established()
        flood(association, (0..<40).map { _ in .cookieEcho([0, 0, 0, 9, 0, 16, 0, 0, 0, 0, 0, 100, 1]) })
        #expect(answers(association).count == 1)
        flood(
            association,
            (0..<60 as Range<UInt32>).map { .forwardTSN(100 &+ $0, [SCTPSkip(stream: 1, ssn: UInt16($0))]) })
        #expect(association.receiver.cumulativeTSN == 100)
        flood(
            association, (0..<40).map { _ in .reconfig([.other(request: 1), .other(request: 2), .other(request: 3)]) })
        #expect(answers(association).count { if case .reconfig = $0 { true } else { false } } == 2)
    }

    @Test("FORWARD-TSN drops what it passes, and nothing is visited twice")
    func forward() {
        let association = established()
        flood(
            association,
            (0..<1000 as Range<UInt32>).map { data(101 &+ $0, ssn: UInt16($0) + 1, begins: true, ends: true) })
        let cost = time {
            for number in UInt16(0)..<1000 {
                flood(
                    association,
                    [
                        .forwardTSN(
                            100 &+ UInt32(number), [SCTPSkip](repeating: SCTPSkip(stream: 1, ssn: number), count: 200))
                    ])
            }
        }
        #expect(cost < .seconds(10))
        #expect(association.receiver.fragments == 0)
        // The budget holds the rest back.
        #expect(association.takeEvents().count == 500)
    }

    @Test("A peer that never acknowledges holds the send buffer and no more, and sending stays cheap")
    func deafPeer() {
        let association = established()
        var accepted = 0
        let cost = time {
            for _ in 0..<40_000
            where association.send([1], ppid: 53, stream: 1, SCTPReliability(lifetime: .seconds(60)), at: .zero) {
                accepted += 1
            }
        }
        #expect(accepted == association.configuration.sendBuffer / 257)
        #expect(association.statistics.refusedMessages == 40_000 - accepted)
        #expect(association.sender.pendingMessages + association.sender.outstandingChunks == accepted)
        #expect(association.buffered <= association.configuration.sendBuffer)
        #expect(cost < .seconds(5))
        association.advance(to: .zero + .seconds(61))
        #expect(association.sender.pendingMessages == 0)
    }

    @Test("An expired message does not keep the loop awake if the peer supports no FORWARD-TSN")
    func lifetimeWithoutForward() throws {
        let association = established(forwards: false)
        _ = association.send([1], ppid: 53, stream: 1, SCTPReliability(lifetime: .milliseconds(10)), at: .zero)
        let now = Instant.zero + .milliseconds(20)
        association.advance(to: now)
        #expect(try #require(association.nextDeadline) > now)
    }

    @Test("Streams beyond those that were offered are dropped, a heartbeat that fits into no packet is not echoed")
    func strangeChunks() {
        let association = established()
        flood(association, [data(100, stream: 1024, begins: true, ends: true)])
        #expect(association.takeEvents().isEmpty && association.held == 0 && association.receiver.cumulativeTSN == 100)
        flood(association, [.heartbeat([UInt8](repeating: 0, count: 8000))])
        #expect(!answers(association).contains { if case .heartbeatAck = $0 { true } else { false } })
    }

    @Test("Messages beyond the budget wait, close the window, and come in time")
    func budget() throws {
        let association = established()
        flood(
            association,
            (0..<2500 as Range<UInt32>).map { data(100 &+ $0, ssn: UInt16($0), begins: true, ends: true, size: 300) })
        var delivered = association.takeEvents().count
        #expect(delivered == 500)
        #expect(association.statistics.slowed == 1)
        #expect(association.held <= association.configuration.receiveWindow)
        let told = answers(association).compactMap { if case .sack(let sack) = $0 { sack.window } else { nil } }
        #expect(try #require(told.last) < 600)
        // Ten seconds bring a thousand more of the accepted messages; the others were refused, and their sender still
        // has them.
        let taken = Int(association.receiver.cumulativeTSN &- 99)
        #expect(association.statistics.refusedChunks == 2500 - taken)
        var now = Instant.zero
        while now < .zero + .seconds(10) {
            now = max(now + .milliseconds(1), try #require(association.nextDeadline))
            association.advance(to: now)
        }
        delivered += association.takeEvents().count
        #expect((1490...1501).contains(delivered))
        let reopened = answers(association).compactMap { if case .sack(let sack) = $0 { sack.window } else { nil } }
        #expect(try #require(reopened.first) >= 1 << 18)
    }
}

@Suite("Reassembly") struct SCTPReassemblyTests {
    private static func fragment(_ tsn: UInt32, _ ssn: UInt16, _ index: Int, of count: Int, unordered: Bool) -> SCTPData
    {
        SCTPData(
            tsn: tsn, stream: unordered ? 2 : 1, ssn: ssn, ppid: 53, unordered: unordered, begins: index == 0,
            ends: index == count - 1,
            payload: [UInt8(truncatingIfNeeded: tsn), UInt8(index)])
    }

    @Test(
        "In any order of chunks, each message is delivered once and whole, ordered ones in order",
        arguments: seeds(1...20))
    func anyOrder(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let start = UInt32.max - 100
        var chunks: [SCTPData] = []
        var expected: [[UInt8]] = []
        var ssn = UInt16.max - 20
        for message in 0..<80 {
            let count = Int.random(in: 1...6, using: &random)
            let unordered = message % 3 == 0
            var payload: [UInt8] = []
            for index in 0..<count {
                let chunk = Self.fragment(start &+ UInt32(chunks.count), ssn, index, of: count, unordered: unordered)
                chunks.append(chunk)
                payload += chunk.payload
            }
            if !unordered { ssn &+= 1 }
            expected.append(payload)
        }
        var reassembly = SCTPReassembly(streams: 16, maximumMessage: 100)
        reassembly.forward(to: start &- 1, [30_000, 60_000, .max - 21].map { SCTPSkip(stream: 1, ssn: $0) })
        var numbers = SCTPReceivedNumbers(cumulative: start &- 1)
        var received: [[UInt8]] = []
        var orderedReceived: [[UInt8]] = []
        for chunk in chunks.shuffled(using: &random) + chunks {
            guard !numbers.contains(chunk.tsn) else { continue }
            let (isAfter, isBefore) = (numbers.contains(chunk.tsn &- 1), numbers.contains(chunk.tsn &+ 1))
            numbers.insert(chunk.tsn)
            let isTaken = reassembly.add(chunk, isAfterReceived: isAfter, isBeforeReceived: isBefore)
            #expect(isTaken)
            while let message = reassembly.takeFirst() {
                received.append(message.payload)
                if message.stream == 1 { orderedReceived.append(message.payload) }
            }
        }
        let ordered = expected.enumerated().filter { $0.offset % 3 != 0 }.map(\.element)
        let isComplete =
            received.sorted { $0.lexicographicallyPrecedes($1) } == expected.sorted { $0.lexicographicallyPrecedes($1) }
        #expect(isComplete)
        #expect(orderedReceived == ordered)
        #expect(reassembly.held == 0 && reassembly.discarded == 0 && reassembly.fragments.isEmpty)
        #expect(numbers.cumulative == start &+ UInt32(chunks.count) &- 1 && !numbers.hasHoles)
    }

    @Test("A fragment whose neighbour belongs to another message is dropped with its run")
    func contradictions() {
        var reassembly = SCTPReassembly(streams: 16, maximumMessage: 100)
        var numbers = SCTPReceivedNumbers(cumulative: 9)
        func add(_ tsn: UInt32, stream: UInt16 = 1, begins: Bool = false, ends: Bool = false) {
            let chunk = SCTPData(
                tsn: tsn, stream: stream, ssn: 0, ppid: 53, unordered: true, begins: begins, ends: ends, payload: [1])
            let (isAfter, isBefore) = (numbers.contains(tsn &- 1), numbers.contains(tsn &+ 1))
            numbers.insert(tsn)
            _ = reassembly.add(chunk, isAfterReceived: isAfter, isBeforeReceived: isBefore)
        }
        // No beginning, and the TSN before it is done with.
        add(10)
        #expect(reassembly.fragments.isEmpty)
        // Waits for its end, but the next one begins another.
        add(11, begins: true)
        add(12, begins: true, ends: true)
        #expect(reassembly.fragments.isEmpty)
        _ = reassembly.takeFirst()
        // The fragment waits for its beginning behind a gap, which a whole message then fills.
        add(14, ends: true)
        #expect(reassembly.fragments.count == 1)
        add(13, begins: true, ends: true)
        #expect(reassembly.fragments.isEmpty)
        _ = reassembly.takeFirst()
        // Two parts of different streams meet.
        add(16, stream: 2, ends: true)
        add(15, stream: 1, begins: true)
        #expect(reassembly.fragments.isEmpty && reassembly.first == nil)
        #expect(reassembly.discarded == 5 && reassembly.held == 0)
    }
}
