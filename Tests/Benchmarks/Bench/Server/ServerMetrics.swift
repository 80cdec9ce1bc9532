/// What `/metrics` says at one moment, by name and labels. Without the samples of single rooms, whose names come and go.
struct ServerMetrics: Sendable {
    /// Values that may go up and down.
    var gauges: [String: Double] = [:]
    var counters: [String: Double] = [:]

    /// Reads Prometheus' text format, version 0.0.4.
    init(_ text: String) {
        var kinds: [Substring: Substring] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if line.hasPrefix("# TYPE"), words.count == 4 { kinds[words[2]] = words[3] }
            guard !line.hasPrefix("#"), let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else { continue }
            let key = line[..<space]
            guard !key.contains("room=\"") else { continue }
            switch kinds[key.prefix { $0 != "{" }] {
            case "gauge": gauges[String(key)] = value
            case "counter": counters[String(key)] = value
            default: break
            }
        }
    }
}
