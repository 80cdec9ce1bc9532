/// Writes metrics as Prometheus reads them (text exposition format 0.0.4).
enum PrometheusText {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Samples of one name stand together under one HELP and TYPE, in the order of each name's first.
    static func write(_ lines: [MetricLine]) -> String {
        var order: [String] = []
        var families: [String: [MetricLine]] = [:]
        for line in lines {
            if families[line.name] == nil { order.append(line.name) }
            families[line.name, default: []].append(line)
        }
        var text = ""
        for name in order {
            guard let samples = families[name], let first = samples.first else { continue }
            text += "# HELP \(name) \(escape(first.help, quotes: false))\n# TYPE \(name) \(first.kind.rawValue)\n"
            for sample in samples {
                let labels = sample.labels.map { "\($0.0)=\"\(escape($0.1, quotes: true))\"" }.joined(separator: ",")
                text += name + (labels.isEmpty ? "" : "{\(labels)}") + " " + number(sample.value) + "\n"
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
