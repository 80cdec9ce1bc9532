import Basics
import Codecs

/// One file of a recording and the timeline in it: lines up sound and pictures, fills holes, leaves pauses out.
///
/// Times are ticks of 720 kHz, the smallest clock in which both 90 kHz and 48 kHz are whole. `@unchecked Sendable`:
/// only the recorder's serial queue touches it.
final class RecordingSession: @unchecked Sendable {
    /// Ticks of 720 kHz.
    typealias Time = Int64
    static let ticksPerSecond: Time = 720_000
    private static let ticksPerVideoTick: Time = 8
    static let ticksPerSample: Time = 15

    private enum State {
        /// For a keyframe at or after `from`; `pausedAt` is where the file's content ended, when it has any.
        case waiting(from: Time, pausedAt: Time?)
        case running
        case paused(at: Time)
    }

    private var state = State.waiting(from: .min, pausedAt: nil)
    private let sink: FileSink
    private let width: Int
    private let height: Int
    private let sizeMayChange: Bool
    private let audioEncoder: AudioEncoder
    private let fragment: Time
    private let frameTime: Time

    private var writer: FragmentWriter?
    /// The room time at which the file's timeline has its zero, moved on by every pause.
    private var origin: Time = 0
    /// Waits for the next frame, which tells how long it is shown.
    private var held: (frame: EncodedVideoFrame, time: Time)?
    /// Samples in the file so far.
    private var audioPosition: Int64 = 0
    private var fragmentStart: Time = 0
    /// Sound that is ahead of the pictures, since encoding them takes longer than mixing: it waits for them, so that a
    /// keyframe that starts a file, ends one or ends a pause finds all sound from its own time on still here.
    private var ahead: [AudioBlock] = []

    struct AudioBlock {
        var samples: [Float]
        var time: Time
        var end: Time { time + Time(samples.count) * RecordingSession.ticksPerSample }
    }

    /// 2 s: more is not kept while there is no keyframe.
    private static let maxBlocksAhead = 100
    /// Sound waits no longer than this for pictures.
    private static let maxLead = ticksPerSecond
    /// Samples after which any of the encoders has given out a packet.
    private static let minFirstAudio: Int64 = 4096
    /// Jitter of this many samples between ticks (1 ms) is rounding, not a hole.
    private static let tolerance: Int64 = 48

    init(
        sink: FileSink, width: Int, height: Int, framesPerSecond: Double, audio: RecordingAudio, fragment: Duration,
        sizeMayChange: Bool = false
    ) throws(RecordingError) {
        self.sink = sink
        self.width = width
        self.height = height
        self.sizeMayChange = sizeMayChange
        audioEncoder = try AudioEncoder(audio)
        self.fragment = max(fragment.nanoseconds, 100_000_000) * 9 / 12_500
        frameTime = Time(Double(Self.ticksPerSecond) / max(framesPerSecond, 1))
    }

    /// Pictures and sound go into the file.
    var isRunning: Bool { if case .running = state { true } else { false } }
    /// Where in the file a room time lies.
    func position(of time: Time) -> Time { time - origin }
    /// Something is in the file.
    var hasStarted: Bool { writer != nil }
    /// How long the file is so far.
    var length: Time { max(held?.time ?? 0, audioPosition * Self.ticksPerSample) }
    /// A keyframe would let the recording go on.
    var isWaiting: Bool { if case .waiting = state { true } else { false } }

    func append(_ frame: EncodedVideoFrame) throws(RecordingError) {
        guard frame.codec == .h264,
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
            // A frame must not be left out, others lean on it: one that is out of order is shown for a moment.
            place = max(place, held.time + Self.ticksPerVideoTick)
            try write(held.frame, from: held.time, to: place)
        } else {
            place = max(place, 0)
        }
        held = (frame, place)
        try placeDue()
        // Without any sound the track goes on in silence, half a second behind so that late ticks still fit.
        let second = Self.ticksPerSecond
        if place - audioPosition * Self.ticksPerSample > second * 3 / 2 { try silence(until: place - second / 2) }
        try endFragmentIfDue(place)
    }

    func append(audio samples: [Float], time: Time) throws(RecordingError) {
        let block = AudioBlock(samples: samples, time: time)
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

    /// What comes from `time` on is left out.
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

    /// Goes on with the first keyframe at or after `time`, as if there had been no pause.
    func resume(at time: Time) {
        guard case .paused(let end) = state else { return }
        state = .waiting(from: time, pausedAt: hasStarted ? end : nil)
    }

    /// Writes what is held back; both tracks end together, at `cut` when it is given. Gives the sound from there on.
    @discardableResult
    func finish(at cut: Time? = nil) throws(RecordingError) -> [AudioBlock] {
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

    /// Sound that came before this file began and may belong to it.
    func adopt(_ blocks: [AudioBlock]) { ahead = blocks }

    /// Lets the file go as it is.
    func abandon() {
        writer = nil
        held = nil
    }

    private func start(_ frame: EncodedVideoFrame, at time: Time, pausedAt: Time?) throws(RecordingError) {
        if writer == nil {
            let sets = AnnexB.parameterSets(frame.data)
            guard !sets.isEmpty else { return }
            writer = try FragmentWriter(
                sink: sink, width: width, height: height, parameterSets: sets, changesInBand: sizeMayChange,
                audio: audioEncoder)
            origin = time
        } else if let pausedAt {
            try silence(until: pausedAt - origin)
            origin += time - pausedAt
        }
        state = .running
        ahead.removeAll { $0.end <= time }
    }

    /// Puts the sound into the file that the pictures have caught up with, or that waited long enough.
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

    /// Puts samples where they belong, cut to what the file shows; a hole before them becomes silence.
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
        try writer?.write(
            video: frame.data, isKeyframe: frame.isKeyframe, time: time, duration: end / Self.ticksPerVideoTick - time)
    }

    private func endFragmentIfDue(_ time: Time) throws(RecordingError) {
        guard time - fragmentStart >= fragment else { return }
        if fragmentStart == 0, audioPosition < Self.minFirstAudio {
            // The header, written with the first fragment, must have seen sound to say how it is primed.
            try silence(until: max(time - Self.ticksPerSecond / 2, Self.minFirstAudio * Self.ticksPerSample))
        }
        fragmentStart = time
        try writer?.endFragment()
    }
}
