/// The values of `/metrics` at one time, by name and labels, without the samples of single rooms, whose names change.
struct ServerMetrics: Sendable {
    /// The gauges.
    var gauges: [String: Double] = [:]
    var counters: [String: Double] = [:]

    /// Reads Prometheus' text format, version 0.0.4.
    init(_ text: String) {
        var kinds: [Substring: Substring] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if line.hasPrefix("# TYPE"), words.count == 4 { kinds[words[2]] = words[3] }
            guard !line.hasPrefix("#"), let space = line.lastIndex(of: " "),
                let value = Double(line[line.index(after: space)...])
            else { continue }
            let key = line[..<space]
            guard !key.contains("room=\"") else { continue }
            let name = key.prefix { $0 != "{" }
            switch kinds[name] {
            case "gauge": gauges[String(key)] = value
            case "counter": counters[String(key)] = value
            default:
                // The names of a histogram's samples begin with the histogram's name.
                let family = ["_bucket", "_sum", "_count"].first { name.hasSuffix($0) }.map { name.dropLast($0.count) }
                if let family, kinds[family] == "histogram" { counters[String(key)] = value }
            }
        }
    }
}
