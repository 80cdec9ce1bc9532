/// One measurement of a row, and its aim.
public struct Check: Sendable {
    enum Bound: Sendable {
        case atMost(Double), below(Double), above(Double)
        /// No aim; the value is only shown.
        case none
    }

    public let name: String
    /// The measured value; infinite where the event never happened.
    public let value: Double
    let unit: String
    let bound: Bound

    init(_ name: String, _ value: Double?, _ unit: String = "", _ bound: Bound = .none) {
        self.name = name
        self.value = value ?? .infinity
        self.unit = unit
        self.bound = bound
    }

    public var isMet: Bool {
        switch bound {
        case .atMost(let limit): value <= limit
        case .below(let limit): value < limit
        case .above(let limit): value > limit
        case .none: true
        }
    }

    /// Whether a larger value is worse.
    var smallIsGood: Bool { if case .above = bound { false } else { true } }

    func text(of value: Double) -> String {
        guard value.isFinite else { return "never" }
        let rounded = abs(value) < 10 ? (value * 100).rounded() / 100 : (value * 10).rounded() / 10
        let number = rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
        return unit.isEmpty ? number : "\(number) \(unit)"
    }

    public var what: String { "\(name) \(text(of: value))" }
}
