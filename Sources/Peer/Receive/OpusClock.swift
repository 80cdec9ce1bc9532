import Basics

/// The RTP clock of Opus (RFC 7587 §4.1), in which all audio samples are counted.
enum OpusClock {
    /// In Hz.
    static let rate: Int64 = 48_000

    /// The samples of a duration, rounded towards zero.
    static func samples(_ duration: Duration) -> Int {
        // The value may come from a sender's timestamps: 48 times a saturated duration overflows.
        let (product, overflow) = duration.nanoseconds.multipliedReportingOverflow(by: 48)
        return overflow ? (duration > .zero ? .max : .min) : Int(product / 1_000_000)
    }

    static func duration(_ samples: Int) -> Duration { .nanoseconds(Int64(samples) * 1_000_000_000 / rate) }

    /// The time of a timestamp on its sender's clock.
    static func time(_ timestamp: Int64) -> Instant { Instant(ticks: timestamp, at: rate) }
}
