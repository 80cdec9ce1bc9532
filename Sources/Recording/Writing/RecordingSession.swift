import Basics
import Codecs

/// One file of a recording and its timeline: the session aligns audio and video, fills gaps and omits pauses.
///
/// Times are ticks of 720 kHz, the lowest rate that both 90 kHz and 48 kHz divide. `@unchecked Sendable`: only the
/// recorder's serial queue accesses it.
final class RecordingSession: @unchecked Sendable {
    /// Ticks of 720 kHz.
    typealias Time = Int64
    static let ticksPerSecond: Time = 720_000
    private static let ticksPerVideoTick: Time = 8
    static let ticksPerSample: Time = 15

    private enum State {
        /// Waits for a keyframe at or after `from`; `pausedAt` is the end of the file's content, if it has any.
        case waiting(from: Time, pausedAt: Time?)
        case running
        case paused(at: Time)
    }

    private var state = State.waiting(from: .min, pausedAt: nil)
    private let sink: FileSink
    private let width: Int
    private let height: Int
    private let sizeMayChange: Bool
    /// Without it audio is written as it comes, and no keyframe is waited for.
    private let hasVideo: Bool
    private let audioEncoder: AudioEncoder
    private let fragment: Time
    private let frameTime: Time
    private let labels: RecordingLabels?

    private var writer: FragmentWriter?
    /// The room time of the file's time zero, shifted by every pause.
    private var origin: Time = 0
    /// The last frame, which waits for the next one because that determines its duration.
    private var held: (frame: EncodedVideoFrame, time: Time)?
    /// Samples in the file so far.
    private var audioPosition: Int64 = 0
    private var fragmentStart: Time = 0
    /// Frames in the file so far.
    private(set) var frameCount = 0
    /// Audio that is ahead of the video, because encoding a picture takes longer than mixing. It waits, so that at a
    /// keyframe that starts a file, ends one or ends a pause, all audio from the keyframe's time on is still here.
    private var ahead: [AudioBlock] = []

    struct AudioBlock {
        var samples: [Float]
        var time: Time
        var end: Time { time + Time(samples.count) * RecordingSession.ticksPerSample }
    }

    /// The most blocks (2 s) that are kept while there is no keyframe.
    private static let maxBlocksAhead = 100
    /// The longest time that audio waits for video.
    private static let maxLead = ticksPerSecond
    /// Samples after which each of the encoders has returned a packet.
    private static let minFirstAudio: Int64 = 4096
    /// Jitter of up to this many samples (1 ms) between ticks is rounding, not a gap.
    private static let tolerance: Int64 = 48

    init(
        sink: FileSink, width: Int, height: Int, framesPerSecond: Double, audio: RecordingAudio, fragment: Duration,
        sizeMayChange: Bool = false, hasVideo: Bool = true, labels: RecordingLabels? = nil
    ) throws(RecordingError) {
        self.sink = sink
        self.labels = labels
        self.hasVideo = hasVideo
        self.width = width
        self.height = height
        self.sizeMayChange = sizeMayChange
        audioEncoder = try AudioEncoder(audio)
        self.fragment = max(fragment.nanoseconds, 100_000_000) * 9 / 12_500
        frameTime = Time(Double(Self.ticksPerSecond) / max(framesPerSecond, 1))
    }

    /// Whether audio and video are written to the file.
    var isRunning: Bool { if case .running = state { true } else { false } }
    /// The time in the file of a room time.
    func position(of time: Time) -> Time { time - origin }
    /// The time in the file at which what happens at `time` is, or would be.
    func contentTime(_ time: Time) -> Time {
        guard hasStarted else { return 0 }
        return switch state {
        case .running: max(0, time - origin)
        case .paused(let end): max(0, min(time, end) - origin)
        case .waiting(_, let end): max(0, (end ?? origin) - origin)
        }
    }
    /// Whether the file has media.
    var hasStarted: Bool { writer != nil }
    /// The length of the file so far.
    var length: Time { max(held?.time ?? 0, audioPosition * Self.ticksPerSample) }
    /// Whether the recording can go on only with a keyframe.
    var isWaiting: Bool { if case .waiting = state { true } else { false } }

    func append(_ frame: EncodedVideoFrame) throws(RecordingError) {
        guard hasVideo, frame.codec == .h264,
            frame.width == 0 || sizeMayChange || (frame.width == width && frame.height == height)
        else { return }
        let time = frame.timestamp &* Self.ticksPerVideoTick
        switch state {
        case .paused(let end):
            guard time < end else { return }
        case .waiting(let from, let pausedAt):
            guard frame.isKeyframe, time >= from else { return }
            try start(frame, at: time, pausedAt: pausedAt)
        case .running: break
        }
        guard writer != nil else { return }
        var place = time - origin
        if let held {
            // A frame must not be dropped, because others depend on it: a frame with an earlier time is shown for one
            // tick.
            place = max(place, held.time + Self.ticksPerVideoTick)
            try write(held.frame, from: held.time, to: place)
        } else {
            place = max(place, 0)
        }
        held = (frame, place)
        try placeDue()
        // Without audio the track continues with silence, half a second behind, so that late ticks still fit.
        let second = Self.ticksPerSecond
        if place - audioPosition * Self.ticksPerSample > second * 3 / 2 { try silence(until: place - second / 2) }
        try endFragmentIfDue(place)
    }

    func append(audio samples: [Float], time: Time) throws(RecordingError) {
        let block = AudioBlock(samples: samples, time: time)
        if !hasVideo { return try appendAlone(block) }
        switch state {
        case .running:
            ahead.append(block)
            try placeDue()
        case .paused(let end):
            guard time < end else { return }
            ahead.append(block)
            try placeAll(before: end)
        case .waiting(_, let pausedAt):
            if let pausedAt, time < pausedAt {
                try place(block, before: pausedAt)
            } else {
                ahead.append(block)
                if ahead.count > Self.maxBlocksAhead { ahead.removeFirst() }
            }
        }
    }

    /// Writes a block of a file without video, which begins and goes on with any block.
    private func appendAlone(_ block: AudioBlock) throws(RecordingError) {
        switch state {
        case .running: try place(block, before: nil)
        case .paused(let end): try place(block, before: end)
        case .waiting(let from, let pausedAt):
            if let pausedAt, block.time < pausedAt { return try place(block, before: pausedAt) }
            guard block.time >= from else { return }
            if writer == nil {
                writer = try FragmentWriter(sink: sink, video: nil, audio: audioEncoder, labels)
                origin = block.time
            } else if let pausedAt {
                // Ticks do not begin where pauses do: the pause ends with the block that the next one follows.
                let end = max(pausedAt, origin + audioPosition * Self.ticksPerSample)
                origin += block.time - end
            }
            state = .running
            try place(block, before: nil)
        }
    }

    /// The room time of the recording's zero, were there no earlier files; nil before the first media.
    var zero: Time? { hasStarted ? origin : nil }
    /// The room time up to which media has been written, or could have been.
    var newest: Time { origin + (hasVideo ? held?.time ?? 0 : audioPosition * Self.ticksPerSample) }

    /// Omits all media from `time` on.
    func pause(at time: Time) throws(RecordingError) {
        switch state {
        case .running:
            state = .paused(at: time)
            try placeAll(before: time)
        case .waiting(_, let pausedAt):
            state = .paused(at: pausedAt ?? time)
            ahead = []
        case .paused: break
        }
    }

    /// Continues with the first keyframe at or after `time`; the file has no gap at the pause.
    func resume(at time: Time) {
        guard case .paused(let end) = state else { return }
        state = .waiting(from: time, pausedAt: hasStarted ? end : nil)
    }

    /// Writes the waiting media, so that both tracks end together, at `cut` if it is given. Returns the audio after
    /// that time.
    @discardableResult
    func finish(at cut: Time? = nil) throws(RecordingError) -> [AudioBlock] {
        if !hasVideo { return try finishAlone(at: cut) }
        guard let writer, let held else { return ahead }
        let pausedAt: Time? =
            switch state {
            case .paused(let end), .waiting(_, let end?): end
            default: nil
            }
        let left = cut.map { cut in ahead.filter { $0.end > cut } } ?? []
        if !isWaiting { try placeAll(before: cut ?? pausedAt) }
        var end = max(held.time + frameTime, audioPosition * Self.ticksPerSample)
        if let stop = cut ?? pausedAt { end = max(stop - origin, held.time + Self.ticksPerVideoTick) }
        try write(held.frame, from: held.time, to: end)
        self.held = (held.frame, end)
        try silence(until: end)
        for packet in try audioEncoder.finish() { try writer.write(packet) }
        try writer.endFragment()
        self.writer = nil
        return left
    }

    private func finishAlone(at cut: Time?) throws(RecordingError) -> [AudioBlock] {
        guard let writer else { return [] }
        if let cut { try silence(until: cut - origin) }
        if audioPosition < Self.minFirstAudio, fragmentStart == 0 {
            try silence(samples: Self.minFirstAudio - audioPosition)
        }
        for packet in try audioEncoder.finish() { try writer.write(packet) }
        try writer.endFragment()
        self.writer = nil
        return []
    }

    /// Takes over audio that was received before this file began and may belong to it.
    func adopt(_ blocks: [AudioBlock]) { ahead = blocks }

    /// Closes the file without writing the waiting media.
    func abandon() {
        writer = nil
        held = nil
    }

    private func start(_ frame: EncodedVideoFrame, at time: Time, pausedAt: Time?) throws(RecordingError) {
        if writer == nil {
            let sets = AnnexB.parameterSets(frame.data)
            guard !sets.isEmpty else { return }
            let video = FragmentWriter.Video(
                width: width, height: height, parameterSets: sets, changesInBand: sizeMayChange)
            writer = try FragmentWriter(sink: sink, video: video, audio: audioEncoder, labels)
            origin = time
        } else if let pausedAt {
            // The last picture is shown for its whole time: converters to a fixed frame rate refuse two at once.
            let end = max(pausedAt, (held?.time).map { $0 + origin + frameTime } ?? pausedAt)
            try silence(until: end - origin)
            origin += time - end
        }
        state = .running
        ahead.removeAll { $0.end <= time }
    }

    /// Writes the audio up to the time of the video, and audio that has waited too long.
    private func placeDue() throws(RecordingError) {
        guard let newest = ahead.last?.time else { return }
        let shown = held.map { $0.time + origin } ?? origin
        while let block = ahead.first, block.end <= shown || newest - block.time > Self.maxLead {
            ahead.removeFirst()
            try place(block, before: nil)
        }
    }

    private func placeAll(before end: Time?) throws(RecordingError) {
        let blocks = ahead
        ahead = []
        for block in blocks { try place(block, before: end) }
    }

    /// Writes samples at their time, cut to the file's time range; a gap before them becomes silence.
    private func place(_ block: AudioBlock, before end: Time?) throws(RecordingError) {
        guard writer != nil else { return }
        var samples = block.samples[...]
        if let end {
            let room = max((end - block.time) / Self.ticksPerSample, 0)
            samples = samples.prefix(Int(min(room, Int64(samples.count))))
        }
        guard !samples.isEmpty else { return }
        let hole = (block.time - origin) / Self.ticksPerSample - audioPosition
        if hole > Self.tolerance {
            try silence(samples: hole)
        } else if hole < -Self.tolerance {
            samples = samples.dropFirst(Int(min(-hole, Int64(samples.count))))
        }
        guard !samples.isEmpty else { return }
        try encode(Array(samples))
        try endFragmentIfDue(audioPosition * Self.ticksPerSample)
    }

    private func silence(until time: Time) throws(RecordingError) {
        try silence(samples: time / Self.ticksPerSample - audioPosition)
    }

    private func silence(samples: Int64) throws(RecordingError) {
        var left = samples
        while left > 0 {
            let count = min(left, 48_000)
            try encode([Float](repeating: 0, count: Int(count)))
            left -= count
        }
    }

    private func encode(_ samples: [Float]) throws(RecordingError) {
        for packet in try audioEncoder.encode(samples) { try writer?.write(packet) }
        audioPosition += Int64(samples.count)
    }

    private func write(_ frame: EncodedVideoFrame, from start: Time, to end: Time) throws(RecordingError) {
        let time = start / Self.ticksPerVideoTick
        frameCount += 1
        try writer?.write(
            video: frame.data, isKeyframe: frame.isKeyframe, time: time, duration: end / Self.ticksPerVideoTick - time)
    }

    private func endFragmentIfDue(_ time: Time) throws(RecordingError) {
        guard time - fragmentStart >= fragment else { return }
        if fragmentStart == 0, audioPosition < Self.minFirstAudio {
            // The header is written with the first fragment and needs audio before it, to know the number of priming
            // samples.
            try silence(until: max(time - Self.ticksPerSecond / 2, Self.minFirstAudio * Self.ticksPerSample))
        }
        fragmentStart = time
        try writer?.endFragment()
    }
}
