import Basics
import Codecs
import Glibc

/// The files of a recording's tracks. Not Sendable: confined to the recorder's queue.
final class TrackFiles {
    private struct AudioTrack {
        var number: Int
        var writer: TrackWriter
        var encoder: AudioEncoder
        /// The time in the recording of the file's zero.
        var start: TrackClock.Time
        /// Samples in the file so far.
        var position: Int64 = 0
    }

    private struct PictureTrack {
        var number: Int
        var writer: TrackWriter
        var start: TrackClock.Time
        var codec: VideoCodec
        var kind: RecordingTrack.Kind
        var rotation: Rotation
    }

    /// The path of the recording's files without their suffix.
    private let base: String
    private let disk: RecordingDisk
    private let reserve: DiskReserve?
    private let onKeyframeNeeded: (TrackSource) -> Void
    private let labels: RecordingLabels?
    private let onChange: ([RecordingTrack]) -> Void
    private var names: [String: String] = [:]
    private var audio: [String: AudioTrack] = [:]
    private var pictures: [TrackSource: PictureTrack] = [:]
    private var closedBytes = 0
    /// Batches whose place in the recording is not known yet.
    private var held: [TrackBatch] = []
    /// The end of the last tick in the recording.
    private var end: TrackClock.Time = 0
    private var isOver = false
    /// Until when participants get no new file, after a failure that is theirs or of too many open files.
    private var refusedUntil: [String: TrackClock.Time] = [:]
    /// All files, in the order in which they began.
    private(set) var list: [RecordingTrack] = []

    /// The most files of one recording: who comes and goes all the time makes new ones.
    private static let most = 1000
    /// The most batches (2 s) that are kept while there is no keyframe.
    private static let mostHeld = 100
    /// Jitter of up to this many samples (1 ms) between ticks is rounding, not a gap.
    private static let tolerance: Int64 = 48
    /// How long a participant gets no new file after a failure.
    private static let refusal = RecordingSession.ticksPerSecond * 10
    /// Silence is written when it is this long, but for the last half.
    private static let silence = RecordingSession.ticksPerSecond
    private static let perMillisecond = RecordingSession.ticksPerSecond / 1000
    /// A picture whose successor is not known is shown for this long, in ms.
    private static let pictureLength: Int64 = 33

    init(
        base: String, disk: RecordingDisk, reserve: DiskReserve?, onKeyframeNeeded: @escaping (TrackSource) -> Void,
        labels: RecordingLabels? = nil, onChange: @escaping ([RecordingTrack]) -> Void
    ) {
        self.base = base
        self.disk = disk
        self.reserve = reserve
        self.onKeyframeNeeded = onKeyframeNeeded
        self.labels = labels
        self.onChange = onChange
    }

    /// The bytes of all files.
    var bytes: Int {
        closedBytes + audio.values.reduce(0) { $0 + $1.writer.sink.byteCount }
            + pictures.values.reduce(0) { $0 + $1.writer.sink.byteCount }
    }

    /// Sets names, also those of tracks that began before: a participant's media may come before its name.
    func set(names: [String: String]) {
        self.names.merge(names) { $1 }
        let nameless = list.indices.filter { list[$0].name.isEmpty && !(names[list[$0].participant] ?? "").isEmpty }
        for index in nameless { list[index].name = names[list[index].participant] ?? "" }
        if !nameless.isEmpty { onChange(list) }
    }

    /// Who and what a file is of, before the recording's title.
    private func trackLabels(_ number: Int) -> RecordingLabels? {
        guard var labels = labels?.now() else { return nil }
        let track = list[number]
        labels.title = [track.name, track.kind.rawValue, labels.title].filter { !$0.isEmpty }.joined(separator: ", ")
        return labels
    }

    /// Writes a batch, or keeps it until its place is known.
    func take(_ batch: TrackBatch, _ clock: TrackClock) throws(RecordingError) {
        if isOver { return }
        held.append(batch)
        try settle(clock)
        guard held.count > Self.mostHeld else { return }
        let dropped = Set(held.removeFirst().frames.map(\.source))
        for source in dropped {
            for index in held.indices { held[index].frames.removeAll { $0.source == source } }
            onKeyframeNeeded(source)
        }
    }

    /// Writes the batches whose places are known now.
    func settle(_ clock: TrackClock) throws(RecordingError) {
        while let batch = held.first {
            switch clock.place(batch.time) {
            case .later: return
            case .at(let time):
                held.removeFirst()
                try write(batch, at: time, clock)
            case .never:
                held.removeFirst()
                // What follows may depend on pictures from just before the recording goes on.
                guard let beginning = clock.beginning else { continue }
                for frame in batch.frames { try write(frame, at: beginning) }
            }
        }
    }

    private func write(_ batch: TrackBatch, at time: TrackClock.Time, _ clock: TrackClock) throws(RecordingError) {
        let present = Set(batch.voices.map(\.participant))
        for id in audio.keys where !present.contains(id) { try endAudio(id) }
        for source in pictures.keys where !present.contains(source.participant) { try endPicture(source) }
        for voice in batch.voices {
            if let samples = voice.samples {
                try ownFault(of: voice.participant, at: time) { () throws(RecordingError) in
                    try write(samples, of: voice.participant, at: time)
                }
            } else if let track = audio[voice.participant] {
                let written = track.start + track.position * RecordingSession.ticksPerSample
                if time - written > Self.silence { try fill(voice.participant, until: time - Self.silence / 2) }
            }
        }
        end = time + 960 * RecordingSession.ticksPerSample
        for frame in batch.frames {
            // A picture just before the recording's beginning, or the end of a pause, is shown from there on.
            let place = max(time + frame.time - batch.time, clock.beginning ?? 0)
            try write(frame, at: place)
        }
    }

    /// Runs `body`. What a participant sent, and a file that cannot be opened, costs that participant's files and not the
    /// recording.
    private func ownFault(
        of id: String, at time: TrackClock.Time, _ body: () throws(RecordingError) -> Void
    ) throws(RecordingError) {
        do throws(RecordingError) {
            try body()
        } catch {
            switch error {
            case .codec, .notWritable: break
            default: throw error
            }
            refusedUntil[id] = time + Self.refusal
            if let track = audio.removeValue(forKey: id) { try? finish(track.number, track.writer) }
            for source in pictures.keys where source.participant == id {
                if let track = pictures.removeValue(forKey: source) { try? finish(track.number, track.writer) }
            }
        }
    }

    private func mayBegin(_ id: String, at time: TrackClock.Time) -> Bool {
        list.count < Self.most && refusedUntil[id].map { time >= $0 } ?? true
    }

    // MARK: - Audio

    private func write(_ samples: [Float], of id: String, at time: TrackClock.Time) throws(RecordingError) {
        if audio[id] == nil { try beginAudio(id, at: time) }
        guard let track = audio[id] else { return }
        var samples = samples[...]
        let hole = (time - track.start) / RecordingSession.ticksPerSample - track.position
        if hole > Self.tolerance {
            try fill(id, until: time)
        } else if hole < -Self.tolerance {
            samples = samples.dropFirst(Int(min(-hole, Int64(samples.count))))
        }
        try encode(Array(samples), id)
    }

    private func beginAudio(_ id: String, at time: TrackClock.Time) throws(RecordingError) {
        guard mayBegin(id, at: time) else { return }
        let encoder = try AudioEncoder(.opus)
        let (number, sink) = try begin(id, .audio, codec: "opus", at: time)
        let writer = try TrackWriter(
            sink: sink, .opus(description: encoder.description, priming: encoder.priming), trackLabels(number))
        audio[id] = AudioTrack(number: number, writer: writer, encoder: encoder, start: time)
    }

    /// Writes silence.
    private func fill(_ id: String, until time: TrackClock.Time) throws(RecordingError) {
        guard let track = audio[id] else { return }
        var left = (time - track.start) / RecordingSession.ticksPerSample - track.position
        while left > 0 {
            let count = min(left, 48_000)
            try encode([Float](repeating: 0, count: Int(count)), id)
            left -= count
        }
    }

    private func encode(_ samples: [Float], _ id: String) throws(RecordingError) {
        guard let track = audio[id] else { return }
        audio[id]?.position += Int64(samples.count)
        for packet in try track.encoder.encode(samples) { try Self.write(packet, track.writer) }
    }

    private static func write(_ packet: AudioPacket, _ writer: TrackWriter) throws(RecordingError) {
        try writer.write(
            packet.data, time: Int64((Double(packet.position) / 48).rounded()),
            duration: Int64(packet.sampleCount / 48),
            padding: max(0, OpusEncoder.frameSize - packet.sampleCount), isKeyframe: true)
    }

    private func endAudio(_ id: String) throws(RecordingError) {
        guard let track = audio.removeValue(forKey: id) else { return }
        for packet in try track.encoder.finish() { try Self.write(packet, track.writer) }
        try finish(track.number, track.writer)
    }

    // MARK: - Pictures

    private func write(_ frame: TrackBatch.Frame, at time: TrackClock.Time) throws(RecordingError) {
        try ownFault(of: frame.source.participant, at: time) { () throws(RecordingError) in
            try writeFrame(frame, at: time)
        }
    }

    private func writeFrame(_ frame: TrackBatch.Frame, at time: TrackClock.Time) throws(RecordingError) {
        let coded = frame.frame
        if let track = pictures[frame.source],
            track.codec != coded.codec || track.kind != frame.kind
                || track.rotation != frame.rotation && coded.isKeyframe
        {
            try endPicture(frame.source)
        }
        if pictures[frame.source] == nil { try beginPicture(frame, at: time) }
        guard let track = pictures[frame.source] else { return }
        try track.writer.write(
            coded.data, time: max(0, time - track.start) / Self.perMillisecond, duration: Self.pictureLength,
            isKeyframe: coded.isKeyframe)
    }

    private func beginPicture(_ frame: TrackBatch.Frame, at time: TrackClock.Time) throws(RecordingError) {
        let coded = frame.frame
        guard mayBegin(frame.source.participant, at: time) else { return }
        guard coded.isKeyframe, let format = VideoFormat(of: coded),
            coded.codec != .h264 || !AnnexB.parameterSets(coded.data).isEmpty
        else { return onKeyframeNeeded(frame.source) }
        let (number, sink) = try begin(
            frame.source.participant, frame.kind, codec: coded.codec.rawValue, rotation: frame.rotation, at: time)
        pictures[frame.source] = PictureTrack(
            number: number, writer: try TrackWriter(sink: sink, .video(coded, format), trackLabels(number)),
            start: time,
            codec: coded.codec,
            kind: frame.kind, rotation: frame.rotation)
    }

    private func endPicture(_ source: TrackSource) throws(RecordingError) {
        guard let track = pictures.removeValue(forKey: source) else { return }
        try finish(track.number, track.writer)
    }

    // MARK: - Files

    private func begin(
        _ participant: String, _ kind: RecordingTrack.Kind, codec: String, rotation: Rotation = .none,
        at time: TrackClock.Time
    ) throws(RecordingError) -> (number: Int, FileSink) {
        let path = RecordingFile.track(list.count + 1, base: base, codec: codec)
        let sink = try FileSink(path: path, disk: disk, reserve: reserve)
        var track = RecordingTrack(
            participant: participant, name: names[participant] ?? "", kind: kind,
            file: path.split(separator: "/").last.map(String.init) ?? path, codec: codec,
            start: (Double(time) / Double(RecordingSession.ticksPerSecond)).toMilliseconds)
        track.rotation = rotation == .none ? nil : Int(rotation.rawValue) * 90
        list.append(track)
        onChange(list)
        return (list.count - 1, sink)
    }

    private func finish(_ number: Int, _ writer: TrackWriter) throws(RecordingError) {
        defer {
            closedBytes += writer.sink.byteCount
            list[number].duration = writer.duration.roundedSeconds
            list[number].bytes = writer.sink.byteCount
            onChange(list)
        }
        try writer.finish()
    }

    /// Completes all files.
    func finish() throws(RecordingError) {
        if isOver { return }
        isOver = true
        held = []
        for id in Array(audio.keys) {
            try fill(id, until: end)
            try endAudio(id)
        }
        for source in Array(pictures.keys) { try endPicture(source) }
    }

    /// Completes the files as far as possible.
    func abandon() {
        isOver = true
        held = []
        let open = audio.values.map { ($0.number, $0.writer) } + pictures.values.map { ($0.number, $0.writer) }
        for (number, writer) in open {
            try? finish(number, writer)
        }
        (audio, pictures) = ([:], [:])
    }

    /// Removes files that have no media.
    func removeEmpty() {
        for track in list where track.bytes ?? 0 == 0 {
            unlink(WholeFile.folder(of: base) + "/" + track.file)
        }
        list.removeAll { $0.bytes ?? 0 == 0 }
    }
}
