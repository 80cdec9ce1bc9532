import Basics
import Peer

/// When which picture was shown, and how long each stood.
struct ShownPictures {
    struct Picture {
        var at: Instant
        var made: Instant
        /// The step of the ladder.
        var tag: UInt8
        /// Shown after the sound of its moment (positive) or before.
        var offset: Duration?
    }

    private(set) var all: [Picture] = []
    var last: Picture? { all.last }

    /// - Parameter soundDelay: from capture to ear, when sound plays.
    mutating func append(_ mark: MediaMark, audioDelay: Duration?, at now: Instant) {
        all.append(Picture(at: now, made: mark.made, tag: mark.tag, offset: audioDelay.map { (now - mark.made) - $0 }))
    }

    /// Gaps between pictures of motion that both lie in the window, longer than `limit`.
    func freezes(over limit: Duration, in window: Range<Instant>, stills: UInt8) -> Int {
        gaps(in: window) { $0.tag != stills && $1.tag != stills }.count { $0 > limit }
    }

    /// Without any picture in it: the whole window.
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

/// The eye of a simulated browser: pictures in step with the sound, and held as long as the sender wants it
/// (libwebrtc's `VCMTiming`: the delay that was asked for is the least from when a picture that was not late came to
/// when it is shown).
struct PictureSink {
    /// The fastest picture of so many is one that was not late: ten seconds.
    private static let memory = 300
    private(set) var shown = ShownPictures()
    /// Follows a slow picture at once, forgets it slowly: what the sound waits for.
    private(set) var delay: Duration?
    private var owns: [Duration] = []

    /// - Parameter soundDelay: from capture to ear, when sound plays.
    mutating func receive(_ frame: ReceivedVideoFrame, audioDelay: Duration?, at now: Instant) {
        guard let mark = SyntheticEncoder.mark(of: frame.frame) else { return }
        let own = now - mark.made
        if owns.count >= Self.memory { owns.removeFirst() }
        owns.append(own)
        let held = max(own, (owns.min() ?? own) + (frame.hold ?? .zero))
        let old = delay ?? held
        delay = held > old ? held : old - (old - held) / 64
        // A picture waits for the sound of its moment; it never shows before the one before it.
        var at = mark.made + held
        if let audioDelay, mark.made + audioDelay > at { at = min(mark.made + audioDelay, now + .milliseconds(250)) }
        if let last = shown.last, last.at > at { at = last.at }
        shown.append(mark, audioDelay: audioDelay, at: at)
    }
}
