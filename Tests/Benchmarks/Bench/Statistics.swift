/// What several readings of the same thing come to.
enum Statistics {
    /// Robust against a neighbour on the machine who took a second of it; 0 of none.
    static func median(_ values: [Double]) -> Double { quantile(0.5, of: values) }

    /// Interpolated between the two nearest readings; 0 of none.
    static func quantile(_ part: Double, of values: [Double]) -> Double {
        let sorted = values.sorted()
        guard let last = sorted.indices.last else { return 0 }
        let place = part * Double(last)
        let below = Int(place)
        return sorted[below] + (sorted[min(below + 1, last)] - sorted[below]) * (place - Double(below))
    }
}
