import Basics

/// The playout-delay header extension (http://www.webrtc.org/experiments/rtp-hdrext/playout-delay): for how long a
/// receiver shall hold a picture after it could have shown it at the earliest.
///
/// Two numbers of 12 bits in units of 10 ms. A receiver keeps what it was told last, until it is told something else.
struct PlayoutDelay: Sendable, Equatable {
    static let unit: Duration = .milliseconds(10)
    /// The largest that can be said, 40.95 s: no limit.
    static let unlimited: UInt32 = 0xFFF

    /// The least delay, in whole units.
    let minimum: Duration
    /// Of 24 bits, as it is written.
    let value: UInt32

    /// The least, rounded to the nearest unit; without a limit above.
    init(minimum: Duration) {
        let units = (max(minimum, .zero) + Self.unit / 2).nanoseconds / Self.unit.nanoseconds
        self.init(value: UInt32(clamping: min(units, Int64(Self.unlimited))) << 12 | Self.unlimited)
    }

    init(value: UInt32) {
        self.value = value & 0xFF_FFFF
        minimum = Self.unit * Int(self.value >> 12)
    }
}
