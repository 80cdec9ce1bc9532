extension RecordingTimeline {
    /// The timeline as WebVTT: a cue with the name of who speaks, and a comment for each layout.
    package var webVTT: String {
        var blocks = ["WEBVTT"]
        let layouts = layouts.map { (at: $0.at, text: "NOTE \(Self.time($0.at)) layout \(Self.plain($0.name))") }
        let cues = speakers.map { speech in
            let name = Self.escaped(speech.name)
            return (
                at: speech.start,
                text: "\(Self.time(speech.start)) --> \(Self.time(speech.end))\n<v \(name)>\(name)"
            )
        }
        blocks += (layouts + cues).sorted { $0.at < $1.at }.map(\.text)
        return blocks.joined(separator: "\n\n") + "\n"
    }

    /// 01:02:03.456
    private static func time(_ seconds: Double) -> String {
        let milliseconds = Int((max(0, seconds) * 1000).rounded())
        func digits(_ value: Int, _ count: Int) -> String {
            String(repeating: "0", count: max(0, count - String(value).count)) + String(value)
        }
        let (hours, minutes) = (milliseconds / 3_600_000, milliseconds / 60_000 % 60)
        return
            "\(digits(hours, 2)):\(digits(minutes, 2)):\(digits(milliseconds / 1000 % 60, 2)).\(digits(milliseconds % 1000, 3))"
    }

    /// On one line, without what ends a comment.
    private static func plain(_ text: String) -> String {
        let line = text.split(whereSeparator: \.isNewline).joined(separator: " ")
        return line.replacing("-->", with: "->")
    }

    /// As text of a cue (WebVTT §3.3).
    private static func escaped(_ text: String) -> String {
        plain(text).replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
