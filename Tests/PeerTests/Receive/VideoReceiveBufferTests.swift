import Basics
import TestSupport
import Testing

@testable import Peer

/// A VP8 or H.264 sender with a path of loss and jitter to a receive buffer, in virtual time.
private struct VideoLink {
    struct Flying {
        var arrival: Instant
        var sequence: Int64
        var timestamp: Int64
        var marker: Bool
        var payload: [UInt8]
        var isRetransmission = false
    }

    var random: SeededRandom
    var buffer = VideoReceiveBuffer(codecs: [96: .vp8, 102: .h264])
    var loss = 0.0
    var jitter: Duration = .zero
    var roundTrip: Duration = .milliseconds(60)
    var now = Instant(nanoseconds: 1_000_000_000)
    var sequence: Int64 = 65_000
    var frameNumber = 0
    var temporalLayers = false
    var flying: [Flying] = []
    var history: [Int64: Flying] = [:]
    var received: [AssembledFrame] = []
    var receivedAt: [Instant] = []
    var keyframePending = true
    var keyframeAt: Instant?
    var baseIndex: UInt8 = 0

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func sendFrame() {
        let isKey = keyframePending
        keyframePending = false
        let layer: UInt8? = temporalLayers ? (isKey || frameNumber % 2 == 0 ? 0 : 1) : nil
        if layer == 0 { baseIndex &+= 1 }
        var data: [UInt8] = isKey ? [0x10, 0, 0, 0x9D, 1, 0x2A, 0x40, 1, 0xB4, 0] : [0x11, 0, 0]
        data.append16(UInt16(truncatingIfNeeded: frameNumber))
        data += [UInt8](repeating: 3, count: isKey ? 6000 : 2400)
        let frame = PacketizedVideoFrame(
            EncodedVideoFrame(codec: .vp8, data: data, isKeyframe: isKey, timestamp: now.ticks(at: 90_000)))
        for fragment in frame.fragments {
            var payload: [UInt8] = []
            VP8Descriptor(
                startsPartition: fragment.isFirst, pictureID: UInt16(frameNumber & 0x7FFF),
                temporalLevelZeroIndex: layer == nil ? nil : baseIndex, temporalLayer: layer, layerSync: layer == 1
            ).encode(into: &payload)
            payload += frame.bytes[fragment.range]
            transmit(
                Flying(
                    arrival: now, sequence: sequence, timestamp: frame.timestamp, marker: fragment.isLast,
                    payload: payload))
            sequence += 1
        }
        frameNumber += 1
    }

    mutating func transmit(_ packet: Flying) {
        var packet = packet
        history[packet.sequence] = packet
        if Double.random(in: 0..<1, using: &random) < loss { return }
        packet.arrival =
            now + roundTrip * 0.5 + .nanoseconds(Int64.random(in: 0...max(jitter.nanoseconds, 0), using: &random))
        flying.append(packet)
    }

    /// One millisecond.
    mutating func step() {
        now += .milliseconds(1)
        let due = flying.filter { $0.arrival <= now }.sorted { $0.arrival < $1.arrival }
        flying.removeAll { $0.arrival <= now }
        for packet in due {
            buffer.insert(
                payload: packet.payload.span, payloadType: 96, sequence: packet.sequence, timestamp: packet.timestamp,
                marker: packet.marker, isRetransmission: packet.isRetransmission, at: now)
        }
        buffer.advance(to: now, roundTrip: roundTrip)
        for wanted in buffer.nextNacks(at: now) {
            guard var packet = history.values.first(where: { SequenceNumber(wrapping: $0.sequence) == wanted }) else {
                continue
            }
            packet.isRetransmission = true
            if Double.random(in: 0..<1, using: &random) < loss { continue }
            packet.arrival = now + roundTrip
            flying.append(packet)
        }
        if buffer.takeKeyframeRequest(at: now) { keyframeAt = now + roundTrip * 0.5 }
        if let at = keyframeAt, at <= now {
            keyframePending = true
            keyframeAt = nil
        }
        while let frame = buffer.nextFrame() {
            received.append(frame)
            receivedAt.append(now)
        }
        if history.count > 2000 { history = history.filter { $0.key > sequence - 1000 } }
    }

    mutating func run(frames: Int) {
        for _ in 0..<frames {
            sendFrame()
            for _ in 0..<33 { step() }
        }
        for _ in 0..<500 { step() }
    }

    /// Every frame's number, which its data carries.
    var numbers: [Int] {
        received.map {
            Int($0.frame.data[$0.frame.isKeyframe ? 10 : 3]) << 8 | Int($0.frame.data[$0.frame.isKeyframe ? 11 : 4])
        }
    }

    /// No frame without the one before it, unless it is a keyframe or the gap held only droppable frames.
    var isDecodable: Bool {
        var last = -1
        for (frame, number) in zip(received, numbers) {
            let isNext = number == last + 1 || temporalLayers && number == last + 2 && last % 2 == 0
            if !frame.frame.isKeyframe, !isNext { return false }
            last = number
        }
        return true
    }

    var longestGap: Duration { zip(receivedAt, receivedAt.dropFirst()).map { $1 - $0 }.max() ?? .zero }
}

@Suite struct VideoReceiveBufferTests {
    @Test func `A clean link gives every frame, over the wrap, without a request`() {
        var link = VideoLink(seed: 1)
        link.run(frames: 300)
        #expect(link.numbers == Array(0..<300) && !link.received.contains(where: \.isRepaired))
        #expect(link.buffer.statistics.nacksSent == 0 && link.buffer.statistics.keyframeRequests == 0)
    }

    @Test(arguments: seeds(1...3)) func `Five percent loss is repaired without a freeze over 500 ms`(
        seed: UInt64
    ) {
        var link = VideoLink(seed: seed)
        link.loss = 0.05
        link.run(frames: 600)
        #expect(link.isDecodable && link.received.count > 570)
        #expect(link.longestGap < .milliseconds(500))
    }

    @Test func `A frame that needed a repair is marked, one that only waited behind it is not`() {
        var link = VideoLink(seed: 6)
        link.run(frames: 10)
        link.loss = 1
        link.sendFrame()
        link.loss = 0
        link.run(frames: 10)
        #expect(link.numbers == Array(0..<21))
        #expect(zip(link.numbers, link.received).filter(\.1.isRepaired).map(\.0) == [10])
    }

    @Test func `Jitter of 30 ms with reordering causes no keyframe request and little repair`() {
        var link = VideoLink(seed: 4)
        link.jitter = .milliseconds(30)
        link.run(frames: 600)
        #expect(link.numbers == Array(0..<600) && link.buffer.statistics.keyframeRequests == 0)
        #expect(link.buffer.statistics.nacksSent * 100 < link.buffer.statistics.packets * 2)
    }

    @Test func `A dead link ends in one keyframe and whole pictures again`() {
        var link = VideoLink(seed: 5)
        link.run(frames: 30)
        link.loss = 1
        link.run(frames: 60)
        link.loss = 0
        link.run(frames: 60)
        #expect(link.isDecodable && link.buffer.statistics.interruptions == 1)
        #expect(link.received.filter(\.frame.isKeyframe).count == 2)
        #expect(link.numbers.last == 149)
    }

    @Test(arguments: seeds(10...12)) func `All delivered frames can be decoded at any loss`(seed: UInt64) {
        var link = VideoLink(seed: seed)
        link.loss = 0.3
        link.temporalLayers = seed % 2 == 0
        link.run(frames: 300)
        #expect(link.isDecodable && !link.received.isEmpty)
    }

    private func packet(
        _ buffer: inout VideoReceiveBuffer, _ sequence: Int64, at ms: Int64, timestamp: Int64? = nil,
        marker: Bool = true,
        payload: [UInt8] = [0, 1]
    ) {
        buffer.insert(
            payload: payload.span, payloadType: 96, sequence: sequence, timestamp: timestamp ?? sequence,
            marker: marker,
            at: .zero + .milliseconds(ms))
    }

    @Test(
        arguments: [
            // arrivals (sequence, ms), polled at ms, requested
            ([(1, 0), (3, 1)], 5, []), ([(1, 0), (3, 1)], 11, [2]), ([(1, 0), (3, 1), (2, 8)], 20, []),
            ([(65534, 0), (65537, 1)], 11, [65535, 0]), ([(1, 0), (5, 1), (3, 2)], 12, [2, 4]),
            ([(1, 0), (1500, 1)], 50, []),
        ] as [([(Int64, Int64)], Int64, [SequenceNumber])])
    func `Gaps are requested once reordering is ruled out`(
        arrivals: [(Int64, Int64)], at: Int64, asked: [SequenceNumber]
    ) {
        var buffer = VideoReceiveBuffer(codecs: [96: .vp8])
        for (sequence, ms) in arrivals { packet(&buffer, sequence, at: ms) }
        let nacks = buffer.nextNacks(at: .zero + .milliseconds(at))
        #expect(nacks == asked)
    }

    @Test func `A gap is requested again each round trip and at most ten times`() {
        var buffer = VideoReceiveBuffer(codecs: [96: .vp8])
        let key: [UInt8] = [0x10, 0x10, 0, 0, 0x9D, 1, 0x2A, 2, 0, 2, 0]
        packet(&buffer, 1, at: 0, payload: key)
        packet(&buffer, 3, at: 1)
        buffer.advance(to: .zero + .milliseconds(1), roundTrip: .milliseconds(30))
        var times: [Int64] = []
        for ms in Int64(0)..<1000 where !buffer.nextNacks(at: .zero + .milliseconds(ms)).isEmpty { times.append(ms) }
        #expect(times == (0..<10).map { 11 + 30 * $0 })
    }

    /// A keyframe, twelve lost frames, one that shows it; their repairs come one every 40 ms from 340 ms on, up to
    /// `last`.
    private func burst(repairedUpTo last: Int64, lookAt ms: Int64) -> VideoReceiveBuffer {
        var buffer = VideoReceiveBuffer(codecs: [96: .vp8])
        packet(&buffer, 1, at: 0, payload: [0x10, 0x10, 0, 0, 0x9D, 1, 0x2A, 2, 0, 2, 0])
        while buffer.nextFrame() != nil {}
        packet(&buffer, 14, at: 10, payload: [0x10, 0x11, 0, 0])
        for now in Int64(10)...ms {
            _ = buffer.nextNacks(at: .zero + .milliseconds(now))
            if now >= 340, (now - 340) % 40 == 0, (now - 340) / 40 + 2 <= last {
                packet(&buffer, (now - 340) / 40 + 2, at: now, payload: [0x10, 0x11, 0, 0])
            }
            buffer.advance(to: .zero + .milliseconds(now), roundTrip: .milliseconds(60))
            while buffer.nextFrame() != nil {}
        }
        return buffer
    }

    @Test func `A gap whose repairs keep arriving is not abandoned, up to 600 ms`() {
        let patient = burst(repairedUpTo: 13, lookAt: 600)
        #expect(!patient.isAwaitingKeyframe && patient.statistics.frames == 8)
        #expect(burst(repairedUpTo: 13, lookAt: 620).isAwaitingKeyframe)
        // Nothing came after the second: a round trip later nothing will.
        #expect(!burst(repairedUpTo: 3, lookAt: 439).isAwaitingKeyframe)
        #expect(burst(repairedUpTo: 3, lookAt: 441).isAwaitingKeyframe)
    }

    @Test
    func `The rest of the newest frame is awaited for two seconds, and no longer than others once a later one comes`() {
        func isGivenUp(at ms: Int64, laterFrame: Int64?) -> Bool {
            var buffer = VideoReceiveBuffer(codecs: [96: .vp8])
            packet(&buffer, 1, at: 0, payload: [0x10, 0x10, 0, 0, 0x9D, 1, 0x2A, 2, 0, 2, 0])
            while buffer.nextFrame() != nil {}
            packet(&buffer, 2, at: 10, timestamp: 2, marker: false, payload: [0x10, 0x11, 0, 0])
            packet(&buffer, 4, at: 10, timestamp: 2)
            for now in Int64(10)...ms {
                _ = buffer.nextNacks(at: .zero + .milliseconds(now))
                if now == laterFrame { packet(&buffer, 5, at: now, payload: [0x10, 0x11, 0, 0]) }
                buffer.advance(to: .zero + .milliseconds(now), roundTrip: .milliseconds(60))
            }
            return buffer.isAwaitingKeyframe
        }
        #expect(!isGivenUp(at: 1900, laterFrame: nil))
        #expect(isGivenUp(at: 2100, laterFrame: nil))
        #expect(isGivenUp(at: 1001, laterFrame: 1000))
    }

    @Test func `Lost VP8 frames of the upper layer freeze nothing`() {
        var link = VideoLink(seed: 1)
        link.temporalLayers = true
        link.run(frames: 20)
        for index in 20..<40 {
            link.loss = index == 31 ? 1 : 0
            link.sendFrame()
            if index == 31 { link.history = [:] }
            link.loss = 0
            for _ in 0..<33 { link.step() }
        }
        for _ in 0..<500 { link.step() }
        #expect(link.numbers == Array(0..<31) + Array(32..<40))
        #expect(link.buffer.statistics.interruptions == 0)
    }

    @Test func `Padding takes its place in the sequence, and a lost one delays nothing`() {
        var link = VideoLink(seed: 1)
        link.sendFrame()
        link.buffer.insert(
            payload: [UInt8]().span, payloadType: 96, sequence: link.sequence, timestamp: 0, marker: false, at: link.now
        )
        link.sequence += 1
        for _ in 0..<33 { link.step() }
        link.sendFrame()
        link.sequence += 1  // lost padding
        link.run(frames: 3)
        #expect(link.numbers == Array(0..<5) && link.longestGap < .milliseconds(50))
    }

    @Test func `A change of codec waits for the new codec's keyframe`() {
        var buffer = VideoReceiveBuffer(codecs: [96: .vp8, 102: .h264])
        func insert(_ payload: [UInt8], _ type: UInt8, _ sequence: Int64) {
            buffer.insert(
                payload: payload.span, payloadType: type, sequence: sequence, timestamp: sequence * 3000, marker: true,
                at: .zero)
        }
        insert([0x10, 0x10, 0, 0, 0x9D, 1, 0x2A, 2, 0, 2, 0], 96, 1)
        insert([0x61, 0x9A, 1], 102, 2)
        var stap: [UInt8] = [0x78]
        for unit in [PayloadTests.sps, PayloadTests.pps, [0x65, 0x88, 1]] {
            stap.append16(UInt16(unit.count))
            stap += unit
        }
        insert(stap, 102, 3)
        insert([0x61, 0x9A, 1], 102, 4)
        var frames: [AssembledFrame] = []
        while let frame = buffer.nextFrame() { frames.append(frame) }
        #expect(frames.map(\.frame.codec) == [.vp8, .h264, .h264])
        #expect(frames.map(\.frame.isKeyframe) == [true, true, false])
        #expect(frames.map(\.frame.width) == [2, 320, 320])
    }

    @Test func `Arbitrary packets never trap, within bounds`() {
        var random = SeededRandom(seed: 9)
        var buffer = VideoReceiveBuffer(codecs: [96: .vp8, 102: .h264])
        var sequence: Int64 = 0
        for step in 0..<5000 {
            sequence += Int64.random(in: -20...25, using: &random)
            if step % 700 == 0 { sequence += 5000 }
            let payload = (0..<Int.random(in: 0...30, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            let now = Instant(nanoseconds: Int64(step) * 3_000_000)
            buffer.insert(
                payload: payload.span, payloadType: Bool.random(using: &random) ? 96 : 102, sequence: sequence,
                timestamp: sequence / 3 * 3000, marker: Bool.random(using: &random), at: now)
            buffer.advance(to: now, roundTrip: .milliseconds(50))
            while buffer.nextFrame() != nil {}
            _ = buffer.nextNacks(at: now)
            _ = buffer.takeKeyframeRequest(at: now)
            _ = buffer.nextDeadline
        }
    }
}
