/// A fragment (ISO/IEC 14496-12 §8.8) with some video and some audio, each with its time: a CMAF chunk of both tracks.
struct CMAFFragment: Sendable {
    struct Sample: Sendable {
        var data: [UInt8]
        /// In ticks of the track.
        var duration: UInt32
        var isKeyframe = true
    }

    var number: UInt32
    var video: [Sample] = []
    /// In ticks of 90 kHz from the stream's start.
    var videoTime: UInt64 = 0
    var audio: [Sample] = []
    /// In samples from the stream's start.
    var audioTime: UInt64 = 0

    var isEmpty: Bool { video.isEmpty && audio.isEmpty }

    /// Flags of a sample (ISO/IEC 14496-12 §8.8.3.1): depends on none; depends on others, and is no sync sample.
    private static let (keyframe, dependent): (UInt32, UInt32) = (0x0200_0000, 0x0101_0000)

    var bytes: [UInt8] {
        let tracks = [
            (id: CMAFHeader.videoTrack, samples: video, time: videoTime),
            (id: CMAFHeader.audioTrack, samples: audio, time: audioTime),
        ].filter { !$0.samples.isEmpty }
        var writer = BoxWriter()
        var places: [Int] = []
        writer.box("moof") { writer in
            writer.fullBox("mfhd") { $0.u32(number) }
            for track in tracks {
                writer.box("traf") { writer in
                    // Offsets count from the `moof`.
                    writer.fullBox("tfhd", flags: 0x02_0000) { $0.u32(track.id) }
                    writer.fullBox("tfdt", version: 1) { $0.u64(track.time) }
                    // An offset of the data; duration, size and flags of each sample.
                    writer.fullBox("trun", flags: 0x701) { writer in
                        writer.u32(UInt32(clamping: track.samples.count))
                        places.append(writer.position)
                        writer.u32(0)
                        for sample in track.samples {
                            writer.u32(
                                sample.duration, UInt32(clamping: sample.data.count),
                                sample.isKeyframe ? Self.keyframe : Self.dependent)
                        }
                    }
                }
            }
        }
        var offset = writer.position + 8
        for (track, place) in zip(tracks, places) {
            writer.put(UInt32(clamping: offset), at: place)
            offset += track.samples.reduce(0) { $0 + $1.data.count }
        }
        writer.box("mdat") { writer in
            for track in tracks { for sample in track.samples { writer.raw(sample.data) } }
        }
        return writer.bytes
    }
}
