import Basics

/// How fast audio is played, so that its delay becomes what it should be.
struct PlayoutTempo: Sendable {
    /// Audio that is held beside the packets is played away from here on, down to what two packets played faster take.
    private static let shedFrom: Duration = .milliseconds(6)
    private static let shedUntil: Duration = .milliseconds(3)
    private static let gentle = 1.08

    private let maximumDelay: Duration
    private var tempo = 1.0
    private var isShedding = false

    /// - Parameter maximumDelay: above it audio is played as fast as it is ever played.
    init(maximumDelay: Duration) {
        self.maximumDelay = maximumDelay
    }

    /// The stream starts anew.
    mutating func reset() { tempo = 1 }

    /// How fast the next packet is played: n samples become n ÷ tempo.
    ///
    /// - Parameters:
    ///   - delay: the delay of the packet.
    ///   - target: what the delay should be.
    ///   - minimum: what the picture needs the delay to be.
    ///   - ahead: audio that will still be held beside the packets when the next one is due.
    mutating func next(delay: Duration, target: Duration, minimum: Duration, ahead: Duration) -> Double {
        approach(target, from: delay)
        guard tempo == 1 else { return tempo }
        return shed(ahead, delay: delay, target: target, minimum: minimum)
    }

    /// Inaudible steps with hysteresis: drift is taken up in short, gentle bursts.
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
            // Playout steps in ticks: up to one of them above the target is as near as it gets.
            tempo = max(tempo, Self.gentle)
        } else if error < -40 {
            tempo = 0.8
        } else if error < -10 {
            tempo = min(tempo, 0.9)
        }
    }

    /// Audio that is held beside the packets makes it later and protects nothing: it was stretched when the delay was
    /// to grow, and what is left of that is played a little faster. Not where the picture needs it.
    private mutating func shed(_ ahead: Duration, delay: Duration, target: Duration, minimum: Duration) -> Double {
        let spare = min(ahead, delay - minimum)
        isShedding = delay >= target && spare > (isShedding ? Self.shedUntil : Self.shedFrom)
        return isShedding ? Self.gentle : 1
    }
}
