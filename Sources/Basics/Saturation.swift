/// Arithmetic that stays at the ends of its type. Numbers from outside are added, scaled and rounded: none of them may
/// trap.
extension FixedWidthInteger {
    /// The nearest value that the type holds, towards zero; 0 for what is not a number.
    @inlinable public init(saturating value: Double) {
        if let exact = Self(exactly: value.rounded(.towardZero)) {
            self = exact
        } else {
            self = value.isNaN ? 0 : value > 0 ? .max : .min
        }
    }

    /// The sum, or the end of the type that it passes.
    @inlinable public func saturatingAdding(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other > 0 ? .max : .min) : sum
    }

    /// The difference, or the end of the type that it passes.
    @inlinable public func saturatingSubtracting(_ other: Self) -> Self {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other > 0 ? .min : .max) : difference
    }

    /// The product, or the end of the type that it passes.
    @inlinable public func saturatingMultiplied(by other: Self) -> Self {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? ((self > 0) == (other > 0) ? .max : .min) : product
    }
}
