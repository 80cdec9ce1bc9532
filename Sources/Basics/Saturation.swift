/// Saturating arithmetic: numbers from outside are added, scaled and rounded, and none of them may trap.
extension FixedWidthInteger {
    /// `value` rounded towards zero and clamped to the type; 0 for NaN.
    @inlinable public init(saturating value: Double) {
        if abs(value) < 0x1p62 {
            self = Self(clamping: Int64(value))
        } else if let exact = Self(exactly: value.rounded(.towardZero)) {
            self = exact
        } else {
            self = value.isNaN ? 0 : value > 0 ? .max : .min
        }
    }

    /// The sum, clamped to the type.
    @inlinable public func saturatingAdding(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other > 0 ? .max : .min) : sum
    }

    /// The difference, clamped to the type.
    @inlinable public func saturatingSubtracting(_ other: Self) -> Self {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other > 0 ? .min : .max) : difference
    }

    /// The product, clamped to the type.
    @inlinable public func saturatingMultiplied(by other: Self) -> Self {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? ((self > 0) == (other > 0) ? .max : .min) : product
    }
}
