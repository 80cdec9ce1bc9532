package import Basics

/// Writes metrics in Prometheus' text exposition format 0.0.4.
package enum PrometheusText {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Writes the samples of each family together under one HELP and TYPE, families in the order of their first
    /// samples.
    package static func write(_ samples: [MetricSample]) -> String {
        var order: [String] = []
        var families: [String: [MetricSample]] = [:]
        for sample in samples {
            if families[sample.family] == nil { order.append(sample.family) }
            families[sample.family, default: []].append(sample)
        }
        var text = ""
        for family in order {
            guard let samples = families[family], let first = samples.first else { continue }
            text += "# HELP \(family) \(escape(first.help, quotes: false))\n# TYPE \(family) \(first.kind.rawValue)\n"
            for sample in samples {
                let labels = sample.labels.sorted { $0.key < $1.key }.map {
                    "\($0.key)=\"\(escape($0.value, quotes: true))\""
                }
                text +=
                    sample.name + (labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}") + " "
                    + number(sample.value) + "\n"
            }
        }
        return text
    }

    private static func escape(_ text: String, quotes: Bool) -> String {
        var result = text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
        if quotes { result = result.replacing("\"", with: "\\\"") }
        return result
    }

    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        if let whole = Int(exactly: value) { return String(whole) }
        return "\(value)"
    }
}
