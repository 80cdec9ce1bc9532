import Basics
import Simulation

/// The conditions of a link as text: `rate=300k,delay=25ms,loss=0.05`, or `dead`. An omitted key has the value of a
/// good link.
///
/// Keys: `rate` (bits a second: `300k`, `1.5M`), `delay`, `jitter`, `queue` (`25ms`), `loss`, `reorder`, `duplicate`
/// (parts of 1), and `burst` (consecutive packets, for `loss` in bursts).
struct LinkDescription {
    struct Fault: Error, CustomStringConvertible {
        var description: String
    }

    var conditions = LinkConditions(delay: .zero)

    init(_ text: some StringProtocol) throws(Fault) {
        if text == "dead" {
            conditions.loss = .random(1)
            return
        }
        var loss = 0.0
        var burst = 1.0
        for part in text.split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { throw Fault(description: "\"\(part)\" is not KEY=VALUE") }
            switch pair[0] {
            case "rate":
                conditions.rate = BitRate(
                    bitsPerSecond: Int(try Self.number(pair[1], units: [("k", 1e3), ("M", 1e6), ("", 1)], 1...1e10)))
            case "delay": conditions.delay = try Self.time(pair[1])
            case "jitter": conditions.jitter = try Self.time(pair[1])
            case "queue": conditions.queue = try Self.time(pair[1])
            case "loss": loss = try Self.number(pair[1], units: [("", 1)], 0...1)
            case "burst": burst = try Self.number(pair[1], units: [("", 1)], 1...1000)
            case "reorder": conditions.reordering = try Self.number(pair[1], units: [("", 1)], 0...1)
            case "duplicate": conditions.duplication = try Self.number(pair[1], units: [("", 1)], 0...1)
            default:
                throw Fault(
                    description:
                        "\"\(pair[0])\" is not one of rate, delay, jitter, queue, loss, burst, reorder, duplicate")
            }
        }
        if loss > 0 {
            conditions.loss = burst > 1 ? .bursts(GilbertElliott(averageLoss: loss, burstLength: burst)) : .random(loss)
        }
    }

    private static func time(_ text: some StringProtocol) throws(Fault) -> Duration {
        .nanoseconds(Int64(try number(text, units: [("ms", 1e6), ("s", 1e9)], 0...1e11)))
    }

    private static func number(
        _ text: some StringProtocol, units: [(name: String, factor: Double)], _ range: ClosedRange<Double>
    ) throws(Fault) -> Double {
        for unit in units where text.hasSuffix(unit.name) {
            if let value = Double(text.dropLast(unit.name.count)), range.contains(value * unit.factor) {
                return value * unit.factor
            }
        }
        throw Fault(
            description:
                "\"\(text)\" is not a number with one of the units \(units.map { $0.name.isEmpty ? "(none)" : $0.name })"
        )
    }
}
