import Basics

/// The index (`moov`) of an ordinary MP4 over the samples of a fragmented one.
struct MovieIndex {
    private let movie: MP4Box
    private let tables: [TrackTable]
    /// The movie's time scale in ticks per second.
    private let timescale: Int64
    private var chapters: (track: ChapterTrack, offset: Int)?

    init(_ file: FragmentedFile) {
        movie = file.movie
        tables = file.tables.filter { $0.sampleCount > 0 }
        let header = file.movie.child("mvhd")?.content ?? []
        timescale = max(1, Int64(Self.number(header, at: Self.isLong(header) ? 20 : 12)))
    }

    var isEmpty: Bool { tables.isEmpty }

    /// The length of the longest track in seconds.
    private var duration: Double {
        tables.map { Double($0.duration) / Double($0.track.timescale) }.max() ?? 0
    }

    /// Adds chapters. Returns the box with their texts, which is to be written at `offset`, before the index; empty where
    /// there are none.
    mutating func add(_ list: [RecordingChapter], at offset: Int) -> [UInt8] {
        let track = ChapterTrack(list, duration: duration)
        if track.isEmpty { return [] }
        let texts = MP4Box("mdat", track.samples)
        chapters = (track, offset + texts.bytes.count - texts.content.count)
        return texts.bytes
    }

    private var chapterID: UInt32 { (tables.map(\.track.id).max() ?? 0) &+ 1 }

    private var chapterBoxes: [MP4Box] {
        guard let (track, offset) = chapters else { return [] }
        let others = movie.child("udta")?.children.filter { $0.kind != track.list.kind } ?? []
        return [
            track.trak(id: chapterID, samplesAt: offset, movieTimescale: timescale),
            MP4Box("udta", others + [track.list]),
        ]
    }

    var box: MP4Box {
        let tracks = tables.map { ($0, edits(of: $0)) }
        let duration = tracks.map(\.1.duration).max() ?? 0
        return MP4Box(
            "moov",
            movie.children.flatMap { box -> [MP4Box] in
                switch box.kind {
                case "mvhd": [Self.timed(box, between: 4, duration)]
                case "mvex": []
                case "trak": tracks.first { $0.0.track.box.content == box.content }.map { [trak($0.0, $0.1)] } ?? []
                case "udta" where chapters != nil: []
                default: [box]
                }
            } + chapterBoxes)
    }

    private func trak(_ table: TrackTable, _ edits: (box: MP4Box, duration: Int64)) -> MP4Box {
        let parts = table.track.box.children.compactMap { box -> MP4Box? in
            switch box.kind {
            case "tkhd": Self.timed(box, between: 8, edits.duration)
            case "edts": nil
            case "mdia": media(box, table)
            default: box
            }
        }
        // The edit list follows the header, as usual.
        let reference = chapters == nil ? [] : [MP4Box("tref", [MP4Box("chap", Self.bytes(chapterID))])]
        return MP4Box("trak", parts.prefix(1) + [MP4Box("edts", [edits.box])] + reference + parts.dropFirst())
    }

    private func media(_ box: MP4Box, _ table: TrackTable) -> MP4Box {
        MP4Box(
            "mdia",
            box.children.map { part in
                switch part.kind {
                case "mdhd": return Self.timed(part, between: 4, table.duration)
                case "minf":
                    let description = part.child("stbl")?.child("stsd") ?? MP4Box("stsd", [UInt8]())
                    return MP4Box("minf", part.children.map { $0.kind == "stbl" ? table.box(description) : $0 })
                default: return part
                }
            })
    }

    /// The edit list (ISO/IEC 14496-12 §8.6.6), which marks the priming samples, with the current duration in the
    /// movie's time scale.
    private func edits(of table: TrackTable) -> (box: MP4Box, duration: Int64) {
        var entries: [(duration: Int64, mediaTime: Int64, rate: UInt32)] = []
        if let list = table.track.box.child("edts")?.child("elst")?.content {
            let size = Self.isLong(list) ? 20 : 12
            for start in stride(from: 8, through: list.count - size, by: size) {
                let wide = Self.isLong(list)
                entries.append(
                    (
                        wide
                            ? Int64(bitPattern: Self.wideNumber(list, at: start)) : Int64(Self.number(list, at: start)),
                        wide
                            ? Int64(bitPattern: Self.wideNumber(list, at: start + 8))
                            : Int64(Int32(bitPattern: Self.number(list, at: start + 4))),
                        Self.number(list, at: start + size - 4)
                    ))
            }
        }
        if entries.isEmpty { entries = [(0, 0, 0x1_0000)] }
        let last = entries.count - 1
        let shown = max(0, table.duration - max(0, entries[last].mediaTime))
        entries[last].duration = Self.scaled(shown, from: table.track.timescale, to: timescale)
        var bytes: [UInt8] = []
        bytes.append32(1 << 24)
        bytes.append32(UInt32(clamping: entries.count))
        for entry in entries {
            bytes.append64(UInt64(bitPattern: entry.duration))
            bytes.append64(UInt64(bitPattern: entry.mediaTime))
            bytes.append32(entry.rate)
        }
        return (MP4Box("elst", bytes), entries.reduce(0) { $0 &+ $1.duration })
    }

    /// The report that `RecordingRepair.check` would give.
    func report(file: String, bytes: Int) -> RecordingReport {
        let tracks = tables.map { table -> RecordingReport.Track in
            let edits = edits(of: table)
            func time(_ ticks: Int64) -> Duration { .seconds(ticks) / Double(timescale) }
            let shown =
                Self.number(edits.box.content, at: 4) > 1
                ? Int64(bitPattern: Self.wideNumber(edits.box.content, at: 8)) : 0
            return RecordingReport.Track(
                kind: table.track.isVideo ? .video : .audio, codec: Self.codec(table.track.format), start: time(shown),
                end: time(edits.duration),
                width: table.track.width, height: table.track.height, packetCount: table.sampleCount,
                keyframeCount: table.keyframeCount)
        }
        return RecordingReport(file: file, bytes: bytes, tracks: tracks, closedProperly: true)
    }

    private static func codec(_ format: String) -> String {
        switch format {
        case "avc1", "avc3": "h264"
        case "mp4a": "aac"
        default: format.lowercased()
        }
    }

    // MARK: - Fields

    private static func isLong(_ content: [UInt8]) -> Bool { content.first == 1 }

    /// A 32-bit number; 0 where the box is too short.
    private static func number(_ content: [UInt8], at offset: Int) -> UInt32 {
        guard offset >= 0, offset + 4 <= content.count else { return 0 }
        return content[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func wideNumber(_ content: [UInt8], at offset: Int) -> UInt64 {
        UInt64(number(content, at: offset)) << 32 | UInt64(number(content, at: offset + 4))
    }

    /// A header (`mvhd`, `tkhd`, `mdhd`) in its long form with a new duration. `between` is the number of bytes between
    /// its two dates and the duration.
    private static func timed(_ box: MP4Box, between: Int, _ duration: Int64) -> MP4Box {
        let old = box.content
        let wide = isLong(old)
        let dates =
            wide
            ? [wideNumber(old, at: 4), wideNumber(old, at: 12)]
            : [UInt64(number(old, at: 4)), UInt64(number(old, at: 8))]
        let middle = wide ? 20 : 12
        let end = middle + between + (wide ? 8 : 4)
        guard end <= old.count else { return box }
        var bytes: [UInt8] = [1] + old[1..<4]
        for date in dates { bytes.append64(date) }
        bytes += old[middle..<middle + between]
        bytes.append64(UInt64(clamping: duration))
        return MP4Box(box.kind, bytes + old[end...])
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append32(number)
        return bytes
    }

    private static func scaled(_ ticks: Int64, from: Int64, to: Int64) -> Int64 {
        let (whole, rest) = ticks.quotientAndRemainder(dividingBy: from)
        // Rounded up, because a player shows no more than the edit.
        return whole &* to &+ (rest &* to &+ from - 1) / from
    }
}
