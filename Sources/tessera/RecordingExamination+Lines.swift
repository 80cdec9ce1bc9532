import Basics
import FoundationEssentials
import Recording

extension RecordingExamination {
    /// The lines that `tessera recording check` prints.
    var lines: [String] {
        let state = report.closedProperly ? "closed properly" : "not closed: repair it"
        return ["\(report.file): \(seconds(report.duration)), \(report.bytes) bytes, \(state)"]
            + (report.tracks.map(line) + offsets + gapLines + silenceLines + entryLines + timelineLines).map {
                "  " + $0
            }
    }

    private func line(_ track: RecordingReport.Track) -> String {
        let size = track.kind == .video ? " \(track.width)×\(track.height), \(track.keyframeCount) keyframes," : ""
        return
            "\(name(track.kind)) \(track.codec)\(size) \(track.packetCount) packets, \(seconds(track.start)) to \(seconds(track.end))"
    }

    private var offsets: [String] {
        guard let start = report.avOffset, let end = report.avOffsetAtEnd else { return [] }
        var lines = ["tracks begin \(milliseconds(start)) and end \(milliseconds(end)) apart"]
        if let sync {
            lines.append(
                "A/V offset \(milliseconds(.seconds(sync.offset))) by \(sync.pairs) flashes with beeps: \(milliseconds(.seconds(sync.atStart))) at the start, \(milliseconds(.seconds(sync.atEnd))) at the end, spread \(milliseconds(.seconds(sync.spread)))"
            )
        } else if silences != nil {
            lines.append("A/V offset not measured: the content has no flashes with beeps")
        }
        return lines
    }

    private var gapLines: [String] {
        if gaps.isEmpty { return ["no gaps"] }
        let shown = gaps.prefix(Self.mostGaps).map { gap in
            "\(gap.kind == .video ? "the picture stands" : "the audio is missing") for \(seconds(gap.length)) at \(seconds(gap.start))"
        }
        return gaps.count > shown.count ? shown + ["and \(gaps.count - shown.count) gaps more"] : shown
    }

    /// The most gaps that are printed.
    private static var mostGaps: Int { 20 }

    private var silenceLines: [String] {
        guard let silences, !silences.isEmpty else { return [] }
        let length = silences.reduce(Duration.zero) { $0 + $1.length }
        return ["silence: \(seconds(length)) in \(silences.count) stretches of 2 s and more"]
    }

    private var entryLines: [String] {
        guard let entry else { return [] }
        var lines = ["recording \(entry.id) of room \(entry.room), \(entry.state.rawValue)"]
        if entry.audioOnly == true { lines.append("audio alone") }
        if let preRoll = entry.preRoll { lines.append("begins \(seconds(.seconds(preRoll))) before its start") }
        if let dropped = entry.dropped {
            lines.append("lost by a slow disk: \(dropped.video) frames, \(dropped.audio) blocks of audio")
        }
        if entry.wasRecovered { lines.append("a crash left it open, a later start closed it") }
        if let message = entry.message { lines.append("ended early: \(message)") }
        if let tracks = entry.tracks {
            lines.append("\(tracks.count) tracks of participants, \(tracks.reduce(0) { $0 + ($1.bytes ?? 0) }) bytes")
            lines += tracks.prefix(Self.mostNames).map { track in
                let end = track.duration.map { "\(seconds(.seconds(track.start + $0)))" } ?? "its end"
                return
                    "  \(track.kind.rawValue) of \(track.name), \(track.codec), \(seconds(.seconds(track.start))) to \(end): \(track.file)"
            }
        }
        return lines
    }

    private var timelineLines: [String] {
        var lines: [String] = []
        if let timeline, !timeline.participants.isEmpty {
            let people = timeline.participants.prefix(Self.mostNames).map { person in
                "\(person.name) (\(clock(person.joined)) to \(clock(person.left)))"
            }
            let more = timeline.participants.count - people.count
            lines.append("participants: " + people.joined(separator: ", ") + (more > 0 ? " and \(more) more" : ""))
        }
        if !chapters.isEmpty {
            lines.append("\(chapters.count) chapters")
            lines += chapters.prefix(Self.mostNames).map { "  \(clock($0.at)) \($0.title)" }
        }
        return lines
    }

    /// The most participants and the most chapters that are printed.
    private static var mostNames: Int { 50 }

    private func clock(_ seconds: Double) -> String {
        let whole = Int(seconds)
        let parts = [whole / 60 % 60, whole % 60].map { ($0 < 10 ? ":0" : ":") + String($0) }
        return String(whole / 3600) + parts.joined()
    }

    private func name(_ kind: RecordingReport.Track.Kind) -> String { kind == .video ? "video" : "audio" }
    private func seconds(_ duration: Duration) -> String { String(duration.inSeconds, decimals: 3) + " s" }
    private func milliseconds(_ duration: Duration) -> String {
        String(duration.inMilliseconds, decimals: 1, isSigned: true) + " ms"
    }
}
