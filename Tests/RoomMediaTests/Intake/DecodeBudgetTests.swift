import Basics
import Peer
import Synchronization
import Testing
import Threads

@testable import Codecs
@testable import RoomMedia

@Suite("DecodeBudget")
struct DecodeBudgetTests {
    private let start = Instant(nanoseconds: 1_000_000_000)
    private let second = 1920 * 1088 * 60

    /// The format of a VP8 keyframe of this size.
    private func format(_ width: Int, _ height: Int) throws -> VideoFormat {
        try #require(
            VideoFormat(vp8: [
                0x10, 0, 0, 0x9D, 1, 0x2A, UInt8(width & 255), UInt8(width >> 8), UInt8(height & 255),
                UInt8(height >> 8),
            ]))
    }

    /// The number of frames that are decoded of `seconds` at a steady rate.
    private func decoded(_ width: Int, _ height: Int, rate: Int, seconds: Int, shared: Int = .max / 4) throws -> Double
    {
        var budget = DecodeBudget(SenderPixels(pixelsPerSecond: second, at: start), at: start)
        let all = SharedDecodeBudget(pixelsPerSecond: shared, at: start)
        let format = try format(width, height)
        var count = 0
        for index in 0..<rate * seconds {
            let now = start + .nanoseconds(Int64(index) * 1_000_000_000 / Int64(rate))
            if budget.admit(format, shared: all, at: now) == nil { count += 1 }
        }
        return Double(count) / Double(rate * seconds)
    }

    @Test(
        "cameras and screens are decoded whole",
        arguments: [(1280, 720, 30), (1920, 1080, 60), (3840, 2160, 15), (640, 360, 60)])
    func usual(width: Int, height: Int, rate: Int) throws {
        #expect(try decoded(width, height, rate: rate, seconds: 20) == 1)
    }

    @Test("a sender of too many pixels gets its limit a second decoded")
    func greedy() throws {
        let share = try decoded(4096, 4096, rate: 60, seconds: 20)
        // 7.5 of 60 a second, and once the burst.
        #expect((0.12...0.14).contains(share), "\(share)")
        let shared = try decoded(1280, 720, rate: 60, seconds: 20, shared: 1280 * 720 * 30)
        #expect((0.49...0.75).contains(shared), "\(shared)")
    }

    @Test("size changes beyond the limit are refused")
    func sizes() throws {
        var budget = DecodeBudget(SenderPixels(pixelsPerSecond: second, at: start), at: start)
        let all = SharedDecodeBudget(pixelsPerSecond: 20 * second, at: start)
        let formats = try [format(320, 180), format(640, 360)]
        let refusals = (0..<300).compactMap { index in
            budget.admit(formats[index % 2], shared: all, at: start + .milliseconds(33) * index)
        }
        #expect(refusals.allSatisfy { $0 == .size } && refusals.count > 130, "\(refusals.count)")
        #expect(budget.pause(after: .size, at: start + .seconds(10)) >= .seconds(1))
    }

    @Test("decoders of large pictures share a limit of memory, and release their part")
    func memory() throws {
        let all = SharedDecodeBudget(pixelsPerSecond: 40 * 1280 * 720 * 30, at: start)
        let (large, usual) = (try format(4096, 4096), try format(1920, 1080))
        var reservations = (0..<20).map { _ in all.reserve(large) }
        let count = reservations.count { $0 != nil }
        // Three references, one picture that is being decoded and one that is scaled down.
        #expect(count == 6 && all.reservedPixels == count * 5 * 4096 * 4096)
        #expect((0..<200).map { _ in all.reserve(usual) }.allSatisfy { $0 != nil }, "usual ones are not counted")
        reservations.removeAll()
        #expect(all.reservedPixels == 0 && all.reserve(large) != nil)
    }

    @Test("where all senders together exceed the limit, the largest are refused first")
    func fairness() throws {
        let all = SharedDecodeBudget(pixelsPerSecond: second, at: start)
        var greedy = DecodeBudget(SenderPixels(pixelsPerSecond: second, at: start), at: start)
        var modest = DecodeBudget(SenderPixels(pixelsPerSecond: second, at: start), at: start)
        let (large, small) = (try format(4096, 4096), try format(640, 360))
        var counts = (large: 0, small: 0)
        for index in 0..<600 {
            let now = start + .milliseconds(33) * index
            if greedy.admit(large, shared: all, at: now) == nil { counts.large += 1 }
            if modest.admit(small, shared: all, at: now) == nil { counts.small += 1 }
        }
        #expect(counts.small == 600 && (100...170).contains(counts.large), "\(counts)")
    }
}

@Suite("VideoIntake", .serialized)
struct VideoIntakeTests {
    private final class Rig: Sendable {
        let pool = WorkPool(threads: 2)
        let counters = IntakeCounters()
        let intake: VideoIntake

        init(pixelsPerSecond: Int) {
            let requests = Guarded(0)
            asked = requests
            intake = VideoIntake(
                services: DecodeServices(
                    pool: pool, meter: StageMeter("decode"), pixelsPerSecond: pixelsPerSecond,
                    shared: SharedDecodeBudget(pixelsPerSecond: 1 << 40, at: MonotonicClock.now()), counters: counters),
                audioDelay: AudioDelay(), requestKeyframe: { requests.withLock { $0 += 1 } })
            pool.start()
            intake.setShown(true)
        }

        let asked: Guarded<Int>
        deinit { pool.stop() }

        /// Hands a frame over and waits until the intake has handled it.
        func take(_ frame: EncodedVideoFrame) async -> Bool {
            let now = MonotonicClock.now()
            let wants = intake.receive(ReceivedVideoFrame(frame: frame, captureTime: now, arrival: now))
            while intake.lane.isBusy { await Task.yield() }
            return wants
        }
    }

    private func keyframe(_ codec: VideoCodec, _ width: Int, _ height: Int) throws -> EncodedVideoFrame {
        let encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: codec, width: width, height: height, framesPerSecond: 30, bitRate: .kilobits(300)))
        let picture = Picture(width: width, height: height)
        picture.fill(y: 100, u: 90, v: 160)
        return try #require(try encoder.encode(picture, timestamp: 0, forceKeyframe: true))
    }

    @Test("a sender over its pixel budget is skipped for a while, and then asked for a keyframe")
    func pixels() async throws {
        // The bucket holds one picture of the largest size: 16.8 million pixels.
        let rig = Rig(pixelsPerSecond: 1)
        let large = try keyframe(.vp8, 2048, 2048)
        var taken = 0
        for _ in 0..<6 {
            _ = await rig.take(large)
            if rig.counters.decodedFrames.load(ordering: .relaxed) > taken { taken += 1 }
        }
        #expect(taken == 4, "4 × 4.2 million pixels")
        #expect(rig.counters.skippedFrames.load(ordering: .relaxed) >= 2 && rig.counters.frames(.sender) >= 1)
        #expect(rig.asked.withLock { $0 } == 1, "when it got its tile, and not again")
    }

    @Test("an unsupported format costs one decode attempt a second and no keyframe requests")
    func formats() async throws {
        let rig = Rig(pixelsPerSecond: 1 << 30)
        // A parameter set of High 4:4:4 Predictive: chroma_format_idc 3, 8 bit, 64 × 64.
        let set: [UInt8] = [0, 0, 0, 1, 0x67, 0xF4, 0x00, 0x0A, 0x91, 0x9D, 0x08, 0x48, 0x80]
        let bad = EncodedVideoFrame(codec: .h264, data: set, isKeyframe: true, timestamp: 0)
        let start = MonotonicClock.now()
        for _ in 0..<200 { #expect(await rig.take(bad) == false) }
        let looks = rig.counters.frames(.fault)
        #expect((1...2 + Int((MonotonicClock.now() - start).inSeconds)).contains(looks))
        #expect(rig.counters.skippedFrames.load(ordering: .relaxed) == 200 - looks)
        #expect(rig.asked.withLock { $0 } == 1)
    }

    @Test("a picture larger than the canvas is scaled once, after its decode; its statistics have the sent size")
    func large() async throws {
        let rig = Rig(pixelsPerSecond: 1 << 30)
        rig.intake.setCanvas(width: 640, height: 360)
        _ = await rig.take(try keyframe(.vp8, 2048, 2048))
        let view = rig.intake.view(at: MonotonicClock.now())
        // The scaled picture covers the canvas, so that a tile can show any part of it sharply.
        #expect(view.picture.map { [$0.width, $0.height] } == [640, 640])
        #expect(rig.intake.size == (2048, 2048) && rig.intake.aspectRatio == 1)
        _ = await rig.take(try keyframe(.vp8, 1920, 1080))
        #expect(rig.intake.view(at: MonotonicClock.now()).picture?.width == 1920, "what is usual stays as it is")
    }

    @Test("waiting coded bytes are bounded, however few frames they are")
    func bytes() async throws {
        let pool = WorkPool(threads: 1)
        let counters = IntakeCounters()
        let intake = VideoIntake(
            services: DecodeServices(
                pool: pool, meter: StageMeter("decode"), pixelsPerSecond: 1 << 30,
                shared: SharedDecodeBudget(pixelsPerSecond: 1 << 30, at: MonotonicClock.now()), counters: counters),
            audioDelay: AudioDelay(), requestKeyframe: {})
        intake.setShown(true)
        // The pool does not run, so all frames wait.
        let now = MonotonicClock.now()
        let frame = EncodedVideoFrame(
            codec: .vp8, data: [UInt8](repeating: 0, count: 1 << 20), isKeyframe: true, timestamp: 0)
        let dropped = (1...20).map { _ in
            _ = intake.receive(ReceivedVideoFrame(frame: frame, captureTime: now, arrival: now))
            return counters.frames(.bytes)
        }
        // Each time four frames wait, the next one replaces them all.
        #expect(dropped == (1...20).map { ($0 - 1) / 4 * 4 })
    }
}
