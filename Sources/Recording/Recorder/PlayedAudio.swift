import Basics

/// When one participant's audio of the last second was played: the places of pictures that were captured with it.
///
/// The delay of a jitter buffer changes, by jumps too. A picture that arrives after its audio was played belongs where that
/// audio was, not where the present delay would put it.
struct PlayedAudio {
    private struct Tick {
        var time: Instant
        /// From the capture of what the tick plays.
        var delay: Duration

        var captureTime: Instant { time - delay }
    }

    /// A second and a bit: later pictures are placed by the oldest tick.
    private static let most = 64
    private static let length = Duration.milliseconds(20)

    /// What stands for the delay where nothing was played.
    private let first: Duration
    private var ticks: [Tick] = []

    /// - Parameter first: the delay until audio is played: that of the first picture.
    init(first: Duration) { self.first = first }

    mutating func played(_ delay: Duration, at time: Instant) {
        if ticks.count >= Self.most { ticks.removeFirst() }
        ticks.append(Tick(time: time, delay: delay))
    }

    /// The time at which the audio of `captureTime` is played, by the present delay where it was not played yet.
    func time(of captureTime: Instant) -> Instant {
        // The first tick that played it or what was captured later; before it there is silence or concealment.
        let tick = ticks.first { $0.captureTime + Self.length > captureTime } ?? ticks.last
        return captureTime + (tick?.delay ?? first)
    }
}
