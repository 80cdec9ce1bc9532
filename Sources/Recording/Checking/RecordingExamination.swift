import Basics
import CFFmpeg
import Codecs

/// What a whole file of a recording holds: its tracks, gaps in them, and how far sound and picture are apart.
package struct RecordingExamination: Sendable {
    /// A stretch without media.
    package struct Gap: Sendable, Equatable {
        package var kind: RecordingReport.Track.Kind
        /// The time in the file.
        package var start: Duration
        package var length: Duration
    }

    package var report: RecordingReport
    /// The gaps of both tracks in the order of their times, the first thousand.
    package var gaps: [Gap] = []
    /// Measured in the content; nil where it has no flashes with beeps, or was not decoded.
    package var sync: AVSync?
    /// The stretches of two seconds and more without any sound, which may be what was heard; nil: not decoded.
    package var silences: [Gap]?
    /// The chapters in the file.
    package var chapters: [RecordingChapter] = []
    /// The entry of the recording that the file is a part of; nil where it has no sidecar.
    package var entry: RecordingEntry?
    /// The timeline of the whole recording; nil where there is none beside the file.
    package var timeline: RecordingTimeline?

    /// The longest time that a picture is shown: a room sends one each second, whatever happens in it.
    private static let longestPicture = Duration.milliseconds(1500)
    /// A hole in the audio that is heard.
    private static let longestHole = Duration.milliseconds(20)
    private static let maxGaps = 1000

    /// Reads a file.
    ///
    /// - Parameter decoding: whether pictures and audio are decoded, which takes some minutes for an hour.
    package init(file: String, decoding: Bool = true) throws(RecordingError) {
        report = try RecordingRepair.check(file: file)
        (gaps, chapters) = try Self.gapsAndChapters(of: file)
        readBeside(file)
        if decoding { try measure(file) }
    }

    private static func gapsAndChapters(of file: String) throws(RecordingError) -> ([Gap], [RecordingChapter]) {
        let input = try MP4Input(path: file)
        var gaps: [Gap] = []
        var ends: [Int: Duration] = [:]
        while let packet = input.next(), gaps.count < maxGaps {
            let index = Int(packet.pointee.stream_index)
            let stream = input.streams[index].pointee
            func time(_ ticks: Int64) -> Duration {
                .microseconds(av_rescale_q(ticks, stream.time_base, AVRational(num: 1, den: 1_000_000)))
            }
            let (start, length) = (time(packet.pointee.pts), time(packet.pointee.duration))
            let isVideo = stream.codecpar.pointee.codec_type == AVMEDIA_TYPE_VIDEO
            if let end = ends[index], start - end > longestHole {
                gaps.append(Gap(kind: isVideo ? .video : .audio, start: end, length: start - end))
            }
            if isVideo, length > longestPicture { gaps.append(Gap(kind: .video, start: start, length: length)) }
            ends[index] = start + length
        }
        return (gaps.sorted { $0.start < $1.start }, input.chapters)
    }

    private mutating func measure(_ file: String) throws(RecordingError) {
        var flashes = FlashDetector()
        var beeps = BeepDetector()
        do throws(CodecError) {
            let reader = try MediaFileReader(path: file, decode: true)
            while let sample = try reader.next() {
                switch sample {
                case .picture(let picture, let time): flashes.take(picture, at: Double(time) / 90_000)
                case .pcm(let samples, let time): beeps.take(samples, timestamp: time)
                case .video, .opus: break
                }
            }
        } catch {
            throw .unreadable(path: file, reason: "\(error)")
        }
        beeps.finish()
        sync = AVSync(flashes: flashes.times, beeps: beeps.times)
        silences = beeps.silences.map { Gap(kind: .audio, start: .seconds($0.start), length: .seconds($0.length)) }
    }

    /// Reads the sidecar and the timeline of the recording, for `name-2.mp4` those of `name`.
    private mutating func readBeside(_ file: String) {
        guard var base = RecordingFile.base(file) else { return }
        entry = Sidecar.read(base + Sidecar.suffix)
        if entry == nil, let dash = base.lastIndex(of: "-"), Int(base[base.index(after: dash)...]) ?? 0 > 1 {
            base = String(base[..<dash])
            entry = Sidecar.read(base + Sidecar.suffix)
        }
        timeline = TimelineFiles.read(base: base)
    }
}
