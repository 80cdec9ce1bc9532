import Foundation

/// Draws a run as one SVG: the time in minutes on the x axis, one panel below the other.
struct SoakPlot {
    struct Series {
        var name: String
        var colour: String
        var points: [(x: Double, y: Double)]
    }

    struct Panel {
        var title: String
        var series: [Series]
        /// Dashed lines at these values.
        var limits: [Double] = []
        /// The values that the axis must include.
        var shows: [Double] = [0]
    }

    private static let width = 1000.0
    private static let height = 190.0
    private static let margin = (left: 60.0, right: 160.0, top: 26.0, bottom: 24.0)
    private static let colours = ["#1f6fb4", "#d1622b", "#3a8f4d", "#8a4fa3"]

    let panels: [Panel]
    private let end: Double

    init(_ samples: [SoakSample]) {
        func series(_ name: String, _ colour: Int, _ value: (SoakSample) -> Double?) -> Series {
            Series(
                name: name, colour: Self.colours[colour],
                points: samples.compactMap { sample in value(sample).map { (sample.time / 60, $0) } })
        }
        end = max((samples.last?.time ?? 0) / 60, 1)
        panels = [
            Panel(
                title: "Memory of the server, MB",
                series: [series("resident", 0) { $0.server.resident }, series("of no file", 1) { $0.server.anonymous }]),
            Panel(
                title: "Descriptors and threads of the server",
                series: [
                    series("descriptors", 0) { Double($0.server.descriptors) },
                    series("threads", 1) { Double($0.server.threads) },
                ]),
            Panel(
                title: "Who is there",
                series: [
                    series("participants", 0) { $0.gauge("tessera_participants") },
                    series("rooms", 1) { $0.gauge("tessera_rooms") },
                ]),
            Panel(
                title: "Cores in use",
                series: [series("server", 0) { $0.serverLoad }, series("clients", 1) { $0.clientLoad }]),
            Panel(
                title: "Sound behind the picture, median of 10 s, ms",
                series: [
                    series("seen by one", 0) { $0.offsets.first ?? nil },
                    series("by the other", 1) { $0.offsets.last ?? nil },
                ],
                limits: [-SoakVerdict.offsetLimit, SoakVerdict.offsetLimit], shows: [-50, 50]),
            Panel(
                title: "Longest time between two arrivals at the pair, ms",
                series: [series("sound", 0) { $0.audioGap }, series("picture", 1) { $0.pictureGap }]),
        ]
    }

    var svg: String {
        let total = Double(panels.count) * Self.height + 10
        var text = """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(Int(Self.width))" height="\(Int(total))" font-family="sans-serif" font-size="11">
            <rect width="100%" height="100%" fill="white"/>\n
            """
        for (index, panel) in panels.enumerated() { text += draw(panel, top: Double(index) * Self.height) }
        return text + "</svg>\n"
    }

    private func draw(_ panel: Panel, top: Double) -> String {
        let left = Self.margin.left, right = Self.width - Self.margin.right
        let upper = top + Self.margin.top, lower = top + Self.height - Self.margin.bottom
        let values = panel.series.flatMap { $0.points.map(\.y) } + panel.shows + panel.limits
        let lowest = values.min() ?? 0, step = Self.step((values.max() ?? 1) - lowest, parts: 4)
        let from = (lowest / step).rounded(.down) * step,
            to = max(((values.max() ?? 1) / step).rounded(.up) * step, from + step)
        func x(_ minute: Double) -> String { number(left + minute / end * (right - left)) }
        func y(_ value: Double) -> String { number(lower - (value - from) / (to - from) * (lower - upper)) }
        var text = "<text x=\"\(left)\" y=\"\(upper - 10)\" font-weight=\"bold\">\(panel.title)</text>\n"
        for value in stride(from: from, through: to + step / 100, by: step) {
            text += "<line x1=\"\(left)\" x2=\"\(right)\" y1=\"\(y(value))\" y2=\"\(y(value))\" stroke=\"#dddddd\"/>\n"
            text += "<text x=\"\(left - 6)\" y=\"\(y(value))\" dy=\"4\" text-anchor=\"end\">\(number(value))</text>\n"
        }
        for minute in stride(from: 0, through: end, by: Self.step(end, parts: 8)) {
            text += "<text x=\"\(x(minute))\" y=\"\(lower + 14)\" text-anchor=\"middle\">\(number(minute))</text>\n"
        }
        for limit in panel.limits {
            text +=
                "<line x1=\"\(left)\" x2=\"\(right)\" y1=\"\(y(limit))\" y2=\"\(y(limit))\" stroke=\"#c02020\" stroke-dasharray=\"5 4\"/>\n"
        }
        for (index, series) in panel.series.enumerated() {
            let points = series.points.map { "\(x($0.x)),\(y($0.y))" }.joined(separator: " ")
            text += "<polyline points=\"\(points)\" fill=\"none\" stroke=\"\(series.colour)\" stroke-width=\"1.2\"/>\n"
            text +=
                "<text x=\"\(right + 10)\" y=\"\(upper + 12 + Double(index) * 16)\" fill=\"\(series.colour)\">\(series.name)</text>\n"
        }
        return text
    }

    /// 1, 2 or 5 times a power of ten, so that about `parts` steps cover the range.
    static func step(_ range: Double, parts: Double) -> Double {
        guard range > 0 else { return 1 }
        let rough = range / parts, power = pow(10, log10(rough).rounded(.down))
        return [1, 2, 5, 10].map { $0 * power }.first { $0 >= rough } ?? power * 10
    }

    private func number(_ value: Double) -> String {
        value.formatted(
            .number.precision(.fractionLength(0...1)).grouping(.never).locale(Locale(identifier: "en_US_POSIX")))
    }
}
