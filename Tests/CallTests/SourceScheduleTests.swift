import Basics
import Codecs
import Testing

@testable import Call

@Suite("The schedule of a call's source") struct SourceScheduleTests {
    private let start = Instant.zero + .milliseconds(1007)
    private let frameTime = Duration.milliseconds(40)

    private func schedule() -> SourceSchedule { SourceSchedule(start: start, frameTime: frameTime, delay: .zero) }

    /// Runs until `end` on a machine that is late for a tick by what `lateness` says. Returns the times of the scene
    /// that were sent last, of audio and video.
    private func run(_ schedule: inout SourceSchedule, until end: Instant, lateness: (Instant) -> Duration) -> (
        audio: Duration, video: Duration
    ) {
        var (audio, video) = (Duration.zero, Duration.zero)
        var now = start
        while min(schedule.nextAudio, schedule.nextVideo) < end {
            let due = min(schedule.nextAudio, schedule.nextVideo)
            now = max(now, due + lateness(due))
            if now >= schedule.nextAudio {
                audio += SourceSchedule.audioTick
                schedule.audioSent(at: now)
            }
            if now >= schedule.nextVideo {
                video += frameTime
                _ = schedule.videoSent(at: now)
            }
        }
        return (audio, video)
    }

    @Test("audio and video begin on the same tick, and each keeps its pace")
    func begin() {
        var schedule = schedule()
        #expect(schedule.nextAudio == .zero + .milliseconds(1020) && schedule.nextVideo == schedule.nextAudio)
        let sent = run(&schedule, until: schedule.nextAudio + .seconds(2)) { _ in .zero }
        #expect(sent.audio == .seconds(2) && sent.video == .seconds(2))
    }

    @Test("a machine that stands still puts off both by the same time", arguments: [100, 199, 250, 900, 5000])
    func late(milliseconds: Int) {
        var schedule = schedule()
        // As the first frame, for which an encoder is made, or a machine that sleeps.
        let stop = start + .milliseconds(500)
        let sent = run(&schedule, until: start + .seconds(20)) { due in
            due > stop && due < stop + .milliseconds(40) ? .milliseconds(milliseconds) : .zero
        }
        #expect(abs((sent.audio - sent.video).nanoseconds) <= frameTime.nanoseconds, "\(sent)")
        #expect(abs((schedule.nextAudio - schedule.nextVideo).nanoseconds) <= frameTime.nanoseconds)
    }

    @Test("the audio leaves out as much as a video that goes on with a keyframe, and never is behind it")
    func keyframes() {
        let frameTime = Duration.nanoseconds(33_333_333)
        var schedule = SourceSchedule(start: start, frameTime: frameTime, delay: .zero)
        let begin = schedule.nextVideo
        var (scene, leftOut) = (Duration.zero, Duration.zero)
        for frames in [7, 0, 8, 1, 29] {
            scene += frameTime * (frames + 1)
            leftOut += SourceSchedule.audioTick * schedule.videoSent(at: schedule.nextVideo, leavingOut: frames)
            // What the next frame shows is heard when it is sent.
            #expect(schedule.nextVideo - begin + leftOut == scene, "\(frames) frames")
        }
        // 233, 0, 267, 33 and 967 ms in packets of 20 ms.
        #expect(leftOut == SourceSchedule.audioTick * (11 + 0 + 13 + 1 + 48))
        var without = SourceSchedule(start: start, frameTime: nil, delay: .zero)
        #expect(without.nextVideo == .distantFuture && without.videoSent(at: start, leavingOut: 3) == 0)
    }

    @Test("a file's own frames say how many of them were left out")
    func leftOut() throws {
        let frames = (0..<10).map { index in
            EncodedVideoFrame(
                codec: .vp8, data: [UInt8(index)], isKeyframe: index % 6 == 0, timestamp: Int64(index) * 3000)
        }
        let source = try #require(PassthroughVideoSource(frames: frames, framesPerSecond: 30))
        func next(keyframe: Bool) throws -> [Int] {
            let frame = try source.frame(at: .zero, keyframe: keyframe)
            return [Int(frame?.data.first ?? 99), source.leftOut]
        }
        #expect(try next(keyframe: true) == [0, 0])
        #expect(try next(keyframe: false) == [1, 0])
        #expect(try next(keyframe: true) == [6, 4])
        #expect(try next(keyframe: false) == [7, 0])
        #expect(try next(keyframe: true) == [0, 2], "to the beginning again")
    }
}
