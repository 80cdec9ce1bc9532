import Basics

/// When the source of a `tessera call` sends its next packet and its next frame: on one timeline, so that picture and
/// sound of a file stay together. A value without a clock.
struct SourceSchedule {
    static let audioTick = Duration.milliseconds(20)
    /// Ticks that are later than this are not caught up: audio and video are both put off by the same time.
    static let mostLate = Duration.milliseconds(200)

    private(set) var nextAudio: Instant
    /// `distantFuture` without video.
    private(set) var nextVideo: Instant
    private let frameTime: Duration?

    /// - Parameters:
    ///   - delay: how much later than the audio the video begins.
    ///   - frameTime: nil: there is no video.
    init(start: Instant, frameTime: Duration?, delay: Duration) {
        // The pattern flashes at whole seconds of the sender's clock, so the schedule begins on an audio tick.
        let tick = Self.audioTick.nanoseconds
        nextAudio = Instant(nanoseconds: (start.nanoseconds / tick + 1) * tick)
        nextVideo = frameTime == nil ? .distantFuture : nextAudio + delay
        self.frameTime = frameTime
    }

    /// To be called when the packet of `nextAudio` has been sent.
    mutating func audioSent(at now: Instant) {
        nextAudio += Self.audioTick
        putOff(at: now)
    }

    /// To be called when the frame of `nextVideo` has been sent. Returns how many packets the audio must leave out.
    ///
    /// The frames that were left out are rarely as long as a number of packets: for what is left the next frame waits.
    ///
    /// - Parameter frames: how many frames the video left out before it, to begin with a keyframe.
    mutating func videoSent(at now: Instant, leavingOut frames: Int = 0) -> Int {
        guard let frameTime else { return 0 }
        let leftOut = frameTime * frames
        let packets = Int(leftOut.nanoseconds / Self.audioTick.nanoseconds)
        nextVideo += frameTime + (leftOut - Self.audioTick * packets)
        putOff(at: now)
        return packets
    }

    private mutating func putOff(at now: Instant) {
        let late = now - min(nextAudio, nextVideo)
        guard late > Self.mostLate else { return }
        let time = Self.audioTick * Int(late.nanoseconds / Self.audioTick.nanoseconds + 1)
        nextAudio += time
        if frameTime != nil { nextVideo += time }
    }
}
