import Basics
import Peer

/// The times at which pictures were shown.
struct ShownPictures {
    struct Picture {
        var at: Instant
        var made: Instant
        /// The rung of the ladder.
        var tag: UInt8
        /// The delay behind the audio of the same time (positive), or ahead of it.
        var offset: Duration?
    }

    private(set) var all: [Picture] = []
    var last: Picture? { all.last }

    /// - Parameter audioDelay: the time from capture to playout of the audio, when it plays.
    mutating func append(_ mark: MediaMark, audioDelay: Duration?, at now: Instant) {
        all.append(Picture(at: now, made: mark.made, tag: mark.tag, offset: audioDelay.map { (now - mark.made) - $0 }))
    }

    /// Gaps between pictures of motion that both lie in the window, longer than `limit`.
    func freezes(over limit: Duration, in window: Range<Instant>, stills: UInt8) -> Int {
        gaps(in: window) { $0.tag != stills && $1.tag != stills }.count { $0 > limit }
    }

    /// The longest gap; the whole window where it has no picture.
    func longestGap(in window: Range<Instant>) -> Duration {
        let times = [window.lowerBound] + all.map(\.at).filter(window.contains) + [window.upperBound]
        return zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? .zero
    }

    private func gaps(in window: Range<Instant>, where isCounted: (Picture, Picture) -> Bool) -> [Duration] {
        zip(all, all.dropFirst()).compactMap { before, after in
            window.contains(before.at) && window.contains(after.at) && isCounted(before, after)
                ? after.at - before.at : nil
        }
    }
}

/// The video playout of a simulated browser: pictures are in sync with the audio, and delayed as the sender requests
/// (libwebrtc's `VCMTiming`: the requested delay is the minimum from the arrival of a picture that was not late to its
/// rendering).
struct PictureSink {
    /// The number of pictures (ten seconds) of which the fastest counts as not late.
    private static let memory = 300
    private(set) var shown = ShownPictures()
    /// The delay for which the audio waits: it follows a late picture at once and falls slowly.
    private(set) var delay: Duration?
    private var owns: [Duration] = []

    /// - Parameter audioDelay: the time from capture to playout of the audio, when it plays.
    mutating func receive(_ frame: ReceivedVideoFrame, audioDelay: Duration?, at now: Instant) {
        guard let mark = SyntheticEncoder.mark(of: frame.frame) else { return }
        let own = now - mark.made
        if owns.count >= Self.memory { owns.removeFirst() }
        owns.append(own)
        let held = max(own, (owns.min() ?? own) + (frame.hold ?? .zero))
        let old = delay ?? held
        delay = held > old ? held : old - (old - held) / 64
        // A picture waits for the audio of its time, and is never shown before its predecessor.
        var at = mark.made + held
        if let audioDelay, mark.made + audioDelay > at { at = min(mark.made + audioDelay, now + .milliseconds(250)) }
        if let last = shown.last, last.at > at { at = last.at }
        shown.append(mark, audioDelay: audioDelay, at: at)
    }
}
