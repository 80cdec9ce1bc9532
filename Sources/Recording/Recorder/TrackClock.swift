/// Where the room's times are in a recording: its beginning and its pauses, for the files that are written beside it.
struct TrackClock {
    typealias Time = RecordingSession.Time

    enum Place: Equatable {
        /// The time in the recording.
        case at(Time)
        /// The recording begins or goes on with its next keyframe, maybe before this time.
        case later
        case never
    }

    private struct Span {
        var start: Time
        /// nil: it goes on.
        var end: Time?
        /// The room time of the recording's zero, were there no pauses before this span.
        var origin: Time
    }

    /// The latest two: media comes in order, and at most two seconds late.
    private var spans: [Span] = []
    /// Where it is paused, nil; else the earliest time of its next span.
    private var from: Time? = .min

    private var isRunning: Bool { spans.last.map { $0.end == nil } ?? false }

    /// The recording runs.
    ///
    /// - Parameters:
    ///   - time: of the media with which it began or went on; later ones change nothing.
    ///   - origin: the room time of the recording's zero, were there no pauses.
    mutating func runs(at time: Time, origin: Time) {
        if isRunning { return }
        spans = spans.suffix(1) + [Span(start: time, end: nil, origin: origin)]
        from = nil
    }

    mutating func pause(at time: Time) {
        if isRunning { spans[spans.count - 1].end = max(time, spans[spans.count - 1].start) }
        from = nil
    }

    mutating func resume(at time: Time) {
        if !isRunning { from = time }
    }

    func place(_ time: Time) -> Place {
        for span in spans.reversed() where time >= span.start {
            if span.end.map({ time < $0 }) ?? true { return .at(time - span.origin) }
            break
        }
        guard let from, time >= from, time >= spans.last?.start ?? .min else { return .never }
        return .later
    }

    /// The time in the recording of the beginning of the span that runs; nil where none does.
    var beginning: Time? { isRunning ? spans.last.map { $0.start - $0.origin } : nil }
}
