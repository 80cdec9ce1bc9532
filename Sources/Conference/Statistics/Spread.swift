import Basics

/// The mean and the worst of a figure of several participants.
struct Spread {
    private var count = 0
    private var sum = 0.0
    private var worst: Double?
    private let isWorse: (Double, Double) -> Bool

    /// - Parameter isWorse: whether the first of two values is worse than the second.
    init(isWorse: @escaping (Double, Double) -> Bool = { $0 > $1 }) { self.isWorse = isWorse }

    /// nil: the participant has no such figure.
    mutating func add(_ value: Double?) {
        guard let value else { return }
        count += 1
        sum += value
        worst = worst.map { isWorse(value, $0) ? value : $0 } ?? value
    }

    /// One sample for each `over`; none where no participant has the figure.
    func samples(_ name: String, _ help: String, room: String) -> [MetricSample] {
        guard let worst else { return [] }
        return [("mean", sum / Double(count)), ("worst", worst)].map { over, value in
            MetricSample(name, help, .gauge, value, labels: ["room": room, "over": over])
        }
    }
}
