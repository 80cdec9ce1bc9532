import Basics
import CFFmpeg
import FoundationEssentials
import Glibc

/// Puts the recordings of a series, which a meeting has that went on at other nodes, into one file, without encoding
/// again.
///
/// Each recording has its place by the wall clocks of the nodes. Between two of them the last picture stays and there is
/// silence; where they overlap, as after a partition, the later one counts.
package enum RecordingJoin {
    /// The longest time between two recordings, in seconds, for which silence is made.
    package static let longestGap = 6 * 3600.0

    /// A file, and its place in the result. Times are in seconds.
    private struct Piece {
        var path: String
        var title: String?
        var start: Double
        var length: Double
        /// Where the next one begins.
        var end = Double.infinity
    }

    /// - Parameters:
    ///   - series: the id of the first recording.
    ///   - directory: has the files of all recordings, with their sidecars.
    ///   - output: a file that does not exist yet.
    ///   - gap: the longest time between two recordings, in seconds: longer ones are shortened to it.
    ///   - isIncomplete: whether recordings may be missing.
    package static func join(
        _ series: String, in directory: String, output: String, gap: Double = longestGap, isIncomplete: Bool = false
    ) throws(RecordingError) -> RecordingSummary {
        // It may be one of the recordings, by whatever path. These are read as a whole below.
        if MP4Closing.size(of: output) != nil {
            throw .notJoinable(
                "\(name(output)) cannot be the result, since it exists: choose another file, or remove it")
        }
        let entries = try entries(of: series, in: directory, isIncomplete: isIncomplete)
        let pieces = try pieces(of: entries, series, in: directory, gap: min(max(gap, 0), longestGap))
        let size = pieces.reduce(0) { $0 + (MP4Closing.size(of: $1.path) ?? 0) }
        guard MP4Closing.hasRoom(for: size, at: output, nil) else { throw .diskFull(path: output) }
        try MP4Closing.replace(output) { temporary throws(RecordingError) in
            try write(pieces, to: temporary)
        }
        let report = try RecordingRepair.check(file: output)
        return RecordingSummary(
            file: output, files: [output], duration: report.duration, bytes: report.bytes,
            tracks: report.tracks.map(\.codec), failure: nil)
    }

    // MARK: - What belongs together

    private static func entries(
        of series: String, in directory: String, isIncomplete: Bool
    ) throws(RecordingError) -> [RecordingEntry] {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else {
            throw .unreadable(path: directory, reason: "it is no directory, or may not be read")
        }
        let found = names.filter { $0.hasSuffix(Sidecar.suffix) && !$0.hasPrefix(".") }
            .compactMap { Sidecar.read(directory + "/" + $0) }
            .filter { $0.id == series || $0.series == series }
            .sorted { ($0.number(in: series), $0.beganAt) < ($1.number(in: series), $1.beganAt) }
        guard !found.isEmpty else { throw .unknown(id: series) }
        for entry in found where entry.state != .finished && entry.state != .failed {
            guard let file = entry.files.last, RecordingRepair.isClosed(directory + "/" + name(file)) else {
                throw .notJoinable(
                    "\(name(entry.file)) is not complete: stop it, or let tessera recording repair close it where its node died"
                )
            }
        }
        if isIncomplete { return found }
        for (index, entry) in found.enumerated() where entry.number(in: series) != index + 1 {
            throw .notJoinable(
                "part \(index + 1) of \(series) is not there: copy its files from its node, or join without it (--incomplete)"
            )
        }
        return found
    }

    /// The name alone: no sidecar leads out of the directory.
    private static func name(_ file: String) -> String { file.split(separator: "/").last.map(String.init) ?? file }

    private static func pieces(
        of entries: [RecordingEntry], _ series: String, in directory: String, gap: Double
    ) throws(RecordingError) -> [Piece] {
        var pieces: [Piece] = []
        // Where the media so far ends, and the wall clock there.
        var (end, endedAt) = (0.0, 0.0)
        for (index, entry) in entries.enumerated() {
            let began = entry.beganAt.timeIntervalSince1970 - (entry.preRoll ?? 0)
            // A recording that was paused has less media than time.
            var start = index == 0 ? 0 : max(0, end + min(began - endedAt, gap))
            if let last = pieces.last { start = max(start, last.start) }
            for (number, file) in entry.files.enumerated() {
                let path = directory + "/" + name(file)
                let length = try RecordingRepair.check(file: path).tracks.map(\.end).max()?.inSeconds ?? 0
                if !pieces.isEmpty { pieces[pieces.count - 1].end = start }
                let title = index > 0 && number == 0 ? "Part \(entry.number(in: series))" : nil
                pieces.append(Piece(path: path, title: title, start: start, length: length))
                start += length
            }
            (end, endedAt) = (start, entry.ended ?? (began + (entry.duration ?? 0)))
        }
        return pieces
    }

    // MARK: - Writing

    private static func write(_ pieces: [Piece], to path: String) throws(RecordingError) {
        guard let first = pieces.first, let last = pieces.last else { return }
        var chapters: [RecordingChapter] = []
        for piece in pieces {
            let own = try MP4Input(path: piece.path).chapters.map { chapter in
                RecordingChapter(at: chapter.at + piece.start, title: chapter.title, isMark: chapter.isMark)
            }
            // A chapter that begins with the part says more than its number.
            if let title = piece.title, !own.contains(where: { $0.at < piece.start + 1 }) {
                chapters.append(RecordingChapter(at: piece.start, title: title, isMark: false))
            }
            chapters += own.filter { $0.at < piece.end }
        }
        let model = try MP4Input(path: first.path)
        let output = try MP4Output(path, like: model, chapters: chapters, until: last.start + last.length)
        var seam = try Seam(model, output)
        for piece in pieces { try seam.add(piece) }
        try output.finish()
    }

    /// The end of what is written, to which the next file is put.
    private struct Seam {
        private let output: MP4Output
        private let model: MP4Input
        /// A packet of silence, and its length in samples; nil where the audio is of no encoder of ours.
        private let silence: (packet: [UInt8], length: Int64)?
        /// The end of each stream, in its time base; nil where nothing is written.
        private var end: [Int64?]

        init(_ model: MP4Input, _ output: MP4Output) throws(RecordingError) {
            (self.model, self.output) = (model, output)
            end = model.streams.map { _ in nil }
            silence = try Self.silence(for: model)
        }

        private static func silence(for model: MP4Input) throws(RecordingError) -> ([UInt8], Int64)? {
            for stream in model.streams where stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_AUDIO {
                let isOpus = stream.pointee.codecpar.pointee.codec_id == AV_CODEC_ID_OPUS
                let encoder = try AudioEncoder(isOpus ? .opus : .aac)
                // The first packets prime the decoder.
                let packets = try encoder.encode([Float](repeating: 0, count: 8 * encoder.frameSize))
                guard let packet = packets.last else { return nil }
                return (packet.data, Int64(encoder.frameSize))
            }
            return nil
        }

        mutating func add(_ piece: Piece) throws(RecordingError) {
            let input = try MP4Input(path: piece.path)
            try check(input)
            while let packet = input.next() {
                let stream = Int(packet.pointee.stream_index)
                let base = output.timeBase(stream)
                let start = ticks(piece.start, base)
                av_packet_rescale_ts(packet, input.streams[stream].pointee.time_base, base)
                packet.pointee.pts += start
                packet.pointee.dts += start
                if piece.end < .infinity, packet.pointee.pts >= ticks(piece.end, base) { continue }
                // The priming of a later file is in the sound before it.
                if let end = end[stream], packet.pointee.dts < end - packet.pointee.duration / 2 { continue }
                if isAudio(stream) { try fill(stream, until: packet.pointee.dts) }
                end[stream] = packet.pointee.dts + packet.pointee.duration
                try output.write(packet)
            }
        }

        private func isAudio(_ stream: Int) -> Bool {
            model.streams[stream].pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_AUDIO
        }

        private func ticks(_ seconds: Double, _ base: AVRational) -> Int64 {
            av_rescale_q(Int64(seconds * 1_000_000), AVRational(num: 1, den: 1_000_000), base)
        }

        /// Writes silence between the end of a stream and a time in its time base.
        private mutating func fill(_ stream: Int, until time: Int64) throws(RecordingError) {
            guard let silence, var next = end[stream] else { return }
            let length = av_rescale_q(silence.length, AVRational(num: 1, den: 48_000), output.timeBase(stream))
            guard length > 0, time - next >= length else { return }
            guard let packet = av_packet_alloc() else { throw .codec("out of memory") }
            defer {
                var packet: UnsafeMutablePointer<AVPacket>? = packet
                av_packet_free(&packet)
            }
            while time - next >= length {
                guard av_new_packet(packet, Int32(silence.packet.count)) >= 0 else { throw .codec("out of memory") }
                silence.packet.withUnsafeBufferPointer { bytes in
                    if let start = bytes.baseAddress { packet.pointee.data.update(from: start, count: bytes.count) }
                }
                packet.pointee.stream_index = Int32(stream)
                (packet.pointee.pts, packet.pointee.dts, packet.pointee.duration) = (next, next, length)
                packet.pointee.flags |= AV_PKT_FLAG_KEY
                next += length
                try output.write(packet)
            }
            end[stream] = next
        }

        /// - Throws: where the file's streams cannot be in one track with the first file's.
        private func check(_ input: MP4Input) throws(RecordingError) {
            let isAlike =
                input.streams.count == model.streams.count
                && zip(input.streams, model.streams).allSatisfy { own, other in
                    let (own, other) = (own.pointee.codecpar.pointee, other.pointee.codecpar.pointee)
                    guard own.codec_id == other.codec_id, own.codec_tag == other.codec_tag else { return false }
                    // Each keyframe of `avc3` has its own parameter sets.
                    return own.codec_tag == FragmentWriter.avc3 || description(own) == description(other)
                }
            if isAlike { return }
            throw .notJoinable(
                "codecs or size of \(RecordingJoin.name(input.path)) differ from those of the first part, and one track cannot have both: a program that encodes again can"
            )
        }

        private func description(_ parameters: AVCodecParameters) -> [UInt8] {
            Array(UnsafeBufferPointer(start: parameters.extradata, count: Int(parameters.extradata_size)))
        }
    }
}

extension RecordingEntry {
    fileprivate func number(in series: String) -> Int { id == series ? 1 : seriesPart ?? 2 }
}
