import Basics

/// The playout-delay header extension (http://www.webrtc.org/experiments/rtp-hdrext/playout-delay): how long a receiver
/// is to delay a picture beyond the earliest time at which it could show it.
///
/// Two numbers of 12 bits in units of 10 ms. A receiver uses the last value that it received until another one comes.
struct PlayoutDelay: Sendable, Equatable {
    static let unit: Duration = .milliseconds(10)
    /// The largest value, 40.95 s: no limit.
    static let unlimited: UInt32 = 0xFFF

    /// The minimum delay, in whole units.
    let minimum: Duration
    /// The 24 bits of the extension.
    let value: UInt32

    /// A minimum delay and a maximum one, each rounded to the nearest unit; nil: no maximum.
    init(minimum: Duration, maximum: Duration? = nil) {
        self.init(value: Self.units(minimum) << 12 | (maximum.map(Self.units) ?? Self.unlimited))
    }

    private static func units(_ delay: Duration) -> UInt32 {
        let units = (max(delay, .zero) + unit / 2).nanoseconds / unit.nanoseconds
        return UInt32(clamping: min(units, Int64(unlimited)))
    }

    init(value: UInt32) {
        self.value = value & 0xFF_FFFF
        minimum = Self.unit * Int(self.value >> 12)
    }
}
