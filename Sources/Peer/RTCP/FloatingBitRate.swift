import Basics

/// A rate in bit/s as an exponent of 6 bits before a mantissa of 17 (RFC 5104 §4.2.1.1) or 18 (REMB).
struct FloatingBitRate {
    let mantissaBits: Int
    private var largest: UInt64 { (1 << UInt64(mantissaBits)) - 1 }

    /// Exponents go to 63: what does not fit is as good as no limit.
    func rate(_ packed: UInt32) -> BitRate {
        let exponent = Int(packed >> UInt32(mantissaBits))
        let mantissa = UInt64(packed) & largest
        let rate = exponent <= 62 - mantissaBits ? mantissa << UInt64(exponent) : (mantissa == 0 ? 0 : UInt64(Int.max))
        return BitRate(bitsPerSecond: Int(clamping: rate))
    }

    /// Rounded down to what the mantissa holds.
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
