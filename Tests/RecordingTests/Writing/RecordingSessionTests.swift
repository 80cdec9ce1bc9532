import Basics
import Codecs
import TestSupport
import Testing

@testable import Recording

/// A session of 160 × 96 into a file of its own; times are milliseconds of the room.
private final class Session {
    let directory: ScratchDirectory
    let path: String
    let session: RecordingSession
    private let source: FlashAndBeep

    init(sizeMayChange: Bool = false) throws {
        directory = ScratchDirectory()
        path = directory.file("a.mp4")
        session = try RecordingSession(
            sink: try FileSink(path: path), width: FlashAndBeep.width, height: FlashAndBeep.height,
            framesPerSecond: 25, audio: .aac, fragment: .milliseconds(500), sizeMayChange: sizeMayChange)
        source = try FlashAndBeep()
    }

    static func time(_ millisecond: Int) -> RecordingSession.Time {
        FlashAndBeep.instant(millisecond).ticks(at: 48_000) * RecordingSession.ticksPerSample
    }

    func picture(_ millisecond: Int, keyframe: Bool = false) throws {
        if let frame = try source.frame(millisecond, keyframe: keyframe) { try session.append(frame) }
    }

    func sound(_ millisecond: Int) throws {
        let block = FlashAndBeep.audio(millisecond)
        try session.append(audio: block.samples, time: block.timestamp * RecordingSession.ticksPerSample)
    }

    /// Pictures and sound of this time.
    func run(_ range: Range<Int>, keyframe: Bool = false) throws {
        for time in stride(from: range.lowerBound, to: range.upperBound, by: 20) {
            try sound(time)
            if time % 40 == 0 { try picture(time, keyframe: keyframe && time == range.lowerBound) }
        }
    }

    /// Where in the file a time lies, in ms: clocks of 48 and 90 kHz round to no more than that.
    func position(_ millisecond: Int) -> Int {
        Int(
            (Double(session.position(of: Self.time(millisecond))) * 1000 / Double(RecordingSession.ticksPerSecond))
                .rounded())
    }

    /// How long the file is, in ms.
    var length: Int { Int(session.length * 1000 / RecordingSession.ticksPerSecond) }
}

@Suite("RecordingSession")
struct RecordingSessionTests {
    @Test("The file begins with the first keyframe, and has no audio from before it")
    func begins() throws {
        let file = try Session()
        // The encoder's first picture is a keyframe, and nobody takes it.
        let other = try FlashAndBeep()
        _ = try other.frame(0)
        if let frame = try other.frame(40) { try file.session.append(frame) }
        for time in stride(from: 0, to: 400, by: 20) { try file.sound(time) }
        #expect(file.session.isWaiting && !file.session.hasStarted && file.length == 0)
        try file.run(400..<2400, keyframe: true)
        #expect(file.session.isRunning && file.session.hasStarted && !file.session.isWaiting)
        #expect(file.position(1400) == 1000)
        try file.session.finish()
        let onsets = try Onsets(file.path)
        #expect(onsets.pictureCount == 50)
        // The beeps of seconds 1 and 2 lie 0.6 and 1.6 s behind the first picture; that of second 0 is over.
        #expect(onsets.beeps.count == 2 && abs(onsets.beeps[0] - 0.6) < 0.025, "\(onsets.beeps)")
    }

    @Test("A pause is cut out of the file, and ends with a keyframe")
    func pause() throws {
        let file = try Session()
        try file.run(0..<2000, keyframe: true)
        try file.session.pause(at: Session.time(2000))
        #expect(!file.session.isRunning && !file.session.isWaiting)
        try file.run(2000..<5400)
        #expect(file.length <= 2000)
        file.session.resume(at: Session.time(5400))
        #expect(file.session.isWaiting)
        try file.picture(5400)
        #expect(file.session.isWaiting, "other frames refer to frames that are not in the file")
        try file.run(5440..<6440, keyframe: true)
        #expect(file.session.isRunning)
        #expect(file.position(5440) == 2000)
        try file.session.finish()
        let onsets = try Onsets(file.path)
        #expect(onsets.flashes.count == 3 && abs(onsets.flashes[2] - 2.56) < 0.045, "\(onsets.flashes)")
        #expect(try #require(onsets.worstOffset) < 0.025, "\(onsets.flashes) \(onsets.beeps)")
    }

    @Test("A pause before the first frame delays the start, and a second pause changes nothing")
    func earlyPause() throws {
        let file = try Session()
        try file.session.pause(at: Session.time(0))
        try file.session.pause(at: Session.time(100))
        try file.run(0..<1000, keyframe: true)
        #expect(!file.session.hasStarted)
        file.session.resume(at: Session.time(1000))
        file.session.resume(at: Session.time(3000))
        try file.run(1000..<2000, keyframe: true)
        #expect(file.position(1000) == 0)
        try file.session.finish()
        #expect(try Onsets(file.path).pictureCount == 25)
    }

    @Test("Audio waits for its pictures, but no longer than a second")
    func soundAhead() throws {
        let file = try Session()
        try file.picture(0, keyframe: true)
        for time in stride(from: 0, through: 1000, by: 20) { try file.sound(time) }
        #expect(file.length == 0, "encoding a picture may take that long")
        for time in stride(from: 1020, to: 3000, by: 20) { try file.sound(time) }
        #expect((1900...2000).contains(file.length), "\(file.length)")
    }

    @Test("Audio behind the cut of one file starts the next one")
    func cut() throws {
        let file = try Session()
        try file.run(0..<2000, keyframe: true)
        for time in stride(from: 2000, to: 2600, by: 20) { try file.sound(time) }
        let rest = try file.session.finish(at: Session.time(2000))
        #expect(rest.first?.time == Session.time(2000) && rest.last?.end == Session.time(2600))
        #expect(!file.session.hasStarted, "the file is closed")
        let next = try Session()
        next.session.adopt(rest)
        for time in stride(from: 2000, to: 3000, by: 40) { try next.picture(time, keyframe: time == 2000) }
        for time in stride(from: 2600, to: 3000, by: 20) { try next.sound(time) }
        try next.session.finish()
        let onsets = (try Onsets(file.path), try Onsets(next.path))
        #expect(abs(onsets.0.sampleCount - 96_000) < 2048 && onsets.0.beeps.count == 2)
        #expect(
            onsets.1.beeps.count == 1 && onsets.1.beeps[0] < 0.025, "the beep at 2 s is in the audio behind the cut")
    }

    @Test("A frame of another size is left out, unless sizes may change")
    func sizes() throws {
        for mayChange in [false, true] {
            let file = try Session(sizeMayChange: mayChange)
            try file.run(0..<1000, keyframe: true)
            let encoder = try makeVideoEncoder(
                VideoEncoderConfiguration(
                    codec: .h264, width: 320, height: 192, framesPerSecond: 25, bitRate: .kilobits(300)))
            let picture = Picture(width: 320, height: 192)
            picture.fill(y: 100, u: 128, v: 128)
            let now = FlashAndBeep.instant(1000)
            var coded = try #require(
                try encoder.encode(picture, timestamp: now.ticks(at: 90_000), forceKeyframe: true))
            (coded.width, coded.height) = (320, 192)
            try file.session.append(coded)
            try file.session.finish()
            #expect(try Onsets(file.path).sizes.contains([320, 192]) == mayChange)
        }
    }
}
