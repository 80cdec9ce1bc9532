import Basics

/// The speed of audio playout, by which the delay approaches its target.
struct PlayoutTempo: Sendable {
    /// From this much audio held beside the packets on, it is reduced by faster playout, down to what two faster
    /// packets take.
    private static let shedFrom: Duration = .milliseconds(6)
    private static let shedUntil: Duration = .milliseconds(3)
    private static let gentle = 1.08

    private let maximumDelay: Duration
    private var tempo = 1.0
    private var isShedding = false

    /// - Parameter maximumDelay: above it audio is played at the highest speed.
    init(maximumDelay: Duration) {
        self.maximumDelay = maximumDelay
    }

    /// Starts anew, for a new stream.
    mutating func reset() { tempo = 1 }

    /// The speed of the next packet: n samples become n ÷ tempo.
    ///
    /// - Parameters:
    /// - delay: the delay of the packet.
    /// - target: the target of the delay.
    /// - minimum: the least delay that the picture needs.
    /// - ahead: the audio that will still be held beside the packets when the next one is due.
    mutating func next(delay: Duration, target: Duration, minimum: Duration, ahead: Duration) -> Double {
        approach(target, from: delay)
        guard tempo == 1 else { return tempo }
        return shed(ahead, delay: delay, target: target, minimum: minimum)
    }

    /// Chooses inaudible steps with hysteresis: drift is corrected in short bursts at a low speed-up.
    private mutating func approach(_ target: Duration, from delay: Duration) {
        let error = (delay - target).inMilliseconds
        switch tempo {
        case ..<1 where error >= 0: tempo = 1
        case 1.0000001... where error <= 5: tempo = 1
        default: break
        }
        if error > 150 || delay > maximumDelay {
            tempo = 1.25
        } else if error > 60 {
            tempo = 1.2
        } else if error > 20 {
            // Playout advances in ticks: up to one of them above the target is as close as it gets.
            tempo = max(tempo, Self.gentle)
        } else if error < -40 {
            tempo = 0.8
        } else if error < -10 {
            tempo = min(tempo, 0.9)
        }
    }

    /// Reduces the audio held beside the packets, which adds delay and protects nothing: it comes from slower playout
    /// while the delay had to grow, and is played slightly faster. Not if the picture needs the delay.
    private mutating func shed(_ ahead: Duration, delay: Duration, target: Duration, minimum: Duration) -> Double {
        let spare = min(ahead, delay - minimum)
        isShedding = delay >= target && spare > (isShedding ? Self.shedUntil : Self.shedFrom)
        return isShedding ? Self.gentle : 1
    }
}
