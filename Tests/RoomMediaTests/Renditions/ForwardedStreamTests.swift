import Basics
import Codecs
import Peer
import Testing

@testable import RoomMedia

@Suite("A forwarded stream")
struct ForwardedStreamTests {
    private let budget = BitRate.kilobits(800)

    private func at(_ milliseconds: Int) -> Instant { .zero + .seconds(100) + .milliseconds(milliseconds) }

    private func stream(width: Int = 320, height: Int = 180) -> ForwardedStream {
        ForwardedStream(width: width, height: height, framesPerSecond: 30)
    }

    /// What became of each frame of a camera that sends 30 a second, with a keyframe wherever one was requested.
    private func outcome(
        of stream: inout ForwardedStream, _ sender: inout SentVideo, from start: Int = 0, seconds: Int = 3,
        budget: BitRate? = nil, change: (inout ReceivedVideoFrame) -> Void = { _ in }
    ) throws -> [String] {
        var outcomes: [String] = []
        var isRequested = start == 0
        for index in 0..<seconds * 30 {
            let now = at(start + index * 1000 / 30)
            guard var frame = try sender.frame(at: now, isKeyframe: isRequested) else { continue }
            change(&frame)
            let (verdict, requests) = stream.take(frame, budget: budget ?? self.budget)
            isRequested = requests
            switch verdict {
            case .forward(let frame): outcomes.append(frame.isKeyframe ? "key" : "frame")
            case .hold: outcomes.append("hold")
            case .end(let fault):
                outcomes.append(fault.rawValue)
                return outcomes
            }
        }
        return outcomes
    }

    @Test("begins with a keyframe that it requests once the rate is known to fit", arguments: VideoCodec.received)
    func begins(codec: VideoCodec) throws {
        var (stream, sender) = (stream(), try SentVideo(codec))
        let outcomes = try outcome(of: &stream, &sender)
        let first = try #require(outcomes.firstIndex(of: "key"))
        #expect(outcomes[..<first].allSatisfy { $0 == "hold" } && (30...33).contains(first), "\(outcomes)")
        #expect(outcomes[(first + 1)...].allSatisfy { $0 == "frame" })
        #expect(stream.isRunning && stream.size == (320, 180))
    }

    @Test("goes on unchanged but for units that decoders need not, and as one layer")
    func content() throws {
        var (stream, sender) = (stream(), try SentVideo())
        _ = try outcome(of: &stream, &sender)
        for type in [H264.UnitType.sei, H264.UnitType.delimiter, H264.UnitType.filler] {
            var received = try #require(try sender.frame(at: at(4000)))
            let plain = received.frame.data
            received.frame.data = [0, 0, 0, 1, type, 0x80] + plain
            received.frame.temporalLayer = 1
            guard case .forward(let frame) = stream.take(received, budget: budget).0 else {
                Issue.record("unit \(type)")
                continue
            }
            #expect(frame.data == plain && frame.temporalLayer == 0)
            #expect((frame.width, frame.height) == (320, 180))
        }
    }

    @Test("ends at what the mix would not send")
    func faults() throws {
        func end(
            _ codec: VideoCodec = .h264, width: Int = 320, height: Int = 180,
            change: @escaping (inout ReceivedVideoFrame) -> Void
        ) throws -> String? {
            var (stream, sender) = (stream(), try SentVideo(codec, width: width, height: height))
            return try outcome(of: &stream, &sender, change: change).last
        }
        func appended(_ bytes: [UInt8], toKeyframes: Bool = false) -> (inout ReceivedVideoFrame) -> Void {
            { if $0.frame.isKeyframe == toKeyframes { $0.frame.data += [0, 0, 0, 1] + bytes } }
        }
        #expect(try end(change: { _ in }) == "frame")
        #expect(try end { $0.rotation = .clockwise90 } == "rotation")
        #expect(try end(width: 640, height: 360) { _ in } == "size", "larger than the canvas")
        #expect(try end(width: 240, height: 180) { _ in } == "size", "of another shape")
        #expect(try end(.vp8, width: 180, height: 180) { _ in } == "size")
        #expect(try end(.vp8) { $0.frame.isKeyframe.toggle() } == "units")
        #expect(try end(.vp8) { $0.frame.data = [] } == "units")
        // A slice of data partitioning, an extension of another profile, a reserved and an aggregated unit.
        for type: UInt8 in [0, 2, 14, 15, 19, 20, 21, 24, 28, 31] {
            #expect(try end(change: appended([0x60 | type, 1, 2, 3])) == "units", "type \(type)")
        }
        #expect(try end(change: appended([0xE1, 1, 2, 3])) == "units", "forbidden bit")
        #expect(try end(change: appended([0x65, 1, 2, 3])) == "units", "a slice of a keyframe in another frame")
        #expect(try end(change: appended([0x41, 1, 2, 3], toKeyframes: true)) == "units")
        #expect(try end(change: appended([0x68, 1, 2, 3])) == "units", "parameter sets outside of a keyframe")
        #expect(
            try end(change: appended([0x67, 66, 0xC0, 31, 1], toKeyframes: true)) == "units",
            "a set that cannot be read")
        #expect(try end(change: appended([0x67, 100, 0, 31, 1], toKeyframes: true)) == "profile", "High")
        #expect(
            try end(change: appended([0x67, 66, 0, 31, 1], toKeyframes: true)) == "profile",
            "Baseline with slice groups")
        #expect(
            try end { received in
                if received.frame.isKeyframe { received.frame.data = Array(received.frame.data.suffix(40)) }
            } == "units", "without parameter sets")
    }

    @Test("any bytes end it or pass, and none trap")
    func fuzz() throws {
        var generator = SeededRandom(seed: 27)
        for _ in 0..<300 {
            var (stream, sender) = (stream(), try SentVideo())
            _ = try outcome(of: &stream, &sender, seconds: 2)
            var received = try #require(try sender.frame(at: at(2100), isKeyframe: Bool.random(using: &generator)))
            for _ in 0..<Int.random(in: 1...20, using: &generator) where !received.frame.data.isEmpty {
                let index = Int.random(in: 0..<received.frame.data.count, using: &generator)
                received.frame.data[index] = UInt8.random(in: 0...255, using: &generator)
            }
            received.frame.data.removeLast(Int.random(in: 0...received.frame.data.count, using: &generator))
            _ = stream.take(received, budget: budget)
        }
    }

    @Test("waits for a sender to come down to the members' links, and ends where it does not")
    func rate() throws {
        var (stream, sender) = (stream(), try SentVideo(bitRate: .kilobits(300)))
        // Padding stands for a sender that has not come down yet.
        func padded(_ received: inout ReceivedVideoFrame) {
            received.frame.data += [0, 0, 0, 1, 12] + [UInt8](repeating: 255, count: 7000)
        }
        let before = try outcome(of: &stream, &sender, seconds: 4, change: padded)
        #expect(before.allSatisfy { $0 == "hold" })
        let after = try outcome(of: &stream, &sender, from: 4000, seconds: 3)
        #expect(after.contains("key") && after.last == "frame", "\(after)")
        let tooMuch = try outcome(of: &stream, &sender, from: 7000, seconds: 5, change: padded)
        #expect(tooMuch.last == "rate" && (60...100).contains(tooMuch.count), "\(tooMuch.count)")

        var patient = self.stream()
        let never = try outcome(of: &patient, &sender, seconds: 12, change: padded)
        #expect(never.last == "rate" && (235...250).contains(never.count), "\(never.count)")
        var silent = self.stream()
        let without = try outcome(of: &silent, &sender, seconds: 12) { received in
            received.frame.isKeyframe = false
            received.frame.data = [0, 0, 0, 1, 0x41, 1, 2]
        }
        #expect(without.last == "keyframe", "\(without.suffix(3))")
    }

    @Test("ends where more frames come than the canvas has")
    func frames() throws {
        var (stream, sender) = (stream(), try SentVideo())
        _ = try outcome(of: &stream, &sender)
        var count = 0
        for index in 0..<400 {
            let received = try #require(try sender.frame(at: at(3000 + index * 5)))
            count = index
            if case .end(let fault) = stream.take(received, budget: .megabits(50)).0 {
                #expect(fault == .frames)
                break
            }
        }
        #expect(count < 60, "of 200 a second")
    }

    @Test("keyframes of many members are one request in half a second")
    func requests() throws {
        var (stream, sender) = (stream(), try SentVideo())
        _ = try outcome(of: &stream, &sender)
        var requests = 0
        for step in 0..<100 where stream.requestKeyframe(at: at(3000 + step * 10)) { requests += 1 }
        #expect(requests == 2)
        // What was requested and did not come is requested again, without another request of the members.
        var received = try #require(try sender.frame(at: at(4600)))
        let again = stream.take(received, budget: budget).requestsKeyframe
        received = try #require(try sender.frame(at: at(4700), isKeyframe: true))
        let atKeyframe = stream.take(received, budget: budget).requestsKeyframe
        received = try #require(try sender.frame(at: at(5800)))
        let later = stream.take(received, budget: budget).requestsKeyframe
        #expect(again && !atKeyframe && !later)
    }
}
