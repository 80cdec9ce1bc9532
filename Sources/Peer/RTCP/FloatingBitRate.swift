import Basics

/// A rate in bit/s, coded as an exponent of 6 bits and a mantissa of 17 (RFC 5104 §4.2.1.1) or 18 bits (REMB).
struct FloatingBitRate {
    /// 100 Gbit/s: more than any link of a peer carries, and as good as no limit. SDP's `b=` has the same bound.
    static let most = BitRate(bitsPerSecond: 100_000_000_000)

    let mantissaBits: Int
    private var largest: UInt64 { (1 << UInt64(mantissaBits)) - 1 }

    /// At most `most`: exponents go up to 63, and computations with the rate must not overflow.
    func rate(_ packed: UInt32) -> BitRate {
        let exponent = Int(packed >> UInt32(mantissaBits))
        let mantissa = UInt64(packed) & largest
        guard mantissa > 0 else { return .zero }
        guard exponent <= 62 - mantissaBits else { return Self.most }
        return min(BitRate(bitsPerSecond: Int(clamping: mantissa << UInt64(exponent))), Self.most)
    }

    /// Rounded down to a value that the mantissa can express.
    func packed(_ rate: BitRate) -> UInt32 {
        var mantissa = UInt64(max(rate.bitsPerSecond, 0))
        var exponent: UInt32 = 0
        while mantissa > largest {
            mantissa >>= 1
            exponent += 1
        }
        return exponent << UInt32(mantissaBits) | UInt32(mantissa)
    }
}
