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

/// The values of samples that do not override them (ISO/IEC 14496-12 §8.8.3).
struct FragmentDefaults {
    var duration: UInt32 = 0
    var size: UInt32 = 0
    var flags: UInt32 = 0
}

/// Consecutive samples of one track.
struct FragmentRun {
    struct Sample {
        var size: UInt32
        var duration: UInt32
        var isKeyframe: Bool
    }
    /// The decoding time of the first sample, in the track's time scale.
    var time: Int64
    /// The offset of the first sample in the file.
    var offset: Int
    var samples: [Sample]
}

/// The complete fragments of an MP4 of `FragmentWriter`: the sample lists without the samples. Reads no media.
struct FragmentedFile {
    let movie: MP4Box
    /// The place of the header (`moov`).
    let header: MP4File.Place
    private(set) var tables: [TrackTable]
    /// The end of the last complete fragment.
    private(set) var end: Int

    /// - Throws: `unreadable` for any other kind of file.
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
        // The first box that begins no complete fragment of `FragmentWriter` ends the file.
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
