import Basics
import Peer

/// The eye of a simulated receiver: when which picture is shown, in step with the sound, and how long it stands still.
struct PictureSink {
    /// One picture on its way out of the buffer.
    struct Shown {
        var at: Instant
        var made: Instant
        /// The step of the ladder.
        var tag: UInt8
        /// Shown after the sound of its moment (positive) or before.
        var offset: Duration?
    }

    private(set) var shown: [Shown] = []
    /// Follows a slow picture at once, forgets it slowly: what the sound waits for.
    private(set) var delay: Duration?

    /// - Parameter soundDelay: from capture to ear, when sound plays.
    mutating func receive(_ frame: ReceivedVideoFrame, soundDelay: Duration?, at now: Instant) {
        guard let mark = SyntheticEncoder.mark(of: frame.frame) else { return }
        let own = now - mark.made
        let old = delay ?? own
        delay = own > old ? own : old - (old - own) / 64
        // A picture waits for the sound of its moment; it never shows before the one before it.
        var at = now
        if let soundDelay, mark.made + soundDelay > at { at = min(mark.made + soundDelay, now + .milliseconds(250)) }
        if let last = shown.last, last.at > at { at = last.at }
        shown.append(
            Shown(at: at, made: mark.made, tag: mark.tag, offset: soundDelay.map { (at - mark.made) - $0 }))
    }

    /// Gaps between pictures of motion that both lie in the window, longer than `limit`.
    func freezes(over limit: Duration, in window: Range<Instant>, slides: UInt8) -> Int {
        gaps(in: window) { $0.tag != slides && $1.tag != slides }.count { $0 > limit }
    }

    /// Without any picture in it: the whole window.
    func longestGap(in window: Range<Instant>) -> Duration {
        let times = [window.lowerBound] + shown.map(\.at).filter(window.contains) + [window.upperBound]
        return zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? .zero
    }

    private func gaps(in window: Range<Instant>, where isCounted: (Shown, Shown) -> Bool) -> [Duration] {
        zip(shown, shown.dropFirst()).compactMap { before, after in
            window.contains(before.at) && window.contains(after.at) && isCounted(before, after) ? after.at - before.at : nil
        }
    }
}
