import Basics

/// The chapters of a file as a track of texts, which players find by the reference `chap` of the other tracks
/// (QuickTime File Format, "Chapter Lists"), and as the box `chpl`, which others read.
struct ChapterTrack {
    private let chapters: [RecordingChapter]
    /// In seconds.
    private let duration: Double

    private static let timescale: UInt32 = 1000
    /// The number of entries in `chpl` is one byte.
    private static let mostInList = 255
    /// `chpl` counts in units of 100 ns.
    private static let listUnits = 1e7

    init(_ chapters: [RecordingChapter], duration: Double) {
        self.chapters = chapters.filter { $0.at < duration }
        self.duration = duration
    }

    var isEmpty: Bool { chapters.isEmpty }

    /// The texts, for an `mdat`.
    var samples: [UInt8] { chapters.flatMap(Self.sample) }

    /// A text with its length, and the box that says that it is UTF-8.
    private static func sample(_ chapter: RecordingChapter) -> [UInt8] {
        var bytes: [UInt8] = []
        let title = Array(chapter.title.utf8)
        bytes.append16(UInt16(clamping: title.count))
        bytes += title
        return bytes + MP4Box("encd", [0, 0, 1, 0]).bytes
    }

    /// - Parameters:
    ///   - id: a number that no other track has.
    ///   - offset: of the samples in the file.
    ///   - movieTimescale: ticks per second of the movie.
    func trak(id: UInt32, samplesAt offset: Int, movieTimescale: Int64) -> MP4Box {
        MP4Box(
            "trak",
            [
                trackHeader(id, duration: Int64(duration * Double(movieTimescale))),
                MP4Box("mdia", [mediaHeader, handler, MP4Box("minf", [genericHeader, data, sampleTable(offset)])]),
            ])
    }

    /// `udta` with the list.
    var list: MP4Box {
        var bytes: [UInt8] = [1, 0, 0, 0]
        bytes.append32(0)
        bytes.append(UInt8(clamping: min(chapters.count, Self.mostInList)))
        for chapter in chapters.prefix(Self.mostInList) {
            bytes.append64(UInt64(max(0, chapter.at * Self.listUnits)))
            let title = Array(chapter.title.utf8.prefix(255))
            bytes.append(UInt8(clamping: title.count))
            bytes += title
        }
        return MP4Box("chpl", bytes)
    }

    // MARK: - Boxes (ISO/IEC 14496-12 §8)

    /// Not enabled, so that no player shows the texts over the picture.
    private func trackHeader(_ id: UInt32, duration: Int64) -> MP4Box {
        var bytes: [UInt8] = [1, 0, 0, 0]
        bytes.append64(0)
        bytes.append64(0)
        bytes.append32(id)
        bytes.append32(0)
        bytes.append64(UInt64(clamping: duration))
        // Layer, group and volume, between reserved fields.
        bytes += [UInt8](repeating: 0, count: 16)
        for value in [1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30] as [UInt32] { bytes.append32(value) }
        bytes.append64(0)
        return MP4Box("tkhd", bytes)
    }

    private var mediaHeader: MP4Box {
        var bytes: [UInt8] = [1, 0, 0, 0]
        bytes.append64(0)
        bytes.append64(0)
        bytes.append32(Self.timescale)
        bytes.append64(UInt64(max(0, duration * Double(Self.timescale))))
        // The language `und`.
        bytes.append16(0x55C4)
        bytes.append16(0)
        return MP4Box("mdhd", bytes)
    }

    private var handler: MP4Box {
        MP4Box("hdlr", [UInt8](repeating: 0, count: 8) + Array("text".utf8) + [UInt8](repeating: 0, count: 12) + [0])
    }

    /// The header of media that is neither video nor audio: how it is drawn, and an identity matrix.
    private var genericHeader: MP4Box {
        var graphics = [UInt8](repeating: 0, count: 4)
        for value in [0x40, 0x8000, 0x8000, 0x8000, 0, 0] as [UInt16] { graphics.append16(value) }
        var matrix: [UInt8] = []
        for value in [1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30] as [UInt32] { matrix.append32(value) }
        return MP4Box("gmhd", [MP4Box("gmin", graphics), MP4Box("text", matrix)])
    }

    /// The samples are in this file.
    private var data: MP4Box {
        MP4Box("dinf", [MP4Box("dref", [0, 0, 0, 0, 0, 0, 0, 1] + MP4Box("url ", [0, 0, 0, 1]).bytes)])
    }

    private func sampleTable(_ offset: Int) -> MP4Box {
        let starts = chapters.map { UInt32(max(0, $0.at * Double(Self.timescale))) }
        let ends = Array(starts.dropFirst()) + [UInt32(max(0, duration * Double(Self.timescale)))]
        let sizes = chapters.map { UInt32(clamping: Self.sample($0).count) }
        let times = zip(starts, ends).flatMap { [UInt32(1), $1 > $0 ? $1 - $0 : 1] }
        return MP4Box(
            "stbl",
            [
                Self.table("stsd", 1, Self.description), Self.table("stts", chapters.count, Self.numbers(times)),
                Self.table("stsc", 1, Self.numbers([1, UInt32(clamping: chapters.count), 1])),
                MP4Box("stsz", Self.numbers([0, 0, UInt32(clamping: chapters.count)] + sizes)),
                Self.table("co64", 1, Self.numbers([UInt32(offset >> 32), UInt32(truncatingIfNeeded: offset)])),
            ])
    }

    /// A text with no style of its own (3GPP TS 26.245 §5.16): flags, alignment, colour, box, style, and a font table with
    /// one nameless font.
    private static var description: [UInt8] {
        var entry: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 1]
        entry.append32(1)
        entry += [UInt8](repeating: 0, count: 18)
        entry += [0, 1, 0, 0, 0, 0, 0, 0]
        return MP4Box("text", entry + MP4Box("ftab", [0, 1, 0, 1, 0]).bytes).bytes
    }

    private static func numbers(_ values: [UInt32]) -> [UInt8] {
        var bytes: [UInt8] = []
        for value in values { bytes.append32(value) }
        return bytes
    }

    private static func table(_ kind: String, _ count: Int, _ entries: [UInt8]) -> MP4Box {
        MP4Box(kind, numbers([0, UInt32(clamping: count)]) + entries)
    }
}
