/// Statistics of several readings.
enum Statistics {
    /// The median, which is robust against disturbances by other processes; 0 without readings.
    static func median(_ values: [Double]) -> Double { quantile(0.5, of: values) }

    /// A quantile, interpolated between the two nearest readings; 0 without readings.
    static func quantile(_ part: Double, of values: [Double]) -> Double {
        let sorted = values.sorted()
        guard let last = sorted.indices.last else { return 0 }
        let place = part * Double(last)
        let below = Int(place)
        return sorted[below] + (sorted[min(below + 1, last)] - sorted[below]) * (place - Double(below))
    }
}
