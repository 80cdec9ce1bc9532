import Basics

/// Parses the boxes of fragments. Boxes that `FragmentWriter` does not write are an error: such files are copied
/// instead.
enum FragmentParsing {
    struct Unknown: Error {}

    static func track(_ box: MP4Box, _ extends: [MP4Box]) throws -> FragmentedTrack {
        guard let header = box.child("tkhd"), let media = box.child("mdia"), let times = media.child("mdhd"),
            let handler = media.child("hdlr"),
            let description = media.child("minf")?.child("stbl")?.child("stsd")
        else { throw Unknown() }
        var reader = ByteReader(header.content.span)
        let isLong = try reader.readUInt32() >> 24 == 1
        try reader.skip(isLong ? 16 : 8)
        let id = try reader.readUInt32()

        reader = ByteReader(times.content.span)
        try reader.skip(try reader.readUInt32() >> 24 == 1 ? 16 : 8)
        let timescale = Int64(try reader.readUInt32())

        reader = ByteReader(handler.content.span)
        try reader.skip(8)
        let isVideo = try reader.readBytes(4) == Array("vide".utf8)

        // Version, number of entries, and the first entry's length before its name.
        reader = ByteReader(description.content.span)
        try reader.skip(12)
        let format = String(decoding: try reader.readBytes(4), as: UTF8.self)
        guard timescale > 0, let defaults = try extends.lazy.compactMap({ try Self.defaults($0, of: id) }).first else {
            throw Unknown()
        }
        var track = FragmentedTrack(
            id: id, box: box, timescale: timescale, isVideo: isVideo, format: format, defaults: defaults)
        if isVideo {
            // ISO/IEC 14496-12 §12.1.3.
            try reader.skip(24)
            track.width = Int(try reader.readUInt16())
            track.height = Int(try reader.readUInt16())
        }
        return track
    }

    private static func defaults(_ extends: MP4Box, of id: UInt32) throws -> FragmentDefaults? {
        var reader = ByteReader(extends.content.span)
        try reader.skip(4)
        guard try reader.readUInt32() == id, try reader.readUInt32() == 1 else { return nil }
        return FragmentDefaults(
            duration: try reader.readUInt32(), size: try reader.readUInt32(), flags: try reader.readUInt32())
    }

    /// The runs of a fragment (ISO/IEC 14496-12 §8.8.7, §8.8.8, §8.8.12), each with the index of its track. `start` is
    /// the offset of its `moof`.
    static func runs(_ moof: [UInt8], _ tracks: [FragmentedTrack], at start: Int) throws -> [(
        index: Int, run: FragmentRun
    )] {
        var found: [(index: Int, run: FragmentRun)] = []
        for box in try MP4Box.boxes(in: moof) where box.kind == "traf" {
            let parts = try MP4Box.boxes(in: box.content)
            guard let header = parts.first(where: { $0.kind == "tfhd" }),
                let time = parts.first(where: { $0.kind == "tfdt" })
            else {
                throw Unknown()
            }
            let (index, defaults) = try self.header(header, tracks)
            var reader = ByteReader(time.content.span)
            let isLong = try reader.readUInt32() >> 24 == 1
            var next = isLong ? Int64(clamping: try reader.readUInt64()) : Int64(try reader.readUInt32())
            for part in parts where part.kind == "trun" {
                let run = try self.run(part, defaults, time: next, start: start)
                next = run.samples.reduce(next) { $0 &+ Int64($1.duration) }
                found.append((index, run))
            }
        }
        return found
    }

    private static func header(_ box: MP4Box, _ tracks: [FragmentedTrack]) throws -> (Int, FragmentDefaults) {
        var reader = ByteReader(box.content.span)
        let flags = try reader.readUInt32()
        let id = try reader.readUInt32()
        // Only offsets relative to the `moof` and the first sample description are supported.
        guard flags & 0x02_0000 != 0, flags & 0x3 == 0, let index = tracks.firstIndex(where: { $0.id == id }) else {
            throw Unknown()
        }
        var defaults = tracks[index].defaults
        if flags & 0x8 != 0 { defaults.duration = try reader.readUInt32() }
        if flags & 0x10 != 0 { defaults.size = try reader.readUInt32() }
        if flags & 0x20 != 0 { defaults.flags = try reader.readUInt32() }
        return (index, defaults)
    }

    private static func run(_ box: MP4Box, _ defaults: FragmentDefaults, time: Int64, start: Int) throws -> FragmentRun
    {
        var reader = ByteReader(box.content.span)
        let flags = try reader.readUInt32()
        let count = Int(try reader.readUInt32())
        // There must be no composition offsets, since display order is decoding order, and a data offset.
        guard flags & 0x800 == 0, flags & 0x1 != 0 else { throw Unknown() }
        let offset = Int(Int32(bitPattern: try reader.readUInt32()))
        let firstFlags = flags & 0x4 != 0 ? try reader.readUInt32() : nil
        guard flags & 0x700 != 0 ? count <= reader.remaining / 4 : count <= 1 << 20 else { throw Unknown() }
        var run = FragmentRun(time: time, offset: start &+ offset, samples: [])
        for number in 0..<count {
            let duration = flags & 0x100 != 0 ? try reader.readUInt32() : defaults.duration
            let size = flags & 0x200 != 0 ? try reader.readUInt32() : defaults.size
            var own = flags & 0x400 != 0 ? try reader.readUInt32() : defaults.flags
            if number == 0, let firstFlags { own = firstFlags }
            // `sample_is_non_sync_sample`.
            run.samples.append(FragmentRun.Sample(size: size, duration: duration, isKeyframe: own & 0x1_0000 == 0))
        }
        return run
    }
}
