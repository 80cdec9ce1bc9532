/// The middle of several readings, and how far they lie around it. Both ignore single readings that something else on
/// the machine disturbed.
struct Spread: Hashable, Sendable {
    /// The middle; 0 without readings.
    let median: Double
    /// The quartiles: a half of the readings lies between them.
    let lower: Double
    let upper: Double
    let count: Int

    init(_ values: [Double]) {
        median = Statistics.median(values)
        lower = Statistics.quantile(0.25, of: values)
        upper = Statistics.quantile(0.75, of: values)
        count = values.count
    }

    /// A half of what lies between the quartiles.
    var half: Double { (upper - lower) / 2 }

    /// The part of the median by which the median of another series must differ to be another one and no chance, in 19
    /// of 20 cases. Infinite with fewer than two readings.
    var visible: Double { visible(in: count) }

    /// How many readings with this spread show a difference of `part` of the median.
    func count(toShow part: Double) -> Int { (2...1000).first { visible(in: $0) <= part } ?? .max }

    /// Medians of many readings differ where their notches do not overlap: 1.57 interquartile ranges by the root of
    /// their number each (McGill, Tukey and Larsen, "Variations of Box Plots", 1978). The quartiles of a few readings
    /// vary much themselves, so it takes more: the factor bounds what simulated series of 5 to 20 readings need.
    private func visible(in count: Int) -> Double {
        guard self.count > 1, median != 0 else { return .infinity }
        return (2.6 + 10 / Double(count)) * (upper - lower) / Double(count).squareRoot() / abs(median)
    }
}
