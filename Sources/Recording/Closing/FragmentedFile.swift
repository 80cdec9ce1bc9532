import Basics

/// A track as the header of a fragmented MP4 describes it.
struct FragmentedTrack {
    var id: UInt32
    var box: MP4Box
    /// Ticks a second.
    var timescale: Int64
    var isVideo: Bool
    /// e.g. `avc1`, `mp4a`.
    var format: String
    var width = 0
    var height = 0
    var defaults: FragmentDefaults
}

/// What holds for samples that say nothing else (ISO/IEC 14496-12 §8.8.3).
struct FragmentDefaults {
    var duration: UInt32 = 0
    var size: UInt32 = 0
    var flags: UInt32 = 0
}

/// Samples of one track that lie one behind the other.
struct FragmentRun {
    struct Sample {
        var size: UInt32
        var duration: UInt32
        var isKeyframe: Bool
    }
    /// Decoding time of the first, in the track's time scale.
    var time: Int64
    /// Where the first begins in the file.
    var offset: Int
    var samples: [Sample]
}

/// The whole fragments of an MP4 as `FragmentWriter` makes it: sample lists without the samples. Reads no media.
struct FragmentedFile {
    let movie: MP4Box
    /// Where the header (`moov`) lies.
    let header: MP4File.Place
    private(set) var tables: [TrackTable]
    /// Behind the last whole fragment.
    private(set) var end: Int

    /// - Throws: `unreadable` where this is another kind of file.
    init(_ file: MP4File, path: String) throws(RecordingError) {
        var offset = 0
        var found: MP4File.Place?
        while found == nil, let place = file.box(at: offset), place.kind != "moof", place.kind != "mdat" {
            if place.kind == "moov" { found = place }
            offset = place.end
        }
        guard let header = found, let content = file.content(of: header) else {
            throw .unreadable(path: path, reason: "it is not an MP4, or its beginning is missing")
        }
        self.header = header
        movie = MP4Box("moov", content)
        let extends = movie.child("mvex")?.children.filter { $0.kind == "trex" } ?? []
        tables = movie.children.filter { $0.kind == "trak" }.compactMap { try? FragmentParsing.track($0, extends) }.map
        { TrackTable($0) }
        guard !tables.isEmpty, tables.count == movie.children.count(where: { $0.kind == "trak" }) else {
            throw .unreadable(path: path, reason: "its header is not that of a recording")
        }
        end = offset
        // What is not a whole fragment, or not one of ours, ends the file.
        while let moof = file.box(at: offset), moof.kind == "moof", let media = file.box(at: moof.end),
            media.kind == "mdat",
            let content = file.content(of: moof),
            let runs = try? FragmentParsing.runs(content, tables.map(\.track), at: moof.start),
            runs.allSatisfy({
                $0.run.offset >= moof.end && $0.run.offset + $0.run.samples.reduce(0) { $0 + Int($1.size) } <= media.end
            })
        {
            for (index, run) in runs { tables[index].append(run) }
            offset = media.end
            end = offset
        }
    }
}
