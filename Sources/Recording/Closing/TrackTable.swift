import Basics

/// The sample tables of one track in the index of an ordinary MP4 (ISO/IEC 14496-12 §8.6 and §8.7), collected from its
/// fragments.
///
/// The tables are kept as the bytes to write, since an hour has about 300 000 samples.
struct TrackTable {
    let track: FragmentedTrack
    private(set) var sampleCount = 0
    private(set) var keyframeCount = 0
    /// In the track's time scale.
    private(set) var duration: Int64 = 0

    private var sizes: [UInt8] = []
    private var keyframes: [UInt8] = []
    private var chunkOffsets: [UInt8] = []
    private var chunkCount = 0
    private var times = RunLengths()
    private var chunks = RunLengths()
    /// The duration of the last sample, not in `times` yet because the next run may extend it.
    private(set) var lastDuration: Int64 = 0

    init(_ track: FragmentedTrack) { self.track = track }

    /// Adds a run of samples that are consecutive in the file.
    mutating func append(_ run: FragmentRun) {
        if sampleCount > 0, run.time > duration {
            // The last sample is shown until this one begins.
            lastDuration += run.time - duration
            duration = run.time
        }
        for sample in run.samples {
            if sampleCount > 0 { times.append(UInt32(clamping: lastDuration)) }
            sampleCount += 1
            sizes.append32(sample.size)
            if sample.isKeyframe {
                keyframeCount += 1
                keyframes.append32(UInt32(clamping: sampleCount))
            }
            lastDuration = Int64(sample.duration)
            duration += lastDuration
        }
        chunkCount += 1
        chunkOffsets.append64(UInt64(clamping: run.offset))
        chunks.append(UInt32(clamping: run.samples.count))
    }

    /// `stbl` with the track's own sample description.
    func box(_ description: MP4Box) -> MP4Box {
        var times = times
        if sampleCount > 0 { times.append(UInt32(clamping: lastDuration)) }
        var boxes = [description, Self.table("stts", times.count, times.pairs)]
        // Without `stss` every sample counts as a keyframe.
        if keyframeCount < sampleCount { boxes.append(Self.table("stss", keyframeCount, keyframes)) }
        boxes.append(Self.table("stsc", chunks.count, chunkTable))
        var sizeTable: [UInt8] = []
        sizeTable.append64(0)
        sizeTable.append32(UInt32(clamping: sampleCount))
        boxes.append(MP4Box("stsz", sizeTable + sizes))
        boxes.append(Self.table("co64", chunkCount, chunkOffsets))
        return MP4Box("stbl", boxes)
    }

    /// First chunk, samples in each, number of the sample description.
    private var chunkTable: [UInt8] {
        var bytes: [UInt8] = []
        var first: UInt32 = 1
        for run in chunks.runs {
            bytes.append32(first)
            bytes.append32(run.value)
            bytes.append32(1)
            first &+= run.count
        }
        return bytes
    }

    /// A table with version, flags and the number of its entries.
    private static func table(_ kind: String, _ count: Int, _ entries: [UInt8]) -> MP4Box {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(entries.count + 8)
        bytes.append32(0)
        bytes.append32(UInt32(clamping: count))
        return MP4Box(kind, bytes + entries)
    }
}

/// A run-length encoded list of numbers.
private struct RunLengths {
    private(set) var runs: [(count: UInt32, value: UInt32)] = []
    var count: Int { runs.count }

    mutating func append(_ value: UInt32) {
        if let last = runs.last, last.value == value {
            runs[runs.count - 1].count &+= 1
        } else {
            runs.append((1, value))
        }
    }

    /// The entries of `stts`.
    var pairs: [UInt8] {
        var bytes: [UInt8] = []
        for run in runs {
            bytes.append32(run.count)
            bytes.append32(run.value)
        }
        return bytes
    }
}
