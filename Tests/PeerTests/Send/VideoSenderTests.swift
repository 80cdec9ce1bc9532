import Basics
import Testing

@testable import Peer

@Suite("The video sent to a peer")
struct VideoSenderTests {
    private let now = Instant(nanoseconds: 5_000_000_000)

    private func sender(rtx: Bool = true, pictureID: UInt16 = 0x7FFE) -> VideoSender {
        var sender = VideoSender(
            stream: OutgoingStream(ssrc: 1, clockRate: 90_000, firstSequence: 100, timestampBase: 7),
            repair: OutgoingStream(ssrc: 2, clockRate: 90_000, firstSequence: 500, timestampBase: 7),
            numbers: PictureNumbers(pictureID: pictureID, tl0: 255))
        var extensions = OutgoingExtensions()
        extensions.transportCC = 3
        extensions.playoutDelay = 5
        sender.configure(
            codecs: [.vp8: OutgoingCodec(payloadType: 96, retransmissionPayloadType: rtx ? 97 : nil, usesNack: true)],
            extensions: extensions)
        return sender
    }

    private func frame(key: Bool = false, layer: UInt8 = 0, size: Int = 500, timestamp: Int64 = 900)
        -> PacketizedVideoFrame
    {
        PacketizedVideoFrame(
            EncodedVideoFrame(
                codec: .vp8, data: [UInt8](repeating: 0x11, count: size), isKeyframe: key, temporalLayer: layer,
                timestamp: timestamp))
    }

    private func next(
        _ sender: inout VideoSender, _ estimator: inout BandwidthEstimator, repair: Bool = false, at now: Instant
    ) -> [UInt8]? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1500, alignment: 8)
        defer { buffer.deallocate() }
        let packet =
            repair
            ? sender.nextRepair(
                into: buffer, roundTrip: .milliseconds(50), transport: estimator.history, at: now)
            : sender.nextMedia(
                into: buffer, transport: estimator.history, loss: 0, roundTrip: .milliseconds(50), at: now)
        if packet?.numbering == .numbered { estimator.packetSent(size: 100, cluster: nil, at: now) }
        return packet.map { Array(buffer[..<$0.length]) }
    }

    private func estimator() -> BandwidthEstimator {
        BandwidthEstimator(BandwidthEstimatorConfiguration(), usesFeedback: true, firstSequence: 9)
    }

    @Test("Nothing but a keyframe starts, and one is requested")
    func gate() {
        var sender = sender()
        sender.enqueue(frame(), available: .megabits(1), at: now)
        #expect(!sender.hasWork)
        let asked1 = sender.takeKeyframeRequest()
        #expect(asked1 == .sender)
        let asked2 = sender.takeKeyframeRequest()
        #expect(asked2 == nil)
        sender.enqueue(frame(key: true), available: .megabits(1), at: now)
        #expect(sender.hasWork)
    }

    @Test("Where nothing would tell of their loss, the last packets of a frame go out again", arguments: [1, 5])
    func tail(packets: Int) {
        var sender = sender()
        var estimator = estimator()
        sender.repeatsTail = true
        sender.enqueue(frame(key: true, size: packets * 1000), available: .megabits(1), at: now)
        var sent: [UInt16] = []
        while let packet = next(&sender, &estimator, at: now) {
            sent.append(UInt16(packet[2]) << 8 | UInt16(packet[3]))
        }
        #expect(sent.count == packets)
        var again: [UInt16] = []
        while let packet = next(&sender, &estimator, repair: true, at: now + .milliseconds(100)) {
            // The number of the first time follows the header and its extensions (RFC 4588 §4).
            let start = 12 + 4 + 4 * (Int(packet[14]) << 8 | Int(packet[15]))
            again.append(UInt16(packet[start]) << 8 | UInt16(packet[start + 1]))
        }
        #expect(again == Array(sent.suffix(VideoSender.tail)), "\(sent)")
    }

    @Test("Picture ids and base-layer indices continue over a change of encoder, across their wraps")
    func pictureNumbers() throws {
        var sender = sender()
        var estimator = estimator()
        var ids: [UInt16?] = []
        var indices: [UInt8?] = []
        for index in 0..<4 {
            if index == 2 { sender.restart(at: now) }
            sender.enqueue(
                frame(key: index % 2 == 0, timestamp: 900 + 3000 * Int64(index)), available: .megabits(1), at: now)
            let sent10 = next(&sender, &estimator, at: now)
            let packet = try #require(sent10)
            let header = try RTPHeader(parsing: packet.span)
            #expect(header.sequence == SequenceNumber(100) + index)
            #expect(header.timestamp == RTPTimestamp(wrapping: 907 + 3000 * Int64(index)))
            #expect(header.extension16(3, in: packet.span) == 9 + UInt16(index))
            let payload = Array(packet[header.payloadRange])
            let parsed = VP8Descriptor.parse(payload.span)
            let descriptor = try #require(parsed).descriptor
            ids.append(descriptor.pictureID)
            indices.append(descriptor.temporalLevelZeroIndex)
        }
        #expect(ids == [0x7FFF, 0, 1, 2])
        #expect(indices == [0, 1, 2, 3])
    }

    @Test("No two frames share a timestamp and none goes back, even if a new encoder's keyframe is of an old tick")
    func timestamps() throws {
        var sender = sender()
        var estimator = estimator()
        var sent: [(timestamp: UInt32, marker: Bool)] = []
        // A picture tick is 3000 of the clock: the old encoder's last frame is of tick 2, the new one's keyframe of
        // tick `start`.
        for start in [Int64(2), 1] {
            sent = []
            let old = [(true, Int64(1)), (false, 2)]
            let new = [(true, start), (false, start + 1), (false, start + 2)]
            for (key, tick) in (old + new).map({ ($0.0, $0.1 + 10 * (3 - start)) }) {
                sender.enqueue(frame(key: key, size: 2500, timestamp: tick * 3000), available: .megabits(9), at: now)
                while let packet = next(&sender, &estimator, at: now) {
                    let header = try RTPHeader(parsing: packet.span)
                    sent.append((header.timestamp.rawValue, header.marker))
                }
            }
            var frames: [UInt32] = []
            for packet in sent where frames.last != packet.timestamp { frames.append(packet.timestamp) }
            #expect(frames.count == 5)
            #expect(sent.filter(\.marker).map(\.timestamp) == frames)
            #expect(zip(frames, frames.dropFirst()).allSatisfy { $0 < $1 })
            // Back on the room's clock with the first frame that is later than everything before.
            #expect(frames.last == UInt32(7 + (max(3, start + 2) + 10 * (3 - start)) * 3000))
        }
    }

    @Test("A lost packet is sent by RTX with its number before the payload, once a round trip")
    func retransmission() throws {
        var sender = sender()
        var estimator = estimator()
        sender.enqueue(frame(key: true), available: .megabits(1), at: now)
        let sent11 = next(&sender, &estimator, at: now)
        let original = try #require(sent11)
        sender.receive([100], at: now)
        let sent12 = next(&sender, &estimator, repair: true, at: now + .milliseconds(60))
        let again = try #require(sent12)
        let header = try RTPHeader(parsing: again.span)
        #expect(header.ssrc == 2)
        #expect(header.payloadType == 97)
        #expect(header.sequence == 500)
        let first = try RTPHeader(parsing: original.span)
        #expect(Array(again[header.payloadRange]) == [0, 100] + Array(original[first.payloadRange]))
        sender.receive([100], at: now + .milliseconds(70))
        let packet8 = next(&sender, &estimator, repair: true, at: now + .milliseconds(70))
        #expect(packet8 == nil)
        sender.receive([100], at: now + .seconds(2))
        let packet9 = next(&sender, &estimator, repair: true, at: now + .seconds(2))
        #expect(packet9 == nil)
    }

    @Test("Requests for packets that were never sent, or a thousand for the same, cause no work")
    func hostileRequests() {
        var sender = sender()
        var estimator = estimator()
        sender.enqueue(frame(key: true), available: .megabits(1), at: now)
        _ = next(&sender, &estimator, at: now)
        sender.receive((101...5000).map(SequenceNumber.init(rawValue:)), at: now)
        #expect(!sender.hasWork)
        for _ in 0..<100 { sender.receive([SequenceNumber](repeating: 100, count: 5000), at: now) }
        let repair = next(&sender, &estimator, repair: true, at: now + .milliseconds(60))
        #expect(repair != nil)
        #expect(!sender.hasWork)
        sender.receive([100], at: now + .seconds(2))
        #expect(!sender.hasWork, "nor for what is too old")
    }

    @Test("Packets lost before a keyframe are not retransmitted once all of that has left")
    func overtaken() throws {
        var sender = sender()
        var estimator = estimator()
        sender.enqueue(frame(key: true), available: .megabits(1), at: now)
        sender.enqueue(frame(timestamp: 3900), available: .megabits(1), at: now)
        // 100, 101; then a keyframe in 102 and 103.
        for _ in 0..<2 { _ = next(&sender, &estimator, at: now) }
        sender.enqueue(frame(key: true, size: 2000, timestamp: 6900), available: .megabits(1), at: now)
        _ = next(&sender, &estimator, at: now)
        sender.receive([100], at: now)
        let whileItLeaves = next(&sender, &estimator, repair: true, at: now)
        #expect(whileItLeaves != nil)
        _ = next(&sender, &estimator, at: now)
        sender.receive([101, 102], at: now)
        let repair = next(&sender, &estimator, repair: true, at: now)
        let bytes = try #require(repair)
        let header = try RTPHeader(parsing: bytes.span)
        #expect(Array(bytes[header.payloadRange].prefix(2)) == [0, 102])
        let another = next(&sender, &estimator, repair: true, at: now)
        #expect(another == nil)
    }

    @Test("A packet requested while its repair waited for the pacer is not sent twice")
    func repeatedRequest() {
        var sender = sender()
        var estimator = estimator()
        sender.enqueue(frame(key: true), available: .megabits(1), at: now)
        let original = next(&sender, &estimator, at: now)
        #expect(original != nil)
        sender.receive([100], at: now + .milliseconds(50))
        let first = next(&sender, &estimator, repair: true, at: now + .milliseconds(90))
        #expect(first != nil)
        // Asked again after a round trip by the peer's clock, but before the repair can have reached it.
        sender.receive([100], at: now + .milliseconds(100))
        let second = next(&sender, &estimator, repair: true, at: now + .milliseconds(160))
        #expect(second == nil)
        sender.receive([100], at: now + .milliseconds(165))
        let third = next(&sender, &estimator, repair: true, at: now + .milliseconds(170))
        #expect(third != nil)
    }

    @Test("A request for a lost repair counts, though an older one for the same packet still waits")
    func newestRequest() {
        var sender = sender()
        var estimator = estimator()
        sender.enqueue(frame(key: true), available: .megabits(1), at: now)
        let original = next(&sender, &estimator, at: now)
        #expect(original != nil)
        sender.receive([100], at: now + .milliseconds(50))
        let first = next(&sender, &estimator, repair: true, at: now + .milliseconds(50))
        #expect(first != nil)
        // Said a second time, before the repair could be there; the pacer has other things to do until the third.
        sender.receive([100], at: now + .milliseconds(60))
        sender.receive([100], at: now + .milliseconds(100))
        let second = next(&sender, &estimator, repair: true, at: now + .milliseconds(100))
        #expect(second != nil)
    }

    @Test("The packet that the receiver waits for first is repaired first, whenever it was requested")
    func oldestFirst() throws {
        var sender = sender()
        var estimator = estimator()
        sender.enqueue(frame(key: true, size: 4500), available: .megabits(9), at: now)
        while next(&sender, &estimator, at: now) != nil {}
        sender.receive([102, 103], at: now)
        sender.receive([100, 101, 102], at: now)
        var order: [UInt8] = []
        while let packet = next(&sender, &estimator, repair: true, at: now) {
            let header = try RTPHeader(parsing: packet.span)
            order.append(packet[header.payloadRange.lowerBound + 1])
        }
        #expect(order == [100, 101, 102, 103])
    }

    @Test("A repair that has arrived by feedback is not sent again", arguments: [true, false])
    func arrived(arrives: Bool) {
        var sender = sender()
        var estimator = estimator()
        sender.enqueue(frame(key: true), available: .megabits(1), at: now)
        let original = next(&sender, &estimator, at: now)
        #expect(original != nil)
        sender.receive([100], at: now)
        let first = next(&sender, &estimator, repair: true, at: now)
        #expect(first != nil)
        // The original has number 9, its repair 10.
        estimator.receive(
            feedback: 9, arrivals: [nil, arrives ? .milliseconds(30) : nil, .milliseconds(40)],
            at: now + .milliseconds(60))
        sender.receive([100], at: now + .milliseconds(60))
        let second = next(&sender, &estimator, repair: true, at: now + .milliseconds(60))
        #expect((second == nil) == arrives)
    }

    @Test(
        "If repairs come late repeatedly, all packets of the next frame request a playout delay, of stills none",
        arguments: [false, true])
    func hold(isStill: Bool) throws {
        var sender = sender()
        var estimator = estimator()
        var said: [UInt32?] = []
        for (round, late) in [220, 200, 0].enumerated() {
            let start = now + .seconds(3) * round
            sender.enqueue(
                frame(
                    key: round == 0, size: 2000, timestamp: 900 + (isStill ? 90_000 : 89_000) * Int64(round)),
                available: .megabits(9), at: start)
            while let packet = next(&sender, &estimator, at: start) {
                let header = try RTPHeader(parsing: packet.span)
                said.append(header.extension24(5, in: packet.span))
            }
            let repaired = start + .milliseconds(late)
            let number = estimator.nextSequence
            sender.receive([SequenceNumber(100) + round * 2], at: repaired)
            let repair = next(&sender, &estimator, repair: true, at: repaired)
            #expect(repair != nil)
            estimator.receive(
                feedback: number, arrivals: [.milliseconds(3000 * round + late)], at: repaired + .milliseconds(60))
        }
        let (atOnce, told): (UInt32?, UInt32?) = (50, 12 << 12 | 0xFFF)
        #expect(said == (isStill ? [nil, nil, atOnce, atOnce, atOnce, atOnce] : [nil, nil, nil, nil, told, told]))
    }

    @Test("Without RTX the same bytes are sent again: one nonce must not protect two messages")
    func sameBytes() throws {
        var sender = sender(rtx: false)
        var estimator = estimator()
        sender.enqueue(frame(key: true), available: .megabits(1), at: now)
        let sent13 = next(&sender, &estimator, at: now)
        let original = try #require(sent13)
        sender.receive([100], at: now)
        let sent14 = next(&sender, &estimator, repair: true, at: now + .milliseconds(60))
        let again = try #require(sent14)
        #expect(again == original)
    }

    @Test(
        "A packet carries the transport-wide number that it measures: its own, none, or a used one",
        arguments: [true, false])
    func numbering(rtx: Bool) {
        var sender = sender(rtx: rtx)
        let numbers = SentPacketHistory(firstSequence: 9)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1500, alignment: 8)
        defer { buffer.deallocate() }
        sender.enqueue(frame(key: true), available: .megabits(1), at: now)
        let media = sender.nextMedia(into: buffer, transport: numbers, loss: 0, roundTrip: .milliseconds(50), at: now)
        sender.receive([100], at: now)
        let repair = sender.nextRepair(
            into: buffer, roundTrip: .milliseconds(50), transport: numbers, at: now + .milliseconds(60))
        #expect(media?.numbering == .numbered && repair?.numbering == (rtx ? .numbered : .repeated(9)))
        sender.configure(
            codecs: [.vp8: OutgoingCodec(payloadType: 96, retransmissionPayloadType: 97, usesNack: true)],
            extensions: OutgoingExtensions())
        sender.enqueue(frame(key: true), available: .megabits(1), at: now)
        let plain = sender.nextMedia(into: buffer, transport: numbers, loss: 0, roundTrip: .milliseconds(50), at: now)
        #expect(plain?.numbering == .unnumbered)
    }

    @Test("A late queue is cut between frames and waits for a keyframe")
    func cut() throws {
        var sender = sender()
        var estimator = estimator()
        sender.enqueue(frame(key: true, size: 3000), available: .megabits(1), at: now)
        while next(&sender, &estimator, at: now) != nil {}
        sender.enqueue(frame(size: 3000), available: .megabits(1), at: now)
        _ = next(&sender, &estimator, at: now)
        sender.enqueue(frame(), available: .megabits(1), at: now)
        _ = sender.takeKeyframeRequest()
        sender.enqueue(frame(), available: .megabits(1), at: now + .seconds(1))
        let asked3 = sender.takeKeyframeRequest()
        #expect(asked3 == .sender)
        // The frame that had begun is finished, the rest is gone.
        var packets: [RTPHeader] = []
        while let packet = next(&sender, &estimator, at: now + .seconds(1)) {
            packets.append(try RTPHeader(parsing: packet.span))
        }
        #expect(packets.count == 2)
        #expect(packets.last?.marker == true)
        #expect(sender.stream.counters.cuts == 1)
    }

    @Test("The upper temporal layer is dropped when the link does not carry it")
    func layers() {
        var gate = TemporalLayerGate()
        var admitted = 0
        for index in 0..<60 {
            let time = now + .milliseconds(40 * index)
            if gate.admits(
                frame(layer: UInt8(index % 2), size: 2000), available: .kilobits(300), queueDelay: .zero, at: time)
            {
                admitted += 1
            }
        }
        #expect((30...36).contains(admitted))
    }

    @Test("Requests of the peer count as one within 300 ms, and a repeated FIR as none")
    func requests() {
        var sender = sender()
        sender.receivePictureLoss(at: now)
        let asked4 = sender.takeKeyframeRequest()
        #expect(asked4 == .peer)
        sender.receivePictureLoss(at: now + .milliseconds(100))
        let asked5 = sender.takeKeyframeRequest()
        #expect(asked5 == nil)
        sender.receiveFullIntraRequest(4, from: 9, at: now + .seconds(1))
        let asked6 = sender.takeKeyframeRequest()
        #expect(asked6 == .peer)
        sender.receiveFullIntraRequest(4, from: 9, at: now + .seconds(2))
        let asked7 = sender.takeKeyframeRequest()
        #expect(asked7 == nil)
    }
}
